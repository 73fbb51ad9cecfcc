"""Faults that people reported of other harvesters: documents, answers and lists.

The ids of the rows are public issues. ``harvesting/test_reports.py`` has accidents of sites.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.tests.harvesting.fdp.crawling import Site, unchanged
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Answer
from ckanext.freshness.tests.servers.faults import Fault, Raw
from ckanext.freshness.tests.servers.fdp import FdpServer

PREFIXES = "".join(
    f"PREFIX {prefix}: <{namespace}>\n"
    for prefix, namespace in {
        "dcat": "http://www.w3.org/ns/dcat#",
        "dct": "http://purl.org/dc/terms/",
        "foaf": "http://xmlns.com/foaf/0.1/",
        "xsd": "http://www.w3.org/2001/XMLSchema#",
    }.items()
)


def serve(fdp: FdpServer, documents: dict[str, str]) -> None:
    """Serve Turtle whose relative IRIs are those below the server, or JSON-LD."""
    fdp.layout.pages = False
    for path, text in documents.items():
        is_json = text.startswith("{")
        kind = "application/ld+json" if is_json else "text/turtle"
        fdp.files[path] = Answer.text(text if is_json else PREFIXES + text, kind)


def dataset(name: str, more: str = "") -> str:
    """Return a dataset of an own document, titled by its name."""
    return f'<> a dcat:Dataset ; dct:title "{name}" {more} .'


# Documents


@dataclass(frozen=True)
class Documents:
    """A source that must be harvested without an error. ``/c`` is the catalog."""

    report: str
    documents: dict[str, str]
    titles: set[str] = field(default_factory=lambda: {"a"})
    warnings: str = ""
    """What the warnings of the records match."""
    resources: list[str] = field(default_factory=list)


CATALOG = "<> a dcat:Catalog ; dcat:dataset </a> ."
TWO = "<> a dcat:Catalog ; dcat:dataset </a>, </b> ."
URL = "dcat:accessURL <https://files.example/f>"
CONTEXT = {"dcat": "http://www.w3.org/ns/dcat#", "dct": "http://purl.org/dc/terms/"}


def listed_by(container: str, datasets: Any) -> str:
    """Return a catalog in JSON-LD whose datasets are in a container of that kind."""
    term = {"@id": "dcat:dataset", "@container": container}
    context = {**CONTEXT, "datasets": term}
    own = {"@id": "/c", "@type": "dcat:Catalog", "datasets": datasets}
    return json.dumps({"@context": context, **own})


DOCUMENTS = [
    Documents(
        "geonetwork/core-geonetwork 6831: a record with the IRI of its dataset",
        {
            "/c": "<> a dcat:Catalog ; dcat:dataset </a> ; dcat:record </a> .",
            "/a": dataset("a", "; a dcat:CatalogRecord ; foaf:primaryTopic </a>"),
        },
    ),
    Documents(
        "w3c/dxwg 1500: a catalog is a kind of dataset",
        {
            "/c": "<> a dcat:Catalog, dcat:Dataset ; dcat:dataset </a>, </b> .",
            "/a": dataset("a"),
            "/b": "</c> a dcat:Catalog, dcat:Dataset ." + dataset("b"),
        },
        {"a", "b"},
    ),
    Documents(
        "SEMICeu/DCAT-AP 223: two datasets with one identifier",
        {
            "/c": TWO,
            "/a": dataset("a", '; dct:identifier "X"'),
            "/b": dataset("b", '; dct:identifier "X"'),
        },
        {"a", "b"},
    ),
    Documents(
        "GSA/data.gov 4172: titles that are no texts",
        {
            "/c": TWO,
            "/a": "<> a dcat:Dataset ; dct:title 2023 .",
            "/b": "<> a dcat:Dataset ; dct:title true .",
        },
        {"2023", "true"},
    ),
    Documents(
        "ckan/ckanext-dcat 254: no title",
        {"/c": TWO, "/a": dataset("a"), "/b": "<> a dcat:Dataset ; dct:title '' ."},
        {"a", "b"},
        warnings="title: the record has none",
    ),
    Documents(
        "RDFLib/rdflib 2210, 3116: years before the first one",
        {
            "/c": CATALOG,
            "/a": dataset("a", '; dct:issued "-0012-11-29"^^xsd:date, "-0038"^^xsd:gYear'),
        },
        warnings='issued: "-00.*" is not a date',
    ),
    Documents(
        "DOREMUS-ANR/knowledge-base 25: blank nodes are doubled",
        {
            "/c": CATALOG,
            "/a": "<> a dcat:Dataset ; dct:title 'a' ; dcat:distribution "
            + ", ".join([f"[ a dcat:Distribution ; dct:title 'f' ; {URL} ]"] * 2)
            + " .",
        },
        resources=["f"],
    ),
    *(
        Documents(
            f"RDFLib/rdflib 3538: containers of JSON-LD, {container}",
            {"/c": listed_by(container, listed), "/a": dataset("a"), "/b": dataset("b")},
            {"a", "b"},
        )
        for container, listed in {
            "@set": [{"@id": "/a"}, {"@id": "/b"}],
            "@index": {"one": [{"@id": "/a"}], "two": [{"@id": "/b"}]},
            "@id": {"/a": {"@type": "dcat:Dataset"}, "/b": {"@type": "dcat:Dataset"}},
        }.items()
    ),
]


@pytest.mark.parametrize("row", DOCUMENTS, ids=lambda row: row.report)
def test_documents(fdp: FdpServer, row: Documents) -> None:
    serve(fdp, row.documents)
    site = Site(fdp, url=f"{fdp.url}/c")
    assert site.job().errors == []
    assert site.titles() == row.titles
    assert [one for each in site.packages.values() for one in each.resources] == row.resources
    warnings = [one for package in site.packages.values() for one in package.content["warnings"]]
    assert re.search(row.warnings, "\n".join(warnings)) and bool(warnings) == bool(row.warnings)
    unchanged(site)


# Answers of the catalog

NAMES = [str(number) for number in range(1, 13)]


def triples(base: str, names: list[str]) -> bytes:
    """Return a catalog with a triple in each line: each of its beginnings is well-formed."""
    lines = [f"<{base}/c> a <{CONTEXT['dcat']}Catalog> .\n"]
    lines += [f"<{base}/c> <{CONTEXT['dcat']}dataset> <{base}/{name}> .\n" for name in names]
    return "".join(lines).encode()


TURTLE = {"Content-Type": "text/turtle"}
REFUSED: dict[str, Callable[[bytes, bytes], Fault]] = {
    "cut: without a stated end": lambda _, half: Raw(
        b"HTTP/1.0 200 OK\r\nContent-Type: text/turtle\r\nConnection: close\r\n\r\n" + half
    ),
    "206": lambda _, half: faults.Status(206, half, TURTLE),
    "202": lambda whole, _: faults.Status(202, whole, TURTLE),
    "304": lambda *_: faults.Status(304, b""),
    "GSA/data.gov 5246: a proxy that knows nothing": lambda *_: faults.Status(404),
    "molgenis/molgenis-emx2 3833: nothing at the other slash": lambda *_: faults.empty(),
    "zazuko/cube-creator 1127: a prefix that XML reserves": lambda *_: faults.Body(
        b"<rdf:RDF xmlns:xml='' xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'/>",
        "application/rdf+xml",
    ),
    "FAIR-IMPACT/MOD 69: another namespace": lambda whole, _: faults.Body(
        whole.replace(b"/dcat#", b"/dca#"), "text/turtle"
    ),
    "IQSS/dataverse.harvard.edu 251: moved to another host": lambda *_: faults.Redirect(
        "http://127.0.0.77:9/c", code=301
    ),
}


@pytest.fixture
def site(fdp: FdpServer) -> Site:
    """A site that has harvested a catalog of twelve datasets."""
    serve(fdp, {f"/{name}": dataset(name) for name in NAMES})
    fdp.files["/c"] = Answer(200, triples(fdp.url, NAMES), TURTLE)
    site = Site(fdp, url=f"{fdp.url}/c")
    assert len(site.job().of(RecordClass.NEW)) == len(NAMES)
    return site


@pytest.mark.parametrize("name", REFUSED)
def test_a_catalog_that_is_not_read_whole(fdp: FdpServer, site: Site, name: str) -> None:
    whole, half = triples(fdp.url, NAMES), triples(fdp.url, NAMES[:-1])
    fdp.faults["/c"] = REFUSED[name](whole, half)
    before = dict(site.packages)
    for _ in range(2):
        job = site.job()
        (error,) = job.errors
        assert error.startswith(f"{fdp.url}/c: ")
        assert (job.of(RecordClass.DELETED), job.brake) == (set(), None)
    assert site.packages == before
    fdp.faults.clear()
    unchanged(site)


# Forms of the list

NAMED = "</1>, </2>, </3>"
LISTS: dict[str, tuple[str, bool]] = {
    "ckan/ckanext-dcat 96: parts": (f"; dct:hasPart {NAMED}", True),
    "DCAT 3: resources": (f"; dcat:resource {NAMED}", True),
    "IQSS/dataverse 3809: texts": ("; dcat:dataset 'BASE/1', 'BASE/2'^^xsd:anyURI, 'BASE/3'", True),
    "w3c/dxwg 62: said by the datasets": (
        ". </1> dct:isPartOf <> . </2> dct:isPartOf <> . </3> dct:isPartOf <>",
        False,
    ),
    "ckan/ckanext-dcat 46: nodes without IRIs": (
        "; dcat:dataset [ a dcat:Dataset ], [ a dcat:Dataset ], [ a dcat:Dataset ]",
        False,
    ),
    "GSA/data.gov 6180: records only": ("; dcat:record [ foaf:primaryTopic </1> ]", False),
    "FAIR-IMPACT/MOD 69: another namespace": (f"; <{CONTEXT['dct']}dataset> {NAMED}", False),
    "MITLibraries/oai-pmh-harvester 18: nothing": ("; dct:title 'Empty'", False),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_in_another_form(fdp: FdpServer, name: str) -> None:
    """Another catalog lists so much that no limit of deletions would hold these three."""
    text, is_read = LISTS[name]
    others = ", ".join(f"</other/{number}>" for number in range(30))
    serve(
        fdp,
        {
            "/c": f"<> a dcat:Catalog ; dcat:dataset {NAMED} .",
            "/others": f"<> a dcat:Catalog ; dcat:dataset {others} .",
            "/root": "<> a dcat:Catalog ; dcat:catalog </c>, </others> .",
            **{f"/{name}": dataset(name) for name in NAMES[:3]},
            **{f"/other/{number}": dataset(f"other {number}") for number in range(30)},
        },
    )
    site = Site(fdp, url=f"{fdp.url}/root")
    assert len(site.job().of(RecordClass.NEW)) == 33
    before = dict(site.packages)
    serve(fdp, {"/c": f"<> a dcat:Catalog {text} .".replace("BASE", fdp.url)})
    if is_read:
        unchanged(site)
    for _ in range(2):
        job = site.job()
        assert bool(job.errors) is not is_read
        assert (site.packages, job.brake) == (before, None)
