"""Missing tables: hooks do nothing, so that CKAN works, and this extension's pages and commands say what
to do.

Tables are missing before ``ckan db upgrade``, after ``ckan db downgrade``, and after a test has reset the
database. Hooks do not ask first, which would cost each request a query: they run and handle the error.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from .ckan_core import model
from .database import has_newest_migration, has_written

log = logging.getLogger(__name__)

Params = ParamSpec("Params")
Result = TypeVar("Result")

_UNDEFINED = frozenset({"42P01", "42703"})
"""PostgreSQL's codes for a table and a column that do not exist."""
_RETRY = 1.0
"""Seconds between two searches for missing tables by hooks that only read."""


class TablesMissingError(tk.ValidationError):
    """Missing or old tables, because a migration was not run or was undone.

    It is a ValidationError so that CKAN's API returns the message.

    :ivar plugins: the plugins whose tables are missing or old
    """

    def __init__(self, plugins: list[str]) -> None:
        words = tk._("The tables of {plugins} are missing or old. This makes them: {commands}")
        self.words = words.format(plugins=", ".join(plugins), commands=_commands(plugins))
        super().__init__({"tables": [self.words]})
        self.plugins = plugins

    def __str__(self) -> str:
        return str(self.words)


class _TablesSeen:
    """The state of the tables as this process knows it."""

    missing_since: float | None = None
    """When tables were last found missing, by ``time.monotonic``; None if they are not known to be
    missing."""


def optional(hook: Callable[Params, None]) -> Callable[Params, None]:
    """Decorate a hook that writes: if tables are missing, it does nothing and leaves the transaction usable.

    Missing tables are searched for in each call, so that the hook works from the first edit after a
    migration.
    """

    @wraps(hook)
    def called(*args: Params.args, **kwargs: Params.kwargs) -> None:
        if not _are_still_missing(patience=0):
            _try_in_savepoint(hook, *args, **kwargs)

    return called


def optional_reading(hook: Callable[Params, None]) -> Callable[Params, None]:
    """Decorate a hook that only reads: if tables are missing, it does nothing.

    A savepoint costs as much as the hook. It is only made if the transaction has writes, which a rollback
    would undo.
    """

    @wraps(hook)
    def called(*args: Params.args, **kwargs: Params.kwargs) -> None:
        if _are_still_missing(patience=_RETRY):
            return
        if has_written():
            _try_in_savepoint(hook, *args, **kwargs)
            return
        try:
            hook(*args, **kwargs)
        except sa.exc.DBAPIError as error:
            if not is_undefined(error):
                raise
            model.Session.rollback()
            if not missing(error):
                raise

    return called


def _try_in_savepoint(
    hook: Callable[Params, None], *args: Params.args, **kwargs: Params.kwargs
) -> None:
    # The caller's unwritten changes must not be rolled back with the hook.
    model.Session.flush()
    try:
        # Not the session's begin_nested, whose end CKAN 2.11 treats as a commit.
        with model.Session.connection().begin_nested():
            hook(*args, **kwargs)
    except sa.exc.DBAPIError as error:
        if not missing(error):
            raise


def required(action: Callable[Params, Result]) -> Callable[Params, Result]:
    """Decorate an action that needs tables: if they are missing, it raises TablesMissingError."""

    @wraps(action)
    def called(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        with detect_missing():
            return action(*args, **kwargs)

    return called


@contextmanager
def detect_missing() -> Iterator[None]:
    """Roll back and raise TablesMissingError if the database reports an error because tables are missing."""
    try:
        yield
    except sa.exc.DBAPIError as error:
        if not is_undefined(error):
            raise
        model.Session.rollback()
        if plugins := missing(error):
            raise TablesMissingError(plugins) from error
        raise


def missing(error: sa.exc.DBAPIError) -> list[str]:
    """Return the plugins whose tables are missing or old, if this explains an error; log it once.

    The session must be able to execute statements again.
    """
    plugins = _behind() if is_undefined(error) else []
    if plugins:
        if _TablesSeen.missing_since is None:
            log.error(
                "The tables of %s are missing or old, so this extension is off. This makes them: %s",
                ", ".join(plugins),
                _commands(plugins),
            )
        _TablesSeen.missing_since = time.monotonic()
    return plugins


def is_undefined(error: sa.exc.DBAPIError) -> bool:
    """Decide whether a statement failed because a table or a column does not exist."""
    return getattr(error.orig, "pgcode", None) in _UNDEFINED


def _are_still_missing(patience: float) -> bool:
    """Decide whether tables are still missing.

    :param patience: seconds for which the last result counts
    """
    since = _TablesSeen.missing_since
    if since is None:
        return False
    now = time.monotonic()
    if now - since < patience:
        return True
    if _behind():
        _TablesSeen.missing_since = now
        return True
    _TablesSeen.missing_since = None
    log.info("The tables are there: the extension works again")
    return False


def forget_missing() -> None:
    """Forget that tables were missing, because the plugins have just been loaded."""
    _TablesSeen.missing_since = None


def _commands(plugins: list[str]) -> str:
    return " && ".join(f"ckan -c ... db upgrade -p {plugin}" for plugin in plugins)


def _behind() -> list[str]:
    return [
        plugin
        for plugin in ("harvest", "freshness")
        if p.plugin_loaded(plugin) and not has_newest_migration(plugin)
    ]
