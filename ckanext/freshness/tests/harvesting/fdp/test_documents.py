"""RDF documents: outlines, refusals and their messages."""

from __future__ import annotations

import pytest
from rdflib import Graph, URIRef

from ckanext.freshness.harvesting.fdp import documents
from ckanext.freshness.harvesting.rdf import record_graph
from ckanext.freshness.harvesting.rdf.parsing import DocumentError
from ckanext.freshness.tests.harvesting.fdp.crawling import MAPPER
from ckanext.freshness.tests.harvesting.fdp.parsed import parse
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.negotiation import FORMATS, converted

TURTLE = "text/turtle"
JSON_LD = "application/ld+json"
B = "http://fdp.example.org"
PREFIXES = """
    @prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dct: <http://purl.org/dc/terms/> .
    @prefix ldp: <http://www.w3.org/ns/ldp#> . @prefix foaf: <http://xmlns.com/foaf/0.1/> .
    @prefix fdp-o: <https://w3id.org/fdp/fdp-o#> .
    @prefix c: <http://fdp.example.org/catalog/> . @prefix d: <http://fdp.example.org/dataset/> .
"""


def graph_of(turtle: str) -> Graph:
    return parse((PREFIXES + turtle).encode(), TURTLE, B)


REFUSED = [
    (b"\n\n<a> <b> ; .", TURTLE, "error: text/turtle: near line 3: "),
    (b"<a> <b> nobody:said .", TURTLE, "text/turtle: near line 1: The prefix nobody: has not been"),
    (b"<a> <b> \xff .", TURTLE, "text/turtle: near line 1: Invalid UTF-8"),
    (b"[" * 100_000, JSON_LD, "syntax error: application/ld+json: it is nested too deeply"),
]


@pytest.mark.parametrize(("body", "content_type", "words"), REFUSED)
def test_what_cannot_be_understood(body: bytes, content_type: str | None, words: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse(body, content_type, B)
    said = str(caught.value)
    assert words in said
    assert len(said) < 400
    assert said.isprintable()


@pytest.mark.parametrize("media_type", FORMATS)
@pytest.mark.parametrize("links", [True, False])
def test_no_beginning_of_a_catalog_lists_less_than_all(links: bool, media_type: str) -> None:
    """A document cut off anywhere is malformed, or it still has all entries."""
    server = FdpServer()
    server.stop()
    server.layout.containers = not links
    catalog = server.add_catalog()
    for n in range(5):
        server.add_dataset(catalog, str(n), distributions=0)
    text = server.renderer.document(catalog)
    url = server.iri_of(catalog)
    whole = documents.outline_of_container(graph_of(text), url, is_root=False).datasets
    assert len(whole) == 5
    body = converted(text, media_type)
    assert len(parse(body, media_type, B)) == len(graph_of(text))
    for end in (at for at in range(len(body)) if at % 9 == 0 or body[at - 1 : at] in b">.]}"):
        try:
            graph = parse(body[:end], media_type, B)
            outline = documents.outline_of_container(graph, url, is_root=False)
        except DocumentError:
            continue
        assert outline.datasets == whole


# Outlines of containers


@pytest.mark.parametrize(
    ("turtle", "is_root", "words"),
    [
        ("d:1 a dcat:Dataset .", True, "belongs to no FAIR Data Point and no catalog"),
        ("d:1 a dcat:Dataset .", False, "and no catalog"),
        ("c:2 a dcat:Catalog . c:3 a dcat:Catalog .", False, "and no catalog"),
        # A catalog's URL that redirects to the root must not count as an empty catalog.
        (f"<{B}> a fdp-o:FAIRDataPoint ; fdp-o:metadataCatalog c:1 .", False, "and no catalog"),
    ],
)
def test_no_containers(turtle: str, is_root: bool, words: str) -> None:
    with pytest.raises(DocumentError, match=words):
        documents.outline_of_container(graph_of(turtle), f"{B}/catalog/1", is_root=is_root)


# Outlines of pages and datasets


def member(turtle: str, url: str) -> documents.ListedDataset:
    found = documents.outline_of_dataset(graph_of(turtle), url).member
    assert found is not None
    return found


def test_a_page() -> None:
    turtle = """
        d:1 a dcat:Dataset ; dct:title "1" ; dct:isPartOf c:1 ; dcat:distribution <x>, <y> .
        <x> dct:title "described here" .
        d:2 a dcat:Dataset ; dct:title "2" .
        d:4 a dcat:Dataset ; dct:title "moved here" ; dct:isPartOf c:1, "no IRI" .
        [] a dcat:Dataset ; dct:title "without a URL" .
        </distribution/> ldp:membershipResource d:1, d:2 ; ldp:hasMemberRelation dcat:distribution ;
            ldp:contains <x>, <y>, <z> .
        """
    first, second, fourth = (member(turtle, f"{B}/dataset/{n}") for n in (1, 2, 4))
    assert first.distributions == [f"{B}/y"]
    assert second.distributions == [f"{B}/y", f"{B}/z"]
    assert fourth.part_of == [f"{B}/catalog/1"]


RECORD = """
    d:1 a dcat:Dataset ; dct:title "1" ; dct:publisher [ foaf:name "A" ; foaf:homepage <a> ] ;
        dct:creator [ foaf:name "B" ; foaf:homepage <b> ] ; dct:spatial <p> ; dct:relation d:2 .
    <p> dct:title "Place" . d:2 a dcat:Dataset ; dct:title "2" .
    d:1 dcat:distribution [ a dcat:Distribution ; dct:title "Blank" ], <z> .
    <z> dct:title "Named" . [] a dcat:Distribution ; dct:title "Member" ; dct:isPartOf d:1 .
    """


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("", "", True),
        ('[ foaf:name "A" ; foaf:homepage <a> ]', '[ foaf:homepage <a> ; foaf:name "A" ]', True),
        # Another record has a digest of its own.
        ('dct:title "2"', 'dct:title "two"', True),
        ('dct:title "1"', "dct:title 1", False),
        ('dct:title "1" ;', 'dct:title "1" ; <http://example.org/unknown> true ;', False),
        ("dct:relation d:2", "dct:relation d:3", False),
        # The same names and home pages, paired differently.
        ("<a> ] ;", "<b> ] ;", False),
        ("Blank", "Distribution", False),
        ("Member", "Distribution", False),
    ],
)
def test_a_digest_is_of_all_that_a_document_says(before: str, after: str, same: bool) -> None:
    def digest(turtle: str) -> str:
        return member(turtle, f"{B}/dataset/1").digest

    assert before in RECORD
    changed = RECORD.replace(before, after)
    if before == "<a> ] ;":
        changed = changed.replace("<b> ] ; dct:spatial", "<a> ] ; dct:spatial")
    assert (digest(RECORD) == digest(changed)) is same


