"""Single rules of the mapping, each on a few triples."""

from __future__ import annotations

import itertools
from random import Random
from typing import Any

import pytest
from rdflib import BNode, Graph, URIRef

from ckanext.freshness.harvesting.rdf import mapping_tables
from ckanext.freshness.harvesting.rdf.mapping import map_catalog, map_dataset
from ckanext.freshness.harvesting.rdf.parsing import DocumentError, short
from ckanext.freshness.harvesting.record import Record

SUBJECT = URIRef("https://fdp.example.org/dataset/1")
EU = "http://publications.europa.eu/resource/authority"
MDR = "http://publications.europa.eu/mdr/authority"

PREFIXES = """
@prefix adms: <http://www.w3.org/ns/adms#> .
@prefix dcat: <http://www.w3.org/ns/dcat#> .
@prefix dcatap: <http://data.europa.eu/r5r/> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix dpv: <https://w3id.org/dpv#> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix health: <http://healthdataportal.eu/ns/health#> .
@prefix ldp: <http://www.w3.org/ns/ldp#> .
@prefix locn: <http://www.w3.org/ns/locn#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix schema: <http://schema.org/> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix spdx: <http://spdx.org/rdf/terms#> .
@prefix time: <http://www.w3.org/2006/time#> .
@prefix vcard: <http://www.w3.org/2006/vcard/ns#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix : <https://fdp.example.org/> .
@base <https://fdp.example.org/dataset/1> .
"""


def graph_of(turtle: str) -> Graph:
    return Graph().parse(data=PREFIXES + turtle, format="turtle")


def mapped(properties: str, more: str = "", language: str | None = None) -> Record:
    """Map a dataset with these properties, in a graph with other records."""
    graph = graph_of(f"<> a dcat:Dataset ; {properties} .\n{more}")
    return map_dataset(graph, SUBJECT, language=language)


