"""Whatever a document is, its parser gives a graph or a DocumentError, and reads the next document well."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import Graph

from ckanext.freshness.harvesting.rdf.parsing import DocumentError, RdfParser
from ckanext.freshness.tests.servers.negotiation import FORMATS, converted

TURTLE, NT, NQ = "text/turtle", "application/n-triples", "application/n-quads"
XML, JSON_LD = "application/rdf+xml", "application/ld+json"
URL = "http://fdp.example/dataset/1"
GOOD = b"<a> <b> <c> ."
RECORDING = Path(__file__).parents[2] / "data" / "fdp_recording.json"

Read = Callable[[bytes, str, str], Graph | str]


@pytest.fixture
def read() -> Iterator[Read]:
    """Return a function that parses a document as a crawl does, and returns the graph or the error's reason.

    All documents of a test have one parser.
    """
    loop = asyncio.new_event_loop()
    parser = RdfParser()

    def read_one(body: bytes, content_type: str, url: str = URL) -> Graph | str:
        try:
            return loop.run_until_complete(parser.parse(body, content_type, url))
        except DocumentError as error:
            return str(error.reason)

    try:
        yield read_one
    finally:
        parser.close()
        loop.close()


def is_foreseen(answer: Graph | str) -> bool:
    """Decide whether an answer is a graph, or an error that says what is wrong with the document."""
    return isinstance(answer, Graph) or (answer.isprintable() and "cannot be opened" not in answer)


def rdf_xml(text: str, prolog: str = "") -> bytes:
    about = f'<rdf:Description rdf:about="a"><rdf:value>{text}</rdf:value></rdf:Description>'
    namespace = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
    return f"{prolog}<rdf:RDF {namespace}>{about}</rdf:RDF>".encode()


ODD: dict[str, tuple[str, bytes]] = {
    "JSON nested in nodes": (JSON_LD, b'{"http://p/":' * 3000 + b"1" + b"}" * 3000),
    "JSON nested in arrays": (JSON_LD, b"[" * 100_000 + b"]" * 100_000),
    "a lone surrogate": (JSON_LD, b'{"http://p/":"\\ud800"}'),
    "NUL": (TURTLE, b'<a> <b> "\0\\u0000" .'),
    "blank nodes": (TURTLE, b"<a> <b> " + b"[ <b> " * 50_000 + b"]" * 50_000 + b" ."),
    "quoted triples in quoted triples": (TURTLE, b"<a> <b> " + b"<<( <a> <b> " * 100_000),
    "odd IRIs": (TURTLE, b"<http://[x> <http://x/ a|b{}> <http://x/\\u005C>, <//>, <?>, <#> ."),
    "a datatype": (
        TURTLE,
        b'<a> <b> "x"^^<not an IRI>, "x"^^<>, "-"^^<http://www.w3.org/2001/XMLSchema#date> .',
    ),
    "elements": (XML, rdf_xml("<rdf:Description><rdf:value>" * 9999)),
    "names without a namespace": (XML, rdf_xml("<c t=''><t g=''><t t=''><a/><b/></t></t></c>")),
    "CDATA": (XML, rdf_xml("<![CDATA[" * 100_000)),
    "a mark": (TURTLE, b"\xff\xfe\0"),
    "an empty DTD": (XML, b"<!DOCTYPE rdf:RDF [" + b" " * 1_000_000),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_document_harms_no_other(
    name: str, read: Read, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nor does it fill the log with warnings that no operator can do anything about."""
    content_type, body = ODD[name]
    before = time.process_time()
    for kind in (content_type, f"{content_type};charset=utf-7", "text/plain;charset=koi8-r"):
        answer = read(body, kind, URL)
        assert is_foreseen(answer)
    assert time.process_time() - before < 3, "the parser's caller is busy"
    assert len(read(GOOD, TURTLE, URL)) == 1
    assert [one for one in caplog.records if one.name == "rdflib.term"] == []
    assert capfd.readouterr().err == "", "the parser's process writes into this one's log"


def _documents() -> list[tuple[str, bytes]]:
    """Return recorded documents in all formats."""
    responses = json.loads(RECORDING.read_text())["responses"]
    texts = sorted(
        {
            one["body"].replace("{base}", "http://x")
            for one in responses.values()
            if one["status"] == 200
        }
    )
    texts = [text for text in texts if text.strip()][:6]
    found = [(kind, converted(text, kind)) for text in texts for kind in FORMATS]
    graphs = [Graph().parse(data=text, format="turtle") for text in texts]
    found += [(NT, graph.serialize(format="nt", encoding="utf-8")) for graph in graphs]
    found += [(NQ, body) for kind, body in found if kind == NT]
    prolog = b'<?xml version="1.0" encoding="%s"?><!DOCTYPE rdf:RDF [<!ENTITY e "x">]>'
    for encoding in ("windows-1252", "utf-16", "koi8-r"):
        body = prolog % encoding.encode() + rdf_xml("Zo&euml; &e;<!-- c --><![CDATA[<&>]]>")
        found.append((XML, body.decode().encode(encoding)))
    return found


_TOKENS = [
    *rb"""" < > /> </ [ ] { } ( ) ^^ . ; @en_US @*** _: \u12 \uD800""".split(),
    *(b"'''", b"\xff", b"\x00", b"\xef\xbb\xbf", b"\xff\xfe"),
    *(b"<!--", b"-->", b"<![CDATA[", b"]]>", b"<?", b"?>", b"<!DOCTYPE a [", b"<!ENTITY a '&b;'>"),
    *(b"&x;", b"&nbsp;", b"&#0;", b'xml:lang="fr_"', b'encoding="utf-16"', b'encoding="hex"'),
    *(b'"@graph":[', b'"@context":"x",', b'"@language":"en_US",', b"null", b"1e999", b"@prefix"),
    *(b"=>", b"?", b"@forAll", b"GRAPH", b"<<", b"{|", b"%", b"http://["),
]
_CONTENT_TYPES = [
    *("", "text/plain", "text/xml", "application/json", "text/html", "application/octet-stream"),
    *(TURTLE, "text/n3", NT, NQ, "application/trig", XML, JSON_LD, "text/turtle;charset=", ";"),
]
_CHARSETS = ["utf-8", "utf-16", "latin1", "koi8-r", "gb18030", "utf-7", "idna", "'", "\u00e9"]


@st.composite
def spoilt(draw: st.DrawFn) -> tuple[bytes, str, str]:
    """Make a document with a few mistakes, under a media type that may be false, and its URL."""
    content_type, original = draw(st.sampled_from(_DOCUMENTS))
    body = bytearray(original)
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(body)))
        end = min(len(body), start + draw(st.sampled_from([0, 1, 3, 20, 200, 100_000])))
        body[start:end] = draw(
            st.one_of(st.sampled_from(_TOKENS), st.just(b""), st.binary(max_size=3))
        )
    if draw(st.booleans()):
        content_type = draw(st.sampled_from(_CONTENT_TYPES))
    if draw(st.booleans()):
        content_type += f"; charset={draw(st.sampled_from(_CHARSETS))}"
    url = draw(st.sampled_from([URL, "http://x/{}", "http://[", "", "http://x/\ud800"]))
    return bytes(body), content_type, url


_DOCUMENTS = _documents()


@settings(
    max_examples=100,
    # One parser for all documents.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(spoilt())
def test_a_spoilt_document_harms_no_other(read: Read, document: tuple[bytes, str, str]) -> None:
    answer = read(*document)
    assert is_foreseen(answer)
    assert len(read(GOOD, TURTLE, URL)) == 1
