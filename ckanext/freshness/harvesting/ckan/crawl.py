"""One crawl of a CKAN portal: the list of all its datasets, then the contents of those that changed.

The list comes from ``package_search``, which answers from Solr, and Solr may lag behind the portal's
database: an index that is being rebuilt lists a part of the datasets, in good order and with the number that
fits. Therefore each current record that the list leaves out is asked for by ``package_show``, which knows the
database.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from ...web.urls import display_url, loose_spelling
from ..messages import HarvestMessage, Message, MessageCode, about
from ..record import (
    Containers,
    CurrentRecords,
    ReadOutcome,
    Record,
    SeenRecord,
    Sighting,
    Sink,
    guid_of,
)
from ..source_client import UnreadableDocument, for_each
from ..source_type import CrawlEnd, ask_left_out, content_hash
from .api import CkanApi, escaped, id_of, text_of

BATCH = 50
"""Datasets whose contents are requested at a time. Their ids make a URL of some 2,500 characters."""

FIELDS = "id,metadata_modified,organization,dataset_type"
"""The fields of Solr that the list needs. Solr cannot give ``owner_org``."""

NO_DATASETS = frozenset({"harvest", "showcase"})
"""Types of packages that are no datasets."""

OF_THIS_SITE = "dataset that comes from this site"
"""The kind of datasets that the portal has from here."""

_NO_JSON = frozenset({MessageCode.NOT_METADATA, MessageCode.MALFORMED})

_HIDES_RESOURCES = (
    "the portal's index has resources of it, and its API gives none: nothing is changed. Check whether the "
    'token in "headers" may still see them'
)

_NAMED_BY = {
    "organization": ("organizations_filter_include", "organization"),
    "groups": ("groups_filter_include", "group"),
}
"""By field of Solr: the key of the configuration that names some, and the kind of record that has the name."""

WITHOUT_MEMBERS = dict.fromkeys(
    [f"include_{part}" for part in ("users", "groups", "tags", "followers", "datasets")], "false"
)
"""Arguments of the actions that show organizations and groups."""


@dataclass(frozen=True, slots=True)
class Filter:
    """The datasets of a portal that a source harvests: of some organizations or groups, or of all others."""

    include: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names by field of Solr, ``organization`` and ``groups``."""
    exclude: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def fq(self) -> str:
        """The filter as a query of Solr."""
        return " ".join(
            f"{sign}{key}:{_any_of(names)}"
            for sign, part in (("+", self.include), ("-", self.exclude))
            for key, names in part.items()
        )


MakeRecord = Callable[[Mapping[str, Any]], Record]
"""Makes a record of what the API says, or raises ValueError with words for people."""


@dataclass(frozen=True, slots=True)
class CrawlOptions:
    """The options of one crawl."""

    salt: str
    """Part of every hash: what a record's contents depend on besides the portal's."""
    dataset: MakeRecord
    """Makes the record of a dataset."""
    organization: MakeRecord | None = None
    """Makes the record of an organization; None if the portal's organizations do not become organizations."""
    filter: Filter = field(default_factory=Filter)
    read_all: bool = False
    """Read the contents of all datasets, whatever their ``metadata_modified``."""
    concurrency: int = 8
    max_deletions: int | None = None
    """The source's."""


