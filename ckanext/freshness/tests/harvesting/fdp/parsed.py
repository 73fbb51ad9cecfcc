"""The parser of documents without its process, which would take longer than most documents."""

from __future__ import annotations

from rdflib import Graph

from ckanext.freshness.harvesting.rdf import parsing as rdf
from ckanext.freshness.harvesting.rdf import triples
from ckanext.freshness.harvesting.rdf.parsing import RdfParser
from ckanext.freshness.sandbox import Unopened


def parse(body: bytes, content_type: str | None, url: str) -> Graph:
    """Return the triples of a document.

    :raises DocumentError: it cannot be understood
    """
    try:
        return rdf.graph_of(triples.read(rdf.request(body, content_type, url)))[0]
    except Unopened as error:
        kind = rdf.media_type(content_type) or "answer"
        raise rdf.unopened(kind, error) from error


class InProcessParser(RdfParser):
    """A parser for crawls whose documents keep within the limits."""

    async def parse(self, body: bytes, content_type: str | None, url: str) -> Graph:
        return parse(body, content_type, url)
