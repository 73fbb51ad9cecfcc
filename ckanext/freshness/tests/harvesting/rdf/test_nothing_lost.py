"""Nothing that a real FAIR Data Point publishes is lost silently: the golden test."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from rdflib import RDF, BNode, Graph, Literal, URIRef
from rdflib.term import Node

from ckanext.freshness.harvesting.rdf import mapping_tables
from ckanext.freshness.harvesting.rdf.parsing import LDP, short
from ckanext.freshness.tests.harvesting.fdp.crawling import Site, catalogs_too
from ckanext.freshness.tests.servers.replay import (
    FDP_EDITED,
    FDP_RECORDING,
    FDP_RICH,
    FDP_TYPES,
    FDP_VERSION_2,
    ReplayServer,
    load_recording,
)

RECORDINGS = {
    "recording": FDP_RECORDING,
    "edited": FDP_EDITED,
    "rich": FDP_RICH,
    "types": FDP_TYPES,
    "version 2": FDP_VERSION_2,
}
BASE = "http://base.example"
LISTS = ("catalogs", "datasets", "series", "distributions", "services")
OF_THE_SERVER = ("#identifier", "#accessRights", "/metrics/", "/profile/", "/profiles/")
"""Parts of the URLs of nodes that a server adds to every record by itself."""


def contents(name: str, *, recording: Any = None) -> tuple[dict[str, Any], str]:
    """Return the records of a recorded server by their URLs, and what the job tells besides."""
    with ReplayServer(recording or RECORDINGS[name]) as server:
        site = Site(server, url=f"{server.url}/", **catalogs_too)  # type: ignore[arg-type]
        job = site.job()
        found = {url: package.content for url, package in site.packages.items()}
        said = json.dumps([found, job.errors, job.warnings], ensure_ascii=False)
        here: dict[str, Any] = json.loads(json.dumps(found).replace(server.url, BASE))
        return here, said


@pytest.mark.parametrize("name", ["recording", "edited", "rich"])
def test_pages_say_what_the_records_own_documents_say(name: str) -> None:
    by_pages, by_documents = (contents(name)[0] for pages in (True, False))
    assert by_pages == by_documents


class Marks:
    """Puts a text of its own in the place of each value of a recording, so that each can be found again.

    :ivar values: by mark, the predicate and the recorded value
    """

    def __init__(self, name: str) -> None:
        recording = load_recording(RECORDINGS[name])
        self.values: dict[str, tuple[Node, Node]] = {}
        self._marks: dict[tuple[str, Node, Node], str] = {}
        of_records = {url for one in LISTS for url in recording.get(one, ())}
        for url, answer in recording["responses"].items():
            if url in of_records and answer["status"] == 200:
                here, text = (one.replace("{base}", BASE) for one in (url, answer["body"]))
                graph = Graph().parse(data=text, format="turtle", publicID=here)
                marked = self._marked(graph)
                answer["body"] = marked.serialize(format="turtle").replace(BASE, "{base}")
        self.recording = recording

    def _marked(self, graph: Graph) -> Graph:
        marked = Graph()
        for triple in graph:
            marked.add(self._mark(triple) if _is_content(graph, triple) else triple)
        return marked

    def _mark(self, triple: Any) -> tuple[Node, Node, Node]:
        subject, predicate, value = triple
        key = ("" if isinstance(subject, BNode) else str(subject), predicate, value)
        mark = self._marks.setdefault(key, f"zork{1000 + len(self._marks)}")
        self.values[mark] = predicate, value
        if isinstance(value, Literal):
            return subject, predicate, Literal(mark, lang=value.language)
        if str(value).startswith("mailto:"):
            return subject, predicate, URIRef(f"mailto:{mark}@example.org")
        return subject, predicate, URIRef(f"https://example.org/{mark}")


def _is_content(graph: Graph, triple: tuple[Node, Node, Node]) -> bool:
    """Decide whether a triple has a value that a publisher wrote."""
    subject, predicate, value = triple
    if predicate in mapping_tables.SERVER_NOISE or predicate in mapping_tables.STRUCTURE:
        return False
    if (subject, RDF.type, LDP.DirectContainer) in graph:
        return False
    if any(part in f"{subject} {value}" for part in OF_THE_SERVER):
        return False
    leads_on = isinstance(value, BNode) or str(value).startswith(BASE)
    return not leads_on and (value, None, None) not in graph


def lost(marks: Marks, found: dict[str, Any], said: str) -> Iterator[tuple[str, Node]]:
    """Return the values that are in no record, in no message, and whose properties are not reported."""
    unmapped = " ".join(path for one in found.values() for path in one.get("unmapped", ()))
    for mark, (predicate, value) in marks.values.items():
        if mark not in said and short(str(predicate)) not in unmapped.replace("/", " ").split():
            yield short(str(predicate)), value


@pytest.mark.parametrize(
    ("name", "values"),
    [("recording", 194), ("edited", 398), ("rich", 490), ("version 2", 84)],
)
def test_each_value_is_in_a_record_or_reported(name: str, values: int) -> None:
    marks = Marks(name)
    found, said = contents(name, recording=marks.recording)
    assert list(lost(marks, found, said)) == []
    assert len(marks.values) == values


@pytest.mark.parametrize(
    ("name", "properties"),
    [
        ("recording", set()),
        ("edited", set()),
        (
            "rich",
            {
                "dcat:distribution/dct:license/dct:type",
                "dct:accessRights/rdfs:label",
                *("dct:available", "dct:references", "dct:requires", "dct:valid"),
            },
        ),
        (
            "types",
            {
                "<http://example.org/ns#protocol>",
                "<http://example.org/ns#protocol>/<http://example.org/ns#step>",
                "<http://example.org/ns#sampleSize>",
                "<https://w3id.org/ejp-rd/vocabulary#vpConnection>",
                *("dcat:contactPoint/vcard:role", "dcat:landingpage", "schema:keywords"),
                *("dct:contributor/foaf:familyName", "dct:contributor/foaf:givenName"),
            },
        ),
        ("version 2", set()),
    ],
)
def test_only_these_properties_have_no_field(name: str, properties: set[str]) -> None:
    found, _ = contents(name)
    assert {path for one in found.values() for path in one.get("unmapped", ())} == properties
