"""The listed datasets of a portal, with contents if they changed, and the organizations that own them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import ckan.plugins.toolkit as tk

from ..messages import about
from ..record import (
    CrawledRecord,
    KnownRecord,
    ReadOutcome,
    SeenRecord,
    Sink,
    guid_of,
)
from ..source_client import UnreadableDocument, for_each
from ..source_type import CrawlEnd, CrawlInput, content_hash
from .api import CkanApi, Listed, any_of, id_of, modified_of, text_of
from .mapping import MappingOptions, dataset, organization

_HIDES_RESOURCES = (
    "the portal's index has resources of it, and its API gives none: nothing is changed. Check whether the "
    'token in "headers" may still see them'
)

_NOT_PUBLISHED = {
    ReadOutcome.FORBIDDEN: "the portal does not publish it: it is private, or no active dataset",
    ReadOutcome.FAILED: 'its value of "private" is neither true nor false: it is not harvested, and stays here '
    "if it was harvested before. Ask the portal to correct it",
}

BATCH = 50
"""Datasets whose contents are requested at a time. Their ids make a URL of some 2,500 characters."""


@dataclass(frozen=True, slots=True)
class DatasetReader:
    """A reader of the listed datasets of one crawl, which hands on each as soon as it is read."""

    api: CkanApi
    given: CrawlInput
    salt: str
    """Part of every hash: what a record's contents depend on besides the portal's."""
    mapping: MappingOptions
    listed: Listed
    end: CrawlEnd
    """Gets the organizations of the datasets that are read."""
    sink: Sink
    """Called with each dataset, in no particular order."""
    _told: dict[str, str] = field(default_factory=dict, init=False)
    """When the dataset was changed that says what an organization is, by the organization's URL."""

    async def read(self, ids: Iterable[str]) -> None:
        """Hand on some of the listed datasets: those that changed with their contents.

        :param ids: their ids
        """
        read_all = self.given.source.config.own.get("force_all")
        changed = [one for one in ids if read_all or not self._is_unchanged(one)]
        batches = [changed[start : start + BATCH] for start in range(0, len(changed), BATCH)]
        await for_each(self.api.concurrency, self._read_batch, batches)

    def _is_unchanged(self, dataset_id: str) -> bool:
        """Hand on a dataset that is as it was at the last job, without its contents. Return whether it is."""
        url = self.api.url_of(dataset_id)
        known = self.given.known.at(url)
        memory = self._memory(dataset_id, self.listed.modified[dataset_id])
        if known is None or known.content_hash is None or memory is None or known.memory != memory:
            return False
        container = self._former_container(known) or self.end.containers.root
        if known.guid != guid_of(url, container):
            return False
        seen = SeenRecord(url, ReadOutcome.PRESENT, (container,), content_hash=known.content_hash)
        self.sink(CrawledRecord(seen, memory=memory), self.end.containers)
        return True

    async def _read_batch(self, ids: list[str]) -> None:
        """Read the contents of some datasets together, and those that this does not give one by one."""
        try:
            rows, _ = await self.api.found({"fq": f"id:{any_of(ids)}", "rows": len(ids)})
        except UnreadableDocument:
            rows = []
        found = {id_of(raw): raw for raw in rows if isinstance(raw, dict)}
        for dataset_id in ids:
            url = self.api.url_of(dataset_id)
            try:
                raw = found.get(dataset_id) or await self.api.show("dataset", dataset_id)
                crawled = await self._crawled(url, dataset_id, raw)
            except UnreadableDocument as failure:
                seen = SeenRecord(url, failure.outcome, (self.end.containers.root,))
                # As of other sources, a draft that was never harvested is no error.
                is_draft = (
                    failure.outcome is ReadOutcome.FORBIDDEN and self.given.known.at(url) is None
                )
                crawled = CrawledRecord(
                    seen, error=None if is_draft else about(url, failure.reason)
                )
            self.sink(crawled, self.end.containers)

    async def _crawled(self, url: str, dataset_id: str, raw: Mapping[str, Any]) -> CrawledRecord:
        """Return a dataset with its contents.

        :raises UnreadableDocument: it is no record or not public, or it does not describe its organization.
        """
        if (outcome := visibility(raw)) is not ReadOutcome.PRESENT:
            # Some portals list private datasets to whoever has an API key.
            raise UnreadableDocument(url, _NOT_PUBLISHED[outcome], outcome)
        try:
            record = dataset(raw, self.mapping)
            container = self._container_of(raw, self.given.known.at(url))
        except ValueError as error:
            raise UnreadableDocument(url, str(error), ReadOutcome.MALFORMED) from error
        if not record.resources and await self._hides_resources(url, dataset_id):
            raise UnreadableDocument(url, _HIDES_RESOURCES)
        digest = content_hash(self.salt, record)
        seen = SeenRecord(url, ReadOutcome.PRESENT, (container,), content_hash=digest)
        memory = self._memory(dataset_id, modified_of(raw))
        return CrawledRecord(seen, record, memory=memory)

    def _former_container(self, known: KnownRecord | None) -> str | None:
        """Return the organization to which a current record belongs; None if there is none."""
        if known is None or not self.mapping.organizations:
            return None
        url = known.catalog_url
        if url is None or url == self.end.containers.root:
            return None
        self.end.containers.catalogs.add(url)
        return url

    def _container_of(self, raw: Mapping[str, Any], known: KnownRecord | None) -> str:
        """Return the container of a dataset: the organization that owns it, or the source.

        A portal does not describe an organization that it has deleted. A dataset that is known then stays where
        it is.

        :raises ValueError: it names an organization, and does not describe it. The text is for people.
        """
        end, owner = self.end, text_of(raw.get("owner_org"))
        if not self.mapping.organizations or owner is None:
            return end.containers.root
        stated = raw.get("organization")
        if not isinstance(stated, dict):
            if (former := self._former_container(known)) is not None:
                return former
            stated = {}
        record = organization(stated, self.mapping.language)
        url = self.api.site.url_of("organization", owner)
        end.containers.catalogs.add(url)
        # The index has an organization as it was when the dataset was indexed.
        modified = modified_of(raw) or ""
        if modified >= self._told.get(url, ""):
            self._told[url] = modified
            end.organizations[url] = record
        return url

    async def _hides_resources(self, url: str, dataset_id: str) -> bool:
        """Return whether the portal's index has resources of a dataset that had some and comes without any.

        A token may have lost the right to see them. If the index does not answer, it may have some.
        """
        known = self.given.known.of(url, self.end.containers.listed)
        if known is None or not self.given.known.contents_of(known).resources:
            return False
        query = {"fq": f"+id:{any_of([dataset_id])} +res_url:[* TO *]", "rows": 1}
        try:
            rows, _ = await self.api.found(query)
        except UnreadableDocument:
            return True
        return any(id_of(raw) == dataset_id for raw in rows)

    def _memory(self, dataset_id: str, modified: str | None) -> str | None:
        """Return by what the next job tells that a dataset is unchanged; None if nothing tells."""
        if modified is None:
            return None
        return f"{modified} {self.listed.owners[dataset_id]} {self.salt[:16]}"


def visibility(raw: Mapping[str, Any]) -> ReadOutcome:
    """Return whether everybody may see a dataset: present or forbidden, or failed if the portal does not tell.

    Some portals write booleans as texts.
    """
    if (text_of(raw.get("state")) or "active").lower() != "active":
        return ReadOutcome.FORBIDDEN
    private = raw.get("private")
    if isinstance(private, str):
        private = text_of(private) or False
    try:
        return ReadOutcome.FORBIDDEN if tk.asbool(private) else ReadOutcome.PRESENT
    except ValueError:
        return ReadOutcome.FAILED
