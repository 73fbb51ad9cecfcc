"""The source type on the page about extending, as the plugin of another distribution."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import ckan.plugins as p
import pytest

from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source
from ckanext.freshness.tests.servers.base import Answer
from ckanext.freshness.tests.test_docs_extending import PAGE, blocks
from ckanext.freshness.tests.web.support import FileServer

pytestmark = [
    pytest.mark.usefixtures("clean_site"),
    pytest.mark.skipif(
        not PAGE.exists(), reason="about a checkout, which an installed copy is not"
    ),
]

NAME = "plain_list_harvester"


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clean_site: None) -> Iterator[None]:
    """Install a distribution with the example, and load its plugin."""
    (tmp_path / "plain_list.py").write_text("\n".join(blocks("add-source-type", "python")))
    folder = tmp_path / "plain_list-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: plain-list\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(
        f"[ckan.plugins]\n{NAME} = plain_list:PlainListHarvester\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with p.use_plugin(NAME):
        yield
    sys.modules.pop("plain_list")


def publish(server: FileServer, *titles: str | None, count: int | None = None) -> None:
    listed = [
        {"id": f"id-{n}", "title": title, "files": [f"{server.url}/{n}.csv"]}
        for n, title in enumerate(titles)
    ]
    document = {"datasets": listed, "count": len(listed) if count is None else count}
    server.files["/list"] = Answer(200, json.dumps(document).encode())


def test_it_harvests(plugin: None) -> None:
    with FileServer() as server:
        publish(server, "One", "Two", "Three", "Four")
        harvest: Harvest = add_source(f"{server.url}/list", source_type="plain_list")
        assert harvest.run().stats["added"] == 4
        publish(server, "One", "Second", None)
        job = harvest.run()
        assert (job.stats["updated"], job.stats["deleted"]) == (1, 0)
        assert job.stats["not modified"] == 1 and job.stats["errored"] == 1
        harvest.wait_a_day()
        assert harvest.run().stats["deleted"] == 1
        publish(server, "One", count=2)
        job = harvest.run()
        assert "it says that it has 2 datasets" in job.errors[0] and job.stats["deleted"] == 0
        assert len(harvest.current()) == 3
