"""What only documents of FAIR Data Points have: drafts, and data services with documents of their own."""

from __future__ import annotations

import json
from collections.abc import Iterable

from rdflib import RDF, Graph, URIRef

from ...web.urls import display_url
from ..rdf.parsing import DCAT
from ..rdf.reader import DocumentReader
from ..rdf.record_graph import descriptions, undescribed
from ..record import ReadOutcome
from ..source_client import UnreadableDocument

_NO_SUCH_ENDPOINT = frozenset({400, 401, 403, 404, 405, 406, 410, 501})
"""Statuses that mean: the server has no endpoint for the state of a record, or none for us."""


class FdpReader(DocumentReader):
    """A reader of the documents of one FAIR Data Point."""

    async def is_draft(self, url: str) -> bool:
        """Return whether a record is a draft that only the source's secret headers make readable.

        The reference implementation shows drafts to users, and tells their state at ``<record>/meta``. Other
        servers answer 404 there.

        :raises UnreadableDocument: the server does not tell.
        """
        if not self.reach.sends_headers_to(url) or "?" in url or "#" in url:
            return False
        meta = f"{url.rstrip('/')}/meta"
        try:
            answer = await self.fetch(meta, "application/json")
        except UnreadableDocument as failure:
            if failure.status in _NO_SUCH_ENDPOINT:
                return False
            raise
        try:
            return str(json.loads(answer.body or b"")["state"]["current"]).upper() == "DRAFT"
        except (ValueError, TypeError, LookupError, RecursionError):
            return False


class ServiceReader:
    """A reader of the data services that records name and that have documents of their own."""

    def __init__(self, reader: DocumentReader) -> None:
        self._reader = reader

    async def fingerprint(self, own: str, services: Iterable[str]) -> str:
        """Return a record's fingerprint with its services.

        :param own: the fingerprint of its other documents.
        :param services: the URLs that the record named when it was last parsed.
        """
        answers = []
        for url in services:
            try:
                answers.append((await self._reader.get_once(url)).digest)
            except UnreadableDocument as failure:
                answers.append(str(failure.reason))
        return self._reader.hash(own, *answers) if answers else own

    async def describe(self, graph: Graph) -> tuple[list[str], list[str]]:
        """Add the descriptions of services that a record's graph only names.

        :returns: the services, and a warning for each that cannot be read. The record keeps its URL.
        """
        nodes = set(graph.objects(None, DCAT.accessService))
        named = sorted(str(node) for node in nodes if isinstance(node, URIRef))
        services = list(filter(self._reader.reach.may_visit, undescribed(named, [graph])))
        warnings = []
        for url in services:
            try:
                document = await self._reader.get_once(url)
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
    # What the target describes may be the dataset itself, of which the document may have a former title.
    described = {*target.subjects()} - {service}
    for node, statements in descriptions(graph, service, ()).items():
        for predicate, value in () if node in described else statements:
            target.add((URIRef(url) if node == service else node, predicate, value))
