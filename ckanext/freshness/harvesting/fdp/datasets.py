"""One dataset, assembled from its own document and those of its distributions.

A dataset has the distributions that its own ``dcat:distribution`` names, and those that name it themselves by
``dct:isPartOf``. Containers only say where distributions can be read. The strategy decides what
happens to the resource of a distribution that cannot be read (``fate_of_distribution``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from rdflib import Graph, URIRef
from rdflib.term import Node

from ...dates import utc_words
from ...web.urls import display_url, loose_spelling
from ..legal_values import brief
from ..rdf.mapping import Mapper, mapped
from ..rdf.parsing import DocumentError
from ..rdf.reader import FetchedDocument, understood
from ..rdf.record_graph import record_graph
from ..record import (
    CurrentRecords,
    KnownRecord,
    ReadOutcome,
    Refusal,
    SeenRecord,
    Sighting,
    resource_order,
)
from ..source_client import UnreadableDocument
from ..strategy import fate_of_distribution
from . import documents
from .documents import ListedDataset
from .reader import FdpReader, Named, ServiceReader

_REFUSALS = frozenset({ReadOutcome.FORBIDDEN, ReadOutcome.GONE})


@dataclass(frozen=True, slots=True)
class LostDistribution:
    """Facts about a distribution that was not read as usual."""

    refusal: str | None = None
    """Since when it has answered 401 or 403, or 404 or 410: a text of :class:`..record.Refusal`."""
    listed_as: str | None = None
    """The URL that its dataset names, if the distribution's own document names another."""


@dataclass(frozen=True, slots=True)
class RecordMemory:
    """What a crawl keeps of a dataset or catalog for the next one."""

    fingerprint: str | None = None
    """Hash of all documents; None if equal documents do not prove that the record is unchanged."""
    services: Named = field(default_factory=list)
    distributions: Mapping[str, LostDistribution] = field(default_factory=dict)
    """By URI, distributions with facts to keep."""

    @classmethod
    def of(cls, known: KnownRecord | None) -> RecordMemory:
        """Return the memory of a record; an empty one if there is none."""
        if known is None or known.memory is None:
            return cls()
        plain = json.loads(known.memory)
        lost = {uri: LostDistribution(**one) for uri, one in plain["distributions"].items()}
        return cls(plain["fingerprint"], [(url, kind) for url, kind in plain["services"]], lost)

    def as_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


class DatasetReader:
    """A reader of the datasets of one crawl, with their distributions."""

    def __init__(
        self,
        reader: FdpReader,
        services: ServiceReader,
        mapper: Mapper,
        known: CurrentRecords,
        now: datetime,
    ) -> None:
        self.reader = reader
        self.services = services
        self.mapper = mapper
        self.known = known
        self.now = now

    async def read(
        self,
        seen: SeenRecord,
        guid: str,
        document: FetchedDocument,
        member: ListedDataset,
        known: KnownRecord | None,
        adopted: KnownRecord | None = None,
    ) -> Sighting:
        """Read a dataset with its distributions.

        :param seen: the dataset, of which only the contents are not known yet.
        :param guid: names the catalog that the dataset is in now. That may be another one although no document
            has changed, if its catalog could not be read before.
        :param known: the current record, if there is one.
        :param adopted: the record of a deleted source whose package and resources the dataset takes over.
        :raises UnreadableDocument: the dataset's own document cannot be understood.
        """
        dataset = _Dataset(self, seen.url, member, known or adopted)
        # The catalog that the record names may leave the source: that makes another record of it.
        own = await dataset.read_distributions((*seen.listed_in, seen.part_of or ""))
        memory = RecordMemory.of(known)
        fingerprint = await self.services.fingerprint(own, memory.services)
        subject = member.subject if member.subject != seen.url else None
        if (
            known is not None
            and known.guid == guid
            and known.content_hash is not None
            and memory.fingerprint == fingerprint
        ):
            seen = replace(seen, content_hash=known.content_hash)
            return Sighting(seen, memory=known.memory, subject=subject)
        await dataset.add_documents(document)
        return await dataset.sighting(seen, own, subject)


