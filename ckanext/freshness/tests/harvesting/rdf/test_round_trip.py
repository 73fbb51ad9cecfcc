"""From a source's RDF to a package and to the portal's own RDF, by profiles of several nations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from ckan.common import config
from rdflib import RDF, BNode, Graph

from ckanext.dcat.processors import RDFSerializer
from ckanext.freshness.harvesting.packages.layout import CatalogSite, package_dict
from ckanext.freshness.harvesting.rdf.mapping import installed_profiles
from ckanext.freshness.tests.harvesting.rdf.test_mapping import graph_of, map_graph

ENTRY_POINTS = """[ckan.rdf.profiles]
de = ckanext.freshness.tests.harvesting.rdf.national:GermanProfile
se = ckanext.freshness.tests.harvesting.rdf.national:SwedishProfile
health = ckanext.freshness.tests.harvesting.rdf.national:HealthProfile
"""


@pytest.fixture(autouse=True)
def national_profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install an extension with three profiles."""
    installed = tmp_path / "national-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: national\nVersion: 1\n")
    (installed / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(config, "ckan.site_url", "https://catalogue.example.com")
    installed_profiles.cache_clear()
    yield
    installed_profiles.cache_clear()


def published(source: Graph, *profiles: str) -> Graph:
    """Return what a portal says of a dataset that it has harvested from a source's graph."""
    package = package_dict(map_graph(source, *profiles), CatalogSite()).package
    package |= {"id": "d-1", "name": "d-1", "metadata_created": "", "metadata_modified": ""}
    for number, resource in enumerate(package["resources"]):
        resource |= {"id": f"r-{number}", "package_id": "d-1"}
    serializer = RDFSerializer(profiles=[*profiles, "freshness"])
    serializer.graph_from_dataset(package)
    return serializer.g


@pytest.mark.parametrize(
    ("profile", "statement"),
    [
        ("de", "<> <http://dcat-ap.de/def/dcatde/contributorID> :land ."),
        ("se", ":file <http://schema.org/offers> 'Free of charge' ."),
        ("health", "<> <http://healthdataportal.eu/ns/health#healthCategory> :registry ."),
    ],
)
def test_what_a_national_profile_reads_it_writes(profile: str, statement: str) -> None:
    source = graph_of(
        f"<> a dcat:Dataset ; dct:title 'T' ; dcat:distribution :file . "
        f":file a dcat:Distribution ; dct:title 'F' . {statement}"
    )
    (triple,) = graph_of(statement)
    assert triple in published(source, "euro_dcat_ap_3", profile)
    if profile != "health":  # our own profile has it too
        assert triple not in published(source, "euro_dcat_ap_3")


SOURCE = """
<> a dcat:Dataset ; dct:title "Title" ; dct:description "Text" ; dcat:keyword "maps" , "roads" ;
  dct:identifier "id-1" ; adms:identifier "x1" , "x2" ; dcat:version "2" ; adms:versionNotes "New" ;
  dct:issued "2020-01-02"^^xsd:date ; dct:modified "2024-05-06"^^xsd:date ;
  dct:accrualPeriodicity <http://publications.europa.eu/resource/authority/frequency/MONTHLY> ;
  dcat:theme :t1 , :t2 ; dct:language :en ; dct:conformsTo :std ; foaf:page :doc ; dcat:landingPage :page ;
  dct:publisher [ a foaf:Agent ; foaf:name "Office" ; foaf:mbox <mailto:o@example.org> ] ;
  dcat:contactPoint [ a vcard:Kind ; vcard:fn "Desk" ; vcard:hasEmail <mailto:d@example.org> ] ;
  dct:temporal [ a dct:PeriodOfTime ; dcat:startDate "2020-01-01"^^xsd:date ;
    dcat:endDate "2020-12-31"^^xsd:date ] ;
  dct:spatial :nl ; dct:provenance "Asked" ; dct:type :kind ; dct:accessRights :public ;
  dct:license <https://example.org/licence> ; dct:rights :rights ; dcat:inSeries :series ;
  dct:alternative "Other" ; dct:creator [ a foaf:Agent ; foaf:name "Maker" ] ;
  health:numberOfRecords 12 ; health:healthTheme :h1 , :h2 ; dct:rightsHolder [ foaf:name "Holder" ] ;
  dcat:distribution :file .
:file a dcat:Distribution ; dct:title "File" ; dct:description "Rows" ; dcat:accessURL :access ;
  dcat:downloadURL :file.csv ; dct:format "CSV" ; dcat:mediaType "text/csv" ; dcat:byteSize 12 ;
  dct:license <https://example.org/licence> ; dct:rights :r ; adms:status :done ; dcat:version "3" ;
  dct:issued "2020-01-02"^^xsd:date ; dct:accessRights :public ;
  dcat:accessService [ a dcat:DataService ; dct:title "API" ; dcat:endpointURL :api ] .
:nl a dct:Location .
"""
LOST = {
    "identifier x1": "ckanext-dcat writes an adms:Identifier with a skos:notation",
    "identifier x2": "likewise",
    "mbox mailto:o@example.org": "ckanext-dcat writes the address as a text",
    "provenance Asked": "ckanext-dcat writes a statement with a label",
}
"""Statements that the portal's RDF does not make in the same form, each with the reason."""


def statements(graph: Graph) -> set[tuple[str, str]]:
    """Return property and value of each triple, without types, blank nodes and datatypes."""
    return {
        (str(p).replace("#", "/").rpartition("/")[2], str(o).removesuffix(".0"))
        for s, p, o in graph
        if p != RDF.type and not isinstance(o, BNode)
    }


def test_the_portal_says_what_the_source_said() -> None:
    said, says = (
        statements(graph_of(SOURCE)),
        statements(published(graph_of(SOURCE), "euro_dcat_ap_3")),
    )
    assert {f"{name} {value}" for name, value in said - says} == LOST.keys()
