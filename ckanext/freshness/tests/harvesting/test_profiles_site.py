"""A source whose configuration names ckanext-dcat profiles, harvested from end to end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ckanext.freshness.tests.harvesting.conftest import add_source, extras, indexed, written
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.turtle import Iri, Literal, agent, contact

EU = "http://publications.europa.eu/resource/authority"
PROFILES = ["euro_dcat_ap_3"]


@pytest.mark.usefixtures("clean_site")
def test_profiles_of_ckanext_dcat(fdp: FdpServer) -> None:
    fdp.shuffle = True
    catalog = fdp.add_catalog()
    record = fdp.add_dataset(
        catalog,
        title=Literal("Read by a profile", "en"),
        description="Not by our own mapping.",
        theme=[f"{EU}/data-theme/HEAL", f"{EU}/data-theme/ECON"],
        keyword=["one", "two"],
        identifier="profiled",
        frequency=f"{EU}/frequency/MONTHLY",
        contact=contact("Help desk", "help@example.org"),
        publisher=agent("Institute", "info@example.org"),
        license=Iri("http://creativecommons.org/licenses/by/4.0/"),
    )
    other = fdp.add_dataset(catalog, distributions=0)
    harvest = add_source(fdp.source_url, profiles=PROFILES)
    job = harvest.run()
    assert (job.errors, job.stats["added"]) == ([], 2)
    dataset = harvest.dataset(record, fdp)
    told: dict[str, Any] = {**extras(dataset), **dataset}
    assert dataset["title"] == "Read by a profile"
    assert dataset["notes"] == "Not by our own mapping."
    assert dataset["license_id"] == "cc-by"
    assert [tag["name"] for tag in dataset["tags"]] == ["one", "two"]
    assert (told["identifier"], told["frequency"]) == ("profiled", f"{EU}/frequency/MONTHLY")
    assert json.loads(told["theme"]) == [f"{EU}/data-theme/ECON", f"{EU}/data-theme/HEAL"]
    # Our own mapping would make one extra: this proves that ckanext-dcat's parser ran.
    assert (told["contact_name"], told["contact_email"]) == ("Help desk", "help@example.org")
    assert told["uri"] == fdp.iri_of(record)
    assert extras(dataset)["guid"] == (
        f"catalog={fdp.iri_of(catalog)};dataset={fdp.iri_of(record)}"
    )
    assert not told.get("homepage")
    assert [resource["format"] for resource in dataset["resources"]] == ["CSV", "CSV"]

    before = written(), indexed()
    for _ in range(2):
        assert harvest.run().stats["not modified"] == 2
    assert (written(), indexed()) == before

    fdp.change(record, contact=None, title="Read again")
    assert harvest.run().stats["updated"] == 1
    after = harvest.dataset(record, fdp)
    assert (after["id"], after["title"]) == (dataset["id"], "Read again")
    assert not {"contact", "contact_name", "contact_email"} & {**extras(after), **after}.keys()
    assert [r["id"] for r in after["resources"]] == [r["id"] for r in dataset["resources"]]

    harvest.configure()
    job = harvest.run()
    assert (job.errors, job.stats["not modified"]) == ([], 0), "another parser: all is read again"
    mapped = harvest.dataset(record, fdp)
    assert (mapped["id"], mapped["name"]) == (dataset["id"], dataset["name"])
    assert harvest.dataset(other, fdp)["state"] == "active"
    assert harvest.run().stats["not modified"] == 2
