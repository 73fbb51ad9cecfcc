"""Faults that people reported of other harvesters, tried here. The ids of the rows are public issues."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.ckan_core import model
from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.tests.harvesting.conftest import (
    Harvest,
    Job,
    add_source,
    extras,
    sysadmin,
)
from ckanext.freshness.tests.harvesting.fdp.crawling import IMPATIENT, Site, unchanged
from ckanext.freshness.tests.harvesting.test_takeover import clear_history, switch
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Answer
from ckanext.freshness.tests.servers.faults import Fault, Raw
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind as Level
from ckanext.harvest import model as harvest_model

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


def raw(
    body: bytes, *headers: str, length: int | None = None, start: str = "HTTP/1.1 200 OK"
) -> Raw:
    """Return an answer as it is on the wire.

    :param length: what it says about its length, in place of the truth.
    """
    length = len(body) if length is None else length
    lines = [start, "Content-Type: text/turtle", *headers]
    if "Transfer-Encoding: chunked" not in headers:
        lines.append(f"Content-Length: {length}")
    return Raw("\r\n".join([*lines, "", ""]).encode() + body)


def zipped(body: bytes, encoding: str = "gzip") -> Raw:
    return raw(body, f"Content-Encoding: {encoding}")


def flushed(body: bytes) -> bytes:
    """Return a gzip file that is not finished, but can be unpacked so far."""
    packer = zlib.compressobj(wbits=31)
    return packer.compress(body) + packer.flush(zlib.Z_SYNC_FLUSH)


def chunk(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(body), body)


TURTLE = {"Content-Type": "text/turtle"}
REDIRECT = "HTTP/1.1 302 Found"
REFUSED: dict[str, Callable[[bytes, bytes], Fault]] = {
    "cut: chunks without the last one": lambda _, half: raw(
        chunk(half), "Transfer-Encoding: chunked"
    ),
    "cut: shorter than its length": lambda whole, half: raw(half, length=len(whole)),
    "cut: gzip": lambda whole, _: zipped(gzip.compress(whole)[:-30]),
    "cut: gzip without its trailer": lambda whole, _: zipped(gzip.compress(whole)[:-8]),
    "cut: gzip that was flushed": lambda _, half: zipped(flushed(half)),
    "gzip in gzip": lambda whole, _: zipped(gzip.compress(gzip.compress(whole))),
    "gzip without a label": lambda whole, _: raw(gzip.compress(whole)),
    "no gzip, labelled so": lambda whole, _: zipped(whole),
    "206": lambda _, half: faults.Status(206, half, TURTLE),
    "202": lambda whole, _: faults.Status(202, whole, TURTLE),
    "203": lambda whole, _: faults.Status(203, whole, TURTLE),
    "300": lambda whole, _: faults.Status(300, whole, TURTLE),
    "304": lambda *_: faults.Status(304, b""),
    "302 without a Location": lambda *_: raw(b"", start=REDIRECT),
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
READ: dict[str, Callable[[bytes], Fault]] = {
    "Content-Encoding: UTF-8": lambda whole: zipped(whole, "UTF-8"),
    "Content-Encoding: none": lambda whole: zipped(whole, "none"),
    "two content types": lambda whole: raw(whole, "Content-Type: text/turtle;charset=UTF-8"),
    "HTTP/1.0": lambda whole: raw(whole, start="HTTP/1.0 200 OK"),
    "no reason": lambda whole: raw(whole, start="HTTP/1.1 200"),
    "early hints": lambda whole: raw(
        whole, start="HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\nHTTP/1.1 200 OK"
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


@pytest.mark.parametrize("name", READ)
def test_a_catalog_that_is_read(fdp: FdpServer, site: Site, name: str) -> None:
    fdp.faults["/c"] = READ[name](triples(fdp.url, NAMES))
    unchanged(site)


# Answers of a record

RECORDS: dict[str, Callable[[], Fault]] = {
    "gbif/ipt 1816: listed and not described": lambda: faults.Body(
        f"{PREFIXES} <> dct:title 'a' .".encode(), "text/turtle"
    ),
    "opendatateam/udata 3571: a page for people": lambda: faults.Redirect("/page", code=303),
    "FAIRDataTeam/FAIRDataPoint 854: a time-out": lambda: faults.Hang(),
    "IQSS/dataverse 8005: an old entry of the list": lambda: faults.Status(500),
}


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_that_is_not_read(fdp: FdpServer, site: Site, name: str) -> None:
    fdp.files["/page"] = Answer.text("<html>", "text/html")
    fdp.faults["/1"] = RECORDS[name]()
    site.limits = IMPATIENT
    before = dict(site.packages)
    job = site.job()
    (error,) = job.errors
    assert error.startswith(f"{fdp.url}/1: ")
    assert len(job.of(RecordClass.UNCHANGED)) == len(NAMES) - 1
    assert site.packages == before


# The site

on_a_site = pytest.mark.usefixtures("clean_site")


def filled(fdp: FdpServer) -> Harvest:
    """Harvest a server with twelve datasets."""
    catalog = fdp.add_catalog()
    for name in NAMES:
        fdp.add_dataset(catalog, title=f"Title {name}", distributions=1)
    harvest = add_source(fdp.source_url)
    assert harvest.run().stats["added"] == len(NAMES)
    return harvest


def counts(job: Job) -> dict[str, int]:
    """Return the counts that are not 0."""
    assert job.errors == []
    return {key: count for key, count in job.stats.items() if count}


@on_a_site
def test_titles_that_differ_in_their_last_letter(fdp: FdpServer) -> None:
    """ckan/ckanext-dcat 54, GSA/datagov-wptheme 731"""
    catalog = fdp.add_catalog()
    for number in range(3):
        fdp.add_dataset(catalog, title=f"{'long ' * 40}{number}", distributions=0)
    harvest = add_source(fdp.source_url)
    assert counts(harvest.run()) == {"added": 3}
    assert len({one["name"] for one in harvest.datasets().values()}) == 3


@on_a_site
def test_a_distribution_of_two_datasets(fdp: FdpServer) -> None:
    """opendatateam/udata 3904"""
    fdp.layout.is_part_of = False
    catalog = fdp.add_catalog()
    one, other = (fdp.add_dataset(catalog, distributions=number) for number in (1, 0))
    (distribution,) = one.listing(Level.DISTRIBUTION)
    fdp.list_also(distribution, other)
    harvest = add_source(fdp.source_url)
    assert counts(harvest.run()) == {"added": 2}
    resources = [one for each in harvest.datasets().values() for one in each["resources"]]
    assert len({one["id"] for one in resources}) == len(resources) == 2
    assert counts(harvest.run()) == {"not modified": 2}


@on_a_site
def test_a_deleted_dataset_has_collaborators_and_followers(
    fdp: FdpServer, monkeypatch: pytest.MonkeyPatch, ckan_config: Any
) -> None:
    """ckan/ckanext-harvest 569"""
    monkeypatch.setitem(ckan_config, "ckan.auth.allow_dataset_collaborators", True)
    harvest = filled(fdp)
    gone, user = fdp.datasets[0], factories.User()
    dataset_id = harvest.dataset(gone, fdp)["id"]
    call_action("follow_dataset", {"user": user["name"]}, id=dataset_id)
    call_action(
        "package_collaborator_create",
        {"user": sysadmin(), "ignore_auth": True},
        id=dataset_id,
        user_id=user["id"],
        capacity="editor",
    )
    fdp.remove(gone)
    assert counts(harvest.run()) == {"deleted": 1, "not modified": 11}


@on_a_site
def test_current_objects_that_others_have_mixed_up(fdp: FdpServer) -> None:
    """GSA/data.gov 3403: a package has two current objects, another one has none"""
    harvest = filled(fdp)
    twice, never, *_ = fdp.datasets
    objects = {
        record: harvest_model.HarvestObject.Session.query(harvest_model.HarvestObject)
        .filter_by(package_id=harvest.dataset(record, fdp)["id"])
        .one()
        for record in (twice, never)
    }
    first = objects[twice]
    more = harvest_model.HarvestObject(
        guid=first.guid, job=first.job, package_id=first.package_id, current=True, state="COMPLETE"
    )
    more.harvest_source_id = first.harvest_source_id
    model.Session.add(more)
    objects[never].current = False
    model.Session.commit()
    before = harvest.datasets()
    assert counts(harvest.run()) == {"updated": 1, "not modified": 11}
    assert counts(harvest.run()) == {"not modified": 12}
    assert harvest.datasets().keys() == before.keys()
    for record in (twice, never):
        fdp.remove(record)
    assert counts(harvest.run()) == {"deleted": 2, "not modified": 10}
    assert len(harvest.current()) == 10


@on_a_site
def test_a_copy_that_an_editor_made(fdp: FdpServer) -> None:
    """A copy has the extras of the harvested dataset."""
    harvest = filled(fdp)
    record = fdp.datasets[0]
    original = harvest.dataset(record, fdp)
    kept = [one for one in original["extras"] if not one["key"].startswith("harvest_")]
    copy = factories.Dataset(owner_org=original["owner_org"], extras=kept, title="A copy")
    fdp.change(record, title="Changed")
    assert counts(harvest.run()) == {"updated": 1, "not modified": 11}
    fdp.remove(record)
    assert counts(harvest.run()) == {"deleted": 1, "not modified": 11}
    after = call_action("package_show", id=copy["id"])
    assert (after["title"], after["state"]) == ("A copy", "active")
    assert extras(after)["guid"] == extras(original)["guid"]


@on_a_site
def test_a_source_whose_url_is_edited(fdp: FdpServer) -> None:
    """GSA/data.gov 824: the records of the rest are held until the URL is right again"""
    harvest = filled(fdp)
    second = fdp.add_catalog()
    for name in NAMES[:6]:
        fdp.add_dataset(second, title=f"Second {name}", distributions=0)
    harvest.run()
    before = {url: one["id"] for url, one in harvest.datasets().items()}
    switch(harvest, url=fdp.url_of(second))
    job = harvest.run()
    assert re.search("12 deletions are held", "".join(job.errors))
    assert (job.stats["deleted"], job.stats["not modified"]) == (0, 6)
    switch(harvest, url=fdp.source_url)
    assert counts(harvest.run()) == {"not modified": 18}
    assert {url: one["id"] for url, one in harvest.datasets().items()} == before


@on_a_site
def test_a_history_that_is_cleared_while_deletions_are_held(fdp: FdpServer) -> None:
    """ckan/ckanext-harvest 268: what the next job cannot see stays, and is taken back later"""
    harvest = filled(fdp)
    before = {url: one["id"] for url, one in harvest.datasets().items()}
    for record in fdp.datasets[:9]:
        fdp.unlist(record, fdp.catalogs[0])
    assert harvest.run().stats["deleted"] == 0
    clear_history(harvest)
    assert counts(harvest.run()) == {"added": 3}
    for record in fdp.datasets[:9]:
        fdp.list_also(record, fdp.catalogs[0])
    assert counts(harvest.run()) == {"added": 9, "not modified": 3}
    assert {url: one["id"] for url, one in harvest.datasets().items()} == before