@pytest.mark.parametrize(
    ("properties", "key", "value"),
    [
        # texts
        ('dct:title " A\\n title "', "title", "A title"),
        ('dct:title "" ; rdfs:label "Label"', "title", "Label"),
        ('dct:title "B" , "A"', "title", "A"),
        ('dct:identifier "B"', "title", None),
        ('dct:description "a\\u0000b\\u0007c\\nd"', "notes", "abc\nd"),
        # versions
        ('dcat:version "2" ; owl:versionInfo "1"', "version", "2"),
        ('dct:hasVersion "1.0"', "version", "1.0"),
        # identifiers
        ('adms:identifier [ skos:notation "x2" ] , "x1"', "alternate_identifier", ["x1", "x2"]),
        # dates
        ('dct:issued "2024-05"^^xsd:gYearMonth', "issued", "2024-05"),
        ('dct:issued "2024-05-06"^^xsd:date , "2023-05-06"^^xsd:date', "issued", "2023-05-06"),
        ('dct:modified "2024-05-06"^^xsd:date , "2023-05-06"^^xsd:date', "modified", "2024-05-06"),
        # former URLs of the EU's authority tables
        (
            f"dct:accrualPeriodicity <{MDR}/frequency/MONTHLY>",
            "frequency",
            f"{EU}/frequency/MONTHLY",
        ),
        # spellings of Health-RI
        (
            "dct:publisher [ foaf:name 'A' ; health:publishernote 'N'@en ; health:publishertype :t ;"
            " dct:spatial [ skos:prefLabel 'NL' ] ]",
            "publisher",
            [
                {
                    "name": "A",
                    "publisher_note": "N",
                    "publisher_note_translated": {"en": "N"},
                    "publisher_type": "https://fdp.example.org/t",
                    "spatial_coverage": [{"text": "NL"}],
                }
            ],
        ),
        (
            'adms:identifier [ skos:notation "x" ; adms:schemaAgency "DataCite" ]',
            "alternate_identifier_agency",
            ["DataCite"],
        ),
        # lists
        ('dct:conformsTo [ dct:title "ISO 8601" ]', "conforms_to", ["ISO 8601"]),
        # statements
        ('dct:provenance [ rdfs:label "Measured" ]', "provenance", "Measured"),
        # periods
        (
            "dct:temporal [ schema:startDate '2020' ; schema:endDate '2021' ]",
            "temporal_coverage",
            [{"start": "2020", "end": "2021"}],
        ),
        (
            "dct:temporal [ time:hasBeginning [ time:inXSDDate '2020-01-01'^^xsd:date ] ]",
            "temporal_coverage",
            [{"start": "2020-01-01"}],
        ),
        (
            "dct:temporal '2020-01-01/2021-12-31'",
            "temporal_coverage",
            [{"start": "2020-01-01", "end": "2021-12-31"}],
        ),
        # places
        (
            "dct:spatial [ skos:prefLabel 'Utrecht' ; dcat:centroid 'POINT(5.12 52.09)' ]",
            "spatial_coverage",
            [
                {
                    "text": "Utrecht",
                    "centroid": '{"coordinates": [5.12, 52.09], "type": "Point"}',
                }
            ],
        ),
        # agents
        (
            "dct:publisher [ foaf:name 'A' ; foaf:mbox 'MAILTO:a%40b.nl?subject=x' ;"
            " foaf:homepage <https://a.nl> ; dct:type :ngo ]",
            "publisher",
            [
                {
                    "name": "A",
                    "email": "a@b.nl",
                    "url": "https://a.nl",
                    "type": "https://fdp.example.org/ngo",
                }
            ],
        ),
        # contacts
        (
            "dcat:contactPoint [ vcard:hasFN [ vcard:hasValue 'Desk' ] ;"
            " vcard:hasEmail [ vcard:hasValue <mailto:a@b.nl> ] ; vcard:hasUID :u ]",
            "contact",
            [{"name": "Desk", "email": "a@b.nl", "identifier": "https://fdp.example.org/u"}],
        ),
        # numbers and booleans
        ("health:numberOfRecords 12.0", "number_of_records", 12),
        ("health:trustedDataHolder 'False'", "trusted_data_holder", False),
    ],
)
def test_one_field(properties: str, key: str, value: Any) -> None:
    assert mapped(properties).fields.get(key) == value


@pytest.mark.parametrize(
    ("properties", "key", "words"),
    [
        ("dct:modified 'May 2024'", "modified", '"May 2024" is not a date'),
        ("health:minTypicalAge 0.5", "min_typical_age", "is not a whole number"),
        ("dct:temporal 'the war'", "temporal_coverage", '"the war" says nothing'),
        ("health:trustedDataHolder 'maybe'", "trusted_data_holder", "neither true nor false"),
    ],
)
def test_what_cannot_be_read_is_left_out_and_said(properties: str, key: str, words: str) -> None:
    record = mapped(properties)
    assert key not in record.fields
    assert any(w.startswith(key) and words in w for w in record.warnings)


@pytest.mark.parametrize(
    ("properties", "warning"),
    [
        (
            "dct:temporal [ dcat:startDate 'May 2024' ; dcat:endDate '2025' ]",
            'temporal_coverage.start: "May 2024" is not a date',
        ),
        (
            "dct:publisher [ foaf:name 'A' , 'B' ]",
            'publisher.name: "A" is kept; left out: "B"',
        ),
        (
            "dcat:distribution [ dct:title 'D' ; dcat:accessService [ dct:issued 'May' ] ]",
            'distribution: access_services.issued: "May" is not a date',
        ),
    ],
)
def test_a_warning_about_a_nested_value_names_the_whole_way(properties: str, warning: str) -> None:
    (found,) = mapped(f"dct:title 'T' ; {properties}").warnings
    assert found.startswith(warning)


