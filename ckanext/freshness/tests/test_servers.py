"""The FAIR Data Point of the tests answers as the recorded reference implementation does."""

from __future__ import annotations

import datetime
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from rdflib.compare import to_isomorphic
from rdflib.namespace import DCAT, DCTERMS, RDF

from ckanext.freshness.tests.servers import turtle
from ckanext.freshness.tests.servers.client import Reply, fetch, graph
from ckanext.freshness.tests.servers.fdp import FdpServer, main
from ckanext.freshness.tests.servers.fdp_render import page_links
from ckanext.freshness.tests.servers.negotiation import negotiate
from ckanext.freshness.tests.servers.replay import FDP_RECORDING, ReplayServer
from ckanext.freshness.tests.servers.turtle import (
    Iri,
    Literal,
    agent,
    contact,
    data_service,
    period,
)

EU = "http://publications.europa.eu/resource/authority"


@pytest.fixture
def server() -> Iterator[FdpServer]:
    with FdpServer() as running:
        yield running


@pytest.fixture(scope="module")
def replay() -> Iterator[ReplayServer]:
    with ReplayServer() as running:
        yield running


@pytest.fixture(scope="module")
def twin(replay: ReplayServer) -> Iterator[FdpServer]:
    """A server with the records of the recording."""
    with FdpServer() as running:
        _fill_as_recorded(running, replay)
        yield running


def _fill_as_recorded(server: FdpServer, replay: ReplayServer) -> None:
    def ids(what: str) -> list[str]:
        return [url.rpartition("/")[2] for url in replay.urls(what)]

    root = graph(fetch(replay.url))
    description = root.value(rdflib.URIRef(replay.url), DCTERMS.description)
    server.change(server.root, description=str(description))
    theme = f"{EU}/data-theme/HEAL"
    first, second = ids("catalogs")
    main = server.add_catalog(
        first,
        title=Literal("Rare disease catalogue", "en"),
        description=Literal("Made through the REST API", "en"),
        language=f"{EU}/language/ENG",
        theme_taxonomy=theme,
    )
    other = server.add_catalog(
        second, title="Second catalogue", description=None, version="2", theme_taxonomy=theme
    )
    datasets, distributions = ids("datasets"), ids("distributions")
    cohort = server.add_dataset(
        main,
        datasets[0],
        distributions=0,
        title=Literal("Cohort A", "en"),
        description=Literal("Rich dataset", "en"),
        version="1.2",
        identifier="cohort-a",
        theme=theme,
        keyword=[Literal("genomics", "en"), "CNS/Brain", "x"],
        issued=datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc),
        modified=datetime.datetime(2024, 5, 6, 7, 8, 9, tzinfo=datetime.timezone.utc),
        frequency=f"{EU}/frequency/MONTHLY",
        contact=contact(
            "Help desk",
            "help@example.org",
            "https://example.org/help",
            "https://example.org/help#cp",
        ),
        temporal=period(datetime.date(2020, 1, 1), datetime.date(2023, 12, 31)),
        spatial=f"{EU}/country/NLD",
        access_rights=f"{EU}/access-right/RESTRICTED",
        license="http://creativecommons.org/licenses/by/4.0/",
        landing_page="https://example.org/cohort-a",
        number_of_records=1234,
        min_typical_age=18,
        health_theme="http://www.wikidata.org/entity/Q8277",
    )
    for number, id in enumerate(datasets[1:], 2):
        dataset = server.add_dataset(
            main if number <= 12 else other,
            id,
            distributions=0,
            title=Literal(f"Dataset {number:02d}", "en"),
            description=f"d{number}",
            version="1",
            theme=theme,
            keyword=f"k{number}",
        )
        if number == 2:
            server.add_distribution(
                dataset,
                distributions[2],
                title=Literal("Plain", "en"),
                version="1",
                access_url="https://example.org/p",
                media_type="application/json",
            )
    server.add_dataset(main, ids("draft")[0], draft=True)
    server.add_distribution(
        cohort,
        distributions[0],
        title=Literal("CSV", "en"),
        description="csv file",
        version="1",
        download_url="https://example.org/a.csv",
        media_type="text/csv",
        format="CSV",
        byte_size=2048.0,
        license="http://creativecommons.org/licenses/by/4.0/",
        issued=datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc),
    )
    server.add_distribution(
        cohort,
        distributions[1],
        title=Literal("API", "en"),
        version="1",
        access_url="https://example.org/api",
        media_type="application/json",
        access_service=data_service("svc", "https://example.org/api"),
    )


