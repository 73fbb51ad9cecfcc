"""How the tests of all packages start.

Their fixtures are in ``ckanext/freshness/tests/conftest.py``, which the other packages import: CKAN's fixtures
would take the place of ours of the same name here.

A module that is not pure by `subsets.is_pure` starts CKAN when it is collected: a run of pure tests never does.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import HealthCheck, settings

from ckanext.freshness.tests.subsets import is_pure

# No result depends on the speed of the machine. In CI, hypothesis chooses its own profile, which says the same.
settings.register_profile("whole", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("whole"), max_examples=10)
settings.register_profile("search", settings.get_profile("whole"), max_examples=1000)
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
