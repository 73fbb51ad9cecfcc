"""Documents give the graph that rdflib would give; hostile ones give an error."""

from __future__ import annotations

import pytest
from rdflib import BNode, Graph
from rdflib.compare import isomorphic

from ckanext.freshness.tests.harvesting.fdp.parsed import parse

BASE = "https://fdp.example.org/dataset/1"

TRICKY = {
    "relative": "<> a <#x> ; <../p> </q>, <2> .",
    "typed": '@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . <s> <p> "01"^^xsd:integer, '
    '"2024-1-1"^^xsd:date, "x"^^xsd:float, "1"^^xsd:boolean, "abc"^^<urn:own> .',
    "languages": '<s> <p> "a"@en, "a"@EN-gb, "a", "a"@fr .',
    "strings": '<s> <p> """two\nlines""", "\\u00e9\\t\\"", \'single\' .',
    "blank nodes": "<s> <p> [ <q> _:b0, _:b0, [] ] . _:b0 <r> ( 1 2 ( 3 ) ) .",
    "odd IRIs": "<http://x/a%20b> <http://x/é> <http://x/{}> .",
    "non-ASCII": '<http://x/日本> <http://x/p> "日本"@ja .',
    "empty graph": "@prefix dcat: <http://www.w3.org/ns/dcat#> .",
    "IRIs that are none": "@prefix : <http://x/> . :a :p <http://x/<>, <http://x/a b> .",
}


def same(one: Graph, other: Graph) -> bool:
    if any(isinstance(term, BNode) for triple in one for term in triple):
        return isomorphic(one, other)
    return set(one) == set(other)


@pytest.fixture(autouse=True)
def rdflib_keeps_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rdflib.NORMALIZE_LITERALS", False)


def by_rdflib(text: str) -> Graph:
    return Graph().parse(data=text, format="turtle", publicID=BASE)


@pytest.mark.parametrize("text", TRICKY.values(), ids=list(TRICKY))
def test_same_graph_as_rdflib(text: str) -> None:
    assert same(parse(text.encode(), "text/turtle", BASE), by_rdflib(text))


DTD = """<!DOCTYPE rdf:RDF [
  <!ENTITY rdf "http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <!ENTITY dct 'http://purl.org/dc/terms/'>
  <!ENTITY who 'Zo&#xEB; "and" co'>
  <!ENTITY unused ''>
]>
<rdf:RDF xmlns:rdf="&rdf;" xmlns:dct="&dct;" xml:base="https://example.org/">
  <rdf:Description rdf:about="1">
    <rdf:type rdf:resource="&dct;Agent"/>
    <dct:title rdf:datatype="&rdf;HTML">by &who;</dct:title>
  </rdf:Description>
</rdf:RDF>"""


def test_internal_entities_of_one_level_stand_for_their_texts() -> None:
    """Many tools write the namespaces of RDF/XML this way."""
    graph = parse(f"<?xml version='1.0'?>{DTD}".encode(), "application/rdf+xml", BASE)
    expected = """
        <https://example.org/1> a <http://purl.org/dc/terms/Agent> ;
          <http://purl.org/dc/terms/title>
            'by Zoë "and" co'^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#HTML> ."""
    assert same(graph, by_rdflib(expected))
