"""One dataset, put together from its own document and from those of its distributions.

The rules are the strategy's: which distributions a dataset has (``datasets_of``), and what becomes of the
resources of distributions that cannot be read (``fate_of_distribution``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from rdflib import Graph, URIRef
from rdflib.term import Node

from ...dates import utc_words
from ...web.urls import display_url
from ..record import Record, resource_order
from ..strategy import KnownRecord, LostDistribution, ReadOutcome, datasets_of, fate_of_distribution
from ..url_spelling import loose_spelling
from . import documents
from .documents import ListedDataset, Mapper
from .linked_documents import DistributionDocuments, DistributionReader, ServiceReader
from .rdf import DCAT, DocumentError
from .reader import DocumentReader, FetchedDocument, UnreadableDocument, understood

_REFUSALS = frozenset({ReadOutcome.FORBIDDEN, ReadOutcome.GONE})


@dataclass(slots=True)
class FoundDataset:
    """A dataset as one job found it."""

    content_hash: str | None
    record: Record | None = None
    """None if all documents hash as last time."""
    fingerprint: str | None = None
    """Hash of all documents; None if these do not prove next time that nothing has changed."""
    distributions: Mapping[str, LostDistribution] = field(default_factory=dict)
    """To be remembered for the next job."""
    warnings: list[str] = field(default_factory=list)
    drafts: int = 0
    """Distributions that answer 401, 403, 404 or 410 and were never read."""
    lends: dict[str, set[str]] = field(default_factory=dict)
    """Other datasets, by URL, to which distributions in these documents belong: the documents' URLs."""


class DatasetAssembler:
    """Puts datasets together."""

    def __init__(
        self,
        reader: DocumentReader,
        services: ServiceReader,
        mapper: Mapper,
        dataset_of: Callable[[str], str | None],
        now: datetime,
    ) -> None:
        """
        :param dataset_of: the listed URL of the dataset of this source that a URL means.
        """
        self.reader = reader
        self.services = services
        self.mapper = mapper
        self.dataset_of = dataset_of
        self.now = now
        self.distributions = DistributionReader(reader)
        self.unread: dict[str, UnreadableDocument] = {}
        """By spelling, the distributions that some dataset lists and that could not be read."""
        self.missed_page = False
        """A page of distributions could not be read."""

    async def read(
        self,
        url: str,
        document: FetchedDocument,
        member: ListedDataset,
        listed_in: Iterable[str],
        known: KnownRecord | None,
        adopted: KnownRecord | None = None,
        *,
        lent: Collection[str] | None = None,
        all_read: bool = False,
    ) -> FoundDataset:
        """Read a dataset with its distributions.

        :param known: the current record, if there is one.
        :param adopted: the record of a deleted source whose dataset this one takes over, with its resources.
        :param lent: URLs of other datasets' documents that describe distributions of this one; None
            while other datasets are still to be read.
        :param all_read: all datasets of the source were read.
        :raises Unreadable: the dataset's own document cannot be understood.
        """
        before = known or adopted
        only_in_pages = any(
            one.only_in_pages for one in (before.distributions if before else {}).values()
        )
        parts = await self.distributions.read(url, member, had_pages=only_in_pages)
        own = self.reader.hash(
            member.digest,
            *member.part_of,
            *listed_in,
            *member.distributions,
            *(one.digest for one in parts.documents),
        )
        fingerprint = own
        if known is None or known.fingerprint != own:
            fingerprint = await self.services.fingerprint(url, own)
        as_before = known is not None and known.url == url and known.fingerprint == fingerprint
        if known is not None and as_before and lent is None:
            return FoundDataset(known.content_hash, None, fingerprint, known.distributions)
        work = _DatasetAssembly(self, url, member, before, parts)
        await work.look_at(document)
        for one in lent or ():
            await work.borrow(one)
        result = await work.result(own, is_last=lent is not None, all_read=all_read)
        self.unread |= {loose_spelling(one): failure for one, failure in parts.failed.items()}
        self.missed_page |= parts.broken_page is not None or work.missed_in_pages
        if not parts.failed and not parts.broken_page and not work.is_special:
            result.fingerprint = await self.services.fingerprint(url, own)
        return result


