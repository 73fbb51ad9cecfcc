"""The one CKAN application of a test process.

CKAN's fixtures load the plugins for each test, and again for each web application and each command: 0.3 to
3 seconds each. Here they stay loaded as long as tests ask for the plugins of test.ini. A test that changes an
option that they read only once gets plugins and an application of its own, as with CKAN's fixtures.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, TypeGuard

import ckan.cli.cli
import pytest
from ckan import model
from ckan.config.middleware.flask_app import csrf
from ckan.lib import app_globals
from ckan.plugins import core
from ckan.tests import helpers
from ckan.tests.pytest_ckan import ckan_setup

READ_WHEN_NEEDED = ("ckanext.freshness.", "smtp.", "WTF_CSRF_ENABLED")
"""How the options begin that plugins and application read again whenever they need them."""

CtxObject = ckan.cli.cli.CtxObject


class UsualSite:
    """The plugins and the web application that test.ini asks for."""

    def __init__(self) -> None:
        self._config: dict[str, Any] = {}
        """The configuration as loading the plugins left it."""
        self._plugins: dict[str, Any] = {}
        self._app: Any = None
        self.emptied_for: object = None
        """The module, or the ``make_world`` of several, for whose tests the database was emptied once."""
        self.sysadmin: str | None = None
        """The sysadmin of these tests; None if no test has asked for one."""
        self.world: Any = None
        """What that module's ``make_world`` returned."""

    @contextlib.contextmanager
    def plugins(self, config: Any) -> Iterator[None]:
        """Keep the plugins that the configuration asks for loaded within the block."""
        changed = _changes(config, ckan_setup._config)
        if _fit(changed):
            self._load(config, changed)
            yield
        else:
            self._plugins = {}
            core.load_all()
            yield
            # A plugin of the test may be gone from Python's path afterwards.
            core.unload_all()

    def make_app(self, config: Any) -> Any:
        """Return a client of the web application that the configuration asks for."""
        # CKAN would bring back what earlier tests had set (as in CKAN's fixture).
        app_globals._CONFIG_CACHE.clear()
        # CKAN 2.12 protects no page again that somebody has once visited without a session.
        csrf._exempt_views.clear()
        usual = dict(ckan_setup._config)
        changed = _changes(config, usual | self._config if self.are_loaded() else usual)
        if changed is not None:
            # A test without plugins has what they change as it was before they were loaded.
            changed = {key: value for key, value in changed.items() if value != usual.get(key)}
        if not _fit(changed):
            self._plugins = {}
            return helpers._get_test_app()
        self._load(config, changed)
        client = helpers.CKANTestApp(self.app(config))
        # Flask has a copy of this option.
        client.flask_app.config["WTF_CSRF_ENABLED"] = config["WTF_CSRF_ENABLED"]
        app_globals.reset()
        return client

    def app(self, config: Any) -> Any:
        """Return the web application; the plugins are loaded."""
        if self._app is None:
            changed = {key: config[key] for key in config if key.startswith(READ_WHEN_NEEDED)}
            config.update({key: self._config[key] for key in changed})
            self._app = helpers._get_test_app().app
            self._remember(config)
            config.update(changed)
        return self._app

    def are_loaded(self) -> bool:
        """Decide whether the plugins of test.ini are loaded, and no others."""
        return bool(self._plugins) and self._plugins == core._PLUGINS_SERVICE

    def context(self, ini: str | None = None) -> Any:
        """Return what CKAN's command line makes of an ini file: here with the application that is there."""
        if not self.are_loaded():
            return CtxObject(ini)
        model.Session.remove()
        made = CtxObject.__new__(CtxObject)
        made.config = ckan_setup.config
        made.app = self.app(made.config)
        return made

    def _load(self, config: Any, changed: dict[str, Any]) -> None:
        if not self.are_loaded():
            for key in changed:
                config[key] = ckan_setup._config[key]
            core.load_all()
            self._remember(config)
        config.update(self._config | changed)

    def _remember(self, config: Any) -> None:
        self._plugins = dict(core._PLUGINS_SERVICE)
        self._config = dict(config)


@contextlib.contextmanager
def no_new_configuration() -> Iterator[None]:
    """Let CKAN load and unload plugins within the block without configuring itself anew each time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core, "plugins_update", lambda: None)
        yield


@contextlib.contextmanager
def use_hooks_of(name: str) -> Iterator[Any]:
    """Load one more plugin within the block, which has hooks only."""
    with no_new_configuration():
        plugin = core.load(name)
    try:
        yield plugin
    finally:
        with no_new_configuration():
            core.unload(name)


def _changes(config: Any, usual: Any) -> dict[str, Any] | None:
    """Return the options with another value than usual; None if one is missing or new."""
    if config.keys() != usual.keys():
        return None
    return {key: value for key, value in config.items() if value != usual.get(key)}


def _fit(changed: dict[str, Any] | None) -> TypeGuard[dict[str, Any]]:
    return changed is not None and all(key.startswith(READ_WHEN_NEEDED) for key in changed)
