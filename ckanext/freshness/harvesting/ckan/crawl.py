"""One crawl of a CKAN portal: the list of all its datasets, then the contents of those that changed.

The list comes from ``package_search``, which answers from Solr, and Solr may lag behind the portal's
database: an index that is being rebuilt lists a part of the datasets, in good order and with the number that
fits. Therefore each current record that the list leaves out is asked for by ``package_show``, which knows the
database.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import unquote

import ckan.plugins.toolkit as tk

from ...web.urls import display_url, loose_spelling
from ..messages import HarvestMessage, Message, MessageCode, about
from ..record import (
    Containers,
    CrawledRecord,
    CurrentRecords,
    KnownRecord,
    ReadOutcome,
    SeenRecord,
    Sink,
    guid_of,
)
from ..source_client import UnreadableDocument, for_each
from ..source_type import CrawlEnd, CrawlInput, ask_left_out, content_hash
from .api import FILTERS, CkanApi, Listed, any_of, id_of, modified_of, text_of
from .mapping import MappingOptions, dataset, organization

OF_THIS_SITE = "dataset that comes from this site"
"""The kind of datasets that the portal has from here."""

_NO_JSON = frozenset({MessageCode.NOT_METADATA, MessageCode.MALFORMED, MessageCode.EMPTY})


async def crawl(
    api: CkanApi, given: CrawlInput, salt: str, mapping: MappingOptions, sink: Sink
) -> CrawlEnd:
    """Crawl a portal.

    :param salt: part of every hash: what a record's contents depend on besides the portal's
    :param sink: called with each dataset as soon as it is read, in no particular order. Its exception ends the
        crawl.
    """
    source_url, known, own = given.source.url, given.known, given.source.config.own
    end = CrawlEnd(Containers(root=source_url))
    fq = [f"{FILTERS[key]}:{any_of(own[key])}" for key in FILTERS if own.get(key)]
    listed = await api.read_list(" ".join(fq))
    if listed.failure is not None:
        mark = end.mark_unproved if listed.modified else end.mark_unreadable
        mark(source_url, listed.failure.reason, reported=True)
        end.errors.append(_told(listed.failure, source_url, is_new=not len(known)))
    for dataset_id, kind in listed.others.items():
        end.skip(kind, api.url_of(dataset_id))
    ids = _harvested(api, listed, known, end)
    await DatasetReader(api, given, salt, mapping, listed, end, sink).read(ids)
    if end.has_answered:
        answers = await _ask_for_absent(api, given, listed, end)
        for url, outcome in answers.items():
            sink(CrawledRecord(SeenRecord(url, outcome)), end.containers)
    return end


def _told(failure: UnreadableDocument, source_url: str, *, is_new: bool) -> Message:
    """Return why the list could not be read; of a new source whose URL leads to no API, what to enter."""
    code = failure.reason.code if isinstance(failure.reason, HarvestMessage) else None
    if not is_new or not (failure.status in (404, 405, 410) or code in _NO_JSON):
        return failure.message
    reason = HarvestMessage(MessageCode.NO_PORTAL, details=str(failure.message))
    return about(display_url(source_url), reason)


def _harvested(api: CkanApi, listed: Listed, known: CurrentRecords, end: CrawlEnd) -> list[str]:
    """Note the listed datasets, before the first record is handed on, and return the ids of those to harvest.

    Two portals that harvest each other, or one that harvests itself, would copy their copies for ever: what
    comes from this site is left out.
    """
    urls = {dataset_id: api.url_of(dataset_id) for dataset_id in listed.modified}
    noted = end.containers.listed
    noted.update(urls.values())
    new = [one for one, url in urls.items() if known.of(url, noted) is None]
    own = {record.package_id for record in known}.intersection(new)
    own.update(known.own_datasets(new))
    for dataset_id in filter(None, own):
        noted.discard(urls[dataset_id])
        end.skip(OF_THIS_SITE, urls[dataset_id])
    return [one for one in urls if one not in own]


async def _ask_for_absent(
    api: CkanApi, given: CrawlInput, listed: Listed, end: CrawlEnd
) -> dict[str, ReadOutcome]:
    """Ask for the current records that the list leaves out, and return the outcomes by URL."""
    known, config, containers = given.known, given.source.config, end.containers
    noted = containers.listed
    still = {record.url for url in noted if (record := known.of(url, noted)) is not None}
    absent = [record for record in known if record.url not in still and record.recognised]
    reasons = await _unknown_to(api, config.own) if absent or not noted else []
    answers = await ask_left_out(
        absent,
        partial(_ask, api),
        containers,
        concurrency=api.concurrency,
        most=config.max_deletions,
        listed=[api.url_of(one) for one in listed.modified],
    )
    if containers.controls and ReadOutcome.PRESENT not in containers.controls:
        # It also lists these, so its answers about datasets that it does not list prove nothing.
        reasons.append("its package_show gives none of the datasets that it lists")
    for reason in reasons:
        end.mark_unproved(containers.root, reason, reported=True)
        end.errors.append(about(containers.root, f"nothing is deleted, because {reason}"))
    return answers


async def _ask(api: CkanApi, url: str) -> ReadOutcome:
    """Return whether the portal still has a dataset."""
    dataset_id = unquote(url.rpartition("/")[2])
    try:
        raw = await api.show("dataset", dataset_id)
    except UnreadableDocument as error:
        # The source had another URL or type before: that this portal has no such id says nothing then.
        is_of_portal = loose_spelling(url) == loose_spelling(api.url_of(dataset_id))
        return error.outcome if is_of_portal else ReadOutcome.FAILED
    return ReadOutcome.GONE if raw.get("state") == "deleted" else visibility(raw)


async def _unknown_to(api: CkanApi, own: Mapping[str, Any]) -> list[str]:
    """Ask whether the portal has what filters include, and return, for people, what it does not have.

    Datasets of what it has renamed are not found.
    """
    reasons = []
    for key, name in [(one, name) for one in FILTERS for name in own.get(one, ())]:
        kind, _, how = key.partition("s_filter_")
        if how == "include":
            try:
                await api.show(kind, name)
            except UnreadableDocument as error:
                words = str(error.reason)
                if error.outcome is ReadOutcome.GONE:
                    words = (
                        "the portal has none of this name. Correct the name in the source's configuration, "
                        "or remove it"
                    )
                reasons.append(f'"{key}" names "{name}", and {words}')
    return reasons


# The listed datasets, with contents if they changed, and the organizations that own them

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
                is_draft = failure.outcome is ReadOutcome.FORBIDDEN and self._known_as(url) is None
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
            container = self._container_of(raw, self._known_as(url))
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
        known = self._known_as(url)
        if known is None or not self.given.known.contents_of(known).resources:
            return False
        query = {"fq": f"+id:{any_of([dataset_id])} +res_url:[* TO *]", "rows": 1}
        try:
            rows, _ = await self.api.found(query)
        except UnreadableDocument:
            return True
        return any(id_of(raw) == dataset_id for raw in rows)

    def _known_as(self, url: str) -> KnownRecord | None:
        """Return the current record that the URL of a listed dataset means, in any spelling."""
        return self.given.known.of(url, self.end.containers.listed)

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
