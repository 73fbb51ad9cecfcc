"""The log stays free of warnings about a source's malformed literals and IRIs."""

from __future__ import annotations

import asyncio
import contextlib
import logging

import pytest
from rdflib import XSD, Graph, URIRef

from ckanext.freshness.harvesting.fdp import documents
from ckanext.freshness.harvesting.rdf import record_graph
from ckanext.freshness.harvesting.rdf.mapping import map_dataset, mapped
from ckanext.freshness.harvesting.rdf.parsing import RdfParser

URL = "http://fdp.example.org/dataset/1"
DCAT = "http://www.w3.org/ns/dcat#"
DCT = "http://purl.org/dc/terms/"

ODD = f"""<{URL}> a <{DCAT}Dataset> ; <{DCT}title> "t" ;
    <{DCT}issued> "yesterday"^^<{XSD.date}> ; <{DCAT}landingPage> <http://x/a b> ."""


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "rdflib.term"]


def test_a_document_is_read_without_a_word(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.WARNING)

    async def parsed() -> Graph:
        with contextlib.closing(RdfParser()) as parser:
            return await parser.parse(ODD.encode(), "text/turtle", URL)

    graph = asyncio.run(parsed())
    assert capfd.readouterr().err == "", "the parser's process writes into this one's log"
    outline = documents.outline_of_dataset(graph, URL)
    own = record_graph.record_graph(graph, URIRef(URL), [])
    assert mapped(map_dataset, own, URIRef(URL)).fields["title"] == "t"
    assert list(outline.members) == [URL]
    assert told(caplog) == []
