"""A source whose configuration names ckanext-dcat profiles, harvested from end to end."""

from __future__ import annotations

import json
from typing import Any

import pytest

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
