"""Documents that are sent to Solr together are those that CKAN sends one by one."""

from __future__ import annotations

import json
from typing import Any

import pytest
import sqlalchemy as sa
from ckan.lib import search
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter import solr_queue
from ckanext.freshness.ckan_adapter.ckan_core import model
from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source, indexing, sysadmin
from ckanext.freshness.tests.harvesting.stumbling import StumblingPlugin
from ckanext.freshness.tests.servers.fdp import FdpServer

pytestmark = pytest.mark.usefixtures("clean_site")

_OF_THE_WRITE = {"indexed_ts", "_version_", "metadata_modified", "metadata_created"}


def documents() -> dict[str, dict[str, Any]]:
    """What Solr holds of each dataset, by title, but for times and ids."""
    connection = search.common.make_connection()
    found = connection.search(q="dataset_type:dataset", rows=1000).docs
    for document in found:
        for field in ("data_dict", "validated_data_dict"):
            package = json.loads(document[field])
            package["extras"].sort(key=lambda extra: extra["key"])
            document[field] = {key: one for key, one in package.items() if key not in _OF_THE_WRITE}
    return {one["title"]: one for one in found}


def fill(fdp: FdpServer, datasets: int = 7) -> None:
    catalog = fdp.add_catalog()
    for number in range(datasets):
        fdp.add_dataset(catalog, title=f"Dataset {number}", keyword=["a", f"b{number}"])


@pytest.mark.parametrize("together", [True, False])
def test_both_ways_index_all(fdp: FdpServer, together: bool) -> None:
    fill(fdp)
    harvest = add_source(fdp.source_url)
    with indexing(together):
        job = harvest.run()
    assert job.stats["added"] == 7
    assert len(harvest.datasets()) == 7
    rows = model.Session.execute(
        sa.text("SELECT data FROM activity WHERE activity_type = 'new package'")
    ).scalars()
    packages = [json.loads(row)["package"] for row in rows]
    shown = [one["title"] for one in packages if one["type"] == "dataset"]
    assert sorted(shown) == [f"Dataset {number}" for number in range(7)]


def test_a_rebuild_changes_no_document(fdp: FdpServer) -> None:
    fill(fdp, 3)
    add_source(fdp.source_url).run()
    before = documents()
    search.rebuild()
    after = documents()
    assert before.keys() == after.keys()
    assert len(before) == 3
    for title, document in before.items():
        for field in document.keys() | after[title].keys():
            if field not in _OF_THE_WRITE:
                assert document.get(field) == after[title].get(field), field


@pytest.mark.parametrize("together", [True, False])
def test_a_document_that_solr_refuses(
    fdp: FdpServer, stumbling: StumblingPlugin, together: bool
) -> None:
    fill(fdp)
    stumbling.unindexable.add("Dataset 3")
    harvest = add_source(fdp.source_url)
    with indexing(together):
        job = harvest.run()
        assert titles(harvest) == {f"Dataset {number}" for number in (0, 1, 2, 4, 5, 6)}
        assert job.stats["added"] == 6
        assert job.stats["errored"] == 1
        (message,) = job.errors
        assert "Solr" in message or "SOLR" in message

        stumbling.unindexable.clear()
        job = harvest.run()
    assert job.errors == []
    assert titles(harvest) == {f"Dataset {number}" for number in range(7)}
    count = model.Session.query(model.Package).filter_by(type="dataset").count()
    assert count == 7


def test_an_unknown_version_goes_the_plain_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solr_queue, "TRIED", ("0.1",))
    make_connection = search.index.make_connection
    with solr_queue.queued() as queue:
        assert search.index.make_connection is make_connection
    assert queue.refused == []


def test_a_failing_block_sends_what_was_written(fdp: FdpServer) -> None:
    with pytest.raises(LookupError), solr_queue.queued():
        call_action("package_create", {"user": sysadmin()}, name="written-before")
        assert call_action("package_show", id="written-before")["name"] == "written-before"
        raise LookupError
    search.commit()
    assert call_action("package_search", q="name:written-before")["count"] == 1


def titles(harvest: Harvest) -> set[str]:
    return {one["title"] for one in harvest.datasets().values()}
