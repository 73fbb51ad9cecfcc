"""Rules of the mapping by profiles, each on a few triples."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from ckan.common import config
from rdflib import BNode, Graph, URIRef

from ckanext.dcat.processors import RDFParser
from ckanext.freshness.harvesting.rdf.mapping import ProfileMapper, installed_profiles
from ckanext.freshness.harvesting.rdf.parsing import DocumentError
from ckanext.freshness.harvesting.record import Record

SUBJECT = URIRef("https://fdp.example.org/dataset/1")
EU = "http://publications.europa.eu/resource/authority"
MDR = "http://publications.europa.eu/mdr/authority"
IANA = "https://www.iana.org/assignments/media-types"

PREFIXES = """
@prefix adms: <http://www.w3.org/ns/adms#> .
@prefix dcat: <http://www.w3.org/ns/dcat#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix health: <http://healthdataportal.eu/ns/health#> .
@prefix ldp: <http://www.w3.org/ns/ldp#> .
@prefix locn: <http://www.w3.org/ns/locn#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix spdx: <http://spdx.org/rdf/terms#> .
@prefix vcard: <http://www.w3.org/2006/vcard/ns#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix : <https://fdp.example.org/> .
@base <https://fdp.example.org/dataset/1> .
"""


@pytest.fixture(autouse=True)
def site_url(monkeypatch: pytest.MonkeyPatch) -> None:
    """ckanext-dcat writes the harvesting site's URL as the home page of every dataset."""
    monkeypatch.setitem(config, "ckan.site_url", "https://catalogue.example.com")


def graph_of(turtle: str) -> Graph:
    return Graph().parse(data=PREFIXES + turtle, format="turtle")


def map_graph(graph: Graph, *profiles: str, language: str = "en") -> Record:
    return ProfileMapper(profiles or ("euro_dcat_ap_3",), language)(graph, SUBJECT)


def mapped(properties: str, more: str = "", language: str = "en") -> Record:
    """Map a dataset with these properties, in a graph with other records."""
    return map_graph(graph_of(f"<> a dcat:Dataset ; {properties} .\n{more}"), language=language)


@pytest.mark.parametrize(
    ("properties", "key", "value"),
    [
        # what ckanext-dcat makes of another site, or reads elsewhere
        ("dct:title 'T'", "homepage", None),
        ("foaf:homepage :home", "homepage", "https://fdp.example.org/home"),
        ("dct:title 'T'", "license_id", None),
        ("dct:license <https://l.nl/1>", "license", "https://l.nl/1"),
        ("dct:license <https://l.nl/1> , 'L'", "license", ["L", "https://l.nl/1"]),
        # versions
        ('dct:hasVersion "1.0"', "version", "1.0"),
        (
            "dct:hasVersion :b ; dcat:hasVersion :a",
            "has_version",
            [str(SUBJECT)[:24] + x for x in "ab"],
        ),
        # blank nodes
        ('adms:identifier [ skos:notation "x2" ] , "x1"', "alternate_identifier", ["x1", "x2"]),
        ('dct:provenance [ dct:title "Measured" ]', "provenance", "Measured"),
        ("dct:provenance [ a dct:ProvenanceStatement ]", "provenance", None),
        # dates
        ('dct:issued "2024-05-06"^^xsd:date , "2023-05-06"^^xsd:date', "issued", "2023-05-06"),
        ('dct:modified "2024-05-06"^^xsd:date , "2023-05-06"^^xsd:date', "modified", "2024-05-06"),
        ('dct:modified "May 2024"', "modified", None),
        # former URLs of the EU's authority tables
        (
            f"dct:accrualPeriodicity <{MDR}/frequency/MONTHLY>",
            "frequency",
            f"{EU}/frequency/MONTHLY",
        ),
        # texts in place of nodes, as data.json has them
        ("dct:publisher 'A'", "publisher_name", "A"),
        ("dct:publisher 'a@b.nl'", "publisher_email", "a@b.nl"),
        ("dcat:contactPoint 'Desk'", "contact_name", "Desk"),
        ("dct:temporal '2020-01-01/2021-12-31'", "temporal_end", "2021-12-31"),
        # a place without its type
        ("dct:spatial [ skos:prefLabel 'Utrecht' ]", "spatial_text", "Utrecht"),
        # HealthDCAT-AP without its profile
        ("health:numberOfRecords 12.0", "number_of_records", "12"),
        ("health:healthTheme :b , :a", "health_theme", [str(SUBJECT)[:24] + x for x in "ab"]),
        # values that would stop a profile, and with it the dataset
        ("health:numberOfRecords 'many'", "number_of_records", None),
        ("dct:spatial [ a dct:Location ; locn:geometry :g ]", "spatial", None),
    ],
)
def test_one_field(properties: str, key: str, value: Any) -> None:
    assert mapped(properties).fields.get(key) == value


