"""When a source's records are mapped anew: with other profiles, other versions of them, other settings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ckan import model
from ckan.model.license import License
from ckan.tests.helpers import call_action, changed_config

from ckanext.freshness.ckan_adapter.core import scheming_schema
from ckanext.freshness.harvesting.source_config import SourceConfig
from ckanext.freshness.harvesting.source_type import salt_of
from ckanext.freshness.tests.harvesting.conftest import (
    add_source,
    extras,
    indexed,
    sysadmin,
    written,
)
from ckanext.freshness.tests.servers.base import Answer
from ckanext.freshness.tests.servers.fdp import FdpServer

EU = "http://publications.europa.eu/resource/authority"
PROFILES = ["euro_dcat_ap_3"]


def install_profile(folder: Path, version: str, profile: str) -> None:
    """Install a version of an extension with a profile, in place of any other version."""
    for other in folder.glob("national-*"):
        other.rename(folder / f"national-{version}.dist-info")
    installed = folder / f"national-{version}.dist-info"
    installed.mkdir(exist_ok=True)
    (installed / "METADATA").write_text(f"Name: national\nVersion: {version}\n")
    (installed / "entry_points.txt").write_text(
        f"[ckan.rdf.profiles]\nnational = ckanext.freshness.tests.harvesting.rdf.national:{profile}\n"
    )


@pytest.mark.usefixtures("clean_site")
def test_an_upgraded_profile_maps_records_anew(
    fdp: FdpServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    install_profile(tmp_path, "1", "GermanProfile")
    record = fdp.add_dataset(fdp.add_catalog(), keyword=["one"])
    harvest = add_source(fdp.source_url, profiles=[*PROFILES, "national"])
    assert harvest.run().stats["added"] == 1
    before = written(), indexed()
    assert harvest.run().stats["not modified"] == 1

    install_profile(tmp_path, "2", "KeywordProfile")
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
    way: str, fdp: FdpServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editor's own field, which no harvest has written, stays."""
    monkeypatch.syspath_prepend(tmp_path)
    install_profile(
        tmp_path,
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
