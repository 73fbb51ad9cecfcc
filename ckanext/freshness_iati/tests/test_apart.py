"""The other package knows nothing of IATI, and a site without the plugin has nothing of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ckan.cli.cli import ckan
from ckan.tests import factories
from ckan.tests.pytest_ckan import ckan_setup
from click.testing import CliRunner

from ckanext.freshness.ckan_adapter.harvest import registered_source_types
from ckanext.freshness.ckan_adapter.tables import unusable_tables
from ckanext.freshness.tests.ckan_adapter.test_own_tables import without_tables
from ckanext.freshness_iati.report import GAUGES

CORE = Path(__file__).parents[2] / "freshness"

NAME = re.compile(r"iati(?!on|ve)", re.IGNORECASE)
"""The name, and not a part of "association" or "initiative"."""
FORMAT = '"iatixml"'
"""A format of files that catalogues of any kind declare."""


def test_the_other_package_does_not_name_it() -> None:
    files = [
        path
        for path in CORE.rglob("*")
        if path.is_file()
        and path.suffix not in (".mo", ".pyc")
        and "tests" not in path.relative_to(CORE).parts
    ]
    assert len(files) > 200
    found = [
        f"{path.relative_to(CORE)}: {line.strip()}"
        for path in files
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines()
        if NAME.search(line.replace(FORMAT, "")) or NAME.search(path.name)
    ]
    assert found == []


@pytest.fixture
def other_plugins(ckan_config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the plugin out."""
    plugins = [name for name in ckan_config["ckan.plugins"] if name != "iati_harvester"]
    monkeypatch.setitem(ckan_config, "ckan.plugins", plugins)


@pytest.mark.usefixtures("other_plugins", "clean_redis")
def test_a_site_without_the_plugin(
    kept_db: None, make_app: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app()
    context = SimpleNamespace(config=ckan_setup.config, app=app.app)
    monkeypatch.setattr("ckan.cli.cli.CtxObject", lambda ini=None: context)
    sysadmin = {"Authorization": factories.SysadminWithToken()["token"]}
    with without_tables("iati_harvester"):
        assert unusable_tables() == []
        for url in ("/freshness", "/freshness/sources", "/freshness/links", "/freshness/runs"):
            assert not NAME.search(app.get(url, headers=sysadmin, status=200).body), url
        metrics = app.get("/freshness/metrics", headers=sysadmin, status=200).body
        assert not [name for name in GAUGES if name in metrics]
        app.get("/iati", status=404)
        done = CliRunner().invoke(ckan, ["freshness", "doctor"])
        assert "Looked at: " in done.output and not NAME.search(done.output), done.output
        done = CliRunner().invoke(ckan, ["freshness", "nightly"])
        assert done.exit_code == 0 and not NAME.search(done.output), done.output
        assert CliRunner().invoke(ckan, ["iati", "update", "x"]).exit_code == 2
    assert "iati_registry" not in registered_source_types()


@pytest.mark.usefixtures("with_plugins", "kept_db")
def test_a_site_with_the_plugin(app: Any) -> None:
    for url in ("/freshness", "/iati"):
        assert 'href="/iati"' in app.get(url, status=200).body, url
