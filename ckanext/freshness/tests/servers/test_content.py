"""What the servers are filled with: noise, the demo's catalogue, generated content."""

from __future__ import annotations

import datetime
import hashlib
from collections import Counter
from collections.abc import Iterator

import pytest
import rdflib
from rdflib.compare import to_isomorphic
from rdflib.namespace import DCAT, DCTERMS, RDF

from ckanext.freshness.tests.servers.client import Reply, fetch, graph
from ckanext.freshness.tests.servers.fdp import FdpServer, as_single_catalogue
from ckanext.freshness.tests.servers.fdp_bench import bench_catalogue
from ckanext.freshness.tests.servers.fdp_demo import demo_catalogue
from ckanext.freshness.tests.servers.fdp_model import Kind, Record
from ckanext.freshness.tests.servers.fdp_render import FDP_O
from ckanext.freshness.tests.servers.turtle import Literal

CHECKSUM_VALUE = rdflib.URIRef("http://spdx.org/rdf/terms#checksumValue")


@pytest.fixture
def server() -> Iterator[FdpServer]:
    with FdpServer() as running:
        yield running


def graph_of(server: FdpServer, record: Record) -> rdflib.Graph:
    return graph(fetch(server.url_of(record)))


def test_shuffled_answers_differ_in_bytes_only(server: FdpServer) -> None:
    catalog = server.add_catalog()
    odd = Literal("007", datatype="xsd:integer")
    dataset = server.add_dataset(catalog, number_of_records=odd, keyword=["a", "b", "c"])
    plain = fetch(server.url_of(dataset))
    server.shuffle = True
    first, second = (fetch(server.url_of(dataset)) for _ in range(2))
    assert len({plain.body, first.body, second.body}) == 3
    for parts in (_blocks, lambda reply: _lines(reply, server.url_of(dataset))):
        one, other = parts(first), parts(second)
        assert one != other and sorted(one) == sorted(other)
    touched = rdflib.URIRef(f"{FDP_O}metadataModified")
    values = [set(graph(reply).objects(None, touched)) for reply in (plain, first, second)]
    assert len(set.union(*values)) == 3
    assert all('"007"^^xsd:integer' in reply.text for reply in (plain, first, second))
    assert "[ " not in first.text and "_:b" in first.text and "[ " in plain.text
    assert first.headers["Link"] != second.headers["Link"]
    assert _without_noise(graph(plain)) == _without_noise(graph(first))
    assert _without_noise(graph(first)) == _without_noise(graph(second))
    pages = [fetch(f"{server.url_of(catalog)}/page/dataset") for _ in range(2)]
    assert pages[0].body != pages[1].body
    assert _without_noise(graph(pages[0])) == _without_noise(graph(pages[1]))
    server.break_turtle(dataset)
    assert fetch(server.url_of(dataset)).status == 200


def _blocks(reply: Reply) -> list[str]:
    """What the document's blocks are about, noise left out."""
    subjects = [block.split()[0] for block in reply.text.split("\n\n")]
    return [subject for subject in subjects if "/metrics/" not in subject and "_:" not in subject]


def _lines(reply: Reply, url: str) -> list[str]:
    """The lines of one record's block, noise left out."""
    (block,) = (block for block in reply.text.split("\n\n") if block.startswith(f"<{url}> a "))
    lines = (line.strip().rstrip(" .;") for line in block.splitlines())
    noise = "_:", "/metrics/", "metadataModified"
    return [line for line in lines if not any(word in line for word in noise)]


def _without_noise(document: rdflib.Graph) -> object:
    kept = rdflib.Graph()
    for subject, predicate, value in document:
        if not str(predicate).startswith((f"{FDP_O}metadata", "http://semanticscience.org/")):
            kept.add((subject, predicate, value))
    return to_isomorphic(kept)


def test_methods_and_files(server: FdpServer) -> None:
    reply = fetch(server.url, "POST")
    assert (reply.status, reply.headers["Allow"]) == (405, "GET, HEAD")
    demo_catalogue(server, datetime.date(2026, 11, 21))
    url = f"{server.url}/files/market-prices.csv"
    got = fetch(url)
    for condition, validator in (("If-None-Match", "ETag"), ("If-Modified-Since", "Last-Modified")):
        assert fetch(url, headers={condition: got.headers[validator]}).status == 304
        assert fetch(url, headers={condition: "other"}).status == 200


def test_the_demo(server: FdpServer) -> None:
    today = datetime.date(2026, 11, 21)
    demo_catalogue(server, today)
    assert len(server.catalogs) == 3
    states = Counter(record.state.status for record in server.datasets)
    assert states[200] >= 40 and states[403] == 3
    ages = set()
    for dataset in server.datasets:
        if dataset.state.status != 200:
            continue
        document = graph_of(server, dataset)
        subject = rdflib.URIRef(server.url_of(dataset))
        modified = str(document.value(subject, DCTERMS.modified))[:10]
        ages.add((today - datetime.date.fromisoformat(modified)).days)
        assert len(list(document.objects(subject, DCAT.keyword))) >= 2
        assert document.value(subject, DCTERMS.publisher) and document.value(
            subject, DCAT.contactPoint
        )
    assert min(ages) == 0 and max(ages) > 3000 and len(ages) > 25
    for record in server.records(Kind.DISTRIBUTION):
        if record.part_of and record.part_of.state.status == 200:
            document = graph_of(server, record)
            subject = rdflib.URIRef(server.url_of(record))
            url = document.value(subject, DCAT.downloadURL)
            if url is None:
                assert fetch(str(document.value(subject, DCAT.accessURL))).status == 200
                continue
            body = fetch(str(url)).body
            assert int(str(document.value(subject, DCAT.byteSize))) == len(body)
            (digest,) = document.objects(None, CHECKSUM_VALUE)
            assert str(digest) == hashlib.sha256(body).hexdigest()


def test_the_demo_is_the_same_each_time() -> None:
    made = []
    for _ in range(2):
        with FdpServer() as server:
            demo_catalogue(server, datetime.date(2026, 11, 21))
            records = [record for kind in Kind for record in server.records(kind)]
            replies = [fetch(server.url_of(record)).text for record in records]
            made.append([text.replace(server.url, "") for text in replies])
    assert made[0] == made[1]


def test_generated_content_and_the_same_as_one_catalogue(server: FdpServer) -> None:
    datasets = bench_catalogue(server, 20, 3, catalogs=2)
    server.withdraw(datasets[0])
    single = graph(fetch(f"{server.url}/all.ttl"))
    assert single.isomorphic(graph(as_single_catalogue(server)))
    found = set(single.objects(rdflib.URIRef(server.url), DCAT.dataset))
    assert found == {rdflib.URIRef(server.url_of(dataset)) for dataset in datasets[1:]}
    assert len(set(single.subjects(RDF.type, DCAT.Distribution))) == 19 * 3
    own = graph_of(server, datasets[1])
    subject = rdflib.URIRef(server.url_of(datasets[1]))
    for predicate in (DCTERMS.title, DCTERMS.modified, DCAT.distribution, DCAT.keyword):
        assert (
            set(single.objects(subject, predicate)) == set(own.objects(subject, predicate)) != set()
        )
    assert "metadataIssued" not in fetch(f"{server.url}/all.ttl").text