class _DatasetAssembly:
    """The putting together of one dataset."""

    def __init__(
        self,
        datasets: DatasetAssembler,
        url: str,
        member: ListedDataset,
        known: KnownRecord | None,
        parts: DistributionDocuments,
    ) -> None:
        self._datasets = datasets
        self._reader = datasets.reader
        self._url = url
        self._own_names = {loose_spelling(url), loose_spelling(member.subject)}
        self._member = member
        self._subject = URIRef(member.subject)
        self._lost = known.distributions if known else {}
        self._object_id = known.object_id if known else None
        self._had: Mapping[str, dict[str, Any]] | None = None
        self._parts = parts
        self._graph = Graph()
        self._inside: set[Node] = set()
        self._outside: list[tuple[Graph, set[Node]]] = []
        self._named_nodes: set[Node] = set()
        self._named: dict[str, str] = {}
        """Spelling to URL of all distributions that the dataset's dcat:distribution names."""
        self._described: set[str] = set()
        """Spellings of the distributions that some document describes, whosever they are."""
        self._remembered: dict[str, LostDistribution] = {}
        self._lends: dict[str, set[str]] = {}
        self.is_special = False
        """Documents that are as last time do not prove that the dataset is."""
        self.missed_in_pages = False
        """A page that was not read may list distributions of this dataset or of others."""

    async def look_at(self, document: FetchedDocument) -> None:
        """Take up what the dataset's own document and those of its distributions say."""
        self._graph = await document.parsed()
        self._named_nodes = set(self._graph.objects(self._subject, DCAT.distribution))
        named = documents.distributions_of(self._graph, self._subject)
        self._named = {loose_spelling(one): one for one in named}
        for node, part_of in documents.distributions_inside(self._graph, self._subject):
            if self._is_mine(node, part_of, document):
                self._inside.add(node)
        for page in self._parts.pages:
            try:
                self._take(await page.parsed(), page, is_page=True)
            except UnreadableDocument as failure:
                self._parts.broken_page = failure
        if self._parts.pages:
            await self._read_what_pages_leave_out()
        for url, one in self._parts.single.items():
            try:
                graph = await one.parsed()
                with understood(url):
                    node = documents.distribution_of(graph, url, one.base)
                    self._refuse_another(graph, node, url)
            except UnreadableDocument as failure:
                self._parts.failed[url] = failure
                continue
            self._take(graph, one, listed_as=(node, url))

    def _refuse_another(self, graph: Graph, node: Node, url: str) -> None:
        """Refuse a document that describes another distribution than the one that has a resource.

        A URL that leads to another record for a while says nothing of its own.

        :raises DocumentError: it does.
        """
        spelled, asked_as = loose_spelling(str(node)), loose_spelling(url)
        if spelled == asked_as or asked_as not in map(loose_spelling, self._resources()):
            return
        owners = documents.distributions_in(graph)
        part_of = next((named for one, named in owners if one == node), [])
        if spelled in self._named or self._url not in datasets_of(
            part_of, [self._url], self._dataset_of
        ):
            raise DocumentError(f"it describes {display_url(str(node))} instead")

    async def borrow(self, url: str) -> None:
        """Take up the distributions of this dataset in a document of another one."""
        try:
            document = await self._reader.get(url)
            graph = await document.parsed()
        except UnreadableDocument as failure:
            self._parts.broken_page = failure
            return
        before = set(self._described)
        for node in self._take(graph, document, lends=False):
            if loose_spelling(str(node)) not in before:
                self._remembered[str(node)] = LostDistribution(elsewhere=True)

    async def _read_what_pages_leave_out(self) -> None:
        """Read what no page has: a draft; or a page was cut short, or could not be read."""
        missing = [one for key, one in self._named.items() if key not in self._described]
        if not self._parts.broken_page:
            missing += [self._lost[uri].listed_as or uri for uri in self._missed_in_pages()]
        contained = [
            one for one in self._member.contained if loose_spelling(one) not in self._described
        ]
        if not self._parts.broken_page:
            contained = [one for one in contained if one in self._resources()]
        if missing or contained:
            await self._datasets.distributions.read_each([*missing, *contained], self._parts)
        self.is_special |= bool(self._parts.single)

    def _missed_in_pages(self) -> list[str]:
        """The distributions that only pages listed, and that may be on one that was not read."""
        if self._parts.listed_whole:
            return []
        return [
            uri
            for uri, lost in self._lost.items()
            if lost.only_in_pages and loose_spelling(uri) not in self._described
        ]

    def _take(
        self,
        graph: Graph,
        document: FetchedDocument,
        *,
        listed_as: tuple[Node, str] | None = None,
        is_page: bool = False,
        lends: bool = True,
    ) -> set[Node]:
        """Take up a document; returns the distributions in it that belong to this dataset."""
        mine = set()
        for node, part_of in documents.distributions_in(graph):
            url = listed_as[1] if listed_as and listed_as[0] == node else None
            if self._is_mine(node, part_of, document, listed_as=url, is_page=is_page, lends=lends):
                mine.add(node)
        if mine:
            self._outside.append((graph, mine))
        return mine

    def _is_mine(
        self,
        node: Node,
        part_of: Iterable[str],
        document: FetchedDocument,
        *,
        listed_as: str | None = None,
        is_page: bool = False,
        lends: bool = True,
    ) -> bool:
        spelled = loose_spelling(str(node))
        asked_as = loose_spelling(listed_as) if listed_as else spelled
        is_new = isinstance(node, URIRef) and spelled not in self._described
        named = node in self._named_nodes or not self._named.keys().isdisjoint({spelled, asked_as})
        owners = datasets_of(part_of, [self._url] if named else [], self._dataset_of)
        if isinstance(node, URIRef):
            self._described |= {spelled, asked_as}
        if lends:
            for owner in owners - {self._url}:
                self._lends.setdefault(owner, set()).add(document.url)
        was_only_in_pages = self._lost.get(str(node), LostDistribution()).only_in_pages
        listed = named or str(node) in self._member.contained
        if owners and not listed and (is_page or was_only_in_pages):
            self._remembered[str(node)] = LostDistribution(only_in_pages=True)
        if self._url not in owners or (isinstance(node, URIRef) and not is_new):
            return False
        if listed_as and asked_as != spelled:
            before = self._remembered.get(str(node), LostDistribution())
            self._remembered[str(node)] = replace(before, listed_as=listed_as)
        return True

    def _dataset_of(self, url: str) -> str | None:
        if loose_spelling(url) in self._own_names:
            return self._url
        return self._datasets.dataset_of(url)

    def _resources(self) -> Mapping[str, dict[str, Any]]:
        """The resources that the dataset has, by URI."""
        if self._had is None:
            self._had = self._reader.memory.resources_of(self._object_id) if self._object_id else {}
        return self._had

    async def result(self, fingerprint: str, *, is_last: bool, all_read: bool) -> FoundDataset:
        """Return the dataset.

        :param fingerprint: of all documents but those of services.
        :param is_last: all other datasets have been looked at.
        :param all_read: and all of them could be read.
        """
        warnings: list[str] = []
        if (page := self._parts.broken_page) and not page.told:
            warnings.append(f"{page}; the distributions were read one by one")
        kept = self._kept(warnings, is_last=is_last, all_read=all_read)
        failed = {
            spelled: failure
            for url, failure in self._parts.failed.items()
            # What a container lists beside the dataset's own list is another's.
            if (spelled := loose_spelling(url)) in self._named or not self._named
        }
        for uri in kept:
            failed.pop(self._asked_as(uri), None)
        never_read = [failure for failure in failed.values() if failure.outcome not in _REFUSALS]
        warnings += [f"distribution {failure}; it is left out" for failure in never_read]
        # The mapper says what it leaves out of the distributions that nobody may ask for.
        unasked = {
            URIRef(url)
            for spelled, url in self._named.items()
            if spelled not in self._described
            and spelled not in failed
            and all(spelled != self._asked_as(uri) for uri in kept)
        }
        with understood(self._url):
            own = documents.record_graph(
                self._graph, self._subject, self._inside | unasked, self._outside
            )
            services = self._datasets.services
            warnings += await services.describe(self._url, fingerprint, own)
            record = documents.mapped(self._datasets.mapper, own, self._subject)
        record.resources = sorted(
            [*record.resources, *(one for one in kept.values() if one)], key=resource_order
        )
        for uri in self._missed_in_pages():
            self.missed_in_pages = True
            if uri not in self._resources():  # another dataset's
                self._remembered[uri] = self._lost[uri]
        self.is_special |= bool(
            self._lends
            or self.missed_in_pages
            or any(one.elsewhere for one in self._remembered.values())
        )
        return FoundDataset(
            self._reader.hash(record.digest()),
            record,
            None,
            dict(sorted(self._remembered.items())),
            sorted(warnings),
            len(failed) - len(never_read),
            self._lends,
        )

    def _asked_as(self, uri: str) -> str:
        return loose_spelling(self._lost.get(uri, LostDistribution()).listed_as or uri)

    def _kept(
        self, warnings: list[str], *, is_last: bool, all_read: bool
    ) -> dict[str, dict[str, Any] | None]:
        """The resources of distributions that could not be read, by URI; None for those that go now."""
        broken_page = self._parts.broken_page
        if not (self._parts.failed or broken_page or self._lost or self._unasked()):
            return {}
        failures = {loose_spelling(url): one for url, one in self._parts.failed.items()}
        missed_in_pages = self._missed_in_pages()
        found: dict[str, dict[str, Any] | None] = {}
        for uri, resource in self._resources().items():
            if loose_spelling(uri) in self._described:
                continue
            lost, asked_as = self._lost.get(uri, LostDistribution()), self._asked_as(uri)
            failure = failures.get(asked_as)
            if failure is None and lost.elsewhere and is_last:
                failure = self._datasets.unread.get(asked_as)
            may_be_elsewhere = not is_last or not all_read or self._datasets.missed_page
            listed = (
                asked_as in self._named
                or failure is not None
                or broken_page is not None
                or (lost.elsewhere and may_be_elsewhere)
                or uri in missed_in_pages
            )
            if not listed:
                continue
            fate = fate_of_distribution(
                listed=listed,
                outcome=failure.outcome if failure else None,
                since=lost.since,
                now=self._datasets.now,
            )
            found[uri] = resource if fate.stays else None
            remember = replace(lost, since=fate.since)
            if fate.stays and remember != LostDistribution():
                self._remembered[uri] = remember
            if failure or broken_page or not lost.elsewhere:
                warnings.append(_words(uri, failure or broken_page, fate.stays, fate.since))
        return found

    def _unasked(self) -> bool:
        return any(
            spelled not in self._described and not self._reader.may_visit(url)
            for spelled, url in self._named.items()
        )


def _words(
    uri: str, failure: UnreadableDocument | None, stays: bool, since: datetime | None
) -> str:
    """What becomes of the resource of a distribution that could not be read, for people."""
    reason = failure.words if failure else "its host is not one that this source may visit"
    where = f" ({display_url(failure.url)})" if failure and failure.url != uri else ""
    words = f"distribution {display_url(uri)}: {reason}{where}; "
    if not stays:
        first = utc_words(since) if since else "an earlier job"
        return f"{words}its resource is removed: this is so since {first}"
    words += "its resource stays as it is"
    if since is None:
        return words
    return f"{words}, and is removed if a job finds the same 24 hours after {utc_words(since)}"
