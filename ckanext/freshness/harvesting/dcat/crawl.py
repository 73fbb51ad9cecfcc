"""One crawl of a catalogue: read its pages, and those of further catalogs that it names.

Each document with a list is a container: the source's own URL, and each further catalog. The crawl decides
nothing (:mod:`..source_type`). It hands on the datasets when all lists are read: only then it is known which
of several descriptions says most, whether an identity belongs to several datasets, and whether the catalogue
has moved. Meanwhile each new or changed dataset waits as compressed JSON.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime

from rdflib import Graph
from rdflib.term import Node

from ...ckan_adapter.core import munge_title_to_name
from ...web.urls import display_url, loose_spelling
from ..listings import ListFacts
from ..messages import about
from ..rdf.mapping import Mapper, mapped
from ..rdf.reader import (
    MOST_PAGES,
    DocumentReader,
    FetchedDocument,
    ListReading,
    mark_lists,
    understood,
)
from ..rdf.record_graph import record_graph
from ..record import (
    Containers,
    CurrentRecords,
    KnownRecord,
    ReadOutcome,
    Record,
    SeenRecord,
    Sighting,
    Sink,
    guid_of,
    lasting_part,
    resource_order,
)
from ..source_client import UnreadableDocument
from ..source_type import CrawlEnd, ask_left_out
from ..strategy import LEFT_OUT_AFTER, must_ask
from .catalogue import (
    CatalogueOutline,
    Description,
    distributions_of,
    named_distributions,
    nodes_by_identity,
    outline_of_catalogue,
)
from .own_documents import OwnDocuments

MOST_CATALOGS = 1000
"""The most catalogs with documents of their own."""

MISSING = "missing since"
"""The key in the source's memory of the current records that the lists do not describe: guids and times."""

_MOST_NAMED = 3
"""How many IRIs that several datasets share one message names."""
_ELSEWHERE = "dcat:Catalog on another host"
_CONTESTED = "several datasets of the catalogue have this identifier"
_OTHER_CATALOG = "a catalog that could not be read has a dataset with this identifier"
_UNDESCRIBED = "it is listed, but the catalogue does not describe it"


@dataclass(slots=True)
class _Dataset:
    """A dataset as the best page describes it."""

    url: str
    """The first list that has it."""
    page: str
    reading: int
    """Which reading of the page's list had it."""
    description: Description
    memory: str = ""
    """What the next job compares: hashes of the description, the title and another name."""
    contents: bytes = b""
    """The record as compressed JSON; empty if it is unchanged, or could not be mapped."""
    named: Collection[str] = ()
    """The distributions that it names and that the page does not describe."""
    name_in_dcat: str = ""
    """What ckanext-dcat makes for a new dataset without IRI and identifier."""
    error: str | None = None