@pytest.mark.parametrize(
    ("properties", "unmapped"),
    [
        ("dct:temporal [ dct:startDate '2020' ]", {"dct:temporal/dct:startDate": "2020"}),
        (
            "dct:available [ time:hasBeginning [ time:inXSDDate '2020' ] ]",
            {"dct:available/time:hasBeginning/time:inXSDDate": "2020"},
        ),
        (
            "dcat:distribution [ dct:title 'D' ; dct:available [ dct:startDate '2020' ] ]",
            {"dcat:distribution/dct:available/dct:startDate": "2020"},
        ),
        ("dct:available [ a dct:PeriodOfTime ]", {"dct:available": "a description"}),
    ],
)
def test_properties_without_a_field(properties: str, unmapped: dict[str, str]) -> None:
    assert mapped(f"dct:title 'T' ; {properties}").unmapped == unmapped


PLACES = {
    # node: (the triples that lead to it, its table)
    "": ("", mapping_tables.DATASET),
    ":d": ("<> dcat:distribution :d . :d dct:title 'D' .", mapping_tables.RESOURCE),
    ":p": ("<> dct:publisher :p . :p foaf:name 'P' .", mapping_tables.AGENT),
    ":c": ("<> dcat:contactPoint :c . :c vcard:fn 'C' .", mapping_tables.CONTACT),
    ":l": ("<> dct:spatial :l . :l skos:prefLabel 'L' .", mapping_tables.PLACE),
    ":t": ("<> dct:temporal :t . :t dcat:startDate '2020' .", mapping_tables.PERIOD),
    ":s": (
        "<> dcat:distribution :d . :d dcat:accessService :s . :s dct:title 'S' .",
        mapping_tables.SERVICE,
    ),
}
ODD = (
    *("'zork'", "'zork'@nl", "<http://zork.example/>", "<mailto:zork>", "'12 zork'"),
    *("'2020-01-01/zork'", "'2020-01-01/P1Y, zork'", "[ rdfs:label 'zork' ]"),
    *("[ rdfs:seeAlso <http://zork.example/> ]", "[ :other 'zork' ]"),
)
BESIDE = ("", ", 'abc' , '2020-01-01' , '17'")


@pytest.mark.parametrize("node", PLACES)
def test_no_value_vanishes(node: str) -> None:
    """Whatever stands where, it is in the record or in a warning, or its property is reported."""
    leading, table = PLACES[node]
    predicates = {path[0] for row in table for path in row.paths}
    lost = []
    for predicate, value, beside in itertools.product(sorted(predicates), ODD, BESIDE):
        graph = graph_of(
            f"<> a dcat:Dataset . {leading} {node or '<>'} <{predicate}> {value} {beside} ."
        )
        record = map_dataset(graph, SUBJECT)
        name = short(str(predicate))
        reported = any(name in step.split("/") for step in record.unmapped)
        if "zork" not in record.as_json() and not reported:
            lost.append((name, value, beside))
    assert lost == []


@pytest.mark.parametrize(
    "properties",
    [
        "dct:accessRights <https://fdp.example.org/dataset/1#accessRights>",
        "adms:identifier <https://fdp.example.org/dataset/1#identifier>",
        "dct:conformsTo <https://fdp.example.org/profile/2f08228e>",
        '<https://w3id.org/fdp/fdp-o#metadataModified> "2026-11-21T00:00:00Z"^^xsd:dateTime',
        "<https://w3id.org/fdp/fdp-o#metadataIdentifier> <https://fdp.example.org/dataset/1#id>",
        "dct:isPartOf <https://fdp.example.org/catalog/1>",
        "a ldp:DirectContainer ; ldp:contains :d ; ldp:insertedContentRelation ldp:MemberSubject",
        "a ldp:Container , ldp:BasicContainer , ldp:Resource , ldp:RDFSource",
        '<http://rdf.biosemantics.org/ontologies/fdp-o#metadataModified> "2026"',
        "<http://rdf.biosemantics.org/ontologies/fdp-o#metadataIdentifier> :id",
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
        ("'plain' , 'english'@en , 'nederlands'@nl", None, "plain"),
        ("'plain' , 'english'@en , 'nederlands'@nl", "nl", "nederlands"),
        ("'english'@en , 'belgisch'@nl-be", "nl", "belgisch"),
        ("'english'@en , 'nederlands'@nl", "nl-BE", "nederlands"),
    ],
)
def test_languages(titles: str, language: str | None, title: str) -> None:
    assert mapped(f"dct:title {titles}", language=language).fields["title"] == title


