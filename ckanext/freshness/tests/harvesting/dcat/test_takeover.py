"""Sources of ckanext-dcat's harvester that become ours: packages, ids, names and resource ids stay."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import ckan.plugins as p
import pytest
from ckan.tests.helpers import call_action
from rdflib import Graph
from rdflib.compare import graph_diff, to_isomorphic

from ckanext.freshness.tests.harvesting.conftest import (
    Harvest,
    add_source,
    extras,
    stored,
    sysadmin,
)
from ckanext.freshness.tests.servers.catalogue import CatalogueServer, Entry

pytestmark = pytest.mark.usefixtures("clean_site")


@pytest.fixture
def server(clean_site: None) -> Iterator[CatalogueServer]:
    with p.use_plugin("dcat", "dcat_rdf_harvester"), CatalogueServer(10, page_size=4) as running:
        running.entries[3] = Entry("id-3", "Known by its identifier", is_blank=True)
        yield running


def found(harvest: Harvest) -> dict[str, tuple[str, str, list[str]]]:
    """Return id, name and ids of resources of the active datasets, by title."""
    shown = call_action("package_search", rows=100, include_private=True)["results"]
    return {
        one["title"]: (one["id"], one["name"], [r["id"] for r in one["resources"]]) for one in shown
    }


def test_a_source_of_dcat_rdf_becomes_ours(server: CatalogueServer) -> None:
    harvest = add_source(server.source_url, source_type="dcat_rdf", rdf_format="turtle")
    assert harvest.run().stats["added"] == 10
    before = found(harvest)
    assert len(before) == 10
    dataset_id, _, (file_id,) = before["Dataset 1"]
    own = {"version": "3", "extras": [{"key": "documentation", "value": "On paper"}]}
    call_action("package_patch", {"user": sysadmin()}, id=dataset_id, **own)
    call_action("resource_patch", {"user": sysadmin()}, id=file_id, rights="Ask")

    harvest.switch(source_type="dcat_catalog")
    job = harvest.run()
    assert job.errors == [] and job.stats["added"] == job.stats["deleted"] == 0
    assert found(harvest) == before
    edited = stored(dataset_id)
    assert (edited["version"], extras(edited)["documentation"]) == ("3", "On paper")
    assert edited["resources"][0]["rights"] == "Ask"
    job = harvest.run()
    assert job.errors == [] and job.stats["not modified"] == 10

    server.entries[0] = dataclasses.replace(server.entries[0], files=("data.csv", "more.csv"))
    gone = server.entries.pop()
    job = harvest.run()
    assert job.errors == []
    assert (job.stats["updated"], job.stats["deleted"]) == (1, 0)
    harvest.wait_a_day()
    assert harvest.run().stats["deleted"] == 1
    after = found(harvest)
    assert after.keys() == before.keys() - {gone.title}
    assert set(before["Dataset 0"][2]) < set(after["Dataset 0"][2])


def test_a_resource_that_goes_and_comes_back_has_the_id_of_dcat_rdf(
    server: CatalogueServer,
) -> None:
    harvest = add_source(server.source_url, source_type="dcat_rdf", rdf_format="turtle")
    harvest.run()
    before = found(harvest)["Dataset 1"]
    harvest.switch(source_type="dcat_catalog")
    entry = server.entries[1]
    for files in (entry.files, (), entry.files):
        server.entries[1] = dataclasses.replace(entry, files=files)
        assert harvest.run().errors == []
        assert len(found(harvest)["Dataset 1"][2]) == len(files)
    assert found(harvest)["Dataset 1"] == before


SAID = """
@prefix adms: <http://www.w3.org/ns/adms#> .
@prefix dcat: <http://www.w3.org/ns/dcat#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix geo: <http://www.opengis.net/ont/geosparql#> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix vcard: <http://www.w3.org/2006/vcard/ns#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix : <https://example.org/> .
<{dataset}>
    dcat:version "2.1" ; adms:versionNotes "New survey" ; dct:issued "2020-01-02T03:04:05"^^xsd:dateTime ;
    dct:publisher :office ;
    dct:creator [ a foaf:Agent ; foaf:name "A surveyor" ; foaf:mbox "s@example.org" ] ;
    dcat:contactPoint [ a vcard:Organization ; vcard:fn "Help desk" ; vcard:hasEmail <mailto:h@example.org> ] ;
    dct:temporal [
        a dct:PeriodOfTime ; dcat:startDate "2020-01-01"^^xsd:date ; dcat:endDate "2020-12-31"^^xsd:date
    ] ;
    dct:spatial [ a dct:Location ; dcat:centroid "POINT (4 52)"^^geo:wktLiteral ] ;
    dct:language :german ; dct:conformsTo :standard ; dct:isVersionOf :first ; foaf:page :documentation .
:office a foaf:Organization ; foaf:name "Office of maps" ; foaf:homepage :home .
<{file}>
    dcat:accessURL :access ; dcat:downloadURL <{file}> ; dct:format "CSV" ; dct:license :licence ;
    dcat:accessService [ a dcat:DataService ; dct:title "API" ; dcat:endpointURL :api ] .
"""
"""Some of what ckanext-dcat's default profile reads into extras and resources."""


def published(harvest: Harvest, title: str) -> tuple[dict[str, str], Graph]:
    """Return the extras of a dataset, and what the site's own RDF says of it."""
    (one,) = (
        call_action("package_show", id=dataset_id)
        for name, (dataset_id, *_) in found(harvest).items()
        if name == title
    )
    context: dict[str, Any] = {"ignore_auth": True}
    text = call_action("dcat_dataset_show", context, id=one["id"], format="ttl")
    ours = ("freshness", "harvest_", "guid")
    stated = {key: value for key, value in extras(one).items() if not key.startswith(ours)}
    # ckanext-dcat's harvester fills in the address of this portal.
    stated.pop("homepage", None)
    return stated, to_isomorphic(Graph().parse(data=text, format="turtle"))


def test_the_rdf_of_the_site_says_the_same_after_a_switch(server: CatalogueServer) -> None:
    """Extras have the keys that ckanext-dcat reads and writes."""
    file = f"{server.url}/files/001/data.csv"
    server.extra.parse(data=SAID.format(dataset=server.iri("001"), file=file), format="turtle")
    harvest = add_source(server.source_url, source_type="dcat_rdf", rdf_format="turtle")
    assert harvest.run().stats["added"] == 10
    before, says = published(harvest, "Dataset 1")
    assert len(before) >= 16
    harvest.switch(source_type="dcat_catalog")
    assert harvest.run().errors == []
    after, says_now = published(harvest, "Dataset 1")
    assert after == before
    _, lost, added = graph_diff(says, says_now)
    assert not lost and not added