class _Dataset:
    """One dataset while it is read."""

    def __init__(
        self, datasets: DatasetReader, url: str, member: ListedDataset, known: KnownRecord | None
    ) -> None:
        self._datasets = datasets
        self._reader = datasets.reader
        self._url = url
        self._own_spellings = {loose_spelling(url), loose_spelling(member.subject)}
        self._member = member
        self._subject = URIRef(member.subject)
        self._known = known
        self._lost = RecordMemory.of(known).distributions
        self._old_resources: dict[str, dict[str, Any]] = {}
        """The dataset's resources before this job, by URI."""
        self._single: dict[str, FetchedDocument] = {}
        """By URL, the documents of distributions."""
        self._failed: dict[str, UnreadableDocument] = {}
        """By URL, the distributions that could not be read."""
        self._graph = Graph()
        self._inside: set[Node] = set()
        """Own distributions that the dataset's own document describes."""
        self._outside: list[tuple[Graph, set[Node]]] = []
        """Own distributions in other documents."""
        self._without_url: list[str] = []
        """What the dataset's dcat:distribution names in place of URLs that can be requested."""
        self._named: dict[str, str] = {}
        """All distributions that the dataset's dcat:distribution names: URL by spelling."""
        self._described: set[str] = set()
        """Spellings of all distributions that a document describes, also of other datasets'."""
        self._remembered: dict[str, LostDistribution] = {}
        self._has_end = True
        """The dataset's own document has an end."""

    async def read_distributions(self, dependencies: Iterable[str]) -> str:
        """Fetch the documents of the dataset's distributions; return the fingerprint of all documents.

        :param dependencies: what the record depends on besides its documents.
        """
        listed = self._member.distributions
        for url in filter(self._reader.reach.may_visit, listed):
            try:
                self._single[url] = await self._reader.get(url)
            except UnreadableDocument as failure:
                self._failed[url] = failure
        return self._reader.hash(
            self._member.digest,
            *self._member.part_of,
            *dependencies,
            *listed,
            *(part.digest for part in self._single.values()),
        )

    async def add_documents(self, document: FetchedDocument) -> None:
        """Add the dataset's own document and those of its distributions."""
        self._has_end = document.has_end
        self._graph = await document.parsed()
        named = documents.distributions_of(self._graph, self._subject)
        if self._known is not None and self._known.object_id:
            resources = self._datasets.known.resources_of(self._known, set(named))
            self._old_resources = {one["uri"]: one for one in resources if one.get("uri")}
        self._named = {loose_spelling(url): url for url in named}
        self._without_url = documents.distributions_without_url(self._graph, self._subject)
        self._inside = set(documents.distributions_inside(self._graph, self._subject))
        self._described = {
            loose_spelling(str(node)) for node in self._inside if isinstance(node, URIRef)
        }
        for url, single in self._single.items():
            try:
                graph = await single.parsed()
                with understood(url):
                    node = documents.distribution_of(graph, url, single.base)
                    self._refuse_replacement(graph, node, url)
            except UnreadableDocument as failure:
                self._failed[url] = failure
                continue
            self._add_distributions(graph, node, url)

    def _refuse_replacement(self, graph: Graph, node: Node, url: str) -> None:
        """Refuse a distribution that answers at the URL of another one that has a resource.

        A URL may lead to another record for a while. That does not change the resource.

        :raises DocumentError: the document describes such a distribution.
        """
        spelled, requested = loose_spelling(str(node)), loose_spelling(url)
        if spelled == requested or requested not in map(loose_spelling, self._old_resources):
            return
        part_of = dict(documents.distributions_in(graph)).get(node, [])
        if spelled in self._named or not self._is_own(part_of):
            raise DocumentError(f"it describes {display_url(str(node))} instead")

    def _is_own(self, part_of: Iterable[str]) -> bool:
        """Return whether a dct:isPartOf names this dataset."""
        return any(loose_spelling(url) in self._own_spellings for url in part_of)

    def _add_distributions(self, graph: Graph, listed: Node, listed_as: str) -> None:
        """Add the distributions of this dataset in a document.

        A distribution that several documents describe is added once.

        :param listed: the distribution that was requested, and ``listed_as`` its URL in the list.
        """
        own: set[Node] = set()
        for node, part_of in documents.distributions_in(graph):
            spelled = loose_spelling(str(node))
            url = listed_as if node == listed else None
            requested = loose_spelling(url) if url else spelled
            is_new = isinstance(node, URIRef) and spelled not in self._described
            if isinstance(node, URIRef):
                self._described |= {spelled, requested}
            named = not self._named.keys().isdisjoint({spelled, requested})
            if not is_new or not (named or self._is_own(part_of)):
                continue
            own.add(node)
            if url and requested != spelled:
                self._remembered[str(node)] = LostDistribution(listed_as=url)
        if own:
            self._outside.append((graph, own))

    async def sighting(self, seen: SeenRecord, fingerprint: str, subject: str | None) -> Sighting:
        """Return the dataset as this job found it.

        :param fingerprint: of all documents except those of services.
        """
        warnings = [
            f'distribution: "{brief(text)}" is no URL that can be requested; it is left out'
            for text in self._without_url
        ]
        kept = self._kept(warnings)
        failed = {loose_spelling(url): failure for url, failure in self._failed.items()}
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
            services, told = await self._datasets.services.describe(own)
            record = mapped(self._datasets.mapper, own, self._subject)
        kept_resources = [resource for resource in kept.values() if resource]
        record.resources = sorted([*record.resources, *kept_resources], key=resource_order)
        is_complete = not self._failed and not self._without_url
        if is_complete:
            fingerprint = await self._datasets.services.fingerprint(fingerprint, services)
        else:
            fingerprint = ""  # the next job reads and warns again
        memory = RecordMemory(fingerprint or None, services, dict(sorted(self._remembered.items())))
        return Sighting(
            replace(seen, content_hash=self._reader.hash(record.digest())),
            record,
            memory=memory.as_json(),
            subject=subject,
            warnings=sorted([*warnings, *told]),
            # The other failures are those of drafts: listed distributions that were never read.
            drafts=len(failed) - len(never_read),
            may_be_cut=not self._has_end or not all(part.has_end for part in self._single.values()),
        )

    def _requested_as(self, uri: str) -> str:
        """Return the URL, in loose spelling, under which a distribution is listed."""
        return loose_spelling(self._lost.get(uri, LostDistribution()).listed_as or uri)

    def _kept(self, warnings: list[str]) -> dict[str, dict[str, Any] | None]:
        """Return the resources of listed distributions that could not be read, by URI.

        A resource that is removed now has None. Warnings are added to ``warnings``.
        """
        no_url = UnreadableDocument(
            self._url,
            "its dataset names a distribution without a URL that can be requested",
            ReadOutcome.MALFORMED,
        )
        failures = {loose_spelling(url): failure for url, failure in self._failed.items()}
        kept: dict[str, dict[str, Any] | None] = {}
        for uri, resource in self._old_resources.items():
            lost, requested = self._lost.get(uri, LostDistribution()), self._requested_as(uri)
            failure = failures.get(requested) or (no_url if self._without_url else None)
            is_listed = requested in self._named or failure is not None
            if loose_spelling(uri) in self._described or not is_listed:
                continue
            fate = fate_of_distribution(
                listed=True,
                outcome=failure.outcome if failure else None,
                refusal=Refusal.parse(lost.refusal) if lost.refusal else None,
                now=self._datasets.now,
            )
            kept[uri] = resource if fate.stays else None
            remembered = replace(lost, refusal=str(fate.refusal) if fate.refusal else None)
            if fate.stays and remembered != LostDistribution():
                self._remembered[uri] = remembered
            warnings.append(_warning(uri, failure, fate.stays, fate.refusal))
        return kept


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
    first = utc_words(refusal.since)
    return f"{words}, and is removed if a job finds the same 24 hours after {first}"
