"""One dataset, assembled from its own document and those of its distributions.

A dataset has the distributions that its own ``dcat:distribution`` names, and those that name it themselves by
``dct:isPartOf``. Containers only say where distributions can be read. A distribution's URL is the one that its
dataset names, also if its own document calls it by another. The strategy decides what happens to the
resource of a distribution that cannot be read (``decide_distribution``).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from rdflib import RDF, Graph, URIRef
from rdflib.term import Node

from ...dates import utc_words
from ...web.urls import display_url, loose_spelling
from ..legal_values import brief
from ..rdf.mapping import Mapper, mapped
from ..rdf.parsing import DCAT
from ..rdf.reader import DocumentReader, FetchedDocument, understood
from ..rdf.record_graph import descriptions, record_graph, undescribed
from ..record import (
    CrawledRecord,
    CurrentRecords,
    KnownRecord,
    ReadOutcome,
    Refusal,
    RefusedAs,
    SeenRecord,
    resource_order,
)
from ..source_client import UnreadableDocument
from ..strategy import decide_distribution
from . import documents
from .documents import ListedDataset

REFUSING = "most distributions are refused"
"""The key in the source's memory of whether that was so when the last job read them."""

_REFUSALS = frozenset({ReadOutcome.FORBIDDEN, ReadOutcome.GONE})


@dataclass(frozen=True, slots=True)
class RecordMemory:
    """What a crawl keeps of a dataset or catalog for the next one."""

    fingerprint: str | None = None
    """Hash of all documents; None if equal documents do not prove that the record is unchanged."""
    services: list[str] = field(default_factory=list)
    """The data services that it names and that have documents of their own."""
    refusals: Mapping[str, str] = field(default_factory=dict)
    """How distributions are refused, by URI: a text of :class:`..record.Refusal`."""

    @classmethod
    def of(cls, known: KnownRecord | None) -> RecordMemory:
        """Return the memory of a record; an empty one if there is none."""
        return cls(**json.loads(known.memory)) if known and known.memory else cls()

    def as_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


