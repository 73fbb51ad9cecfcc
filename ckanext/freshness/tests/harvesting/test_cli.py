"""Sources at the command line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ckan.cli.cli import ckan
from ckan.tests.helpers import call_action

from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source, extras
from ckanext.freshness.tests.servers.faults import Status
from ckanext.freshness.tests.servers.fdp import FdpServer

pytestmark = pytest.mark.usefixtures("clean_site", "clean_redis")


@pytest.fixture
def run(cli: Any) -> Any:
    """Call ``ckan freshness`` with arguments, and optionally answer its question."""

    def call(*arguments: str, answer: str | None = None) -> Any:
        return cli.invoke(ckan, ["freshness", *arguments], input=answer)

    return call


def test_a_source_that_cannot_be_read_is_no_success(
    run: Any, fdp: FdpServer, harvest: Harvest
) -> None:
    harvest.run()
    fdp.faults["/"] = Status(410)
    result = run("preview", harvest.source["name"])
    assert result.exit_code == 1
    assert "The source could not be read" in result.output
    assert f"Could not be read: {fdp.source_url}" in result.output


def test_release_asks_first(run: Any, fdp: FdpServer, harvest: Harvest) -> None:
    harvest.run()
    name = harvest.source["name"]
    result = run("release", name)
    assert result.exit_code == 1
    assert "This source has no held deletions" in result.output

    urls = [fdp.iri_of(one) for one in fdp.datasets]
    for record in fdp.datasets:
        fdp.remove(record)
    harvest.run()
    for answer in ("n\n", ""):
        result = run("release", name, answer=answer)
        assert result.exit_code == 1
        assert all(url in result.output for url in urls)
        assert "3 records of it are current" in result.output
        assert not harvest.hold()["released_at"]
    result = run("release", name, answer="y\n")
    assert result.exit_code == 0
    assert "Released: 3 datasets" in result.output
    assert harvest.hold()["released_at"]
    result = run("release", name)
    assert result.exit_code == 0
    assert "Already released by" in result.output
    assert harvest.run().stats["deleted"] == 3


def is_whole(harvest: Harvest, config: dict[str, Any]) -> bool:
    """Return whether every action that shows the source has its type and configuration in place."""
    source_id = harvest.source["id"]
    (found,) = call_action("package_search", fq="dataset_type:harvest")["results"]
    shown = [
        found,
        call_action("package_show", id=source_id),
        call_action("harvest_source_show", id=source_id),
    ]
    return all(
        one.get("source_type") == "fdp"
        and json.loads(one.get("config") or "{}") == config
        and not {"source_type", "config"} & extras({"extras": [], **one}).keys()
        for one in shown
    )


def test_a_source_stays_whole_after_its_jobs(fdp: FdpServer, cli: Any) -> None:
    fdp.add_dataset(fdp.add_catalog())
    config: dict[str, Any] = {"language": "en", "timeout": 30}
    harvest = add_source(fdp.source_url, **config)
    for _ in range(2):
        assert harvest.run().errors == []
        assert is_whole(harvest, config)

    # Raises a KeyError if it finds no source_type.
    result = cli.invoke(ckan, ["harvester", "run-test", harvest.source["name"]])
    assert result.exit_code == 0, result.output
    assert is_whole(harvest, config)
    assert harvest.run().stats["not modified"] == 1