def as_content(reply: Reply, base: str) -> object:
    """What a document says, whoever serves it and whenever: for comparing."""
    text = reply.text.replace(base, "http://base.example")
    # Server-made times have nine digits (or fewer, zeros being cut).
    text = re.sub(r'"[-\d]+T[:\d]+\.\d+Z"', '"2026-01-01T00:00:00Z"', text)
    return to_isomorphic(rdflib.Graph().parse(data=text, format="turtle"))


def link(reply: Reply, base: str) -> str:
    header = reply.headers["Link"].replace(base, "http://base.example")
    return re.sub(r"<_:\w+>", "<_:blank>", header)


def recorded_targets() -> list[str]:
    recording = json.loads(FDP_RECORDING.read_text(encoding="utf-8"))
    return [url.removeprefix("{base}") for url in recording["responses"]]


# The reference implementation


@pytest.mark.parametrize("target", recorded_targets())
def test_answers_are_those_of_the_reference_implementation(
    twin: FdpServer, replay: ReplayServer, target: str
) -> None:
    ours, theirs = fetch(twin.url + target), fetch(replay.url + target)
    assert ours.status == theirs.status
    assert ours.headers["Content-Type"] == theirs.headers["Content-Type"]
    if theirs.status != 200:
        assert ours.text == theirs.text.replace(replay.url, twin.url)
        return
    assert as_content(ours, twin.url) == as_content(theirs, replay.url)
    assert link(ours, twin.url) == link(theirs, replay.url)


def test_head_is_get_without_the_body(twin: FdpServer) -> None:
    for target in ("/", "/page/catalog", twin.datasets[0].path):
        get, head = fetch(twin.url + target), fetch(twin.url + target, "HEAD")
        assert head.body == b"" and get.body
        for header in ("Content-Type", "Content-Length", "Link"):
            assert head.headers[header] == get.headers[header]
        assert head.headers["ETag"] is None is head.headers["Last-Modified"]


@pytest.mark.parametrize(
    ("accept", "status", "content_type", "format"),
    [
        ("text/turtle", 200, "text/turtle", "turtle"),
        ("*/*", 200, "text/turtle", "turtle"),
        ("application/ld+json", 200, "application/ld+json", "json-ld"),
        ("application/rdf+xml", 200, "application/rdf+xml", "xml"),
        ("text/n3", 200, "text/n3", "n3"),
        ("text/html", 406, None, None),
        ("application/json", 406, None, None),
        ("application/n-triples", 406, None, None),
    ],
)
def test_content_negotiation(
    twin: FdpServer, accept: str, status: int, content_type: str | None, format: str | None
) -> None:
    url = twin.url_of(twin.datasets[0])
    reply = fetch(url, headers={"Accept": accept})
    assert (reply.status, reply.headers["Content-Type"]) == (status, content_type)
    if format:
        assert to_isomorphic(graph(reply, format)) == to_isomorphic(graph(fetch(url)))


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ("", "text/turtle"),
        ("text/*", "text/turtle"),
        ("application/*", "application/ld+json"),
        ("text/html, */*;q=0.1", "text/turtle"),
        ("text/n3, text/turtle", "text/n3"),
        ("text/turtle;q=0.8, application/rdf+xml;q=0.9", "application/rdf+xml"),
        ("Text/Turtle ; charset=utf-8", "text/turtle"),
        ("text/turtle;q=0", None),
        ("text/turtle;q=high", None),
        (",", None),
    ],
)
def test_negotiate(accept: str, chosen: str | None) -> None:
    assert negotiate(accept) == chosen


def test_a_recording_without_its_pages_and_of_what_was_not_recorded(replay: ReplayServer) -> None:
    with ReplayServer(replay.recording, pages=False) as server:
        assert fetch(f"{server.url}/page/catalog?page=0&size=10").status == 404
        assert fetch(server.urls("catalogs")[0]).status == 200
    assert fetch(f"{replay.url}/page/catalog?page=0&size=11").status == 404
    assert fetch(replay.urls("draft")[0]).status == 403


# Pages


