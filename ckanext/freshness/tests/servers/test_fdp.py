"""What the authors and the operators of a FAIR Data Point can do to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib.namespace import DCAT, DCTERMS, RDF, RDFS
from rdflib.plugins.parsers.notation3 import BadSyntax

from ckanext.freshness.tests.servers.client import fetch, graph
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Breakage, Kind, Record, key_of, numbered
from ckanext.freshness.tests.servers.fdp_render import FDP_O, OLD_FDP_O, R3D, Layout
from ckanext.freshness.tests.servers.redirect import RedirectServer
from ckanext.freshness.tests.servers.turtle import Iri, Literal, agent

LDP = rdflib.Namespace("http://www.w3.org/ns/ldp#")


@pytest.fixture
def server() -> Iterator[FdpServer]:
    with FdpServer() as running:
        yield running


@pytest.fixture
def catalog(server: FdpServer) -> Record:
    return server.add_catalog("c1")


@pytest.fixture
def dataset(server: FdpServer, catalog: Record) -> Record:
    return server.add_dataset(catalog, "d1", title="One")


def read(server: FdpServer, record: Record) -> rdflib.Graph:
    return graph(fetch(server.url_of(record)))


def listed(server: FdpServer, parent: Record, relation: rdflib.URIRef = DCAT.dataset) -> list[str]:
    """What a parent lists; its own links and its container agree."""
    document = read(server, parent)
    subject = rdflib.URIRef(server.iri_of(parent))
    direct = sorted(map(str, document.objects(subject, relation)))
    contained: list[str] = []
    for container in document.subjects(LDP.hasMemberRelation, relation):
        assert document.value(container, LDP.membershipResource) == subject
        contained += map(str, document.objects(container, LDP.contains))
    assert direct == sorted(contained)
    return [iri.removeprefix(server.url) for iri in direct]


def paged(server: FdpServer, parent: Record) -> list[str]:
    """The paths of the datasets in a catalog's first page of a thousand."""
    document = graph(fetch(f"{server.url_of(parent)}/page/dataset?page=0&size=1000"))
    found = map(str, document.subjects(RDF.type, DCAT.Dataset))
    return sorted(iri.removeprefix(server.url) for iri in found)


def part_of(server: FdpServer, record: Record) -> str:
    found = read(server, record).value(rdflib.URIRef(server.iri_of(record)), DCTERMS.isPartOf)
    return str(found).removeprefix(server.url)


@pytest.mark.parametrize(
    ("act", "status", "is_listed", "is_paged"),
    [
        (lambda server, record: None, 200, True, True),
        (lambda server, record: server.withdraw(record), 403, True, False),
        (lambda server, record: server.withdraw(record, 401), 401, True, False),
        (lambda server, record: server.vanish(record), 404, True, False),
        (lambda server, record: server.vanish(record, 410), 410, True, False),
        (lambda server, record: server.remove(record), 404, False, False),
        (
            lambda server, record: (server.withdraw(record), server.publish(record)),
            200,
            True,
            True,
        ),
    ],
)
def test_how_a_dataset_goes_away(
    server: FdpServer,
    catalog: Record,
    dataset: Record,
    act: Callable[[FdpServer, Record], object],
    status: int,
    is_listed: bool,
    is_paged: bool,
) -> None:
    other = server.add_dataset(catalog)
    assert paged(server, catalog) == sorted([dataset.path, other.path])
    act(server, dataset)
    reply = fetch(server.url_of(dataset))
    assert (reply.status, reply.headers["Content-Type"]) == (status, "text/turtle")
    assert (dataset.path in listed(server, catalog)) == is_listed
    assert (dataset.path in paged(server, catalog)) == is_paged
    assert other.path in paged(server, catalog)
    pages = fetch(f"{server.url_of(dataset)}/page/distribution")
    assert pages.status == status


