"""The database that went away in the middle of something, or that has not the tables: told in a sentence, and
never taken for a fault of what was being done."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from ..ckan_adapter import has_newest_migration, model

_INVALID_TRANSACTION = "8s2b"
"""SQLAlchemy's code for whatever is asked of a session after its connection was lost."""


class DatabaseLostError(Exception):
    """The database went away in the middle of a run. What was written stays; the next run goes on."""


class TablesMissingError(Exception):
    """Tables are missing or old, since a migration was forgotten.

    :ivar plugins: whose tables these are.
    """

    def __init__(self, plugins: list[str]) -> None:
        words = tk._("The tables of {plugins} are missing or old. This makes them: {commands}")
        commands = (f"ckan -c ... db upgrade -p {plugin}" for plugin in plugins)
        super().__init__(words.format(plugins=", ".join(plugins), commands=" && ".join(commands)))
        self.plugins = plugins


_UNDEFINED = frozenset({"42P01", "42703"})
"""PostgreSQL's codes for a table and a column that is not there."""


def without_tables(error: BaseException) -> list[str]:
    """The plugins whose migrations are behind, if an error says that a table or a column is not there."""
    if not isinstance(error, sa.exc.DBAPIError):
        return []
    if getattr(error.orig, "pgcode", None) not in _UNDEFINED:
        return []
    model.Session.rollback()
    return [
        plugin
        for plugin in ("harvest", "freshness")
        if p.plugin_loaded(plugin) and not has_newest_migration(plugin)
    ]


def is_loss(error: BaseException) -> bool:
    """Whether it means that there is no database any more, and not that a statement failed."""
    if isinstance(error, sa.exc.DBAPIError):
        # Without a statement no connection came about.
        return error.connection_invalidated or error.statement is None
    return isinstance(error, sa.exc.PendingRollbackError) and error.code == _INVALID_TRANSACTION


@contextlib.contextmanager
def telling_of_loss() -> Iterator[None]:
    """Say in a sentence that the database was lost, or has not the tables.

    :raises DatabaseLostError: it was.
    :raises TablesMissingError: it has not.
    """
    try:
        yield
    except sa.exc.SQLAlchemyError as error:
        if plugins := without_tables(error):
            raise TablesMissingError(plugins) from error
        if not is_loss(error):
            raise
        cause = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        words = tk._(
            "The database was lost ({error}): the run has stopped. What it had written stays; the next "
            "run goes on from there."
        )
        raise DatabaseLostError(words.format(error=cause)) from error
