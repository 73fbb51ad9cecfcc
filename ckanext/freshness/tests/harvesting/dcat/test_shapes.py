"""Catalogues as five programs publish them, after their public code: what is read, and that nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from ckanext.freshness.harvesting.rdf.parsing import RdfParser
from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.tests.harvesting.dcat.crawling import CatalogueSite
from ckanext.freshness.tests.harvesting.fdp.crawling import unchanged
from ckanext.freshness.tests.harvesting.served_lists import PREFIXES, TURTLE, Portal
from ckanext.freshness.tests.servers.base import Answer

XML = {"Content-Type": "application/rdf+xml"}
JSON_LD = {"Content-Type": "application/ld+json"}


def ckan(page: int) -> str:
    """Return a page of ckanext-dcat: pages are named by literals, agents and dates are typed."""
    link = '; hydra:nextPage "BASE/catalog.ttl?page=2"' if page == 1 else ""
    return f"""{PREFIXES}
    <BASE> a dcat:Catalog ; dct:title "CKAN" ; dcat:dataset <BASE/dataset/{page}> .
    <BASE/dataset/{page}> a dcat:Dataset ; dct:title "Dataset {page}" ; dct:identifier "{page}" ;
        dct:publisher <BASE/organization/1> ; dct:modified "2026-01-02T03:04:05"^^xsd:dateTime ;
        dcat:distribution <BASE/dataset/{page}/resource/1> .
    <BASE/dataset/{page}/resource/1> a dcat:Distribution ; dct:title "CSV" ; dct:format "CSV" ;
        dcat:accessURL <BASE/{page}.csv> .
    <BASE/organization/1> a foaf:Agent ; foaf:name "Office" .
    <BASE/catalog.ttl?page={page}> a hydra:PagedCollection ; hydra:firstPage "BASE/catalog.ttl?page=1" ;
        hydra:itemsPerPage 1 ; hydra:lastPage "BASE/catalog.ttl?page=2" ; hydra:totalItems 2 {link} .
    """


GEONETWORK = """<?xml version="1.0" encoding="UTF-8"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dcat="http://www.w3.org/ns/dcat#"
  xmlns:dct="http://purl.org/dc/terms/" xmlns:foaf="http://xmlns.com/foaf/0.1/"
  xmlns:hydra="http://www.w3.org/ns/hydra/core#">
 <hydra:PagedCollection rdf:about="BASE/rdf.search?from=1&amp;to=2">
  <hydra:totalItems>2</hydra:totalItems><hydra:firstPage>BASE/rdf.search?from=1&amp;to=2</hydra:firstPage>
  <hydra:lastPage>BASE/rdf.search?from=1&amp;to=2</hydra:lastPage>
 </hydra:PagedCollection>
 <dcat:Catalog rdf:about="BASE"><dct:title>Maps</dct:title>
  <dcat:dataset rdf:resource="BASE/resource/1"/><dcat:dataset rdf:resource="BASE/resource/2"/>
  <dcat:record rdf:resource="BASE/metadata/1"/>
 </dcat:Catalog>
 <dcat:CatalogRecord rdf:about="BASE/metadata/1"><foaf:primaryTopic rdf:resource="BASE/resource/1"/>
 </dcat:CatalogRecord>
 <dcat:Dataset rdf:about="BASE/resource/1"><dct:title xml:lang="en">Rivers</dct:title>
  <dcat:distribution><dcat:Distribution><dcat:accessURL rdf:resource="BASE/wms?request=GetCapabilities"/>
   <dct:title>WMS</dct:title></dcat:Distribution></dcat:distribution>
 </dcat:Dataset>
 <dcat:Dataset rdf:about="BASE/resource/2"><dct:title xml:lang="en">Roads</dct:title>
  <dcat:distribution rdf:resource="BASE/roads.zip"/>
 </dcat:Dataset>
 <dcat:Distribution rdf:about="BASE/roads.zip"><dcat:downloadURL rdf:resource="BASE/roads.zip"/>
  <dct:title>ZIP</dct:title></dcat:Distribution>
</rdf:RDF>
"""


def udata(page: int) -> str:
    """Return a page of udata: a partial view of the catalogue, datasets with IRIs of the site."""
    following = '"next": "BASE/catalog.jsonld?page=2",' if page == 1 else ""
    return """{"@context": {"@vocab": "http://www.w3.org/ns/dcat#", "dct": "http://purl.org/dc/terms/",
      "hydra": "http://www.w3.org/ns/hydra/core#", "next": {"@id": "hydra:next", "@type": "@id"},
      "view": {"@id": "hydra:view", "@type": "@id"}, "dataset": {"@type": "@id"},
      "distribution": {"@type": "@id"}, "downloadURL": {"@type": "@id"}},
     "@graph": [
      {"@id": "BASE/", "@type": ["Catalog", "hydra:Collection"], "hydra:totalItems": 2,
       "view": "BASE/catalog.jsonld?page=PAGE", "dataset": "BASE/datasets/PAGE/"},
      {"@id": "BASE/catalog.jsonld?page=PAGE", NEXT "@type": "hydra:PartialCollectionView"},
      {"@id": "BASE/datasets/PAGE/", "@type": "Dataset", "dct:title": "Dataset PAGE", "dct:identifier": "PAGE",
       "distribution": "BASE/datasets/PAGE/#/resources/1"},
      {"@id": "BASE/datasets/PAGE/#/resources/1", "@type": "Distribution", "dct:title": "CSV",
       "downloadURL": "BASE/PAGE.csv"}]}""".replace("NEXT", following).replace("PAGE", str(page))


OPENDATASOFT = f"""{PREFIXES}
<BASE> a dcat:Catalog ; dct:title "City" ;
    dcat:dataset <BASE/explore/dataset/trees/>, <BASE/explore/dataset/bins/> .