class CatalogueCrawl:
    """One crawl of one source. Call :meth:`run` once."""

    def __init__(
        self,
        reader: DocumentReader,
        source_url: str,
        mapper: Mapper,
        known: CurrentRecords,
        sink: Sink,
        *,
        now: datetime,
        most: int,
        max_deletions: int | None = None,
        concurrency: int = 8,
    ) -> None:
        """
        :param known: the current records of the source.
        :param most: the most datasets that are read.
        :param max_deletions: the source's.
        """
        self._reader = reader
        self._mapper = mapper
        self._known = known
        self._sink = sink
        self._now = now
        self._most = most
        self._max_deletions = max_deletions
        self._concurrency = concurrency
        self._containers = Containers(root=source_url, has_own_documents=False)
        self._end = CrawlEnd(self._containers)
        self._facts: dict[str, ListFacts] = {}
        self._found: dict[str, _Dataset] = {}
        """The datasets that a page describes, by identity."""
        self._contested: dict[str, str] = {}
        """By identity that several datasets have: the list that has one of them."""
        self._shared: dict[str, tuple[str, str]] = {}
        """By IRI that several datasets seem to share: the list that has it, and which they are, for people."""
        self._undescribed: dict[str, str] = {}
        """By identity, datasets that no page describes: the list that has them."""
        self._elsewhere: set[str] = set()
        """Catalogs whose hosts may not be requested."""
        self._listed: dict[str, int] = {}
        """A hash of the identities in each list, as last read."""
        self._by_title: dict[str, list[KnownRecord]] | None = None
        """Current records whose lists are not read any more, by the hashes of their titles."""
        self._missing_since: dict[str, str] = {}
        """By guid of a record that the last job missed: when a job first missed it."""
        self._page: FetchedDocument | None = None
        self._nodes: dict[str, list[Node]] = {}
        """The nodes of the datasets of this page."""

    async def run(self) -> CrawlEnd:
        """Read all lists, and hand on their datasets; an exception of the sink ends the crawl."""
        self._missing_since = json.loads(self._reader.memory.recall(MISSING, MISSING) or "{}")
        waiting = [self._containers.root]
        while waiting:
            url = waiting.pop(0)
            try:
                with understood(url):
                    below = await self._read_list(url)
            except UnreadableDocument as failure:
                self._facts.pop(url, None)
                self._end.mark_unreadable(url, failure.reason, reported=failure.reported)
                continue
            new = below - self._met() - set(waiting)
            if len(self._facts) + len(waiting) + len(new) > MOST_CATALOGS:
                self._facts[url].misfit = f"the source lists more than {MOST_CATALOGS} catalogs"
            else:
                waiting += sorted(new)
        if self._missing():
            # A dataset may move from an unread page to one that was read before, and a document may be in the
            # middle of being written: an absence is seen twice.
            for url in sorted(self._facts):
                await self._read_again(url)
        missing = self._missing()
        answers = await self._ask_for(missing)
        self._doubt(missing)
        self._prove(bool(missing))
        self._hand_on()
        for url, outcome in answers.items():
            self._sink(Sighting(SeenRecord(url, outcome)), self._containers)
        self._end.errors += self._reader.errors
        self._end.warnings += self._reader.warnings
        return self._end

    # Lists

    async def _read_list(self, url: str) -> set[str]:
        """Read a list, and once more if its pages do not fit each other, because it changed meanwhile.

        :returns: further catalogs that it names.
        :raises UnreadableDocument: its first page cannot be read.
        """
        facts = self._facts.setdefault(url, ListFacts())
        facts.misfit, below = await self._read_pages(url, 0)
        if facts.misfit:
            facts.misfit, again = await self._read_pages(url, 1)
            below |= again
        return below

    def _met(self) -> set[str]:
        """Return all catalogs that were requested."""
        return {*self._facts, *self._containers.unreadable}

    async def _read_again(self, url: str) -> None:
        facts, before = self._facts[url], self._listed[url]
        try:
            with understood(url):
                misfit, below = await self._read_pages(url, 2)
        except UnreadableDocument as failure:
            misfit, below = failure.reason, set()
        if not below <= self._met():
            misfit = misfit or "its list of catalogs changed while it was read"
        if facts.page_size is None and self._listed[url] != before:
            misfit = misfit or "its list of datasets changed while it was read"
        facts.misfit = facts.misfit or misfit

    async def _read_pages(self, url: str, number: int) -> tuple[str, set[str]]:
        """Read the pages of a list, and keep their datasets.

        :param number: tells the readings of the list apart.
        :returns: why the pages are not a whole list, if so; and further catalogs.
        """
        facts = self._facts[url]
        self._page, self._nodes = None, {}  # The graph of a page takes much memory.
        reading: ListReading[CatalogueOutline] = ListReading(
            self._reader, url, MOST_PAGES + len(self._known)
        )
        named: set[str] = set()
        filled: set[str] = set()
        misfit, has_list, unidentified, listed = "", False, 0, 0

        def learn(page: FetchedDocument, graph: Graph) -> CatalogueOutline:
            return outline_of_catalogue(graph)

        async for page, outline in reading.pages("catalogue", CatalogueOutline, learn):
            has_list |= bool(outline.totals or outline.identities or outline.further)
            unidentified += outline.nameless
            named.update(outline.catalogs)
            filled.update(outline.filled)
            listed ^= hash(frozenset(outline.identities))
            if not await self._take_page(url, page, number, outline):
                misfit = f"the source lists more than max_records ({self._most}) datasets"
                break
        self._listed[url] = listed
        reading.note(facts)
        facts.unusable = unidentified
        facts.is_lost = not has_list and not unidentified and self._had_records(url)
        below = {one.partition("#")[0] for one in named - filled}
        elsewhere = {one for one in below if not self._reader.reach.may_visit(one)}
        self._elsewhere |= elsewhere
        return misfit or reading.misfit, below - elsewhere

    def _had_records(self, url: str) -> bool:
        return any(record.catalog_url in (url, None) or record.foreign for record in self._known)

    # Datasets

    async def _take_page(
        self, url: str, page: FetchedDocument, number: int, outline: CatalogueOutline
    ) -> bool:
        """Keep the datasets of a page; return whether there was room for all."""
        for identity, described in outline.records.items():
            before = self._found.get(identity)
            if before is None and len(self._found) >= self._most:
                return False
            found = _Dataset(before.url if before else url, page.url, number, described)
            if before is not None and _differ(before, found, url):
                self._contested[identity] = url
            elif before is not None and _are_apart(before, found):
                self._shared[identity] = url, f"one on {before.page}, one on {found.page}"
            if before is None or before.description.size < described.size:
                known = self._known.at(identity)
                # There may be many: a known dataset shares the text of its identity.
                self._found[identity if known is None else known.url] = found
                await self._read(identity, found, page)
        self._contested.update(dict.fromkeys(outline.contested, url))
        for identity, titles in outline.shared.items():
            self._shared[identity] = url, " and ".join(f'"{title}"' for title in titles[:2])
        self._undescribed.update(dict.fromkeys(outline.undescribed, url))
        return True

    async def _read(self, identity: str, found: _Dataset, page: FetchedDocument) -> None:
        """Map a dataset, unless it is unchanged."""
        found.memory = self._reader.hash(found.description.digest)
        known = self._known.at(identity)
        if (
            known is not None
            and known.content_hash is not None
            and known.memory is not None
            and known.memory.startswith(found.memory)
            and known.guid == guid_of(identity, found.url)
        ):
            found.memory = known.memory
            return
        try:
            graph = await page.parsed()
            if self._page is not page:
                self._page, self._nodes = page, nodes_by_identity(graph)
            node = self._nodes[identity][0]
            with understood(identity):
                own = record_graph(graph, node, distributions_of(graph, node))
                record = mapped(self._mapper, own, node)
            found.contents = zlib.compress(record.as_json().encode("utf-8", "surrogatepass"))
            found.named = named_distributions(graph, node) or ()
            title = str(record.fields.get("title", ""))
            names = found.description.others[:1]
            found.memory = " ".join([found.memory, *map(self._reader.hash, [title, *names])])
            if found.description.is_blank:
                root = self._containers.root.rstrip("/")
                found.name_in_dcat = f"{root}/{munge_title_to_name(title)}"
        except UnreadableDocument as failure:
            found.error = failure.message

    def _before(self, identity: str) -> tuple[KnownRecord | None, str | None]:
        """Return the current record that a dataset is, and which other name of the dataset tells that.

        A record of a deleted source counts as none; the survey finds it by the name.
        """
        listed = self._containers.listed
        known = self._known.of(identity, listed)
        found = self._found.get(identity)
        if known is not None or found is None:
            return known, None
        for records in (self._known, self._known.adoptable):
            for name in filter(None, (*found.description.others, found.name_in_dcat)):
                known = None if name in listed else records.of(name, listed)
                if known is not None and known.catalog_url in (None, found.url):
                    return (known if records is self._known else None), name
        known = self._moved(identity, found)
        return known, known.url if known is not None else None

    def _moved(self, identity: str, found: _Dataset) -> KnownRecord | None:
        """Return the record that a dataset was before the catalogue's URL was edited.

        That record has the same title and the same path or identifier, and its own list is not read any more.
        """
        if self._by_title is None:
            met = self._met()
            self._by_title = {}
            for record in self._known:
                title, _ = _title_and_name(record.memory)
                if title and record.catalog_url not in met:
                    self._by_title.setdefault(title, []).append(record)
        title, name = _title_and_name(found.memory)
        same = [
            known
            for known in self._by_title.get(title, ())
            if known.url not in self._containers.listed
            and (
                lasting_part(known.url) == lasting_part(identity)
                or (name and name == _title_and_name(known.memory)[1])
            )
        ]
        return same[0] if len(same) == 1 else None

    def _hand_on(self) -> None:
        """Hand on the datasets, and report those that could not be read."""
        for identity, found in self._found.items():
            if identity not in self._contested:
                self._sink(self._sighting(identity, found), self._containers)
        for identity, url in sorted(self._contested.items()):
            self._sink(_unread(identity, url, _CONTESTED), self._containers)
        for identity in self._only_named():
            if self._before(identity)[0] is None:
                self._end.skip(f"dcat:Dataset: {_UNDESCRIBED}", identity)
            else:
                unread = _unread(identity, self._undescribed[identity], _UNDESCRIBED)
                self._sink(unread, self._containers)

    def _only_named(self) -> list[str]:
        """Return the identities of the datasets that no page describes."""
        return sorted(self._undescribed.keys() - self._found.keys() - self._contested.keys())

    def _sighting(self, identity: str, found: _Dataset) -> Sighting:
        known, name = self._before(identity)
        if found.error is not None:
            return Sighting(
                SeenRecord(identity, ReadOutcome.MALFORMED, (found.url,)), error=found.error
            )
        if (
            known is not None
            and known.catalog_url in self._containers.unreadable
            and (found.description.is_blank or known.url != identity)
        ):
            return _unread(identity, found.url, _OTHER_CATALOG)
        seen = SeenRecord(identity, ReadOutcome.PRESENT, (found.url,))
        record, content_hash = None, known.content_hash if known is not None else None
        if found.contents:
            record = Record.from_json(zlib.decompress(found.contents).decode())
            self._keep_named(record, known, found.named)
            content_hash = self._reader.hash(record.digest())
        seen = replace(seen, content_hash=content_hash)
        facts = self._facts.get(found.url)
        may_be_cut = (
            facts is None
            or not facts.has_end
            or found.url in self._containers.unproved
            # The end of a cut document may have moved behind it.
            or (known is not None and known.guid in self._missing_since)
        )
        return Sighting(seen, record, subject=name, memory=found.memory, may_be_cut=may_be_cut)

    def _keep_named(
        self, record: Record, known: KnownRecord | None, named: Collection[str]
    ) -> None:
        """Keep the resources of distributions that a dataset names and that the document does not describe."""
        if known is None or not named:
            return
        before, spelled = self._known.resources_of(known, named), set(map(loose_spelling, named))
        kept = [one for one in before if loose_spelling(one.get("uri", "")) in spelled]
        record.resources = sorted([*record.resources, *kept], key=resource_order)

    # What the lists prove

    def _missing(self) -> list[KnownRecord]:
        """Return the current records that are in no list."""
        listed = self._containers.listed
        listed.update(self._found, self._contested, self._undescribed)
        found = {known.url for one in listed if (known := self._before(one)[0]) is not None}
        return [record for record in self._known if record.url not in found]

    async def _ask_for(self, missing: list[KnownRecord]) -> dict[str, ReadOutcome]:
        """Ask for records that no list has, at their own URLs on the source's hosts."""
        listed, may_visit = self._containers.listed, self._reader.reach.may_visit
        left_out = [
            one for one in missing if must_ask(one, listed, self._containers) and may_visit(one.url)
        ]
        return await ask_left_out(
            left_out,
            OwnDocuments(self._reader, self._containers.root, self._found).ask,
            self._containers,
            concurrency=self._concurrency,
            most=self._max_deletions,
            listed=sorted(url for url in self._found if may_visit(url)),
        )

    def _doubt(self, left_out: Collection[KnownRecord]) -> None:
        """Note the records whose descriptions are missing, or a part of them: the lists may be cut.

        Records that nobody can recognise raise no doubt, nor do those that have been missing for so long that
        the others need not wait any more.
        """
        broken = [*self._only_named(), *(one for one, found in self._found.items() if found.error)]
        listed = self._containers.listed
        unread = (self._before(one)[0] or self._known.adoptable.of(one, listed) for one in broken)
        missing = {one.guid for one in (*left_out, *filter(None, unread)) if one.recognised}
        # What an unread list has is not missing for that reason.
        first = None if self._containers.unreadable else self._now.isoformat()
        since = {
            guid: begin
            for guid in sorted(missing)
            if (begin := self._missing_since.get(guid, first)) is not None
        }
        self._reader.memory.remember(MISSING, MISSING, json.dumps(since))
        self._containers.left_out.update(
            guid
            for guid in missing
            if guid not in since or self._now - datetime.fromisoformat(since[guid]) < LEFT_OUT_AFTER
        )

    def _prove(self, is_missing: bool) -> None:
        """Mark the lists as unproved that do not prove that a record is absent."""
        memory = self._reader.memory
        for url in sorted(self._elsewhere):
            if is_missing and memory.recall(url, _ELSEWHERE) is None:
                words = 'it is listed, but its host may not be requested: add it to "allowed_hosts"'
                self._end.mark_unreadable(url, words)
            else:
                # Records that are missing later are not there: the source does without this catalog.
                memory.remember(url, _ELSEWHERE, '""')
                self._end.skip(_ELSEWHERE, url)
        contested = Counter(
            url for one, url in self._contested.items() if self._before(one)[0] is None
        )
        for url, facts in sorted(self._facts.items()):
            facts.listed = facts.there = len(self._found)
            if facts.unusable:
                self._end.skip("dcat:Dataset without URL and identifier", url, facts.unusable)
            # A new one of several datasets with one identifier may be the missing dataset.
            facts.unusable += contested[url]
            if facts.misfit:
                facts.misfit += self._sharers(url)
        mark_lists(memory, self._end, self._facts, is_missing=is_missing)

    def _sharers(self, url: str) -> str:
        """Return, for people, which datasets of a list seem to share an IRI; "" if none do."""
        found = [
            f"; several datasets seem to share the IRI {identity}: {which}"
            for identity, (where, which) in sorted(self._shared.items())
            if where == url
        ]
        most = found[:_MOST_NAMED]
        advice = ". Ask the publisher to give each dataset an IRI of its own"
        return "".join([*most, advice]) if most else ""


def _are_apart(before: _Dataset, now: _Dataset) -> bool:
    """Return whether two pages of one reading describe a dataset differently."""
    return (
        before.reading == now.reading
        and before.page != now.page
        and before.description.digest != now.description.digest
    )


def _differ(before: _Dataset, now: _Dataset, url: str) -> bool:
    """Return whether two pages describe different datasets, and not one that was edited or moved meanwhile."""
    return (
        (before.description.is_blank or now.description.is_blank)
        and before.description.digest != now.description.digest
        and before.page != now.page
        and (before.reading == now.reading or before.url != url)
    )


def _unread(identity: str, url: str, words: str) -> Sighting:
    seen = SeenRecord(identity, ReadOutcome.MALFORMED, (url,))
    return Sighting(seen, error=about(display_url(identity), words))


def _title_and_name(memory: str | None) -> tuple[str, str]:
    """Return the hashes of a dataset's title and of its other name from its memory; "" if it has none."""
    _, title, name, *_ = [*(memory or "").split(), "", "", ""]
    return title, name
