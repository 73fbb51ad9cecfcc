"""The extension on the page about extending (``docs/example``), installed beside this one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bs4 import BeautifulSoup
from ckan.cli.cli import ckan
from ckan.tests import factories
from ckan.tests.pytest_ckan import ckan_setup
from click.testing import CliRunner

import ckanext
from ckanext.freshness.ckan_adapter.tables import (
    drop_tables,
    existing_tables,
    tables_by_plugin,
    unusable_tables,
)
from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source
from ckanext.freshness.tests.servers.base import Answer
from ckanext.freshness.tests.web.support import FileServer

EXAMPLE = Path(__file__).parents[4] / "docs" / "example" / "ckanext"
NAME = "plain_list_harvester"
TABLES = [f"{NAME}_alembic_version", "plain_list_link"]

pytestmark = [
    pytest.mark.skipif(
        not EXAMPLE.exists(), reason="about a checkout, which an installed copy is not"
    ),
    pytest.mark.usefixtures("example", "impatient_checks"),
]


@pytest.fixture
def installed(tmp_path: Path, ckan_config: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install the example, and enable its plugin."""
    folder = tmp_path / "plain_list-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: plain-list\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(
        f"[ckan.plugins]\n{NAME} = ckanext.plain_list.plugin:PlainListHarvester\n"
        f"[freshness.tables]\n{NAME} = ckanext.plain_list.model:TABLES\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(ckanext, "__path__", [*ckanext.__path__, str(EXAMPLE)])
    monkeypatch.setitem(ckan_config, "ckan.plugins", [*ckan_config["ckan.plugins"], NAME])
    tables_by_plugin.cache_clear()
    yield
    tables_by_plugin.cache_clear()


@pytest.fixture
def example(
    installed: None, clean_site: None, migrate_db_for: Callable[[str], None]
) -> Iterator[None]:
    """A site with the plugin and its table."""
    assert [one.plugin for one in unusable_tables()] == [NAME]
    migrate_db_for(NAME)
    assert unusable_tables() == []
    yield
    assert existing_tables([NAME]) == TABLES
    drop_tables(TABLES)


@pytest.fixture
def app(example: None, make_app: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    """The site's application, which its commands use, too."""
    made = make_app()
    context = SimpleNamespace(config=ckan_setup.config, app=made.app)
    monkeypatch.setattr("ckan.cli.cli.CtxObject", lambda ini=None: context)
    return made


def run(*arguments: str) -> tuple[int, str]:
    """Return the exit code and the output of a command."""
    done = CliRunner().invoke(ckan, arguments)
    return done.exit_code, done.output


def publish(server: FileServer, *titles: str | None, count: int | None = None) -> None:
    listed = [
        {"id": f"id-{n}", "title": title, "files": [f"{server.url}/{n}.csv"]}
        for n, title in enumerate(titles)
    ]
    document = {"datasets": listed, "count": len(listed) if count is None else count}
    server.files["/list"] = Answer(200, json.dumps(document).encode())


def test_it_harvests() -> None:
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


def test_its_parts_are_parts_of_the_site(app: Any) -> None:
    sysadmin = {"Authorization": factories.SysadminWithToken()["token"]}

    def text(url: str) -> str:
        return str(app.get(url, headers=sysadmin).body)

    def listed(state: str) -> set[str]:
        return {row["url"] for row in json.loads(text(f"/freshness/links.json?state={state}"))}

    with FileServer() as server:
        server.files["/gone"] = Answer(404, b"")
        there, gone, other = (f"{server.url}/{name}" for name in ("there", "gone", "other"))
        plain = [{"url": there, "format": "PLAIN"}, {"url": gone, "format": "PLAIN"}]
        factories.Dataset(resources=plain)
        factories.Dataset(resources=[{"url": other, "format": "CSV"}])
        assert listed("elsewhere") == {there, gone}
        assert "plain list: 2 links checked" in run("freshness", "nightly")[1]
        # The nightly check asks only for what is not the checker's.
        assert {(one.method, one.path) for one in server.requests} == {
            *(("HEAD", "/there"), ("HEAD", "/gone"), ("GET", "/other"))
        }
    assert listed("elsewhere") == {there, gone}
    (tab,) = BeautifulSoup(text("/plain-list"), "html.parser").select(".nav-tabs li.active")
    assert tab.get_text(strip=True) == "Plain lists"
    assert "1 link is gone." in text("/plain-list")
    assert "plain_list_links_gone 1.0" in text("/freshness/metrics").splitlines()
    assert "1 links of plain lists are gone" in run("freshness", "doctor")[1]


def test_uninstalling_waits_for_its_plugin_too(app: Any) -> None:
    code, output = run("freshness-uninstall", "--drop-tables", "--yes")
    assert code == 1 and f" {NAME} from ckan.plugins" in " ".join(output.split())