def test_a_change_is_seen_at_once(server: FdpServer, catalog: Record, dataset: Record) -> None:
    before, parent = read(server, dataset), fetch(server.url_of(catalog)).body
    page = f"{server.url_of(catalog)}/page/dataset"
    assert b'"Two' not in fetch(page).body
    server.change(dataset, title=Literal("Two", "en"), description=None, identifier="2")
    document = read(server, dataset)
    subject = rdflib.URIRef(server.url_of(dataset))
    assert document.value(subject, DCTERMS.title) == rdflib.Literal("Two", "en")
    assert document.value(subject, RDFS.label) == rdflib.Literal("Two")
    assert document.value(subject, DCTERMS.identifier) == rdflib.Literal("2")
    assert before.value(subject, DCTERMS.description) is not None
    assert document.value(subject, DCTERMS.description) is None
    assert b'"Two' in fetch(page).body
    touched = rdflib.URIRef(FDP_O + "metadataModified")
    assert document.value(subject, touched) != before.value(subject, touched)
    # An edit of a child is not seen on its parent; a new child is.
    assert fetch(server.url_of(catalog)).body == parent
    server.add_dataset(catalog)
    iri = rdflib.URIRef(server.url_of(catalog))
    assert read(server, catalog).value(iri, touched) != graph(parent).value(iri, touched)


def test_a_node_with_an_iri_has_a_block_that_changes_with_it(
    server: FdpServer, dataset: Record
) -> None:
    server.change(dataset, publisher=agent("A", iri="http://a.example/"))
    assert 'foaf:name "A"' in fetch(server.url_of(dataset)).text
    server.change(dataset, publisher=agent("B", iri="http://b.example/"))
    assert "a.example" not in fetch(server.url_of(dataset)).text
    server.change(dataset, publisher=None)
    assert "b.example" not in fetch(server.url_of(dataset)).text


def test_moves(server: FdpServer, catalog: Record, dataset: Record) -> None:
    other = server.add_catalog("c2")
    server.move(dataset, other)
    assert part_of(server, dataset) == "/catalog/c2"
    assert (listed(server, catalog), listed(server, other)) == (["/dataset/d1"], [])
    assert (paged(server, catalog), paged(server, other)) == (["/dataset/d1"], [])
    server.move(dataset, catalog)
    server.move(dataset, other, listing_follows=True)
    assert part_of(server, dataset) == "/catalog/c2"
    assert (listed(server, catalog), listed(server, other)) == ([], ["/dataset/d1"])
    assert (paged(server, catalog), paged(server, other)) == ([], ["/dataset/d1"])


def test_listed_by_two_catalogs_and_part_of_a_third(server: FdpServer, catalog: Record) -> None:
    second, third = server.add_catalog("c2"), server.add_catalog("c3")
    dataset = server.add_dataset(catalog, "d1", part_of=third)
    server.list_also(dataset, second)
    assert listed(server, catalog) == listed(server, second) == ["/dataset/d1"]
    assert listed(server, third) == []
    assert part_of(server, dataset) == "/catalog/c3"
    server.remove(dataset)
    assert listed(server, catalog) == listed(server, second) == []


def test_any_url_can_be_listed(server: FdpServer, catalog: Record) -> None:
    elsewhere = "http://elsewhere.example/dataset/9"
    server.list_also(elsewhere, catalog, Kind.DATASET)
    server.list_also(f"{server.url}/dataset/", catalog, Kind.DATASET)
    assert listed(server, catalog) == ["/dataset/", elsewhere]
    assert paged(server, catalog) == []
    server.unlist(elsewhere, catalog)
    assert listed(server, catalog) == ["/dataset/"]
    with pytest.raises(TypeError, match="as which kind"):
        server.list_also(elsewhere, catalog)


def test_removing_a_catalog_takes_what_is_below_with_it(
    server: FdpServer, catalog: Record, dataset: Record
) -> None:
    other = server.add_catalog("c2")
    moved = server.add_dataset(catalog, "moved")
    server.move(moved, other)
    server.remove_catalog(catalog)
    assert server.catalogs == [other]
    assert server.datasets == [moved]
    assert [fetch(server.url_of(record)).status for record in (catalog, dataset)] == [404, 404]
    assert [r.part_of for r in server.records(Kind.DISTRIBUTION)] == [moved, moved]
    relation = rdflib.URIRef(FDP_O + "metadataCatalog")
    assert listed(server, server.root, relation) == ["/catalog/c2"]


def test_nested_catalogs_and_one_that_lists_itself(server: FdpServer, catalog: Record) -> None:
    inner = server.add_catalog("inner", parent=catalog)
    server.list_also(catalog, catalog)
    server.list_also(catalog, inner)
    assert listed(server, catalog, DCAT.catalog) == ["/catalog/c1", "/catalog/inner"]
    assert listed(server, inner, DCAT.catalog) == ["/catalog/c1"]
    page = graph(fetch(f"{server.url_of(catalog)}/page/catalog"))
    assert len(set(page.subjects(RDF.type, DCAT.Catalog))) == 2
    server.remove_catalog(catalog)
    assert server.catalogs == []


