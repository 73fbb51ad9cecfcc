"""Missing tables: CKAN works as if this extension were off, and its own pages and commands say what to do.

Tables are missing before ``ckan db upgrade``, after ``ckan db downgrade``, and after a test has reset the
database. Asking first would cost each request a query, so a hook simply tries.
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

from . import has_newest_migration, has_written, model

log = logging.getLogger(__name__)

Params = ParamSpec("Params")
Result = TypeVar("Result")

_UNDEFINED = frozenset({"42P01", "42703"})
"""PostgreSQL's codes for a table and a column that do not exist."""
_RETRY = 1.0
"""Seconds between two looks for missing tables by hooks that only read."""


class TablesMissingError(tk.ValidationError):
    """Tables are missing or old, because a migration was forgotten or undone.

    It is a ValidationError so that CKAN's API answers with its text.

    :ivar plugins: the plugins that the tables belong to.
    """

    def __init__(self, plugins: list[str]) -> None:
        words = tk._("The tables of {plugins} are missing or old. This makes them: {commands}")
        self.words = words.format(plugins=", ".join(plugins), commands=_commands(plugins))
        super().__init__({"tables": [self.words]})
        self.plugins = plugins

    def __str__(self) -> str:
        return self.words


class _TablesSeen:
    """What this process knows about the tables."""

    missing_since: float | None = None
    """When they were last looked for in vain; None while nothing says that they are missing."""


def optional(hook: Callable[Params, None]) -> Callable[Params, None]:
    """Decorate a hook that writes: without tables it does nothing, and its caller's transaction goes on.

    It looks for missing tables each time, so that it judges the first edit after they were made.
    """

    @wraps(hook)
    def called(*args: Params.args, **kwargs: Params.kwargs) -> None:
        if not _are_still_missing(patience=0):
            _try_in_savepoint(hook, *args, **kwargs)

    return called


def optional_reading(hook: Callable[Params, None]) -> Callable[Params, None]:
    """Decorate a hook that only reads, as :func:`optional`.

    A savepoint would cost as much as the hook. It is made only if the caller has written something, which
    would be rolled back too.
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
    # What waits to be written must not be rolled back with the hook.
    model.Session.flush()
    try:
        # Not the session's own nested transaction, whose end CKAN 2.11 takes for a commit.
        with model.Session.connection().begin_nested():
            hook(*args, **kwargs)
    except sa.exc.DBAPIError as error:
        if not missing(error):
            raise


def required(action: Callable[Params, Result]) -> Callable[Params, Result]:
    """Decorate an action that needs tables: without them it raises TablesMissingError."""

    @wraps(action)
    def called(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        with telling():
            return action(*args, **kwargs)

    return called


@contextmanager
def telling() -> Iterator[None]:
    """Raise TablesMissingError in place of the database's error, and roll back."""
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
    """Decide whether tables that were missing still are.

    :param patience: seconds for which the last look counts.
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


def look_again() -> None:
    """Forget that tables were missing: the plugins have just been loaded."""
    _TablesSeen.missing_since = None


def _commands(plugins: list[str]) -> str:
    return " && ".join(f"ckan -c ... db upgrade -p {plugin}" for plugin in plugins)


def _behind() -> list[str]:
    return [
        plugin
        for plugin in ("harvest", "freshness")
        if p.plugin_loaded(plugin) and not has_newest_migration(plugin)
    ]
