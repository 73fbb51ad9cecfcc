"""What becomes of each value that real FAIR Data Points publish, by ckanext-dcat alone and with our profile."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from rdflib import RDF, XSD, BNode, Graph, Literal, URIRef
from rdflib.term import Node

from ckanext.freshness.harvesting.rdf.parsing import DCAT
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
NO_CONTENT = (
    *("/fdp-o#", "/ldp#", "SIO_000628", "22-rdf-syntax-ns#type", "dcat#distribution"),
    *("dcat#dataset", "dcat#catalog", "terms/isPartOf"),
)
"""Parts of predicates by which a server describes itself, or says where records are."""
TYPED = (
    *("byteSize", "mediaType", "format", "issued"),
    *("modified", "startDate", "endDate", "temporal"),
)
"""Properties whose values have a form of their own."""


class Marks:
    """Puts a text of its own in the place of each value of a recording, so that each can be found again.

    :ivar ways: by mark, the way from the record's class to the value
    """

    def __init__(self, name: str) -> None:
        recording = load_recording(RECORDINGS[name])
        self.ways: dict[str, str] = {}
        of_records = {url for one in LISTS for url in recording.get(one, ())}
        for url, answer in recording["responses"].items():
            if url in of_records and answer["status"] == 200:
                here, text = (one.replace("{base}", BASE) for one in (url, answer["body"]))
                graph = Graph().parse(data=text, format="turtle", publicID=here)
                marked = Graph()
                for triple in graph:
                    marked.add(self._mark(graph, triple))
                answer["body"] = marked.serialize(format="turtle").replace(BASE, "{base}")
        self.recording = recording

    def _mark(self, graph: Graph, triple: Any) -> tuple[Node, Node, Node]:
        subject, predicate, value = triple
        way = _way(graph, subject)
        if not way or not _is_content(graph, triple):
            return subject, predicate, value
        mark = f"zork{1000 + len(self.ways)}"
        self.ways[mark] = f"{way} {_local(predicate)}"
        if isinstance(value, Literal):
            return subject, predicate, Literal(mark, lang=value.language)
        if str(value).startswith("mailto:"):
            return subject, predicate, URIRef(f"mailto:{mark}@example.org")
        return subject, predicate, URIRef(f"https://example.org/{mark}")

    def lost(self, said: str) -> set[str]:
        """Return the ways to values that a text does not have, and to none that it has."""
        found = {way for mark, way in self.ways.items() if mark in said}
        return {*self.ways.values()} - found


@cache
def harvested(name: str) -> tuple[Marks, dict[str, Any], str]:
    """Return a recording with its marks, its records by URL, and their text with what the job tells besides."""
    marks = Marks(name)
    with ReplayServer(marks.recording) as server:
        site = Site(server, url=f"{server.url}/", config=catalogs_too)
        job = site.job()
        found = {url: package.content for url, package in site.packages.items()}
        said = json.dumps([found, job.errors, job.warnings], ensure_ascii=False)
        return marks, found, said


def _local(iri: Node) -> str:
    return str(iri).replace("#", "/").rpartition("/")[2]


def _way(graph: Graph, node: Node) -> str:
    """Return the class of a record and the properties that lead from it to a node; "" if there is none."""
    for kind in ("Dataset", "Catalog", "Distribution"):
        if (node, RDF.type, DCAT[kind]) in graph:
            return kind
    for subject, predicate in graph.subject_predicates(node):
        if subject != node and (way := _way(graph, subject)):
            return f"{way} {_local(predicate)}"
    return ""


def _is_content(graph: Graph, triple: tuple[Node, Node, Node]) -> bool:
    """Decide whether a triple has a text or an IRI that a publisher wrote."""
    subject, predicate, value = triple
    if any(part in str(predicate) for part in NO_CONTENT) or _local(predicate) in TYPED:
        return False
    if isinstance(value, Literal) and value.datatype and value.datatype != XSD.string:
        return False
    if any(part in f"{subject} {value}" for part in OF_THE_SERVER):
        return False
    leads_on = isinstance(value, BNode) or str(value).startswith(BASE)
    return not leads_on and (value, None, None) not in graph


NO_FIELD = "neither ckanext-dcat nor CKAN has a field for it"
OTHER_PROFILE = "with a schema, or by the profile euro_health_dcat_ap"
ONE_NAME = "the node's IRI or name is kept"
NOT_SHOWN = "a property of the catalog that no page shows"
LABEL = "rdfs:label, which repeats the title"
ODD = "a property that the vocabulary does not know, or under another name"
REASONS: dict[str, tuple[str, ...]] = {
    NO_FIELD: (
        *("Catalog contactPoint hasTelephone", "Catalog contactPoint organization-name"),
        "Dataset contactPoint hasAddress country-name",
        "Dataset contactPoint hasAddress locality",
        "Dataset contactPoint hasAddress postal-code",
        *("Dataset contactPoint hasAddress street-address", "Dataset contactPoint hasTelephone"),
        *("Dataset contactPoint organization-name", "Dataset contactPoint role"),
        *("Dataset creator spatial", "Dataset identifier schemaAgency"),
        *("Dataset publisher spatial", "Dataset references", "Dataset requires"),
    ),
    "foaf:homepage is kept": ("Catalog homePage",),
    LABEL: ("Catalog label", "Dataset label", "Distribution label"),
    NOT_SHOWN: ("Catalog themeTaxonomy",),
    ONE_NAME: (
        *("Dataset accessRights label", "Dataset contributor familyName"),
        *("Dataset contributor givenName", "Dataset contributor mbox"),
        "Dataset hasPolicy permission action",
        "Dataset hasPolicy permission constraint leftOperand",
        "Dataset hasPolicy permission constraint operator",
        *("Dataset hasPolicy permission constraint rightOperand", "Dataset hasPolicy uid"),
        *("Dataset rightsHolder homepage", "Distribution license type"),
        *("Distribution publisher homepage", "Distribution publisher identifier"),
        *("Distribution publisher mbox", "Distribution publisher type"),
    ),
    ODD: (
        *("Dataset contactPoint hasEmail value", "Dataset creator publishernote"),
        *("Dataset creator publishertype", "Dataset keywords", "Dataset landingpage"),
        *("Dataset protocol label", "Dataset protocol step label"),
        *("Dataset publisher publishernote", "Dataset publisher publishertype"),
        "Dataset vpConnection",
    ),
    "without a schema, one creator is kept": ("Dataset creator mbox",),
    OTHER_PROFILE: (
        *("Dataset hasQualityAnnotation hasBody", "Dataset hasQualityAnnotation hasTarget"),
        *("Dataset qualifiedRelation hadRole", "Dataset qualifiedRelation relation"),
    ),
    "dcat:version is kept": ("Dataset versionInfo", "Distribution hasVersion"),
}
LOST = {way for ways in REASONS.values() for way in ways}
"""Values of the recordings that are in no record, each with the reason."""


@pytest.mark.parametrize("name", RECORDINGS)
def test_each_value_is_in_a_record_or_has_a_reason(name: str) -> None:
    marks, _, said = harvested(name)
    assert marks.lost(said) - LOST == set()


def test_each_reason_is_needed() -> None:
    needed = set[str]()
    for name in RECORDINGS:
        marks, _, said = harvested(name)
        needed |= marks.lost(said)
    assert LOST - needed == set()
