"""When a source's records are mapped anew: with other profiles, other versions of them, other settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ckan import model
from ckan.model.license import License
from ckan.tests.helpers import changed_config

from ckanext.freshness.ckan_adapter.core import scheming_schema
from ckanext.freshness.harvesting.source_config import SourceConfig
from ckanext.freshness.harvesting.source_type import salt_of
from ckanext.freshness.tests.harvesting.conftest import add_source, extras, indexed, written
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.turtle import Iri, Literal, contact

EU = "http://publications.europa.eu/resource/authority"
PROFILES = ["euro_dcat_ap_3"]


@pytest.mark.usefixtures("clean_site")
def test_profiles_of_ckanext_dcat(fdp: FdpServer) -> None:
    fdp.shuffle = True
    record = fdp.add_dataset(
        fdp.add_catalog(),
        title=Literal("Read by a profile", "en"),
        theme=[f"{EU}/data-theme/HEAL", f"{EU}/data-theme/ECON"],
        keyword=["one", "two"],
        contact=contact("Help desk", "help@example.org"),
        license=Iri("http://creativecommons.org/licenses/by/4.0/"),
    )
    harvest = add_source(fdp.source_url, profiles=PROFILES)
    job = harvest.run()
    assert (job.errors, job.stats["added"]) == ([], 1)
    dataset = harvest.dataset(record, fdp)
    told: dict[str, Any] = {**extras(dataset), **dataset}
    assert (dataset["title"], dataset["license_id"]) == ("Read by a profile", "cc-by")
    assert [tag["name"] for tag in dataset["tags"]] == ["one", "two"]
    assert json.loads(told["theme"]) == [f"{EU}/data-theme/ECON", f"{EU}/data-theme/HEAL"]
    assert (told["contact_name"], told["contact_email"]) == ("Help desk", "help@example.org")
    assert not told.get("homepage")

    before = written(), indexed()
    assert harvest.run().stats["not modified"] == 1
    assert (written(), indexed()) == before
    fdp.change(record, contact=None, title="Read again")
    assert harvest.run().stats["updated"] == 1
    after = harvest.dataset(record, fdp)
    assert (after["id"], after["title"]) == (dataset["id"], "Read again")
    assert not {"contact", "contact_name", "contact_email"} & {**extras(after), **after}.keys()

    harvest.configure(profiles=["euro_dcat_ap_2"])
    assert harvest.run().stats["not modified"] == 0, "another profile: all is read again"
    mapped = harvest.dataset(record, fdp)
    assert (mapped["id"], mapped["name"]) == (dataset["id"], dataset["name"])
    assert [r["id"] for r in mapped["resources"]] == [r["id"] for r in dataset["resources"]]


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