<BASE/explore/dataset/trees/> a dcat:Dataset ; dct:identifier "trees" ; dct:title "Trees"@en, "Arbres"@fr ;
    dcat:keyword "trees", "green" ; dcat:distribution
    [ a dcat:Distribution ; dct:title "CSV" ; dcat:accessURL <BASE/trees.csv> ; dct:format "CSV" ],
    [ a dcat:Distribution ; dct:title "JSON" ; dcat:accessURL <BASE/trees.json> ; dct:format "JSON" ] .
<BASE/explore/dataset/bins/> a dcat:Dataset ; dct:identifier "bins" ; dct:title "Bins" .
"""


def piveau(page: int) -> str:
    """Return a page of a piveau hub: catalogue records beside the datasets; the next page is in a header."""
    return f"""{PREFIXES}
    <BASE/id/catalogue/a> a dcat:Catalog ; dcat:dataset <BASE/id/dataset/{page}> ;
        dcat:record <BASE/id/record/{page}> .
    <BASE/id/record/{page}> a dcat:CatalogRecord ; foaf:primaryTopic <BASE/id/dataset/{page}> .
    <BASE/id/dataset/{page}> a dcat:Dataset ; dct:title "Dataset {page}"@en ;
        dcat:distribution <BASE/id/distribution/{page}> .
    <BASE/id/distribution/{page}> a dcat:Distribution ; dct:title "CSV"@en ; dcat:accessURL <BASE/{page}.csv> .
    """


@dataclass(frozen=True)
class Shape:
    """Pages by target, and the names of the resources of each dataset."""

    first: str
    pages: dict[str, tuple[str, dict[str, str]]]
    resources: dict[str, list[str]] = field(default_factory=dict)


SHAPES = {
    "ckanext-dcat": Shape(
        "/catalog.ttl",
        {"/catalog.ttl": (ckan(1), TURTLE), "/catalog.ttl?page=2": (ckan(2), TURTLE)},
        {"/dataset/1": ["CSV"], "/dataset/2": ["CSV"]},
    ),
    "GeoNetwork": Shape(
        "/rdf.search?from=1&to=2",
        {"/rdf.search?from=1&to=2": (GEONETWORK, XML)},
        {"/resource/1": ["WMS"], "/resource/2": ["ZIP"]},
    ),
    "udata": Shape(
        "/catalog.jsonld",
        {"/catalog.jsonld": (udata(1), JSON_LD), "/catalog.jsonld?page=2": (udata(2), JSON_LD)},
        {"/datasets/1/": ["CSV"], "/datasets/2/": ["CSV"]},
    ),
    "Opendatasoft": Shape(
        "/api/v2/catalog/exports/ttl",
        {"/api/v2/catalog/exports/ttl": (OPENDATASOFT, TURTLE)},
        {"/explore/dataset/trees/": ["CSV", "JSON"], "/explore/dataset/bins/": []},
    ),
    "piveau": Shape(
        "/catalogues/a?page=0",
        {
            "/catalogues/a?page=0": (
                piveau(1),
                {**TURTLE, "Link": '<BASE/catalogues/a?page=1>; rel="next"'},
            ),
            "/catalogues/a?page=1": (piveau(2), TURTLE),
        },
        {"/id/dataset/1": ["CSV"], "/id/dataset/2": ["CSV"]},
    ),
}


@pytest.fixture
def server() -> Iterator[Portal]:
    with Portal() as running:
        yield running


def publish(server: Portal, shape: Shape) -> None:
    for target, (text, headers) in shape.pages.items():
        here = {name: value.replace("BASE", server.url) for name, value in headers.items()}
        server.files[target] = Answer(200, text.replace("BASE", server.url).encode(), here)


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_is_read_whole(server: Portal, name: str) -> None:
    shape = SHAPES[name]
    publish(server, shape)
    site = CatalogueSite(None, url=server.url + shape.first)
    job = site.job()
    assert (
        job.errors == [] and job.survey.crawled.not_harvested == {} and job.survey.crawled.is_whole
    )
    assert job.of(RecordClass.NEW) == {server.url + path for path in shape.resources}
    found = {url.removeprefix(server.url): one.resources for url, one in site.packages.items()}
    assert found == shape.resources
    unchanged(site)


def test_rdf_xml_that_breaks_a_rule_is_read_with_a_warning() -> None:
    """As GeoNetwork 3 writes themes: in the process that reads documents, and with the line."""
    with Portal() as portal:
        site = CatalogueSite(None, url=f"{portal.url}/rdf", make_parser=RdfParser)
        theme = '\n  <dcat:theme rdf:resource="BASE/theme/1">Environment</dcat:theme>'
        text = GEONETWORK.replace("Rivers</dct:title>", f"Rivers</dct:title>{theme}")
        portal.files["/rdf"] = Answer(200, text.replace("BASE", portal.url).encode(), XML)
        job = site.job()
        assert job.errors == [] and len(job.of(RecordClass.NEW)) == 2
        (warning,) = map(str, job.survey.crawled.warnings)
        line = text[: text.index("Environment")].count("\n") + 1
        assert warning.startswith(f"{portal.url}/rdf: ") and f"near line {line} " in warning
        assert "Environment" in warning
