"""What becomes of each value that real FAIR Data Points publish, by ckanext-dcat alone and with our profile."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from rdflib import RDF, XSD, BNode, Graph, Literal, URIRef
from rdflib.term import Node

from ckanext.dcat.processors import RDFParser
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
TYPED = (
    "byteSize",
    "mediaType",
    "format",
    "issued",
    "modified",
    "startDate",
    "endDate",
    "temporal",
)
"""Properties whose values have a form of their own."""
"""Parts of predicates by which a server describes itself, or says where records are."""


class Marks:
    """Puts a text of its own in the place of each value of a recording, so that each can be found again.

    :ivar ways: by mark, the way from the record's class to the value
    """

    def __init__(self, name: str) -> None:
        recording = load_recording(RECORDINGS[name])
        self.ways: dict[str, str] = {}
        self.graph = Graph()
        of_records = {url for one in LISTS for url in recording.get(one, ())}
        for url, answer in recording["responses"].items():
            if url in of_records and answer["status"] == 200:
                here, text = (one.replace("{base}", BASE) for one in (url, answer["body"]))
                graph = Graph().parse(data=text, format="turtle", publicID=here)
                marked = Graph()
                for triple in graph:
                    marked.add(self._mark(graph, triple))
                self.graph += marked
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
LOST = {
    "Catalog contactPoint hasTelephone": NO_FIELD,
    "Catalog contactPoint organization-name": NO_FIELD,
    "Catalog homePage": "foaf:homepage is kept",
    "Catalog label": LABEL,
    "Catalog themeTaxonomy": NOT_SHOWN,
    "Dataset accessRights label": ONE_NAME,
    "Dataset contactPoint hasAddress country-name": NO_FIELD,
    "Dataset contactPoint hasAddress locality": NO_FIELD,
    "Dataset contactPoint hasAddress postal-code": NO_FIELD,
    "Dataset contactPoint hasAddress street-address": NO_FIELD,
    "Dataset contactPoint hasEmail value": ODD,
    "Dataset contactPoint hasTelephone": NO_FIELD,
    "Dataset contactPoint organization-name": NO_FIELD,
    "Dataset contactPoint role": NO_FIELD,
    "Dataset contributor familyName": ONE_NAME,
    "Dataset contributor givenName": ONE_NAME,
    "Dataset contributor mbox": ONE_NAME,
    "Dataset creator mbox": "without a schema, one creator is kept",
    "Dataset creator publishernote": ODD,
    "Dataset creator publishertype": ODD,
    "Dataset creator spatial": NO_FIELD,
    "Dataset hasPolicy permission action": ONE_NAME,
    "Dataset hasPolicy permission constraint leftOperand": ONE_NAME,
    "Dataset hasPolicy permission constraint operator": ONE_NAME,
    "Dataset hasPolicy permission constraint rightOperand": ONE_NAME,
    "Dataset hasPolicy uid": ONE_NAME,
    "Dataset hasQualityAnnotation hasBody": OTHER_PROFILE,
    "Dataset hasQualityAnnotation hasTarget": OTHER_PROFILE,
    "Dataset identifier schemaAgency": NO_FIELD,
    "Dataset keywords": ODD,
    "Dataset label": LABEL,
    "Dataset landingpage": ODD,
    "Dataset protocol label": ODD,
    "Dataset protocol step label": ODD,
    "Dataset publisher publishernote": ODD,
    "Dataset publisher publishertype": ODD,
    "Dataset publisher spatial": NO_FIELD,
    "Dataset qualifiedRelation hadRole": OTHER_PROFILE,
    "Dataset qualifiedRelation relation": OTHER_PROFILE,
    "Dataset references": NO_FIELD,
    "Dataset requires": NO_FIELD,
    "Dataset rightsHolder homepage": ONE_NAME,
    "Dataset versionInfo": "dcat:version is kept",
    "Dataset vpConnection": ODD,
    "Distribution hasVersion": "dcat:version is kept",
    "Distribution label": LABEL,
    "Distribution license type": ONE_NAME,
    "Distribution publisher homepage": ONE_NAME,
    "Distribution publisher identifier": ONE_NAME,
    "Distribution publisher mbox": ONE_NAME,
    "Distribution publisher type": ONE_NAME,
}
"""Values of the recordings that are in no record, each with the reason."""
GAINED = {
    *("Dataset abstract", "Dataset alternative", "Dataset audience", "Dataset audience prefLabel"),
    *(
        "Dataset bibliographicCitation",
        "Dataset contributor name",
        "Dataset extent",
        "Dataset extent label",
    ),
    *("Dataset hasCurrentVersion", "Dataset hasPart", "Dataset hasPolicy", "Dataset isReplacedBy"),
    *(
        "Dataset license",
        "Dataset prev",
        "Dataset previousVersion",
        "Dataset replaces",
        "Dataset rights",
    ),
    *(
        "Dataset rights description",
        "Dataset rightsHolder name",
        "Dataset status",
        "Dataset subject",
    ),
    *("Dataset wasDerivedFrom", "Distribution accessRights", "Distribution accessRights label"),
    *("Distribution hasPolicy", "Distribution license title", "Distribution publisher name"),
    "Distribution version",
}
"""Values of the recording "rich" that ckanext-dcat's default profile alone loses."""
ONE_OF_SEVERAL = (
    *("Dataset accessRights", "Dataset creator", "Dataset contactPoint"),
    *("Dataset spatial", "Dataset publisher"),
)
"""Without a schema one is kept, and ckanext-dcat alone takes any."""


@pytest.mark.parametrize("name", RECORDINGS)
def test_each_value_is_in_a_record_or_has_a_reason(name: str) -> None:
    marks, _, said = harvested(name)
    alone = RDFParser(profiles=["euro_dcat_ap_3"])
    alone.g = marks.graph
    now, by_dcat_alone = marks.lost(said), marks.lost(json.dumps(list(alone.datasets())))
    assert now - LOST.keys() == set()
    worse = now - by_dcat_alone
    assert [way for way in worse if not way.startswith(("Catalog", *ONE_OF_SEVERAL))] == []
    if name == "rich":
        assert by_dcat_alone - now >= GAINED


def test_each_reason_is_needed() -> None:
    needed = set[str]()
    for name in RECORDINGS:
        marks, _, said = harvested(name)
        needed |= marks.lost(said)
    assert LOST.keys() - needed == set()
