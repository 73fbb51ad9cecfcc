"""A pytest plugin for the tests of CKAN and of other extensions, which ``./dev test peers`` runs.

It keeps the tables of all plugins, enables plugins of ours besides those that a test asks for, and writes how
each test ended.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ENDINGS = ("passed", "skipped", "failed")
"""The endings of a test, the one that counts most last."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that `stack.peers` gives."""
    parser.addoption("--enable", default="", help="plugins to enable in every test")
    parser.addoption("--endings", type=Path, help="the file for the endings of the tests")


def pytest_configure(config: pytest.Config) -> None:
    """Register what must come after CKAN's fixtures, or has a state."""
    config.pluginmanager.register(Endings(config.option.endings), "endings")
    config.pluginmanager.register(KeptSite(), "kept_site")


class Endings:
    """The endings of all tests, by their ids, with the first line of what failed."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._found: dict[str, tuple[str, str]] = {}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a module that cannot be imported."""
        if report.failed:
            self._note(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the end of a test's setup, call or teardown; the worst of them counts."""
        self._note(report)

    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        self._file.write_text(json.dumps(self._found))

    def _note(self, report: pytest.CollectReport | pytest.TestReport) -> None:
        before = self._found.get(report.nodeid, ("passed", ""))
        if ENDINGS.index(report.outcome) >= ENDINGS.index(before[0]):
            crash = getattr(report.longrepr, "reprcrash", None)
            message = crash.message if crash else str(report.longrepr or "")
            self._found[report.nodeid] = (report.outcome, message.partition("\n")[0])


class KeptSite:
    """CKAN's plugins and application, which stay from test to test while the configuration is the same.

    CKAN's own fixtures make them for each test, which takes several times as long as most tests.
    """

    def __init__(self) -> None:
        self._before: dict[str, Any] = {}
        """The configuration with which the plugins were loaded."""
        self._after: dict[str, Any] = {}
        """The configuration as loading them, and making the application, left it."""
        self._plugins: dict[str, Any] = {}
        self._app: Any = None

    @pytest.fixture
    def with_plugins(self, request: pytest.FixtureRequest, ckan_config: Any) -> Iterator[None]:
        """Load the plugins that the configuration asks for."""
        from ckan.plugins import core

        marks = {mark.name for mark in request.node.iter_markers()}
        if marks & {"with_plugins", "provide_plugin"}:
            request.getfixturevalue("with_plugins")
        elif dict(ckan_config) == self._before and self._plugins == core._PLUGINS_SERVICE:
            ckan_config.update(self._after)
        else:
            self._before, self._app = dict(ckan_config), None
            core.unload_all()
            core.load_all()
            self._remember(ckan_config)
        yield

    @pytest.fixture
    def make_app(self, ckan_config: Any) -> Callable[[], Any]:
        """Return a function that returns a client of the application."""
        from ckan.config.middleware.flask_app import csrf
        from ckan.lib import app_globals
        from ckan.plugins import core
        from ckan.tests import helpers

        # CKAN would bring back what earlier tests had set (as in CKAN's fixture), and protect no page again
        # that somebody has once visited without a session.
        app_globals._CONFIG_CACHE.clear()
        csrf._exempt_views.clear()

        def make() -> Any:
            if self._plugins != core._PLUGINS_SERVICE or dict(ckan_config) != self._after:
                return helpers._get_test_app()
            if self._app is None:
                self._app = helpers._get_test_app().app
                self._remember(ckan_config)
            app_globals.reset()
            return helpers.CKANTestApp(self._app)

        return make

    def _remember(self, config: Any) -> None:
        from ckan.plugins import core

        self._after = dict(config)
        self._plugins = dict(core._PLUGINS_SERVICE)


@pytest.hookimpl(wrapper=True)
def pytest_sessionstart(session: pytest.Session) -> object:
    """Save time in CKAN, and make it empty the tables, where it would drop those of the plugins."""
    from ckanext.freshness.tests import cheaper_ckan

    cheaper_ckan.install()
    result = yield
    from ckan import model

    model.repo.tables_created_and_initialised = True
    return result


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Enable the plugins in tests that set ``ckan.plugins`` themselves, too."""
    nodes = {node for item in items for node in item.listchain()}
    for node in nodes:
        node.own_markers[:] = [_extended(mark, config.option.enable) for mark in node.own_markers]


def _extended(mark: pytest.Mark, plugins: str) -> pytest.Mark:
    if mark.name != "ckan_config" or mark.args[0] != "ckan.plugins":
        return mark
    # CKAN refuses to load a plugin twice.
    names = dict.fromkeys(f"{plugins} {mark.args[1]}".split())
    return pytest.mark.ckan_config("ckan.plugins", " ".join(names)).mark


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Function) -> None:
    """Load the plugins in each test: most of CKAN's run without any."""
    if "with_plugins" not in item.fixturenames:
        item.fixturenames.insert(0, "with_plugins")
