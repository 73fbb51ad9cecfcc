"""The fixtures of all folders of tests."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

Act = Callable[..., Any]


@pytest.fixture(autouse=True)
def loggers() -> None:
    """Enable our loggers and rdflib's, which CKAN disables when it reads its configuration."""
    for name, logger in logging.root.manager.loggerDict.items():
        if name.startswith(("ckanext.freshness", "rdflib")) and isinstance(logger, logging.Logger):
            logger.disabled = False


@pytest.fixture(scope="session")
def usual_site() -> Any:
    """The one `UsualSite` of a run, without the jobs and workers that a killed run has left."""
    from ckan.lib.redis import connect_to_redis

    from ckanext.freshness.tests.usual_site import UsualSite

    connect_to_redis().flushdb()
    return UsualSite()


@pytest.fixture
def with_plugins(
    usual_site: Any, ckan_config: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """The plugins of the configuration. A real night waits for seconds before it asks again."""
    monkeypatch.setattr("ckanext.freshness.settings.RETRY_DELAYS", (0.05, 0.2))
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
    if {"package", "freshness_history", "freshness_iati"} <= tables:
        _delete_rows(tables)
        return
    # With this, CKAN empties the tables that ./dev test has made, and does not make them again.
    model.repo.tables_created_and_initialised = "package" in tables
    reset_db()
    for plugin in ("activity", "harvest", "freshness", "iati_harvester"):
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
        "ckanext.freshness.requests_per_second": "10000",
    }.items():
        monkeypatch.setitem(ckan_config, key, value)
    monkeypatch.setattr("ckanext.freshness.settings.CONFIRM_AFTER", 0.01)
    monkeypatch.setattr("ckanext.freshness.settings.RETRY_DELAYS", (0.01, 0.01))


@pytest.fixture
def act(usual_site: Any, kept_db: None) -> Act:
    """An action as a sysadmin's, who is the same in all tests of a module, or another user's."""
    from ckan.tests import factories, helpers

    if usual_site.sysadmin is None:
        usual_site.sysadmin = factories.Sysadmin()["name"]

    def call(action: str, *, by: str = usual_site.sysadmin, **data: Any) -> Any:
        return helpers.call_action(action, {"user": by, "ignore_auth": False}, **data)

    return call