def test_all_languages_are_kept() -> None:
    record = mapped("dct:title 'plain' , 'b'@nl , 'a'@nl ; dcat:keyword 'k'@nl , 'j' , 'i'@nl")
    assert record.fields["title_translated"] == {"": "plain", "nl": "a"}
    assert record.fields["tags_translated"] == {"": ["j"], "nl": ["i", "k"]}
    assert record.tags == ["i", "j", "k"]


# Distributions


def resource(properties: str, more: str = "") -> tuple[dict[str, Any], list[str]]:
    record = mapped(
        "dct:title 'T' ; dcat:distribution :d1", f":d1 a dcat:Distribution ; {properties} . {more}"
    )
    return record.resources[0], record.warnings


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        (
            "dcat:accessURL <https://a.nl/x> ; dcat:downloadURL <https://a.nl/y>",
            {"url": "https://a.nl/y", "download_url": "https://a.nl/y"},
        ),
        (
            "spdx:checksum [ spdx:algorithm spdx:checksumAlgorithm_sha256 ;"
            " spdx:checksumValue 'abc' ]",
            {"hash": "abc", "hash_algorithm": "http://spdx.org/rdf/terms#checksumAlgorithm_sha256"},
        ),
        (
            "dct:conformsTo <https://fdp.example.org/profile/1> , :std",
            {"conforms_to": ["https://fdp.example.org/std"]},
        ),
        (
            "dcat:accessService [ dct:title 'svc' ; dcat:endpointURL :e ; dct:publisher [ foaf:name 'P' ] ]",
            {
                "access_services": [
                    {
                        "title": "svc",
                        "endpoint_url": ["https://fdp.example.org/e"],
                        "publisher": [{"name": "P"}],
                    }
                ]
            },
        ),
        (
            "dcat:mediaType <https://www.iana.org/assignments/media-types/text/csv>",
            {"format": "CSV", "mimetype": "text/csv"},
        ),
        (f"dct:format <{MDR}/file-type/CSV>", {"format": "CSV", "mimetype": "text/csv"}),
    ],
)
def test_one_distribution(properties: str, expected: dict[str, Any]) -> None:
    found, warnings = resource(properties)
    assert found.items() >= expected.items()
    assert found["uri"] == "https://fdp.example.org/d1"
    assert warnings == []


def test_samples_and_analytics_are_described() -> None:
    record = mapped(
        "dct:title 'T' ; adms:sample :s , :elsewhere , 'on request' , [ dct:title 'B' ] , [] ;"
        " health:analytics :a",
        ":s a dcat:Distribution ; dct:title 'S'@en ; dcat:downloadURL <https://o.nl/s> ;"
        " dct:format 'CSV' ; dcat:byteSize 12 ; dct:isPartOf <> ; dct:valid '2030' ."
        " :a a dcat:Distribution ; dcat:mediaType 'text/csv' .",
    )
    here = "https://fdp.example.org"
    assert record.fields["sample"] == ["B", f"{here}/elsewhere", f"{here}/s", "on request"]
    assert record.fields["sample_distributions"] == [
        {
            "uri": f"{here}/s",
            "name": "S",
            "name_translated": {"en": "S"},
            "download_url": "https://o.nl/s",
            "format": ["CSV"],
            "size": 12,
        },
        {"name": "B"},
    ]
    assert record.fields["analytics"] == [f"{here}/a"]
    assert record.fields["analytics_distributions"] == [
        {"uri": f"{here}/a", "media_type": ["text/csv"]}
    ]
    assert record.warnings == []
    assert record.unmapped == {"adms:sample": "a description", "adms:sample/dct:valid": "2030"}
    assert record.resources == []