@pytest.mark.parametrize(
    "properties",
    [
        "dct:accessRights <https://fdp.example.org/dataset/1#accessRights>",
        "adms:identifier <https://fdp.example.org/dataset/1#identifier>",
        "dct:conformsTo <https://fdp.example.org/profile/2f08228e>",
        '<https://w3id.org/fdp/fdp-o#metadataModified> "2026-11-21T00:00:00Z"^^xsd:dateTime',
        "dct:isPartOf <https://fdp.example.org/catalog/1>",
        "a ldp:DirectContainer ; ldp:contains :d ; ldp:insertedContentRelation ldp:MemberSubject",
        "<http://semanticscience.org/resource/SIO_000628> :metric",
    ],
)
def test_what_servers_add_by_themselves_is_no_content(properties: str) -> None:
    described = (
        "<https://fdp.example.org/dataset/1#accessRights> a dct:RightsStatement ;"
        " dct:description 'This resource has no access restriction' ."
    )
    assert mapped(f"dct:title 'T' ; {properties}", described) == mapped("dct:title 'T'")


@pytest.mark.parametrize(
    ("titles", "language", "title"),
    [
        ("'plain' , 'english'@en , 'nederlands'@nl", "en", "english"),
        ("'plain' , 'english'@en , 'nederlands'@nl", "nl", "nederlands"),
        ("'plain' , 'english'@en", "nl", "plain"),
        ("'english'@en , 'belgisch'@nl-be", "nl", "belgisch"),
        ("'english'@en , 'nederlands'@nl", "nl-BE", "nederlands"),
    ],
)
def test_languages(titles: str, language: str, title: str) -> None:
    record = mapped(f"dct:title {titles} ; dcat:keyword 'k'@nl , 'j'@en", language=language)
    assert record.fields["title"] == title
    assert record.tags == ["j", "k"]


def test_the_sites_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(config, "ckan.locale_default", "pt_BR")
    record = mapped("dct:title 'plain' , 'english'@en , 'português'@pt", language="")
    assert record.fields["title"] == "português"


# Distributions


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ("dcat:byteSize '2e3'", {"size": 2000}),
        ("dcat:byteSize '9e999'", {"size": None}),
        ("dcat:version '3'", {"version": "3"}),
        ("dct:hasVersion '3'", {"version": "3"}),
        (
            "dct:conformsTo <https://fdp.example.org/profile/1> , :std",
            {"conforms_to": ["https://fdp.example.org/std"]},
        ),
        # formats: publishers confuse the two properties
        (f"dcat:mediaType <{IANA}/text/csv>", {"format": "CSV", "mimetype": "text/csv"}),
        (f"dct:format <{IANA}/text/csv>", {"format": "CSV", "mimetype": "text/csv"}),
        ("dcat:mediaType 'text/csv; charset=utf-8'", {"format": "CSV", "mimetype": "text/csv"}),
        (f"dct:format <{MDR}/file-type/CSV>", {"format": "CSV"}),
        (f"dct:format <{EU}/file-type/RDF_TURTLE>", {"format": "TTL"}),
        (
            "dct:format 'xlsx' ; dcat:mediaType 'application/octet-stream'",
            {"format": "XLSX", "mimetype": "application/octet-stream"},
        ),
        ("dct:format [ rdfs:label 'CSV' ]", {"format": "CSV"}),
        ("dct:format 'Our own'", {"format": "Our own"}),
    ],
)
def test_one_distribution(properties: str, expected: dict[str, Any]) -> None:
    record = mapped(
        "dct:title 'T' ; dcat:distribution :d1", f":d1 a dcat:Distribution ; {properties} ."
    )
    (found,) = record.resources
    assert {key: found.get(key) for key in expected} == expected
    assert found["uri"] == "https://fdp.example.org/d1"


def test_distributions_are_in_order_and_those_that_nobody_describes_are_left_out() -> None:
    record = mapped(
        "dct:title 'T' ; dcat:distribution :d3 , :d2 , :d1 , :draft , [ dct:title 'a' ]",
        ":d1 dct:title 'c' . :d2 dct:title 'B' . :d3 dct:title 'c' .",
    )
    assert [(r.get("name"), r.get("uri", "")[-3:]) for r in record.resources] == [
        ("a", ""),
        ("B", "/d2"),
        ("c", "/d1"),
        ("c", "/d3"),
    ]
    assert record.warnings == [
        "distribution: https://fdp.example.org/draft is not described; left out"
    ]


# The whole


def test_a_record_that_is_not_there() -> None:
    with pytest.raises(DocumentError, match="is not described"):
        map_graph(graph_of("<https://fdp.example.org/dataset/2> a dcat:Dataset ."))


