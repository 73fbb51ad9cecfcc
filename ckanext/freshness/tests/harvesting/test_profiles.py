"""ckanext-dcat's parser instead of the harvester's own mapping."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from resource import (
    RLIMIT_AS,
    RLIMIT_CPU,
    RUSAGE_SELF,
    getpagesize,
    getrusage,
    setrlimit,
)

import pytest
from ckan.common import config
from rdflib import DCTERMS, RDF, BNode, Graph, Literal, URIRef

from ckanext.freshness.harvesting.rdf import dcat_profiles
from ckanext.freshness.harvesting.rdf.mapping import map_dataset, mapped
from ckanext.freshness.harvesting.rdf.parsing import DCAT, LOCN, DocumentError
from ckanext.freshness.harvesting.record import Record
from ckanext.freshness.tests.servers.replay import FDP_RECORDING, load_recording

from .rdf.test_mapping import SUBJECT, graph_of

HEALTH = ["euro_health_dcat_ap"]


def parsed(graph: Graph, subject: str = str(SUBJECT), names: list[str] = HEALTH) -> Record:
    return dcat_profiles.map_with_profiles(graph, URIRef(subject), names)


@pytest.fixture(autouse=True)
def site_url(monkeypatch: pytest.MonkeyPatch) -> None:
    """ckanext-dcat writes the harvesting site's URL as the home page of every dataset."""
    monkeypatch.setitem(config, "ckan.site_url", "https://catalogue.example.com")


def test_what_is_not_the_sources_is_left_out() -> None:
    dataset = "{base}/dataset/5bf39611-e763-4e62-8e87-9ad25b1179ff"
    recording, base, graph = load_recording(FDP_RECORDING), "https://fdp.example.org", Graph()
    for url in (dataset, *recording["distributions"]):
        if url == dataset or url in recording["responses"][dataset]["body"]:
            text = recording["responses"][url]["body"].replace("{base}", base)
            graph.parse(data=text, format="turtle")
    record = parsed(graph, dataset.replace("{base}", base))
    assert not {"homepage", "license_id", "conforms_to"} & set(record.fields)
    for resource in record.resources:
        assert not {"distribution_ref", "conforms_to"} & set(resource)
    assert "access_service_ref" not in record.resources[0]["access_services"][0]
    assert record.tags == ["CNS/Brain", "genomics", "x"]


BLANK = """
<> a dcat:Dataset ; dct:title "T" ; dct:description [ dct:title "D" ] ; dcat:version [] ;
  adms:identifier [ skos:notation "x2" ] , [ skos:notation "x1" ] , [ a adms:Identifier ] , "x0" ;
  dcat:keyword "k" , [ rdfs:label "l" ] , [] ; dct:provenance [ dct:title "P" ] ;
  dct:conformsTo [ dct:title "B" ] , [ dct:title "A" ] ; dct:accessRights [ dct:title "R" ] ;
  dct:publisher [ foaf:name "P" ; dct:type [ skos:prefLabel "ngo" ] ; foaf:homepage [] ] ;
  dcat:contactPoint [ vcard:fn "C" ; vcard:hasUID [ skos:notation "u" ] ] ;
  dct:spatial [ skos:prefLabel [ rdfs:label "x" ] ] ; dct:temporal [ dcat:startDate [] ] ;
  prov:qualifiedAttribution [ prov:agent [ foaf:name "A" ] ; dcat:hadRole [ rdfs:label "role" ] ] ;
  dcat:distribution [ dct:title "D" ; dct:rights [ dct:title "R" ] ; dct:language [] ;
    dct:license [ dct:title "L" ] ; dcat:accessService [ dct:title "S" ; dcat:endpointURL [] ] ] .
"""


@pytest.mark.parametrize("profile", [None, *dcat_profiles.available()])
def test_no_name_of_a_blank_node_is_in_a_record(profile: str | None) -> None:
    first, second = graph_of(BLANK), graph_of(BLANK)
    names = {str(n) for g in (first, second) for n in g.all_nodes() if isinstance(n, BNode)}
    records = [
        parsed(graph, names=[profile]) if profile else map_dataset(graph, SUBJECT)
        for graph in (first, second)
    ]
    assert records[0].as_json() == records[1].as_json()
    assert not [name for name in names if name.casefold() in records[0].as_json().casefold()]


