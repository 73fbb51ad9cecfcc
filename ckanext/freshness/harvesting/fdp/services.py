"""Data services that records name and that have documents of their own."""

from __future__ import annotations

from collections.abc import Iterable

from rdflib import RDF, Graph, URIRef

from ...web.urls import display_url
from ..rdf.parsing import DCAT
from ..rdf.reader import DocumentReader
from ..rdf.record_graph import descriptions, undescribed
from ..record import ReadOutcome
from ..source_client import UnreadableDocument


async def fingerprint(reader: DocumentReader, own: str, services: Iterable[str]) -> str:
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


async def describe(reader: DocumentReader, graph: Graph) -> tuple[list[str], list[str]]:
    """Add the descriptions of services that a record's graph only names.

    :returns: the services, and a warning for each that cannot be read. The record keeps its URL.
    """
    nodes = set(graph.objects(None, DCAT.accessService))
    named = sorted(str(node) for node in nodes if isinstance(node, URIRef))
    services = list(filter(reader.source_hosts.may_visit, undescribed(named, [graph])))
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
