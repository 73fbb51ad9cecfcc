"""``ckan freshness preview``, ``release`` and ``doctor``."""

from __future__ import annotations

from typing import Any

import pytest
from ckan.cli.cli import ckan

from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source
from ckanext.freshness.tests.servers.faults import Status
from ckanext.freshness.tests.servers.fdp import FdpServer

pytestmark = pytest.mark.usefixtures("clean_site", "clean_redis")


@pytest.fixture
def harvest(fdp: FdpServer) -> Harvest:
    """A harvested source with three datasets."""
    catalog = fdp.add_catalog()
    for number in range(3):
        fdp.add_dataset(catalog, title=f"Dataset {number}")
    harvest = add_source(fdp.source_url)
    harvest.run()
    return harvest


@pytest.fixture
def run(cli: Any) -> Any:
    """Call ``ckan freshness`` with arguments, and optionally answer its question."""

    def call(*arguments: str, answer: str | None = None) -> Any:
        return cli.invoke(ckan, ["freshness", *arguments], input=answer)

    return call


def empty(fdp: FdpServer, harvest: Harvest) -> None:
    for record in fdp.datasets:
        fdp.remove(record)
    harvest.run()


def test_a_source_that_cannot_be_read_is_no_success(
    run: Any, fdp: FdpServer, harvest: Harvest
) -> None:
    fdp.faults["/"] = Status(410)
    result = run("preview", harvest.source["name"])
    assert result.exit_code == 1
    assert "The source could not be read" in result.output
    assert f"Could not be read: {fdp.source_url}" in result.output


def test_release_asks_first(run: Any, fdp: FdpServer, harvest: Harvest) -> None:
    name = harvest.source["name"]
    result = run("release", name)
    assert result.exit_code == 1
    assert "This source has no held deletions" in result.output

    urls = [fdp.iri_of(one) for one in fdp.datasets]
    empty(fdp, harvest)
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
    result = run("release", name, "--undo")
    assert result.exit_code == 0
    assert "Held again: 3 datasets" in result.output
    assert not harvest.hold()["released_at"]
    assert run("release", name, "--yes").exit_code == 0
    assert harvest.run().stats["deleted"] == 3
