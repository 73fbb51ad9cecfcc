"""A gather of a catalogue that is killed between two pages, and done again."""

from __future__ import annotations

from typing import Any

import pytest

from ckanext.freshness.ckan_adapter.database import is_held
from ckanext.freshness.harvesting.object_writer import ObjectWriter
from ckanext.freshness.tests.harvesting.conftest import add_source
from ckanext.freshness.tests.harvesting.test_killed import PATIENCE, consumer, kill, send_again
from ckanext.freshness.tests.processes import until
from ckanext.freshness.tests.servers.catalogue import CatalogueServer
from ckanext.freshness.tests.servers.faults import Hold

__all__ = ["consumer"]

pytestmark = pytest.mark.usefixtures("clean_site", "clean_redis")


@pytest.mark.parametrize("page", [1, 2, 4])
def test_a_killed_gather_is_done_again(
    consumer: Any,
    monkeypatch: pytest.MonkeyPatch,
    page: int,
) -> None:
    monkeypatch.setattr(ObjectWriter, "BATCH", 2)
    with CatalogueServer(11, page_size=3) as server:
        harvest = add_source(server.source_url, source_type="dcat_catalog")
        target = server.page_url(page).removeprefix(server.url)
        fault = server.faults[target] = Hold()
        job_id = harvest.start()
        process = consumer("gather")
        server.wait_for(target, timeout=PATIENCE)
        assert is_held(f"gather {job_id}")
        kill(process)
        until(lambda: not is_held(f"gather {job_id}"))
        fault.release()
        send_again("gather")
        harvest.gather()
        harvest.fetch()
        job = harvest.finish(job_id)
        assert job.errors == [] and job.stats["added"] == 11
        assert harvest.datasets().keys() == server.iris()
        assert len(harvest.current()) == 11
        server.entries.pop()
        assert harvest.run().stats["deleted"] == 1
