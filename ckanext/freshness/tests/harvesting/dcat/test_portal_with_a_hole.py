"""A CKAN with ckanext-dcat whose search index lacks some of its datasets: its catalogue leaves them out."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import ckan.plugins.toolkit as tk
import pytest
from ckan.lib import search
from ckan.tests import factories
from ckan.tests.helpers import call_action
from werkzeug.serving import make_server

from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source, sysadmin

COUNT = 11
LEFT_OUT = 2


@dataclass(frozen=True)
class DcatPortal:
    """The datasets of one organization, and a source of the catalogue that lists them."""

    ids: list[str]
    harvest: Harvest


# With content negotiation; without it, the URLs of datasets answer with pages for people.
@pytest.fixture(params=[True])
def portal(
    request: pytest.FixtureRequest, ckan_config: Any, usual_site: Any
) -> Iterator[DcatPortal]:
    """Serve the test's own site with ckanext-dcat, and harvest one of its organizations into another."""
    with pytest.MonkeyPatch.context() as patch:
        plugins = " ".join([*tk.aslist(ckan_config["ckan.plugins"]), "dcat"])
        patch.setitem(ckan_config, "ckan.plugins", plugins)
        patch.setitem(ckan_config, "ckanext.dcat.enable_content_negotiation", request.param)
        request.getfixturevalue("clean_site")
        app = usual_site.make_app(ckan_config).app
        server = make_server("127.0.0.1", 0, app, threaded=True)
        address = f"http://127.0.0.1:{server.server_port}"
        patch.setitem(ckan_config, "ckan.site_url", address)
        patch.setitem(ckan_config, "ckanext.dcat.base_uri", address)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            owner = factories.Organization()
            ids = [
                factories.Dataset(owner_org=owner["id"], title=f"Dataset {number}")["id"]
                for number in range(COUNT)
            ]
            url = f"{address}/catalog.ttl?fq=organization:{owner['name']}"
            yield DcatPortal(ids, add_source(url, source_type="dcat_catalog"))
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def copies(portal: DcatPortal) -> int:
    return len(portal.harvest.current())


@pytest.mark.parametrize(
    "portal", [False, True], ids=["pages for people", "negotiated"], indirect=True
)
def test_datasets_that_the_index_lacks_are_held_until_an_approval(portal: DcatPortal) -> None:
    """Its totals and its pages agree, in each reading: only the datasets themselves can tell."""
    harvest = portal.harvest
    job = harvest.run()
    assert job.errors == [] and job.stats["added"] == COUNT
    for dataset_id in portal.ids[:LEFT_OUT]:
        search.clear(dataset_id)
    for _ in range(2):
        job = harvest.run()
        assert job.stats["deleted"] == 0
        held = harvest.hold()["held"]
        assert [one["own_url"] for one in held] == ["present"] * LEFT_OUT
    search.rebuild(portal.ids[0])
    harvest.run()
    (held,) = harvest.hold()["held"]
    assert held["url"].endswith(portal.ids[1])
    harvest.release()
    assert harvest.run().stats["deleted"] == 1
    assert harvest.hold() is None and copies(portal) == COUNT - 1


def test_a_held_dataset_that_is_deleted_there_leaves_the_hold(portal: DcatPortal) -> None:
    """Its own URL has answered with it, so that 404 now says that it is gone."""
    harvest = portal.harvest
    harvest.run()
    search.clear(portal.ids[0])
    harvest.run()
    assert len(harvest.hold()["held"]) == 1
    call_action("package_delete", {"user": sysadmin()}, id=portal.ids[0])
    job = harvest.run()
    assert job.errors == [] and job.stats["deleted"] == 1, harvest.hold()
    assert harvest.hold() is None and copies(portal) == COUNT - 1