@pytest.mark.parametrize(
    "turtle",
    [
        "d:1 a dcat:Dataset ; dct:relation _:a . _:a dct:relation _:b . _:b dct:relation _:a .",
        "d:1 a dcat:Dataset ; dct:relation " + "[ dct:relation " * 300 + "1" + " ]" * 300 + " .",
    ],
    ids=["a circle", "too deep"],
)
def test_a_digest_that_cannot_be_as_last_time(turtle: str) -> None:
    """The record is then read in each job."""
    digests = {member(turtle, f"{B}/dataset/1").digest for _ in range(2)}
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("turtle", "subject"),
    [
        ('d:1 a dcat:Dataset ; dct:title "1" . d:2 a dcat:Dataset .', f"{B}/dataset/1"),
        ('<https://purl.org/1> a dcat:Dataset ; dct:title "1" .', "https://purl.org/1"),
        ("d:2 a dcat:Dataset . d:3 a dcat:Dataset .", None),
        # Another record, sent by accident.
        ("c:1 a dcat:Catalog .", None),
    ],
)
def test_a_datasets_own_document(turtle: str, subject: str | None) -> None:
    url = f"{B}/dataset/1"
    if subject is None:
        with pytest.raises(DocumentError, match=r"describes (no dataset|another record)"):
            documents.outline_of_dataset(graph_of(turtle), url)
    else:
        assert member(turtle, url).subject == subject


# One record's graph

PAGE = """
    d:1 a dcat:Dataset ; dct:title "1" ; dct:publisher [ foaf:name "One" ] ; dct:relation d:2 ;
        dcat:distribution <x> .
    d:2 a dcat:Dataset ; dct:title "2" ; dct:publisher <p> .
    <p> foaf:name "Two" .
"""


def test_records_of_a_page_do_not_touch_each_other() -> None:
    page = graph_of(PAGE)
    size = len(page)
    part = graph_of('<x> a dcat:Distribution ; dct:title "File" . <p> foaf:name "Somebody" .')
    parts = [(part, [URIRef(f"{B}/x")])]
    first = record_graph.record_graph(page, URIRef(f"{B}/dataset/1"), [], parts)
    second = record_graph.record_graph(page, URIRef(f"{B}/dataset/2"), [], [])
    assert len(page) == size
    record = MAPPER(first, URIRef(f"{B}/dataset/1"))
    assert [one["name"] for one in record.resources] == ["File"]
    assert record.fields["publisher_name"] == "One"
    assert (URIRef(f"{B}/dataset/2"), None, None) not in first
    record = MAPPER(second, URIRef(f"{B}/dataset/2"))
    assert (record.fields["publisher_uri"], record.fields["publisher_name"]) == (f"{B}/p", "Two")
