"""The database that went away in the middle of something, or that has not the tables: told in a sentence, and
never taken for a fault of what was being done."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from . import tables

_INVALID_TRANSACTION = "8s2b"
"""SQLAlchemy's code for whatever is asked of a session after its connection was lost."""


class DatabaseLostError(Exception):
    """The database went away in the middle of a run. What was written stays; the next run goes on."""


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
        with tables.telling():
            yield
    except sa.exc.SQLAlchemyError as error:
        if not is_loss(error):
            raise
        cause = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        words = tk._(
            "The database was lost ({error}): the run has stopped. What it had written stays; the next "
            "run goes on from there."
        )
        raise DatabaseLostError(words.format(error=cause)) from error
