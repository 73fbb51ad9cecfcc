"""The site of the tests, kept between them.

CKAN's fixtures load the plugins for each test, and once more for each test that asks for a web application:
0.3 to 1 seconds a test, most of the time of a run. Here they stay as long as a test asks for what test.ini
says; a test with a configuration of its own gets plugins of its own, as with CKAN's fixtures.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ckan.lib import app_globals
from ckan.model import meta
from ckan.plugins import core
from ckan.tests import helpers
from ckan.tests.pytest_ckan import ckan_setup

OWN = "ckanext.freshness."
"""Options that are read when they are needed: the application need not be made anew for them."""


class UsualSite:
    """Plugins and web application by test.ini."""

    def __init__(self) -> None:
        self._config: dict[str, Any] = {}
        """What the configuration is when they are loaded."""
        self._plugins: dict[str, Any] = {}
        self._engine: Any = None
        """Of the database: CKAN makes another one whenever it loads or unloads a plugin, be it in vain."""
        self._app: Any = None

    @contextlib.contextmanager
    def plugins(self, config: Any) -> Iterator[None]:
        """Within it, the plugins that the configuration asks for are loaded."""
        if _asks_for_the_usual(config):
            self._load(config)
            yield
        else:
            self._plugins = {}
            core.load_all()
            yield
            # An own plugin of the test may be gone from Python's path afterwards.
            core.unload_all()

    def make_app(self, config: Any) -> Any:
        """A client of the web application that the configuration asks for."""
        # What earlier tests had set would come back otherwise (as in CKAN's fixture).
        app_globals._CONFIG_CACHE.clear()
        unusual = self._unusual(config)
        if unusual is None or not all(key.startswith(OWN) for key in unusual):
            self._plugins = {}
            return helpers._get_test_app()
        for key in unusual:
            config[key] = ckan_setup._config[key]
        self._load(config)
        if self._app is None:
            self._app = helpers._get_test_app().app
            self._remember(config)
        config.update(unusual)
        app_globals.reset()
        return helpers.CKANTestApp(self._app)

    def _unusual(self, config: Any) -> dict[str, Any] | None:
        """What is set to something else than usual; None if something is not set at all, or new."""
        usual = dict(ckan_setup._config)
        if config.keys() != (self._config if self._are_loaded() else usual).keys():
            return None
        return {
            key: value
            for key, value in config.items()
            if value not in (usual.get(key, value), self._config.get(key, value))
        }

    def _are_loaded(self) -> bool:
        are_these = self._plugins == core._PLUGINS_SERVICE and self._engine is meta.engine
        return bool(self._plugins) and are_these

    def _load(self, config: Any) -> None:
        if self._are_loaded():
            config.update(self._config)
            return
        core.load_all()
        self._app = None
        self._remember(config)

    def _remember(self, config: Any) -> None:
        self._plugins = dict(core._PLUGINS_SERVICE)
        self._engine = meta.engine
        self._config = dict(config)


def _asks_for_the_usual(config: Any) -> bool:
    return bool(dict(config) == dict(ckan_setup._config))