@dataclass(frozen=True, slots=True)
class _Answers:
    """What the URLs of a dataset's distributions answered."""

    documents: dict[str, FetchedDocument] = field(default_factory=dict)
    failures: dict[str, UnreadableDocument] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Described:
    """A dataset and its distributions, as its own document and theirs describe them."""

    graph: Graph
    """The dataset's own document."""
    named: dict[str, str]
    """The distributions that the dataset's dcat:distribution names: URL by spelling."""
    without_url: list[str]
    """Distributions that it names without a URL that can be requested: blank nodes and malformed URLs."""
    inside: set[Node]
    """The distributions that the dataset's own document describes."""
    outside: list[tuple[Graph, set[Node]]]
    """Those in other documents."""
    described: set[str]
    """Spellings of all distributions that a document describes, also of other datasets'."""
    failures: dict[str, UnreadableDocument]
    """By spelling, the distributions that could not be read."""
    has_end: bool
    """All documents have an end."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """What becomes of the resources of listed distributions that could not be read."""

    resources: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    """By URI; None for a resource that is removed now."""
    refusals: dict[str, str] = field(default_factory=dict)
    """As in :class:`RecordMemory`."""
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DatasetReader:
    """A reader of the datasets of one crawl, with their distributions, and of catalogs as records."""

    reader: DocumentReader
    mapper: Mapper
    known: CurrentRecords
    now: datetime
    is_wall: bool = False
    """When the last job read them, most distributions were refused."""
    refused: Counter[bool] = field(default_factory=Counter)
    """How many distributions are refused and have resources, and how many are read."""

    def remember_refusals(self) -> None:
        """Keep for the next job whether most distributions are refused."""
        is_wall = self.refused[True] > self.refused[False]
        if self.refused and is_wall is not self.is_wall:
            self.reader.memory.remember(REFUSING, REFUSING, is_wall)

    async def read(
        self,
        seen: SeenRecord,
        guid: str,
        document: FetchedDocument,
        member: ListedDataset,
        known: KnownRecord | None,
        adopted: KnownRecord | None = None,
    ) -> CrawledRecord:
        """Read a dataset with its distributions.

        :param seen: the dataset, of which only the contents are not known yet.
        :param guid: names the catalog that the dataset is in now. That may be another one although no document
            has changed, if its catalog could not be read before.
        :param known: the current record, if there is one.
        :param adopted: the record whose package and resources the dataset takes over.
        :raises UnreadableDocument: the dataset's own document cannot be understood.
        """
        answers = await self._request(member.distributions)
        own = self.reader.hash(
            member.digest,
            *member.part_of,
            # The catalog that the record names may leave the source: that makes another record of it.
            *seen.listed_in,
            seen.part_of or "",
            *member.distributions,
            # Those that a container only lists may become its own, although no document of theirs has changed.
            str(member.names_distributions),
            *(one.digest for one in answers.documents.values()),
        )
        is_moved = known is not None and known.guid != guid
        crawled = None if is_moved else await self._unchanged(seen, own, known)
        if crawled is None:
            subject = URIRef(member.subject)
            found = await _described(seen.url, subject, document, answers)
            kept = self._kept(found, known or adopted)
            crawled = await self._assembled(seen, own, subject, found, kept)
        return replace(crawled, subject=member.subject if member.subject != seen.url else None)

    async def read_catalog(
        self, url: str, root: str, document: FetchedDocument, subject: URIRef
    ) -> CrawledRecord:
        """Read a catalog as a record.

        :param root: the source's own URL, which lists all catalogs.
        :param subject: the catalog in its document.
        :raises UnreadableDocument: the document cannot be understood.
        """
        seen = SeenRecord(url, ReadOutcome.PRESENT, (root,), is_catalog=True)
        own = self.reader.hash(document.digest)
        if (unchanged := await self._unchanged(seen, own, self.known.at(url))) is not None:
            return unchanged
        found = await _described(url, subject, document, _Answers())
        return await self._assembled(seen, own, subject, found, _Kept())

    async def _unchanged(
        self, seen: SeenRecord, own: str, known: KnownRecord | None
    ) -> CrawledRecord | None:
        """Return a record as it was, if the last job read the same documents; None if it did not.

        :param own: the fingerprint of all documents except those of services.
        """
        memory = RecordMemory.of(known)
        if known is None or known.content_hash is None:
            return None
        if memory.fingerprint != await _fingerprint(self.reader, own, memory.services):
            return None
        return CrawledRecord(replace(seen, content_hash=known.content_hash), memory=known.memory)

    async def _request(self, listed: Iterable[str]) -> _Answers:
        """Request the distributions of a dataset that have documents of their own."""
        answers = _Answers()
        for url in filter(self.reader.source_hosts.may_visit, listed):
            try:
                answers.documents[url] = await self.reader.get(url)
                self.refused[False] += 1
            except UnreadableDocument as failure:
                answers.failures[url] = failure
        return answers

    def _kept(self, found: _Described, known: KnownRecord | None) -> _Kept:
        """Decide about the resources of listed distributions that could not be read."""
        kept = _Kept()
        if known is None or not known.object_id:
            return kept
        refusals = RecordMemory.of(known).refusals
        no_url = UnreadableDocument(
            known.url,
            "its dataset names a distribution without a URL that can be requested",
            ReadOutcome.MALFORMED,
        )
        resources = self.known.resources_of(known, set(found.named.values()))
        for uri, resource in {one["uri"]: one for one in resources if one.get("uri")}.items():
            spelled = loose_spelling(uri)
            failure = found.failures.get(spelled) or (no_url if found.without_url else None)
            is_listed = spelled in found.named or failure is not None
            if spelled in found.described or not is_listed:
                continue
            outcome = failure.outcome if failure else None
            self.refused[True] += outcome in _REFUSALS
            decision = decide_distribution(
                listed=True,
                outcome=outcome,
                refusal=Refusal.parse(refusals[uri]) if uri in refusals else None,
                now=self.now,
                is_wall=self.is_wall,
            )
            kept.resources[uri] = resource if decision.stays else None
            if decision.stays and decision.refusal is not None:
                kept.refusals[uri] = str(decision.refusal)
            kept.warnings.append(_warning(uri, failure, decision.stays, decision.refusal))
        return kept

    async def _assembled(
        self, seen: SeenRecord, own: str, subject: URIRef, found: _Described, kept: _Kept
    ) -> CrawledRecord:
        """Return the dataset as this job found it.

        :param own: the fingerprint of all documents except those of services.
        :param subject: the dataset in its own document.
        """
        decided = set(map(loose_spelling, kept.resources))
        unread = [one for spelled, one in found.failures.items() if spelled not in decided]
        never_read = [failure for failure in unread if failure.outcome not in _REFUSALS]
        # The mapper warns about named distributions on hosts that may not be requested.
        told = found.described | found.failures.keys() | decided
        not_requested = {URIRef(url) for spelled, url in found.named.items() if spelled not in told}
        with understood(seen.url):
            graph = record_graph(found.graph, subject, found.inside | not_requested, found.outside)
            named_services, unread_services = await _describe_services(self.reader, graph)
            record = mapped(self.mapper, graph, subject)
        resources = [*record.resources, *filter(None, kept.resources.values())]
        record.resources = sorted(resources, key=resource_order)
        fingerprint = None  # the next job reads and warns again
        if not found.failures and not found.without_url:
            fingerprint = await _fingerprint(self.reader, own, named_services)
        warnings = [
            f'distribution: "{brief(text)}" is no URL that can be requested; it is left out'
            for text in found.without_url
        ]
        warnings += [f"distribution {failure}; it is left out" for failure in never_read]
        return CrawledRecord(
            replace(seen, content_hash=self.reader.hash(record.digest())),
            record,
            memory=RecordMemory(fingerprint, named_services, kept.refusals).as_json(),
            warnings=sorted([*warnings, *kept.warnings, *unread_services]),
            # The other failures are those of drafts: listed distributions that were never read.
            drafts=[one.url for one in unread if one.outcome in _REFUSALS],
            may_be_cut=not found.has_end or bool(unread_services),
        )


async def _described(
    url: str, subject: URIRef, document: FetchedDocument, answers: _Answers
) -> _Described:
    """Return what the documents of a dataset and of its distributions describe.

    :param url: the dataset's listed URL.
    :param subject: the dataset in its own document.
    :param answers: of the distributions. The graphs of their documents are changed.
    :raises UnreadableDocument: the dataset's own document cannot be parsed.
    """
    graph = await document.parsed()
    urls = documents.distributions_of(graph, subject)
    inside = set(documents.distributions_inside(graph, subject))
    found = _Described(
        graph,
        {loose_spelling(one): one for one in urls},
        documents.distributions_without_url(graph, subject),
        inside,
        [],
        {loose_spelling(str(node)) for node in inside if isinstance(node, URIRef)},
        {loose_spelling(one): failure for one, failure in answers.failures.items()},
        all(one.has_end for one in (document, *answers.documents.values())),
    )
    own = {loose_spelling(url), loose_spelling(subject)}
    for listed, part in answers.documents.items():
        try:
            graph = await part.parsed()
            with understood(listed):
                _call(graph, documents.distribution_of(graph, listed, part.base), URIRef(listed))
        except UnreadableDocument as failure:
            found.failures[loose_spelling(listed)] = failure
            continue
        mine: set[Node] = set()
        for node, part_of in documents.distributions_in(graph):
            spelled = loose_spelling(str(node))
            if not isinstance(node, URIRef) or spelled in found.described:
                continue
            found.described.add(spelled)
            if spelled in found.named or not own.isdisjoint(map(loose_spelling, part_of)):
                mine.add(node)
        if mine:
            found.outside.append((graph, mine))
    return found


def _call(graph: Graph, node: Node, url: URIRef) -> None:
    """Make a document call its distribution by the URL that the dataset names."""
    for predicate, value in [] if node == url else list(graph.predicate_objects(node)):
        graph.remove((node, predicate, value))
        graph.add((url, predicate, value))


def _warning(
    uri: str, failure: UnreadableDocument | None, stays: bool, refusal: Refusal | None
) -> str:
    """Return the warning about a distribution that could not be read and its resource.

    :param refusal: since when jobs have found that the distribution is forbidden or gone.
    """
    reason = failure.reason if failure else "this source may not request its host"
    where = f" ({display_url(failure.url)})" if failure and failure.url != uri else ""
    words = f"distribution {display_url(uri)}: {reason}{where}; "
    if not stays:
        first = utc_words(refusal.since) if refusal else "an earlier job"
        return f"{words}its resource is removed: this is so since {first}"
    words += "its resource stays as it is"
    if refusal is None:
        return words
    if refusal.kind is RefusedAs.WALL:
        return f"{words}, because most distributions of the source were refused, too"
    first = utc_words(refusal.since)
    return f"{words}, and is removed if a job finds the same 24 hours after {first}"


# Data services that records name and that have documents of their own


async def _fingerprint(reader: DocumentReader, own: str, services: Iterable[str]) -> str:
    """Return a record's fingerprint with its services.

    :param own: the fingerprint of its other documents.
    :param services: the URLs that the record named when it was last parsed.
    """
    answers = []
    for url in services:
        try:
            answers.append((await reader.get_once(url)).digest)
        except UnreadableDocument as failure:
            answers.append(str(failure.reason))
    return reader.hash(own, *answers) if answers else own


async def _describe_services(reader: DocumentReader, graph: Graph) -> tuple[list[str], list[str]]:
    """Add the descriptions of services that a record's graph only names.

    :returns: the services, and a warning for each that cannot be read. The record keeps its URL.
    """
    nodes = set(graph.objects(None, DCAT.accessService))
    named = sorted(str(node) for node in nodes if isinstance(node, URIRef))
    services = list(filter(reader.source_hosts.may_visit, undescribed(named, graph)))
    warnings = []
    for url in services:
        try:
            document = await reader.get_once(url)
            _add_description(await document.parsed(), url, graph)
        except UnreadableDocument as failure:
            words = f"service {display_url(url)}: {failure.reason}"
            warnings.append(f"{words}; only its URL is kept")
    return services, warnings


def _add_description(graph: Graph, url: str, target: Graph) -> None:
    """Add a document's description of a service to a graph, under the URL that records name.

    :raises UnreadableDocument: the document describes no service, or several others.
    """
    services = set(graph.subjects(RDF.type, DCAT.DataService))
    service = URIRef(url) if URIRef(url) in services else next(iter(services), None)
    # A single service under another URL is the same service under another name.
    if service is None or (service != URIRef(url) and len(services) > 1):
        raise UnreadableDocument(url, "it describes no dcat:DataService", ReadOutcome.MALFORMED)
    # The service's document may describe the dataset, too, and have a former title of it.
    described = {*target.subjects()} - {service}
    for node, statements in descriptions(graph, service, ()).items():
        for predicate, value in () if node in described else statements:
            target.add((URIRef(url) if node == service else node, predicate, value))
