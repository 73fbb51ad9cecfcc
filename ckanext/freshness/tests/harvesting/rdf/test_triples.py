"""Documents give the graph that rdflib would give; hostile ones give an error."""

from __future__ import annotations

import pytest
from rdflib import DCTERMS, BNode, Graph, Literal
from rdflib.compare import isomorphic
from rdflib.term import Node

from ckanext.freshness.harvesting.rdf.parsing import DocumentError
from ckanext.freshness.tests.harvesting.fdp.parsed import parse

BASE = "https://fdp.example.org/dataset/1"

TRICKY = {
    "relative": "<> a <#x> ; <../p> </q>, <2> .",
    "typed": '@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . <s> <p> "01"^^xsd:integer, '
    '"2024-1-1"^^xsd:date, "x"^^xsd:float, "1"^^xsd:boolean, "abc"^^<urn:own> .',
    "strings": '<s> <p> """two\nlines""", "\\u00e9\\t\\"", \'single\' .',
    "blank nodes": "<s> <p> [ <q> _:b0, _:b0, [] ] . _:b0 <r> ( 1 2 ( 3 ) ) .",
    "odd IRIs": "<http://x/a%20b> <http://x/é> <http://x/{}> .",
    "IRIs that are none": "@prefix : <http://x/> . :a :p <http://x/<>, <http://x/a b> .",
}


def same(one: Graph, other: Graph) -> bool:
    if any(isinstance(term, BNode) for triple in one for term in triple):
        return isomorphic(one, other)
    return set(one) == set(other)


def by_rdflib(text: str) -> Graph:
    """Return the graph as rdflib reads it when it keeps the texts of literals."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rdflib.NORMALIZE_LITERALS", False)
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


# RDF/XML that only rdflib reads

RDF_XML = b"""<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [
  <!ENTITY dcat "http://www.w3.org/ns/dcat#">
]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dcat="&dcat;"
    xmlns:dct="http://purl.org/dc/terms/">
  <dcat:Dataset rdf:about="http://a.example/d x">
    <dct:title xml:lang="en">T</dct:title>
    <dct:extent rdf:datatype="http://www.w3.org/2001/XMLSchema#decimal">01.50</dct:extent>
    <dct:publisher rdf:nodeID="p"/>
    <dcat:theme rdf:resource="http://a.example/t">Text</dcat:theme>
  </dcat:Dataset>
  <rdf:Description rdf:nodeID="p"><dct:title>P</dct:title></rdf:Description>
</rdf:RDF>"""
"""As GeoNetwork 3 writes themes."""


def test_a_text_beside_a_resource_costs_nothing_but_itself() -> None:
    graph = parse(RDF_XML, "application/rdf+xml", BASE)
    strict = parse(RDF_XML.replace(b">Text<", b"><"), "application/rdf+xml", BASE)
    (publisher,) = graph.objects(None, DCTERMS.publisher)
    assert isinstance(publisher, BNode) and graph.value(publisher, DCTERMS.title) == Literal("P")
    assert len(graph) == 6
    assert _without_blanks(graph) == _without_blanks(strict)
    assert [str(one) for one in graph.objects(None, DCTERMS.extent)] == ["01.50"]


def _without_blanks(graph: Graph) -> set[tuple[Node, ...]]:
    return {one for one in graph if not any(isinstance(term, BNode) for term in one)}


@pytest.mark.parametrize(
    "body",
    [
        RDF_XML[:-40],
        RDF_XML.replace(b"</dcat:theme>", b"</dcat:themes>"),
        RDF_XML.replace(b"01.50", b"1e99999"),
        RDF_XML.replace(b'"http://www.w3.org/ns/dcat#"', b'SYSTEM "file:///etc/passwd"'),
    ],
    ids=["cut", "mismatched", "huge number", "external entity"],
)
def test_no_parser_reads_what_is_not_whole_or_not_safe(body: bytes) -> None:
    with pytest.raises(DocumentError):
        parse(body, "application/rdf+xml", BASE)


def test_more_triples_than_allowed_are_refused_by_the_second_parser_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ckanext.freshness.harvesting.rdf.triples.MOST_TRIPLES", 5)
    words = r"\(some 1 MiB\) takes more memory .* several pages: application/rdf\+xml: has more than 5 triples"
    with pytest.raises(DocumentError, match=words):
        parse(RDF_XML, "application/rdf+xml", BASE)
