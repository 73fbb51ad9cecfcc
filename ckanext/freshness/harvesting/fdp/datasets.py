"""One dataset, assembled from its own document and those of its distributions.

The strategy has the rules: which distributions a dataset has (``datasets_of``), and what happens to the
resource of a distribution that cannot be read (``fate_of_distribution``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from rdflib import Graph, URIRef
from rdflib.term import Node

from ...dates import utc_words
from ...web.urls import display_url
from ..legal_values import brief
from ..rdf.parsing import DCAT, DocumentError
from ..rdf.record_graph import Mapper, mapped, record_graph
from ..record import (
    KnownRecord,
    LostDistribution,
    ReadOutcome,
    Record,
    loose_spelling,
    resource_order,
)
from ..strategy import datasets_of, fate_of_distribution
from . import documents
from .documents import ListedDataset
from .linked_documents import DistributionDocuments, DistributionReader, ServiceReader
from .reader import DocumentReader, FetchedDocument, UnreadableDocument, understood

_REFUSALS = frozenset({ReadOutcome.FORBIDDEN, ReadOutcome.GONE})


@dataclass(frozen=True, slots=True)
class FoundDataset:
    """A dataset as one job found it."""

    content_hash: str | None
    record: Record | None
    """None if all documents have the same hashes as last time."""
    fingerprint: str | None
    """Hash of all documents; None if equal documents do not prove that the dataset is unchanged."""
    distributions: Mapping[str, LostDistribution]
    """What the next job needs to know about distributions, by URI."""
    warnings: list[str] = field(default_factory=list)
    drafts: int = 0
    """Number of distributions that answer 401, 403, 404 or 410 and were never read."""
    described_for_others: Mapping[str, set[str]] = field(default_factory=dict)
    """URLs of this dataset's documents that describe other datasets' distributions, by dataset."""


class DatasetAssembler:
    """The assembler of the datasets of one crawl."""

    def __init__(
        self,
        reader: DocumentReader,
        services: ServiceReader,
        mapper: Mapper,
        dataset_of: Callable[[str], str | None],
        now: datetime,
    ) -> None:
        """
        :param dataset_of: returns the listed URL of the dataset that a URL identifies, or None.
        """
        self.reader = reader
        self.services = services
        self.mapper = mapper
        self.dataset_of = dataset_of
        self.now = now
        self.distributions = DistributionReader(reader)
        self.unread: dict[str, UnreadableDocument] = {}
        """Listed distributions of any dataset that could not be read, by spelling."""
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
        other_documents: Collection[str] | None = None,
        all_read: bool = False,
    ) -> FoundDataset:
        """Read a dataset with its distributions.

        :param known: the current record, if there is one.
        :param adopted: the record of a deleted source whose package and resources the dataset takes over.
        :param other_documents: URLs of other datasets' documents that describe distributions of this
            one; None while other datasets are still to be read.
        :param all_read: all datasets of the source were read.
        :raises UnreadableDocument: the dataset's own document cannot be understood.
        """
        before = known or adopted
        lost = before.distributions.values() if before else ()
        parts = await self.distributions.read(
            url, member, had_pages=any(distribution.only_in_pages for distribution in lost)
        )
        own = self.reader.hash(
            member.digest,
            *member.part_of,
            *listed_in,
            *member.distributions,
            *(part.digest for part in parts.documents),
        )
        fingerprint = own
        if known is None or known.fingerprint != own:
            fingerprint = await self.services.fingerprint(url, own)
        unchanged = known is not None and known.url == url and known.fingerprint == fingerprint
        if known is not None and unchanged and other_documents is None:
            return FoundDataset(known.content_hash, None, fingerprint, known.distributions)
        assembly = _DatasetAssembly(self, url, member, before, parts)
        await assembly.add_documents(document)
        for other_url in other_documents or ():
            await assembly.add_other_document(other_url)
        dataset = await assembly.result(own, is_last=other_documents is not None, all_read=all_read)
        self.unread |= {
            loose_spelling(part_url): failure for part_url, failure in parts.failed.items()
        }
        self.missed_page |= parts.broken_page is not None or assembly.missed_in_pages
        if parts.failed or parts.broken_page or assembly.without_fingerprint:
            return dataset
        return replace(dataset, fingerprint=await self.services.fingerprint(url, own))


class _DatasetAssembly:
    """The assembly of one dataset."""

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
        self._own_spellings = {loose_spelling(url), loose_spelling(member.subject)}
        self._member = member
        self._subject = URIRef(member.subject)
        self._lost = known.distributions if known else {}
        self._object_id = known.object_id if known else None
        self._parts = parts
        self._graph = Graph()
        self._inside: set[Node] = set()
        """Own distributions that the dataset's own document describes."""
        self._outside: list[tuple[Graph, set[Node]]] = []
        """Own distributions in other documents."""
        self._named_nodes: set[Node] = set()
        self._without_url: list[str] = []
        """What the dataset's dcat:distribution names in place of URLs that can be requested."""
        self._named: dict[str, str] = {}
        """All distributions that the dataset's dcat:distribution names: URL by spelling."""
        self._described: set[str] = set()
        """Spellings of all distributions that a document describes, also of other datasets'."""
        self._remembered: dict[str, LostDistribution] = {}
        self._described_for_others: dict[str, set[str]] = {}
        self.without_fingerprint = False
        """Equal documents in the next job do not prove that the dataset is unchanged."""
        self.missed_in_pages = False
        """A page that was not read may list distributions of this dataset or of others."""

    @cached_property
    def _old_resources(self) -> Mapping[str, dict[str, Any]]:
        """The dataset's resources before this job, by URI."""
        return self._reader.memory.resources_of(self._object_id) if self._object_id else {}

    async def add_documents(self, document: FetchedDocument) -> None:
        """Add the dataset's own document and those of its distributions."""
        self._graph = await document.parsed()
        self._named_nodes = set(self._graph.objects(self._subject, DCAT.distribution))
        named = documents.distributions_of(self._graph, self._subject)
        self._named = {loose_spelling(url): url for url in named}
        self._without_url = documents.distributions_without_url(self._graph, self._subject)
        # The next job has to warn, too.
        self.without_fingerprint |= bool(self._without_url)
        for node, part_of in documents.distributions_inside(self._graph, self._subject):
            if self._claim(node, part_of, document):
                self._inside.add(node)
        for page in self._parts.pages:
            try:
                self._add_distributions(await page.parsed(), page, is_page=True)
            except UnreadableDocument as failure:
                self._parts.broken_page = failure
        if self._parts.pages:
            await self._read_missing_in_pages()
        for url, single in self._parts.single.items():
            try:
                graph = await single.parsed()
                with understood(url):
                    node = documents.distribution_of(graph, url, single.base)
                    self._refuse_replacement(graph, node, url)
            except UnreadableDocument as failure:
                self._parts.failed[url] = failure
                continue
            self._add_distributions(graph, single, listed_as=(node, url))

    async def add_other_document(self, url: str) -> None:
        """Add the distributions of this dataset in another dataset's document."""
        try:
            document = await self._reader.get(url)
            graph = await document.parsed()
        except UnreadableDocument as failure:
            self._parts.broken_page = failure
            return
        before = set(self._described)
        for node in self._add_distributions(graph, document, note_others=False):
            if loose_spelling(str(node)) not in before:
                self._remembered[str(node)] = LostDistribution(elsewhere=True)

    def _refuse_replacement(self, graph: Graph, node: Node, url: str) -> None:
        """Refuse a distribution that answers at the URL of another one that has a resource.

        A URL may lead to another record for a while. That does not change the resource.

        :raises DocumentError: the document describes such a distribution.
        """
        spelled, requested = loose_spelling(str(node)), loose_spelling(url)
        if spelled == requested or requested not in map(loose_spelling, self._old_resources):
            return
        part_of = dict(documents.distributions_in(graph)).get(node, [])
        owners = datasets_of(part_of, [self._url], self._dataset_of)
        if spelled in self._named or self._url not in owners:
            raise DocumentError(f"it describes {display_url(str(node))} instead")

    async def _read_missing_in_pages(self) -> None:
        """Read the distributions that no page has, such as drafts, or if the server cut a page short."""
        missing = [url for spelled, url in self._named.items() if spelled not in self._described]
        contained = [
            url for url in self._member.contained if loose_spelling(url) not in self._described
        ]
        if not self._parts.broken_page:
            missing += [self._lost[uri].listed_as or uri for uri in self._missed_in_pages()]
            contained = [url for url in contained if url in self._old_resources]
        if missing or contained:
            await self._datasets.distributions.read_each([*missing, *contained], self._parts)
        self.without_fingerprint |= bool(self._parts.single)

    def _missed_in_pages(self) -> list[str]:
        """Return URIs of distributions that only pages listed and that an unread page may have."""
        if self._parts.listed_whole:
            return []
        return [
            uri
            for uri, lost in self._lost.items()
            if lost.only_in_pages and loose_spelling(uri) not in self._described
        ]

    def _add_distributions(
        self,
        graph: Graph,
        document: FetchedDocument,
        *,
        listed_as: tuple[Node, str] | None = None,
        is_page: bool = False,
        note_others: bool = True,
    ) -> set[Node]:
        """Add the distributions of this dataset in a document, and return them.

        :param listed_as: a distribution in the document, and the URL under which it is listed.
        """
        claimed = set()
        for node, part_of in documents.distributions_in(graph):
            url = listed_as[1] if listed_as and listed_as[0] == node else None
            if self._claim(
                node, part_of, document, listed_as=url, is_page=is_page, note_others=note_others
            ):
                claimed.add(node)
        if claimed:
            self._outside.append((graph, claimed))
        return claimed

    def _claim(
        self,
        node: Node,
        part_of: Sequence[str],
        document: FetchedDocument,
        *,
        listed_as: str | None = None,
        is_page: bool = False,
        note_others: bool = True,
    ) -> bool:
        """Note that a document describes a distribution; return whether it belongs to this dataset.

        A distribution that several documents describe is claimed once.

        :param part_of: URLs that the distribution's dct:isPartOf names.
        :param note_others: note the document for other datasets that own the distribution.
        """
        spelled = loose_spelling(str(node))
        requested = loose_spelling(listed_as) if listed_as else spelled
        is_new = isinstance(node, URIRef) and spelled not in self._described
        named = node in self._named_nodes or not self._named.keys().isdisjoint({spelled, requested})
        owners = datasets_of(part_of, [self._url] if named else [], self._dataset_of)
        if named and part_of and not any(map(self._dataset_of, part_of)):
            # The dataset that it names may be read in a later job, and then owns it.
            self.without_fingerprint = True
        if isinstance(node, URIRef):
            self._described |= {spelled, requested}
        if note_others:
            for owner in owners - {self._url}:
                self._described_for_others.setdefault(owner, set()).add(document.url)
        was_only_in_pages = self._lost.get(str(node), LostDistribution()).only_in_pages
        listed = named or str(node) in self._member.contained
        if owners and not listed and (is_page or was_only_in_pages):
            self._remembered[str(node)] = LostDistribution(only_in_pages=True)
        if self._url not in owners or (isinstance(node, URIRef) and not is_new):
            return False
        if listed_as and requested != spelled:
            before = self._remembered.get(str(node), LostDistribution())
            self._remembered[str(node)] = replace(before, listed_as=listed_as)
        return True

    def _dataset_of(self, url: str) -> str | None:
        if loose_spelling(url) in self._own_spellings:
            return self._url
        return self._datasets.dataset_of(url)

    async def result(self, fingerprint: str, *, is_last: bool, all_read: bool) -> FoundDataset:
        """Return the dataset, without its fingerprint.

        :param fingerprint: of all documents except those of services.
        :param is_last: the other datasets' documents have been added.
        :param all_read: all datasets of the source were read.
        """
        warnings: list[str] = []
        if (page := self._parts.broken_page) and not page.reported:
            warnings.append(f"{page}; the distributions were read one by one")
        warnings += [
            f'distribution: "{brief(text)}" is no URL that can be requested; it is left out'
            for text in self._without_url
        ]
        kept = self._kept(warnings, is_last=is_last, all_read=all_read)
        # If the dataset names distributions, those that only a container lists are other datasets'.
        failed = {
            spelled: failure
            for url, failure in self._parts.failed.items()
            if (spelled := loose_spelling(url)) in self._named or not self._named
        }
        for uri in kept:
            failed.pop(self._requested_as(uri), None)
        never_read = [failure for failure in failed.values() if failure.outcome not in _REFUSALS]
        warnings += [f"distribution {failure}; it is left out" for failure in never_read]
        # The mapper warns about named distributions on hosts that may not be requested.
        not_requested = {
            URIRef(url)
            for spelled, url in self._named.items()
            if spelled not in self._described
            and spelled not in failed
            and all(spelled != self._requested_as(uri) for uri in kept)
        }
        with understood(self._url):
            own = record_graph(
                self._graph, self._subject, self._inside | not_requested, self._outside
            )
            services = self._datasets.services
            warnings += await services.describe(self._url, fingerprint, own)
            record = mapped(self._datasets.mapper, own, self._subject)
        kept_resources = [resource for resource in kept.values() if resource]
        record.resources = sorted([*record.resources, *kept_resources], key=resource_order)
        for uri in self._missed_in_pages():
            self.missed_in_pages = True
            if uri not in self._old_resources:  # another dataset's
                self._remembered[uri] = self._lost[uri]
        self.without_fingerprint |= bool(
            self._described_for_others
            or self.missed_in_pages
            or any(lost.elsewhere for lost in self._remembered.values())
        )
        return FoundDataset(
            self._reader.hash(record.digest()),
            record,
            None,
            dict(sorted(self._remembered.items())),
            sorted(warnings),
            len(failed) - len(never_read),
            self._described_for_others,
        )

    def _requested_as(self, uri: str) -> str:
        """Return the URL, in loose spelling, under which a distribution is listed."""
        return loose_spelling(self._lost.get(uri, LostDistribution()).listed_as or uri)

    def _kept(
        self, warnings: list[str], *, is_last: bool, all_read: bool
    ) -> dict[str, dict[str, Any] | None]:
        """Return the resources of listed distributions that could not be read, by URI.

        A resource that is removed now has None. Warnings are added to ``warnings``.
        """
        broken_page = self._parts.broken_page
        if broken_page is None and self._without_url:
            words = "its dataset names a distribution without a URL that can be requested"
            broken_page = UnreadableDocument(self._url, ReadOutcome.MALFORMED, words)
        has_foreign_host = any(
            spelled not in self._described and not self._reader.may_visit(url)
            for spelled, url in self._named.items()
        )
        if not (self._parts.failed or broken_page or self._lost or has_foreign_host):
            return {}
        failures = {loose_spelling(url): failure for url, failure in self._parts.failed.items()}
        missed_in_pages = self._missed_in_pages()
        kept: dict[str, dict[str, Any] | None] = {}
        for uri, resource in self._old_resources.items():
            if loose_spelling(uri) in self._described:
                continue
            lost, requested = self._lost.get(uri, LostDistribution()), self._requested_as(uri)
            failure = failures.get(requested)
            if failure is None and lost.elsewhere and is_last:
                failure = self._datasets.unread.get(requested)
            may_be_elsewhere = not is_last or not all_read or self._datasets.missed_page
            listed = (
                requested in self._named
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
            kept[uri] = resource if fate.stays else None
            remembered = replace(lost, since=fate.since)
            if fate.stays and remembered != LostDistribution():
                self._remembered[uri] = remembered
            if failure or broken_page or not lost.elsewhere:
                warnings.append(_warning(uri, failure or broken_page, fate.stays, fate.since))
        return kept


def _warning(
    uri: str, failure: UnreadableDocument | None, stays: bool, since: datetime | None
) -> str:
    """Return the warning about a distribution that could not be read and its resource.

    :param since: when a job first found that the distribution is forbidden or gone.
    """
    reason = failure.reason if failure else "this source may not request its host"
    where = f" ({display_url(failure.url)})" if failure and failure.url != uri else ""
    words = f"distribution {display_url(uri)}: {reason}{where}; "
    if not stays:
        first = utc_words(since) if since else "an earlier job"
        return f"{words}its resource is removed: this is so since {first}"
    words += "its resource stays as it is"
    if since is None:
        return words
    return f"{words}, and is removed if a job finds the same 24 hours after {utc_words(since)}"