@pytest.mark.parametrize("how", Breakage)
def test_malformed_turtle(
    server: FdpServer, catalog: Record, dataset: Record, how: Breakage
) -> None:
    page = f"{server.url_of(catalog)}/page/dataset"
    server.break_turtle(dataset, how)
    for url in (server.url_of(dataset), page):
        with pytest.raises((BadSyntax, UnicodeDecodeError)):
            graph(fetch(url))
    server.break_turtle(dataset, how, in_pages=False)
    graph(fetch(page))
    server.break_turtle(dataset, None)
    read(server, dataset)


def test_a_record_of_ten_thousand_triples(server: FdpServer, catalog: Record) -> None:
    dataset = server.add_dataset(catalog, relation=numbered(10_000))
    subject = rdflib.URIRef(server.url_of(dataset))
    assert len(list(read(server, dataset).objects(subject, DCTERMS.relation))) == 10_000


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/"), min_size=1))
@settings(max_examples=50)
def test_any_id_has_a_url_that_works(id: str) -> None:
    server = FdpServer()
    server.stop()
    if id in (".", ".."):
        return
    dataset = server.add_dataset(server.add_catalog(), id, distributions=0)
    assert dataset.path.isascii() and " " not in dataset.path
    assert server.find(dataset.path) is dataset
    # Clients may encode more, or other, characters than the server did.
    assert server.find("/dataset/" + quote(id, safe="")) is dataset
    assert server.find("/dataset/" + quote(id, safe=";=~!$&'()*+,:@")) is dataset
    assert server.find("/dataset/" + quote(id + "x", safe="")) is None


@pytest.mark.parametrize(
    ("id", "path", "also", "not_at"),
    [
        ("a;v=1", "/dataset/a;v=1", "/dataset/a%3Bv%3D1", "/dataset/a"),
        ("a?b", "/dataset/a%3Fb", "/dataset/a%3fb", "/dataset/a?b"),
        ("a b", "/dataset/a%20b", "/dataset/%61%20b", "/dataset/a+b"),
        ("a#b", "/dataset/a%23b", "/dataset/a%23b", "/dataset/a"),
        ("köln", "/dataset/k%C3%B6ln", "/dataset/k%c3%b6ln", "/dataset/koln"),
    ],
)
def test_ids_with_characters_of_their_own(
    server: FdpServer, catalog: Record, id: str, path: str, also: str, not_at: str
) -> None:
    dataset = server.add_dataset(catalog, id)
    assert dataset.path == path
    assert [fetch(server.url + at).status for at in (path, also, not_at)] == [200, 200, 404]
    assert listed(server, catalog) == [path]
    server.layout.iris_decoded = True
    assert server.iri_of(dataset) == f"{server.url}{path.replace('%C3%B6', 'ö')}"
    assert f"<{server.iri_of(dataset)}> a " in fetch(server.url + path).text


def test_records_may_live_behind_a_query(server: FdpServer, catalog: Record) -> None:
    first = server.add_dataset(catalog, path="/data?id=1;v=2")
    second = server.add_dataset(catalog, path="/data?id=2")
    assert listed(server, catalog) == ["/data?id=1;v=2", "/data?id=2"]
    assert server.find("/data?id=1;v=2") is first and server.find("/data?id=2") is second
    assert fetch(f"{server.url}/data?id=3").status == fetch(f"{server.url}/data").status == 404
    # A query that a record does not have is ignored.
    assert fetch(f"{server.url_of(catalog)}?x=1").status == 200
    with pytest.raises(ValueError, match="a record at /data\\?id=2 already"):
        server.add_dataset(catalog, path="/data?id=2")


@pytest.mark.parametrize(
    ("target", "key"),
    [("/a%3Fb?c%26d", ("/a?b", "c&d")), ("/a", ("/a", "")), ("/a?", ("/a", ""))],
)
def test_key_of(target: str, key: tuple[str, str]) -> None:
    assert key_of(target) == key