def test_distributions_are_in_order_and_those_that_nobody_describes_are_left_out() -> None:
    record = mapped(
        "dct:title 'T' ; dcat:distribution :d3 , :d2 , :d1 , :draft , [ dct:title 'a' ]",
        ":d1 dct:title 'c' . :d2 dct:title 'B' . :d3 dct:title 'c' .",
    )
    assert [(r.get("name"), r["uri"][-3:]) for r in record.resources] == [
        ("a", ""),
        ("B", "/d2"),
        ("c", "/d1"),
        ("c", "/d3"),
    ]
    assert record.warnings == [
        "distribution: https://fdp.example.org/draft is not described; left out"
    ]


# The whole


@pytest.mark.parametrize(
    ("turtle", "words"),
    [
        ("<https://fdp.example.org/dataset/2> a dcat:Dataset .", "not described at all"),
        ("<> dct:title 'T' .", "without a type"),
    ],
)
def test_a_record_that_is_not_there(turtle: str, words: str) -> None:
    for read in (map_dataset, map_catalog):
        with pytest.raises(DocumentError, match=words):
            read(graph_of(turtle), SUBJECT)


def test_blank_nodes_that_point_at_each_other_end() -> None:
    record = mapped(
        "dct:title 'T' ; dct:publisher _:a ; dct:spatial _:a ; dct:provenance _:a ;"
        " prov:wasGeneratedBy _:a ; dcat:distribution _:a",
        "_:a foaf:name 'A' ; dct:publisher _:a ; prov:wasAssociatedWith _:b ; rdfs:label _:a ."
        " _:b prov:wasAssociatedWith _:a ; foaf:name 'B' ; prov:agent _:b .",
    )
    assert record.fields["publisher"] == [{"name": "A"}]
    assert len(record.resources) == 1


RICH = """
<> a dcat:Dataset ; dct:title "T"@en , "D"@nl , "E"@nl ; dcat:keyword "b" , "a" , "c"@nl ;
  dct:publisher [ foaf:name "P" , "Q" ] , [ foaf:name "O" ] ; dcat:theme :t2 , :t1 ;
  dct:license :l2 , :l1 ; dct:modified "2024" , "2023" , "no date" , "nor this" ;
  dcat:contactPoint [ vcard:fn "C" ; vcard:hasEmail <mailto:c@d.nl> ] , [ vcard:fn "B" ] ;
  dct:temporal [ dcat:startDate "2021" ] , [ dcat:endDate "2020" ] ;
  dct:spatial [ rdfs:label "x" ] , [ skos:prefLabel "y" , "z" ] ;
  dcat:distribution :d2 , [ dct:title "one" ] , [ dct:title "one" ; dct:format "CSV" , "XML" ] .
:d2 dct:title "two" ; spdx:checksum [ spdx:checksumValue "2" ] , [ spdx:checksumValue "1" ] ;
  dcat:accessService [ dct:title "s2" ; dcat:endpointURL :e2 , :e1 ] , [ dct:title "s1" ] .
"""


@pytest.fixture(scope="module")
def rich() -> tuple[list[Any], Record]:
    graph = graph_of(RICH)
    return sorted(graph, key=str), map_dataset(graph, SUBJECT)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_triples_and_the_names_of_blank_nodes_change_nothing(
    rich: tuple[list[Any], Record], seed: int
) -> None:
    triples, expected = rich
    random = Random(seed)
    triples = random.sample(triples, len(triples))
    blank = sorted({node for triple in triples for node in triple if isinstance(node, BNode)})
    names = dict(
        zip(blank, random.sample([BNode(f"n{n}") for n in range(99)], len(blank)), strict=True)
    )
    graph = Graph()
    for triple in triples:
        graph.add(tuple(names.get(node, node) for node in triple))
    record = map_dataset(graph, SUBJECT)
    assert record.as_json() == expected.as_json()
    assert record.digest() == expected.digest()