def test_a_blank_node_has_its_label_or_a_warning() -> None:
    record = parsed(graph_of(BLANK))
    assert record.fields["alternate_identifier"] == ["x0", "x1", "x2"]
    assert record.fields["conforms_to"] == ["A", "B"]
    assert record.fields["provenance"] == "P"
    assert record.tags == ["k", "l"]
    assert record.resources[0]["rights"] == "R"
    assert record.warnings == [
        f"{key}: a description without a name is left out"
        for key in (
            *("alternate_identifier", "publisher_url", "resource.access_services.endpoint_url"),
            *("resource.language", "tags", "temporal_start", "version"),
        )
    ]


def test_unknown_profiles() -> None:
    with pytest.raises(ValueError, match=r"profiles: unknown: nope; known: .*euro_dcat_ap_3"):
        dcat_profiles.check(["euro_dcat_ap_3", "nope"])
    dcat_profiles.check(["euro_dcat_ap_3"])


WKT = URIRef("http://www.opengis.net/ont/geosparql#wktLiteral")
MIB = 1024 * 1024


def literals(text: str, size: int, count: int = 1) -> list[str]:
    """Return different texts of almost the same size, each repeating a text."""
    return [text * ((size - n) // len(text)) for n in range(count)]


HOSTILE: dict[str, tuple[str, list[str], str]] = {
    # where the literal stands, the texts, the result
    "parentheses": ("geometry", literals("POLYGON ((((((", MIB // 4), "whole"),
    "a number": ("geometry", [f"POINT ({'9' * (MIB // 4 - 99)} 1)"], "whole"),
    "many geometries": ("geometry", literals("POLYGON ((((((", MIB // 4, 200), "malformed"),
    "nested collections": ("geometry", literals("GEOMETRYCOLLECTION (", MIB // 4), "malformed"),
    "nested GeoJSON": ("GeoJSON", literals("[", 4 * MIB), "malformed"),
    "lists in a title": ("title", literals("[{},", MIB), "whole"),
    "many such": ("title", literals("[{},", 4 * MIB, 15), "malformed"),
    "keywords": ("keyword", literals("a,", 4 * MIB), "malformed"),
    "a size": ("size", literals("9", 4 * MIB), "malformed"),
}


def hostile(where: str, texts: list[str]) -> Graph:
    graph = graph_of(
        "<> a dcat:Dataset ; dct:title 'T' ; dcat:keyword 'x' ; dct:spatial <#place> ; "
        "dcat:distribution <#file> . <#place> a dct:Location . <#file> a dcat:Distribution ."
    )
    base = str(next(graph.subjects(RDF.type, DCAT.Dataset)))
    place, file = URIRef(f"{base}#place"), URIRef(f"{base}#file")
    subject, predicate, datatype = {
        "geometry": (place, LOCN.geometry, WKT),
        "GeoJSON": (place, LOCN.geometry, None),
        "title": (file, DCTERMS.title, None),
        "keyword": (URIRef(base), DCAT.keyword, None),
        "size": (file, DCAT.byteSize, None),
    }[where]
    for text in texts:
        graph.add((subject, predicate, Literal(text, datatype=datatype, normalize=False)))
    return graph


@pytest.mark.parametrize(("where", "texts", "becomes"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_literals(where: str, texts: list[str], becomes: str) -> None:
    """No literal takes half a minute or half a gigabyte in geomet and the profiles."""
    graph = hostile(where, texts)
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        used = getrusage(RUSAGE_SELF)
        spent = int(used.ru_utime + used.ru_stime)
        setrlimit(RLIMIT_CPU, (spent + 30, spent + 30))
        size = int(Path("/proc/self/statm").read_text().split()[0]) * getpagesize()
        setrlimit(RLIMIT_AS, (size + 512 * MIB, size + 512 * MIB))
        try:
            mapper = partial(dcat_profiles.map_with_profiles, profiles=["euro_dcat_ap_3"])
            record = mapped(mapper, graph, SUBJECT)
            said = " ".join(record.warnings) or "whole"
        except DocumentError:
            said = "malformed"
        except BaseException as error:
            said = repr(error)
        os.write(writer, said.encode())
        os._exit(0)
    os.close(writer)
    with open(reader) as answer:
        said = answer.read()
    assert os.waitpid(child, 0)[1] == 0
    assert becomes in said
