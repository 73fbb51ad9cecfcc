"""Profiles of ckanext-dcat: their names, hostile literals, upgrades and settings."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from resource import RLIMIT_AS, RLIMIT_CPU, RUSAGE_SELF, getpagesize, getrusage, setrlimit
from typing import Any

import pytest
from ckan import model
from ckan.model.license import License
from ckan.tests.helpers import call_action, changed_config
from rdflib import DCTERMS, RDF, Graph, Literal, URIRef

from ckanext.freshness.ckan_adapter.core import scheming_schema
from ckanext.freshness.harvesting.rdf.mapping import (
    ProfileMapper,
    check_profiles,
    installed_profiles,
    mapped,
)
from ckanext.freshness.harvesting.rdf.parsing import DCAT, LOCN, DocumentError
from ckanext.freshness.harvesting.source_config import SourceConfig
from ckanext.freshness.harvesting.source_type import salt_of
from ckanext.freshness.tests.harvesting.conftest import (
    add_source,
    extras,
    indexed,
    sysadmin,
    written,
)
from ckanext.freshness.tests.harvesting.rdf.test_mapping import SUBJECT, graph_of
from ckanext.freshness.tests.servers.base import Answer
from ckanext.freshness.tests.servers.fdp import FdpServer


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


PROFILES = ["euro_dcat_ap_3"]


def install_profile(folder: Path, version: str, profile: str) -> None:
    """Install a version of an extension with a profile, as for a new process, in place of any other version."""
    for other in folder.glob("national-*"):
        other.rename(folder / f"national-{version}.dist-info")
    installed = folder / f"national-{version}.dist-info"
    installed.mkdir(exist_ok=True)
    (installed / "METADATA").write_text(f"Name: national\nVersion: {version}\n")
    (installed / "entry_points.txt").write_text(
        f"[ckan.rdf.profiles]\nnational = ckanext.freshness.tests.harvesting.rdf.national:{profile}\n"
    )
    installed_profiles.cache_clear()


@pytest.fixture
def national_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for :func:`install_profile`."""
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    installed_profiles.cache_clear()


@pytest.mark.usefixtures("clean_site")
def test_an_upgraded_profile_maps_records_anew(fdp: FdpServer, national_folder: Path) -> None:
    install_profile(national_folder, "1", "GermanProfile")
    record = fdp.add_dataset(fdp.add_catalog(), keyword=["one"])
    harvest = add_source(fdp.source_url, profiles=[*PROFILES, "national"])
    assert harvest.run().stats["added"] == 1
    before = written(), indexed()
    assert harvest.run().stats["not modified"] == 1

    install_profile(national_folder, "2", "KeywordProfile")
    assert harvest.run().stats["updated"] == 1
    assert extras(harvest.dataset(record, fdp))["keywords"] == "one"
    assert (written(), indexed()) != before
    assert harvest.run().stats["not modified"] == 1


STATED = """@prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dct: <http://purl.org/dc/terms/> .
<> a dcat:Catalog ; dct:title "C" ; dcat:dataset <d> .
<d> a dcat:Dataset ; dct:title "T" ; dcat:distribution <f> ;
  <http://dcat-ap.de/def/dcatde/contributorID> <land> .
<f> a dcat:Distribution ; dct:title "F" ; <http://schema.org/offers> "Free of charge" ."""


@pytest.mark.usefixtures("clean_site")
@pytest.mark.parametrize("way", ["not stated any more", "read by other profiles"])
def test_a_statement_leaves_the_dataset_and_its_resource(
    way: str, fdp: FdpServer, national_folder: Path
) -> None:
    """An editor's own field, which no harvest has written, stays."""
    install_profile(
        national_folder,
        "1",
        "GermanProfile\nse = ckanext.freshness.tests.harvesting.rdf.national:SwedishProfile",
    )
    fdp.files["/c"] = Answer(200, STATED.encode(), {"Content-Type": "text/turtle"})
    harvest = add_source(
        f"{fdp.url}/c", source_type="dcat_catalog", profiles=[*PROFILES, "national", "se"]
    )
    harvest.run()
    (dataset,) = harvest.datasets().values()
    assert extras(dataset)["contributor_id"] == f"{fdp.url}/land"
    (resource,) = dataset["resources"]
    assert resource["offers"] == "Free of charge"
    call_action("resource_patch", {"user": sysadmin()}, id=resource["id"], rights="Ask", shelf="3")

    if way == "not stated any more":
        text = re.sub(r" ;\s+<http[^>]*> [^;]*? \.", " .", STATED)
        fdp.files["/c"] = Answer(200, text.encode(), {"Content-Type": "text/turtle"})
    else:
        harvest.configure(profiles=PROFILES)
    assert harvest.run().stats["updated"] == 1
    (dataset,) = harvest.datasets().values()
    assert "contributor_id" not in extras(dataset)
    (again,) = dataset["resources"]
    assert "offers" not in again
    assert (again["id"], again["rights"], again["shelf"]) == (resource["id"], "Ask", "3")


@pytest.mark.parametrize("schema", ["dcat"], indirect=True)
def test_settings_on_which_packages_depend(
    schema: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def salt(**config: Any) -> str:
        return salt_of(SourceConfig(**config), 1)

    usual = salt()
    assert salt() == usual
    register = model.Package.get_license_register()
    own = License({"id": "ours", "title": "Ours"})
    fields = scheming_schema("dataset")
    assert fields is not None
    with monkeypatch.context() as other:
        other.setattr(register, "licenses", [*register.licenses, own])
        licence = salt()
    with monkeypatch.context() as other:
        other.setitem(fields["dataset_fields"][0], "required", "other")
        changed_schema = salt()
    with changed_config("ckan.locale_default", "de"):
        language = salt()
    with changed_config("ckan.harvest.not_overwrite_fields", "notes"):
        kept = salt()
    of_source = [
        salt(default_tags=("a",)),
        salt(default_groups=("a",)),
        salt(keep_fields=("title",)),
    ]
    assert len({usual, licence, changed_schema, language, kept, *of_source}) == 8
    assert salt() == usual