class PortalCrawl:
    """One crawl of one portal. Run it once."""

    def __init__(
        self,
        api: CkanApi,
        source_url: str,
        options: CrawlOptions,
        known: CurrentRecords,
        sink: Sink,
    ) -> None:
        self._api = api
        self._options = options
        self._known = known
        self._sink = sink
        self._end = CrawlEnd(Containers(root=source_url))
        self._containers = self._end.containers
        self._owners: dict[str, str | None] = {}
        """The organization of each listed dataset, by the dataset's id: its id, or its name in Solr."""
        self._organizations: dict[str, str | None] = {}
        """The URL of each organization that owns datasets, by id or name; None if it could not be read."""

    async def run(self) -> CrawlEnd:
        """Read the portal; an exception of the sink ends the crawl."""
        found: dict[str, str | None] = {}
        try:
            await self._read_list(found)
        except UnreadableDocument as error:
            mark = self._end.mark_unproved if found else self._end.mark_unreadable
            mark(self._containers.root, error.reason, reported=True)
            self._end.errors.append(self._no_portal(error) or error.message)
        self._note(found)
        await self._read_organizations()
        ids = [one for one in list(found) if not self._is_unchanged(one, found.pop(one))]
        batches = [ids[start : start + BATCH] for start in range(0, len(ids), BATCH)]
        await for_each(self._options.concurrency, self._read_batch, batches)
        await self._ask_for_absent()
        return self._end

    # The list

    def _no_portal(self, error: UnreadableDocument) -> Message | None:
        """Return what to enter in place of a new source's URL that leads to no API of CKAN."""
        code = error.reason.code if isinstance(error.reason, HarvestMessage) else None
        if len(self._known) or not (error.status in (404, 405, 410) or code in _NO_JSON):
            return None
        reason = HarvestMessage(MessageCode.NO_PORTAL, details=str(error.message))
        return about(display_url(self._containers.root), reason)

    async def _read_list(self, found: dict[str, str | None]) -> None:
        """Read the list of all datasets: the memory of each by its id.

        Some portals send whole datasets. All take too much memory: those that changed are requested again.
        """
        others: dict[str, str] = {}

        async def read() -> int:
            without_id = 0
            async for rows in self._api.search(fq=self._options.filter.fq, fl=FIELDS):
                for raw in rows:
                    if (dataset_id := id_of(raw)) is None:
                        without_id += 1
                    elif (kind := _kind(raw)) in NO_DATASETS:
                        others[dataset_id] = str(kind)
                    else:
                        found[dataset_id] = self._memory(raw)
                        self._note_owner(raw)
            return without_id

        try:
            without_id = await self._api.until_whole(read)
        finally:
            for dataset_id, kind in others.items():
                self._end.skip(kind, self._url(dataset_id))
        if without_id:
            url = self._api.action_url("package_search")
            raise UnreadableDocument(url, f"{without_id} of its records have no id")

    def _note_owner(self, raw: Mapping[str, Any]) -> None:
        owner = text_of(raw.get("owner_org")) or text_of(raw.get("organization"))
        self._owners[str(id_of(raw))] = sys.intern(owner) if owner else None

    def _note(self, found: dict[str, str | None]) -> None:
        """Note what is listed, before the first record is handed on, and remove what comes from this site.

        Two portals that harvest each other, or one that harvests itself, would copy their copies for ever.
        """
        listed = self._containers.listed
        for url in map(self._url, found):
            known = self._known.at(url)
            listed.add(known.url if known else url)
        new = [one for one in found if self._known.of(self._url(one), listed) is None]
        own = {known.package_id for known in self._known}.intersection(new)
        own.update(self._known.own_datasets(new))
        for dataset_id in filter(None, own):
            url = self._url(dataset_id)
            del found[dataset_id]
            listed.discard(url)
            self._end.skip(OF_THIS_SITE, url)

    def _distrust(self, words: str) -> None:
        """Note that package_show contradicts the list, or cannot confirm it, and tell people."""
        self._end.mark_unproved(self._containers.root, words, reported=True)
        words = f"nothing is deleted, because {words}"
        self._end.errors.append(about(self._containers.root, words))

    async def _ask_for_absent(self) -> None:
        """Ask for the current records that the list leaves out."""
        listed, root = self._containers.listed, self._containers.root
        if root in self._containers.unreadable:
            return
        still = {known.url for url in listed if (known := self._known.of(url, listed)) is not None}
        absent = [known for known in self._known if known.url not in still and known.recognised]

        if absent or not listed:
            await self._ask_for_filters()

        controls = self._containers.controls
        answers = await ask_left_out(
            absent,
            self._ask,
            self._containers,
            concurrency=self._options.concurrency,
            most=self._options.max_deletions,
            listed=[self._url(one) for one in self._owners],
        )
        if controls and ReadOutcome.PRESENT not in controls:
            # It also lists these, so its answers about datasets that it does not list prove nothing.
            self._distrust("its package_show gives none of the datasets that it lists")
        for url, outcome in answers.items():
            self._sink(Sighting(SeenRecord(url, outcome)), self._containers)

    async def _ask(self, url: str) -> ReadOutcome:
        """Return whether the portal still has a dataset."""
        dataset_id = _id_in(url)
        try:
            raw = await self._show(dataset_id)
        except UnreadableDocument as error:
            # The source had another URL or type before: that this portal has no such id says nothing then.
            is_of_portal = loose_spelling(url) == loose_spelling(self._url(dataset_id))
            return error.outcome if is_of_portal else ReadOutcome.FAILED
        if raw.get("state") == "deleted":
            return ReadOutcome.GONE
        return ReadOutcome.PRESENT if _is_public(raw) else ReadOutcome.FORBIDDEN

    async def _ask_for_filters(self) -> None:
        """Ask whether the portal has what the filters name: datasets of what it has renamed are not found."""
        for field_name, names in self._options.filter.include.items():
            key, kind = _NAMED_BY[field_name]
            for name in names:
                try:
                    await self._show(name, kind)
                except UnreadableDocument as error:
                    words = str(error.reason)
                    if error.outcome is ReadOutcome.GONE:
                        words = (
                            "the portal has none of this name. Correct the name in the source's configuration, "
                            "or remove it"
                        )
                    self._distrust(f'"{key}" names "{name}", and {words}')

    # Records

    def _is_unchanged(self, dataset_id: str, memory: str | None) -> bool:
        """Hand on a dataset that is as it was at the last job, without its contents. Return whether it is."""
        url, container = self._url(dataset_id), self._container(dataset_id)
        known = self._known.at(url)
        if (
            known is None
            or self._options.read_all
            or known.content_hash is None
            or memory is None
            or known.memory != memory
            or container is None
            or known.guid != guid_of(url, container)
        ):
            return False
        seen = SeenRecord(
            known.url, ReadOutcome.PRESENT, (container,), content_hash=known.content_hash
        )
        self._sink(Sighting(seen, memory=memory), self._containers)
        return True

    async def _read_batch(self, ids: list[str]) -> None:
        """Read the contents of some datasets together, and those that this does not give one by one."""
        try:
            rows = await self._api.found(f"id:{_any_of(ids)}", len(ids))
        except UnreadableDocument:
            rows = []
        found = {id_of(raw): raw for raw in rows if isinstance(raw, dict)}
        for dataset_id in ids:
            raw = found.get(dataset_id)
            try:
                raw = raw or await self._show(dataset_id)
            except UnreadableDocument as error:
                self._fail(self._url(dataset_id), error.reason, error.outcome)
            else:
                await self._take(raw)

    async def _show(self, name_or_id: str, kind: str = "dataset") -> dict[str, Any]:
        action = "package_show" if kind == "dataset" else f"{kind}_show"
        more = {} if kind == "dataset" else WITHOUT_MEMBERS
        raw = await self._api.call(action, {"id": name_or_id, **more})
        url = f"{self._api.action_url(action)}?id={name_or_id}"
        if not isinstance(raw, dict) or id_of(raw) is None:
            raise UnreadableDocument(url, f"answered with no {kind}")
        if name_or_id not in (id_of(raw), text_of(raw.get("name"))):
            raise UnreadableDocument(url, f"answered with another {kind}: {id_of(raw)}")
        return raw

    async def _take(self, raw: Mapping[str, Any]) -> None:
        """Hand on a dataset with its contents."""
        dataset_id, owner = str(id_of(raw)), text_of(raw.get("owner_org"))
        if owner is not None:
            # The name in Solr may be one that its organization had, and another one has now.
            self._owners[dataset_id] = owner
            if owner not in self._organizations:
                await self._read_organization(owner)
        url, container = self._url(dataset_id), self._container(dataset_id)
        if container is None:
            words = "its organization could not be read"
            self._fail(url, words, ReadOutcome.FAILED)
            return
        if not _is_public(raw):
            # Some portals list them to whoever has an API key.
            words = "the portal does not publish it: it is private, or no active dataset"
            self._fail(url, words, ReadOutcome.FORBIDDEN)
            return
        try:
            record = self._options.dataset(raw)
        except ValueError as error:
            self._fail(url, str(error), ReadOutcome.MALFORMED)
            return
        if not record.resources and await self._hides_resources(dataset_id):
            self._fail(url, _HIDES_RESOURCES, ReadOutcome.FAILED)
            return
        self._hand_on(url, container, record, self._memory(raw))

    async def _hides_resources(self, dataset_id: str) -> bool:
        """Return whether the portal's index has resources of a dataset that had some and comes without any.

        A token may have lost the right to see them. If the index does not answer, it may have some.
        """
        known = self._known.of(self._url(dataset_id), self._containers.listed)
        if known is None or not self._known.contents_of(known).resources:
            return False
        try:
            rows = await self._api.found(f'+id:"{escaped(dataset_id)}" +res_url:[* TO *]', 1)
        except UnreadableDocument:
            return True
        return any(id_of(raw) == dataset_id for raw in rows)

    def _hand_on(self, url: str, container: str, record: Record, memory: str | None) -> None:
        digest = content_hash(self._options.salt, record)
        seen = SeenRecord(url, ReadOutcome.PRESENT, (container,), content_hash=digest)
        self._sink(Sighting(seen, record, memory=memory), self._containers)

    def _fail(self, url: str, words: Message, outcome: ReadOutcome) -> None:
        seen = SeenRecord(url, outcome, (self._containers.root,))
        # As of other sources, a draft that was never harvested is no error.
        is_draft = outcome is ReadOutcome.FORBIDDEN and self._known.at(url) is None
        error = None if is_draft else about(url, words)
        self._sink(Sighting(seen, error=error), self._containers)

    def _memory(self, raw: Mapping[str, Any]) -> str | None:
        """Return by what the next job tells that a dataset is unchanged; None if nothing tells."""
        modified = text_of(raw.get("metadata_modified"))
        if modified is None:
            return None
        # Solr writes milliseconds, and the API microseconds.
        second, _, fraction = modified.removesuffix("Z").partition(".")
        return f"{second}.{fraction[:3].ljust(3, '0')} {self._options.salt[:16]}"

    def _url(self, dataset_id: str) -> str:
        return self._api.site.url_of("dataset", dataset_id)

    # Organizations

    def _container(self, dataset_id: str) -> str | None:
        """Return the container of a dataset: the source, or an organization; None if that could not be read."""
        owner = self._owners.get(dataset_id)
        if self._options.organization is None or owner is None:
            return self._containers.root
        if (url := self._organizations.get(owner)) is not None:
            return url
        known = self._known.at(self._url(dataset_id))
        if known is None or known.catalog_url in (None, self._containers.root):
            return None
        self._containers.catalogs.add(known.catalog_url)
        return known.catalog_url

    async def _read_organizations(self) -> None:
        """Read the organizations that own the listed datasets, each by itself."""
        owners = sorted(filter(None, {*self._owners.values()}))
        await for_each(self._options.concurrency, self._read_organization, owners)

    async def _read_organization(self, owner: str) -> None:
        """Read an organization. If it cannot be read, current datasets stay with theirs."""
        make = self._options.organization
        if make is None:
            return
        try:
            raw = await self._organization(owner)
            record = make(raw)
        except (UnreadableDocument, ValueError) as error:
            words = error.reason if isinstance(error, UnreadableDocument) else str(error)
            url = self._api.site.url_of("organization", owner)
            self._end.errors.append(about(url, words))
            self._organizations[owner] = None
        else:
            url = self._api.site.url_of("organization", str(id_of(raw)))
            self._containers.catalogs.add(url)
            self._end.organizations[url] = record
            self._organizations[owner] = self._organizations[_id_in(url)] = url

    async def _organization(self, owner: str) -> dict[str, Any]:
        """Return an organization by its id or name.

        If it is renamed, CKAN does not index its datasets again: then one of them tells the id.
        """
        try:
            return await self._show(owner, "organization")
        except UnreadableDocument as error:
            dataset_id = next((one for one, its in self._owners.items() if its == owner), None)
            if error.outcome is not ReadOutcome.GONE or dataset_id is None:
                raise
            owner_id = text_of((await self._show(dataset_id)).get("owner_org"))
            if owner_id in (owner, None):
                raise
            return await self._show(owner_id, "organization")


def _id_in(url: str) -> str:
    return unquote(url.rpartition("/")[2])


def _is_public(raw: Mapping[str, Any]) -> bool:
    return raw.get("state", "active") == "active" and raw.get("private") in (None, False, "False")


def _kind(raw: Mapping[str, Any]) -> str | None:
    return text_of(raw.get("dataset_type") or raw.get("type"))


def _any_of(texts: Iterable[str]) -> str:
    """Return the part of a query of Solr that stands for any of some values."""
    return "({})".format(" OR ".join(f'"{escaped(text)}"' for text in texts))
