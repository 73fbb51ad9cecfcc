"""Fixtures of all rooms."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest
import sqlalchemy as sa


def pytest_configure() -> None:
    """A run that is told to end stops what its fixtures have started, however often it is told."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    for each in (signal.SIGINT, signal.SIGTERM):
        # Not SIG_IGN, which processes started from now on would inherit.
        signal.signal(each, lambda number, frame: None)
    raise KeyboardInterrupt


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
def clean_db(
    with_plugins: Any, reset_db: Callable[[], None], migrate_db_for: Callable[[str], None]
) -> None:
    """An empty database, with the tables of the plugins."""
    from ckan import model

    reset_db()
    tables = set(sa.inspect(model.Session.get_bind()).get_table_names())
    if not {"freshness_harvest_hold", "freshness_history"} <= tables:
        for plugin in ("activity", "harvest", "freshness"):
            migrate_db_for(plugin)


@pytest.fixture
def impatient_checks(with_plugins: None, ckan_config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks may visit loopback, and wait for nothing."""
    for key, value in {
        "ckanext.freshness.allowed_networks": ["127.0.0.0/8"],
        "ckanext.freshness.check.confirm_after": "0.01",
        "ckanext.freshness.check.requests_per_second": "10000",
        "ckanext.freshness.check.retry_delays": ["0.01"],
    }.items():
        monkeypatch.setitem(ckan_config, key, value)