RICH = """
<> a dcat:Dataset ; dct:title "T"@en , "D"@nl , "E"@nl ; dcat:keyword "b" , "a" , "c"@nl ;
  dct:description [ dct:title "D" ] ; dcat:version [] ; dct:accessRights [ dct:title "R" ] ;
  adms:identifier [ skos:notation "x2" ] , [ skos:notation "x1" ] , [ a adms:Identifier ] , "x0" ;
  dcat:keyword "k" , [ rdfs:label "l" ] , [] ; dct:provenance [ dct:title "P" ] ;
  dct:conformsTo [ dct:title "B" ] , [ dct:title "A" ] ; dcat:theme :t2 , :t1 ; dct:license :l2 , :l1 ;
  dct:publisher [ foaf:name "P" , "Q" ; dct:type [ skos:prefLabel "ngo" ] ; foaf:homepage [] ] ,
    [ foaf:name "O" ] ;
  dcat:contactPoint [ vcard:fn "C" ; vcard:hasEmail <mailto:c@d.nl> ; vcard:hasUID [ skos:notation "u" ] ] ,
    [ vcard:fn "B" ] ;
  dct:modified "2024" , "2023" , "no date" ;
  dct:temporal [ dcat:startDate "2021" ] , [ dcat:endDate "2020" ] , [ dcat:startDate [] ] ;
  dct:spatial [ rdfs:label "x" ] , [ skos:prefLabel "y" , "z" ] , [ skos:prefLabel [ rdfs:label "x" ] ] ;
  prov:qualifiedAttribution [ prov:agent [ foaf:name "A" ] ; dcat:hadRole [ rdfs:label "role" ] ] ;
  prov:wasGeneratedBy [ rdfs:label "made" ; prov:wasAssociatedWith [ foaf:name "W" ] ] ;
  dcat:distribution :d2 , [ dct:title "one" ] , [ dct:title "one" ; dct:format "CSV" , "XML" ] .
:d2 dct:title "two" ; dct:rights [ dct:title "R" ] ; dct:language [] ; dct:license [ dct:title "L" ] ;
  spdx:checksum [ spdx:checksumValue "2" ] , [ spdx:checksumValue "1" ] ;
  dcat:accessService [ dct:title "s2" ; dcat:endpointURL :e2 , :e1 ] ,
    [ dct:title "s1" ; dcat:endpointURL [] ] .
"""


@pytest.mark.parametrize("profile", ["euro_dcat_ap", "euro_dcat_ap_3", "euro_health_dcat_ap"])
def test_the_order_of_triples_and_the_names_of_blank_nodes_change_nothing(profile: str) -> None:
    triples = sorted(graph_of(RICH), key=str)
    blank = sorted({node for triple in triples for node in triple if isinstance(node, BNode)})
    found = set[str]()
    for seed in range(4):
        random = Random(seed)
        new = random.sample([BNode() for _ in range(99)], len(blank))
        names: dict[Any, Any] = dict(zip(blank, new, strict=True))
        graph = Graph()
        for triple in random.sample(triples, len(triples)):
            graph.add(tuple(names.get(node, node) for node in triple))
        text = map_graph(graph, profile).as_json()
        assert [str(name) for name in new if str(name).casefold() in text.casefold()] == []
        found.add(text)
    assert len(found) == 1


@pytest.mark.parametrize("profile", sorted(installed_profiles()))
def test_each_installed_profile_maps_a_record(profile: str) -> None:
    assert map_graph(graph_of(RICH), profile).fields["uri"] == str(SUBJECT)


def test_blank_nodes_that_point_at_each_other_end() -> None:
    record = mapped(
        "dct:title 'T' ; dct:publisher _:a ; dct:spatial _:a ; dct:provenance _:a ;"
        " prov:wasGeneratedBy _:a ; dcat:distribution _:a",
        "_:a foaf:name 'A' ; dct:publisher _:a ; prov:wasAssociatedWith _:b ; rdfs:label _:a ."
        " _:b prov:wasAssociatedWith _:a ; foaf:name 'B' ; prov:agent _:b .",
    )
    assert record.fields["publisher_name"] == "A"
    assert len(record.resources) == 1


def test_ckanext_dcats_own_harvester_gets_lists_in_one_order_and_missing_uris() -> None:
    themes = [f"https://fdp.example.org/t{number}" for number in range(9)]
    parser = RDFParser(profiles=["euro_dcat_ap_3", "freshness"])
    parser.g = graph_of(
        "[] a dcat:Dataset ; dcat:theme :t3 , :t8 , :t1 , :t0 , :t7 , :t2 , :t6 , :t5 , :t4 ;"
        " dcat:distribution [ dct:title 'a' ] ."
    )
    (package,) = parser.datasets()
    extras = {extra["key"]: extra["value"] for extra in package["extras"]}
    assert json.loads(extras["theme"]) == themes and "homepage" not in extras
    assert extras["uri"] == "" and package["resources"] == [{"name": "a", "uri": ""}]
