"""Missing tables: CKAN works as without this extension, and our pages, actions and commands say what to do.

Tables are missing until ``ckan db upgrade`` was run. A process that has found them once does not look again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

import ckan.plugins as p
import ckan.plugins.toolkit as tk

from .database import has_newest_migration

log = logging.getLogger(__name__)

Params = ParamSpec("Params")
Result = TypeVar("Result")


class TablesMissingError(tk.ValidationError):
    """Missing or old tables, because a migration was not run.

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


class _Seen:
    """What this process knows of the tables."""

    are_complete = False
    is_told = False
    """Whether the log says that tables are missing."""


def missing() -> list[str]:
    """Return the enabled plugins whose tables are missing or old; log them once."""
    if _Seen.are_complete:
        return []
    plugins = [
        plugin
        for plugin in ("harvest", "freshness")
        if p.plugin_loaded(plugin) and not has_newest_migration(plugin)
    ]
    _Seen.are_complete = not plugins
    if plugins and not _Seen.is_told:
        _Seen.is_told = True
        log.error(
            "The tables of %s are missing or old, so this extension is off. This makes them: %s",
            ", ".join(plugins),
            _commands(plugins),
        )
    return plugins


def look_again() -> None:
    """Forget what this process knows of the tables, because the plugins have just been loaded."""
    _Seen.are_complete = _Seen.is_told = False


def optional(hook: Callable[Params, None]) -> Callable[Params, None]:
    """Decorate a hook of CKAN: if tables are missing, it does nothing."""

    @wraps(hook)
    def called(*args: Params.args, **kwargs: Params.kwargs) -> None:
        if not missing():
            hook(*args, **kwargs)

    return called


def required(action: Callable[Params, Result]) -> Callable[Params, Result]:
    """Decorate an action that needs tables: if they are missing, it raises TablesMissingError."""

    @wraps(action)
    def called(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        refuse_missing()
        return action(*args, **kwargs)

    return called


def refuse_missing() -> None:
    """Check that the tables are there.

    :raises TablesMissingError: they are not
    """
    if plugins := missing():
        raise TablesMissingError(plugins)


@contextmanager
def detect_missing() -> Iterator[None]:
    """Raise TablesMissingError in place of the work in the block if tables are missing."""
    refuse_missing()
    yield


def _commands(plugins: list[str]) -> str:
    return " && ".join(f"ckan -c ... db upgrade -p {plugin}" for plugin in plugins)
