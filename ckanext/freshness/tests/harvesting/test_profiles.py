"""Profiles of ckanext-dcat on hostile records."""

from __future__ import annotations

import os
from pathlib import Path
from resource import RLIMIT_AS, RLIMIT_CPU, RUSAGE_SELF, getpagesize, getrusage, setrlimit

import pytest
from rdflib import DCTERMS, RDF, Graph, Literal, URIRef

from ckanext.freshness.harvesting.rdf.mapping import ProfileMapper, check_profiles, mapped
from ckanext.freshness.harvesting.rdf.parsing import DCAT, LOCN, DocumentError

from .rdf.test_mapping import SUBJECT, graph_of


def test_unknown_profiles() -> None:
    with pytest.raises(ValueError, match=r"profiles: unknown: nope; known: .*euro_dcat_ap_3"):
        check_profiles(["euro_dcat_ap_3", "nope"])
    check_profiles(["euro_dcat_ap_3"])


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
    "nested GeoJSON": ("GeoJSON", literals("[", 4 * MIB), "whole"),
    "lists in a title": ("title", literals("[{},", MIB), "whole"),
    "many such": ("title", literals("[{},", 4 * MIB, 15), "malformed"),
    "keywords": ("keyword", literals("a,", 4 * MIB), "malformed"),
    "a size": ("size", literals("9", 4 * MIB), "whole"),
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
            record = mapped(ProfileMapper(("euro_dcat_ap_3",)), graph, SUBJECT)
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