def test_fields_that_do_not_exist(server: FdpServer, catalog: Record) -> None:
    with pytest.raises(TypeError, match="No field is called 'titel'; there are: title, "):
        server.add_dataset(catalog, titel="x")
    with pytest.raises(TypeError, match="'colour'"):
        server.change(catalog, colour="red")


@pytest.mark.parametrize(
    ("layout", "has", "has_not"),
    [
        (Layout(), ["<{fdp}FAIRDataPoint>", "<{fdp}metadataCatalog> <", "ldp:contains"], []),
        (Layout(metadata_catalog=False), ["ldp:contains"], ["<{fdp}metadataCatalog> <"]),
        (Layout(containers=False), ["<{fdp}metadataCatalog> <"], ["ldp:"]),
        (Layout(ontology=OLD_FDP_O), [f"<{OLD_FDP_O}metadataCatalog> <"], [FDP_O]),
        (Layout(root_type="FairDataPoint"), ["<{fdp}FairDataPoint>"], ["FAIRDataPoint"]),
        (
            Layout(root_type=f"{R3D}Repository", catalog_relation=f"{R3D}dataCatalog"),
            [f"<{R3D}Repository>", f"<{R3D}dataCatalog> <", f"Relation <{R3D}dataCatalog>"],
            ["metadataCatalog"],
        ),
        (Layout(root_slash=True), ["\n<{url}/> a ", "membershipResource <{url}/>"], []),
    ],
)
def test_layouts_of_the_root(
    server: FdpServer, catalog: Record, layout: Layout, has: list[str], has_not: list[str]
) -> None:
    server.layout = layout
    text = fetch(server.url).text.replace("@prefix ldp: <http://www.w3.org/ns/ldp#>", "")
    for wanted in has:
        assert wanted.replace("{fdp}", FDP_O).replace("{url}", server.url) in text
    for unwanted in has_not:
        assert unwanted.replace("{fdp}", FDP_O) not in text


@pytest.mark.parametrize(
    ("layout", "unwanted"),
    [
        (Layout(member_links=False), "dcat:dataset <"),
        (Layout(is_part_of=False), "dcterms:isPartOf"),
        (Layout(containers=False), "DirectContainer"),
    ],
)
def test_layouts_of_records(
    server: FdpServer, catalog: Record, dataset: Record, layout: Layout, unwanted: str
) -> None:
    assert unwanted in fetch(server.url_of(catalog)).text
    server.layout = layout
    assert unwanted not in fetch(server.url_of(catalog)).text


def test_a_persistent_url_and_the_service_that_leads_from_it() -> None:
    with RedirectServer() as purl, FdpServer(persistent_url=purl.url) as server:
        purl.to = server.url
        catalog = server.add_catalog("c1")
        server.add_dataset(catalog, "d1")
        document = read(server, catalog)
        assert list(document.subjects(RDF.type, DCAT.Catalog)) == [
            rdflib.URIRef(f"{purl.url}/catalog/c1")
        ]
        assert server.url not in fetch(server.url_of(catalog)).text
        reply = fetch(f"{purl.url}/dataset/d1")
        assert (reply.status, reply.headers["Location"]) == (302, f"{server.url}/dataset/d1")
        page = fetch(f"{server.url}/page/catalog")
        assert f"<{purl.url}/page/catalog?page=0&size=10>" in page.headers["Link"]


def test_a_server_below_a_path() -> None:
    with FdpServer(prefix="/fdp") as server:
        catalog = server.add_catalog("c1")
        assert server.source_url == f"{server.url}/fdp"
        assert server.url_of(catalog) == f"{server.url}/fdp/catalog/c1"
        assert f"<{server.url}/fdp/catalog/> a ldp:DirectContainer" in fetch(server.source_url).text
        statuses = [
            fetch(server.url + path).status
            for path in ("/fdp", "/fdp/", "/fdp/page/catalog", "/", "/catalog/c1", "/fdp/catalog/")
        ]
        assert statuses == [200, 200, 200, 404, 404, 404]


def test_iris_may_stand_where_literals_do(server: FdpServer, dataset: Record) -> None:
    server.change(dataset, title=Iri("http://example.org/t"), theme=Literal("Health"))
    document = read(server, dataset)
    subject = rdflib.URIRef(server.url_of(dataset))
    assert document.value(subject, DCTERMS.title) == rdflib.URIRef("http://example.org/t")
    assert document.value(subject, DCAT.theme) == rdflib.Literal("Health")
