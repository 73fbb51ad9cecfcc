"""How the suites of both packages start, and the fixtures of all their folders.

A module that is not pure by `subsets.is_pure` starts CKAN when it is collected: a run of pure tests never does.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from ckanext.freshness.tests.subsets import is_pure

Act = Callable[..., Any]

# No result depends on the speed of the machine. In CI, hypothesis chooses its own profile, which says the same.
settings.register_profile("whole", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("whole"), max_examples=10)
if settings.get_current_profile_name() == "default":
    settings.load_profile("whole")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that CKAN's pytest plugin, which may never be loaded, adds too late."""
    parser.addoption("--ckan-ini", help="the ini file of the site that the tests use")
    parser.addoption("--not-pure", action="store_true", help="leave out the pure tests")


def pytest_configure(config: pytest.Config) -> None:
    """Stop what fixtures have started when a signal ends the run; give each worker its own site."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker and config.option.ckan_ini:
        sites = os.environ.get("FRESHNESS_TEST_SITES", "").split(":")
        index = int(worker.removeprefix("gw"))
        if index >= len(sites) or not sites[index]:
            raise pytest.UsageError(f"Worker {worker} has no site: run the tests with ./dev test.")
        config.option.ckan_ini = os.environ["CKAN_INI"] = sites[index]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files of pure tests if the option asks for it."""
    is_left_out = config.option.not_pure and collection_path.is_file() and is_pure(collection_path)
    return True if is_left_out else None


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect no garbage among the objects of modules and tests, hardly any of which is garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


# The last wrapper, so that pytest captures what CKAN logs.
@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Start CKAN before the first module that needs it is imported."""
    if isinstance(collector, pytest.Module) and not is_pure(collector.path):
        _start_ckan(collector.session)
    return (yield)


def _start_ckan(session: pytest.Session) -> None:
    plugins = session.config.pluginmanager
    if plugins.has_plugin("setup_of_ckan"):
        return
    if not session.config.option.ckan_ini:
        raise pytest.UsageError("These tests need a CKAN: run them with ./dev test, or --ckan-ini.")
    from ckan.tests.pytest_ckan import ckan_setup, fixtures

    from ckanext.freshness.tests import cheaper_ckan

    cheaper_ckan.install()
    plugins.register(fixtures, "fixtures_of_ckan")
    plugins.register(ckan_setup, "setup_of_ckan")
    ckan_setup.pytest_sessionstart(session)


def _end(number: int, frame: FrameType | None) -> None:
    for each in (signal.SIGINT, signal.SIGTERM):
        # Not SIG_IGN, which processes started from now on would inherit.
        signal.signal(each, lambda number, frame: None)
    raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def loggers() -> None:
    """Enable our loggers and rdflib's, which CKAN disables when it reads its configuration."""
    for name, logger in logging.root.manager.loggerDict.items():
        if name.startswith(("ckanext.freshness", "rdflib")) and isinstance(logger, logging.Logger):
            logger.disabled = False


@pytest.fixture(scope="session")
def usual_site() -> Any:
    """The one `UsualSite` of a run."""
    from ckanext.freshness.tests.usual_site import UsualSite

    return UsualSite()


@pytest.fixture
def with_plugins(usual_site: Any, ckan_config: Any) -> Iterator[None]:
    """The plugins of the configuration."""
    with usual_site.plugins(ckan_config):
        yield


@pytest.fixture
def make_app(usual_site: Any, ckan_config: Any) -> Callable[[], Any]:
    """Makes clients of the web application."""
    return lambda: usual_site.make_app(ckan_config)


@pytest.fixture
def cli(usual_site: Any, ckan_config: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A runner of CKAN's command line that makes no application for each command."""
    from ckan.tests.helpers import CKANCliRunner

    monkeypatch.setattr("ckan.cli.cli.CtxObject", usual_site.context)
    return CKANCliRunner(env={"CKAN_INI": ckan_config["__file__"]})


@pytest.fixture
def clean_db(
    usual_site: Any,
    with_plugins: Any,
    reset_db: Callable[[], None],
    migrate_db_for: Callable[[str], None],
) -> None:
    """An empty database, with the tables of the plugins."""
    import sqlalchemy as sa
    from ckan import model

    usual_site.emptied_for = usual_site.sysadmin = None
    tables = set(sa.inspect(model.meta.engine).get_table_names())
    if {"package", "freshness_harvest_hold", "freshness_history"} <= tables:
        _delete_rows(tables)
        return
    # With this, CKAN empties the tables that ./dev test has made, and does not make them again.
    model.repo.tables_created_and_initialised = "package" in tables
    reset_db()
    for plugin in ("activity", "harvest", "freshness"):
        migrate_db_for(plugin)


def _delete_rows(tables: set[str]) -> None:
    """Empty the tables with one request; CKAN's `reset_db` sends two for each, though most are empty."""
    from ckan import model
    from sqlalchemy.orm import close_all_sessions

    close_all_sessions()
    model.Session.remove()
    names = [table.name for table in reversed(model.repo.metadata.sorted_tables)]
    statements = [f'DELETE FROM "{name}"' for name in names if name in tables - {"alembic_version"}]
    with model.meta.engine.begin() as connection:
        connection.exec_driver_sql("; ".join(statements))


@pytest.fixture
def kept_db(request: pytest.FixtureRequest, usual_site: Any, with_plugins: Any) -> None:
    """A database that is emptied once for a module; its tests give what they create different names.

    If the module has a function ``make_world``, it is called then. Modules with the same function share what
    it makes.
    """
    from ckan import model

    make_world = getattr(request.module, "make_world", None)
    owner = make_world or request.module.__name__
    if usual_site.emptied_for != owner:
        request.getfixturevalue("clean_db")
        request.getfixturevalue("clean_index")
        usual_site.world = make_world() if make_world else None
        usual_site.emptied_for = owner
    model.Session.remove()


@pytest.fixture
def world(kept_db: None, usual_site: Any) -> Iterator[Any]:
    """What ``make_world`` of the test's module returned, which the module's tests share in any order.

    Packages that a test adds are purged after it. A test that changes the world's own changes them back.
    """
    import sqlalchemy as sa
    from ckan import model
    from ckan.tests.helpers import call_action

    def packages() -> set[str]:
        return set(model.Session.execute(sa.text("SELECT id FROM package")).scalars())

    before = packages()
    yield usual_site.world
    model.Session.remove()
    for package_id in packages() - before:
        call_action("dataset_purge", id=package_id)


@pytest.fixture
def impatient_checks(with_plugins: None, ckan_config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks may visit loopback, and wait for nothing."""
    for key, value in {
        "ckanext.freshness.allowed_networks": ["127.0.0.0/8"],
        "ckanext.freshness.check.confirm_after": "0.01",
        "ckanext.freshness.requests_per_second": "10000",
        "ckanext.freshness.retry_delays": ["0.01", "0.01"],
    }.items():
        monkeypatch.setitem(ckan_config, key, value)


@pytest.fixture
def act(usual_site: Any, kept_db: None) -> Act:
    """An action as a sysadmin's, who is the same in all tests of a module, or another user's."""
    from ckan.tests import factories, helpers

    if usual_site.sysadmin is None:
        usual_site.sysadmin = factories.Sysadmin()["name"]

    def call(action: str, *, by: str = usual_site.sysadmin, **data: Any) -> Any:
        return helpers.call_action(action, {"user": by, "ignore_auth": False}, **data)

    return call
