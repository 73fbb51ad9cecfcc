"""ckanext-harvest indexes a source after each job. The source must keep its type and configuration."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ckan.cli.cli import ckan
from ckan.tests.helpers import call_action

from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source, extras
from ckanext.freshness.tests.servers.fdp import FdpServer

pytestmark = pytest.mark.usefixtures("clean_site")


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