@pytest.mark.parametrize(("total", "size"), [(0, 10), (1, 1), (10, 10), (11, 10), (25, 10)])
def test_walking_the_pages_sees_each_child_once(server: FdpServer, total: int, size: int) -> None:
    catalog = server.add_catalog()
    made = [server.add_dataset(catalog, distributions=0) for _ in range(total)]
    server.add_dataset(catalog, draft=True)
    url: str | None = f"{server.url_of(catalog)}/page/dataset?page=0&size={size}"
    seen: list[str] = []
    requests = 0
    while url:
        reply = fetch(url)
        seen += [str(subject) for subject in graph(reply).subjects(RDF.type, DCAT.Dataset)]
        following = re.search(r'<([^>]+)>; rel="next"', reply.headers["Link"])
        url = following[1] if following else None
        requests += 1
    assert sorted(seen) == sorted(map(server.url_of, made))
    assert requests == max(1, -(-total // size))


@given(st.integers(0, 500), st.integers(1, 100), st.integers(0, 600))
def test_page_links(total: int, size: int, page: int) -> None:
    links = dict(
        (relation, int(number))
        for number, relation in re.findall(
            r'<u\?page=(-?\d+)&size=\d+>; rel="(\w+)"', page_links("u", page, size, total)
        )
    )
    assert links["first"] == 0 and links["last"] == -(-total // size) - 1
    assert ("next" in links) == ((page + 1) * size < total)
    assert links.get("next", page + 1) == page + 1
    assert ("prev" in links) == (page > 0 and page * size < total)


@pytest.mark.parametrize("query", ["page=x", "page=-1", "size=0"])
def test_pages_that_cannot_be(server: FdpServer, query: str) -> None:
    assert fetch(f"{server.url}/page/catalog?{query}").status == 400


def test_page_options(server: FdpServer) -> None:
    for _ in range(3):
        server.add_catalog()
    server.layout.max_page_size = 2
    reply = fetch(f"{server.url}/page/catalog?page=0&size=100")
    assert len(set(graph(reply).subjects(RDF.type, DCAT.Catalog))) == 2
    assert 'page=1&size=2>; rel="next"' in reply.headers["Link"]
    server.layout.pages = False
    assert fetch(f"{server.url}/page/catalog").status == 404
    assert fetch(f"{server.url}/page/dataset").status == 404


# As a process, and on its own


def test_as_a_process() -> None:
    command = [sys.executable, "-m", "ckanext.freshness.tests.servers.fdp", "--bench", "3"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        try:
            url = said.removeprefix("listening on ").strip()
            assert fetch(url).status == 200
            assert len(set(graph(fetch(f"{url}/all.ttl")).subjects(RDF.type, DCAT.Dataset))) == 3
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def test_a_process_says_that_its_port_is_taken(
    server: FdpServer, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="1"):
        main(["--port", str(server.port)])
    assert f"Cannot listen on 127.0.0.1:{server.port}: " in capsys.readouterr().err


def test_the_servers_do_without_ckan() -> None:
    code = (
        "import sys, ckanext.freshness.tests.servers.fdp, ckanext.freshness.tests.servers.replay\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'ckan'" not in done.stdout and "'aiohttp'" in done.stdout


# Turtle


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_survives_as_a_literal(text: str) -> None:
    document = f"{turtle.HEAD}<http://a> <http://b> {turtle.term(text)} ."
    (found,) = rdflib.Graph().parse(data=document, format="turtle").objects()
    assert str(found) == text


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("a", '"a"'),
        (Iri("http://a/ b"), "<http://a/%20b>"),
        (Literal("a", "fr"), '"a"@fr'),
        (Literal("a", datatype="xsd:date"), '"a"^^xsd:date'),
        (Literal("a", datatype="http://d"), '"a"^^<http://d>'),
        (Literal("a"), '"a"'),
        (turtle.Raw("42 # x"), "42 # x"),
        (True, "true"),
        (7, "7"),
        (2048.0, "2048.0"),
        (datetime.date(2024, 2, 3), '"2024-02-03"^^xsd:date'),
        (datetime.datetime(2024, 2, 3, 4, 5), '"2024-02-03T04:05:00"^^xsd:dateTime'),
        (agent("N", iri="http://n"), "<http://n>"),
        (["a", 1], '"a", 1'),
        ((), ""),
    ],
)
def test_terms(value: turtle.Value, written: str) -> None:
    assert turtle.objects(value) == written


def test_terms_that_are_none() -> None:
    with pytest.raises(TypeError, match="cannot be written as Turtle"):
        turtle.term(None)  # type: ignore[arg-type]
