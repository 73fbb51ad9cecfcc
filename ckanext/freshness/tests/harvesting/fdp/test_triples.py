"""The fast reader of Turtle makes the same graph as rdflib."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rdflib import BNode, Graph
from rdflib.compare import isomorphic

from ckanext.freshness.harvesting.fdp.parsing import DocumentError, parse
from ckanext.freshness.harvesting.fdp.turtle import pyoxigraph, read_turtle

BASE = "https://fdp.example.org/dataset/1"
RECORDING = Path(__file__).parents[2] / "data" / "fdp_recording.json"

TRICKY = {
    "relative": "<> a <#x> ; <../p> </q>, <2> .",
    "numbers": "<s> <p> 1, 1.0, 1e3, -0, +5, 007, 2048.00, true .",
    "typed": '@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . <s> <p> "01"^^xsd:integer, '
    '"2024-1-1"^^xsd:date, "x"^^xsd:float, "1"^^xsd:boolean, "abc"^^<urn:own> .',
    "languages": '<s> <p> "a"@en, "a"@EN-gb, "a", "a"@fr .',
    "strings": '<s> <p> """two\nlines""", "\\u00e9\\t\\"", \'single\' .',
    "blank nodes": "<s> <p> [ <q> _:b0, _:b0, [] ] . _:b0 <r> ( 1 2 ( 3 ) ) .",
    "odd IRIs": "<http://x/a%20b> <http://x/é> <http://x/{}> .",
    "non-ASCII": '<http://x/日本> <http://x/p> "日本"@ja .',
    "empty graph": "@prefix dcat: <http://www.w3.org/ns/dcat#> .",
}


def same(one: Graph, other: Graph) -> bool:
    if any(isinstance(term, BNode) for triple in one for term in triple):
        return isomorphic(one, other)
    return set(one) == set(other)


def slow(text: str) -> Graph:
    return Graph().parse(data=text, format="turtle", publicID=BASE)


@pytest.mark.skipif(pyoxigraph is None, reason="pyoxigraph has no wheel for this platform")
@pytest.mark.parametrize("text", TRICKY.values(), ids=list(TRICKY))
def test_same_graph_as_rdflib(text):
    fast = read_turtle(text.encode(), BASE)
    assert fast is not None
    assert same(fast, slow(text))


@pytest.mark.skipif(pyoxigraph is None, reason="pyoxigraph has no wheel for this platform")
def test_same_graph_for_every_recorded_document():
    responses = json.loads(RECORDING.read_text())["responses"]
    bodies = {
        one["body"].replace("{base}", "https://fdp.example.org")
        for one in responses.values()
        if one["status"] == 200 and one["body"]
    }
    assert len(bodies) > 20
    for body in bodies:
        fast = read_turtle(body.encode(), BASE)
        assert fast is not None
        assert same(fast, slow(body))


def test_blank_nodes_of_two_documents_stay_apart():
    first = parse(b"_:b <p> 1 .", "text/turtle", BASE)
    second = parse(b"_:b <p> 2 .", "text/turtle", BASE)
    first += second
    assert len(set(first.subjects())) == 2


def test_what_only_rdflib_reads_is_read():
    text = b"@prefix : <http://x/> .\n:a :p <http://x/<> .\n"
    assert read_turtle(text, BASE) is None or len(parse(text, "text/turtle", BASE)) == 1


@pytest.mark.parametrize("body", [b"<s> <p> ", b"<s> <p> 1 . <s>", b"no turtle", b"\xff\xfe<s>"])
def test_malformed_is_said_in_words(body):
    assert read_turtle(body, BASE) is None
    with pytest.raises(DocumentError, match="malformed"):
        parse(body, "text/turtle", BASE)
