"""Errors of a lost or read-only database, so that they are not mistaken for errors of the work in hand."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

_INVALID_TRANSACTION = "8s2b"
"""SQLAlchemy's error code for statements in a session whose connection was lost."""


_READ_ONLY = "25006"
"""PostgreSQL's error code for a write while the server, the role or the transaction is read-only."""


class DatabaseLostError(Exception):
    """The loss of the database during a run. Committed work stays, and the next run continues."""


class DatabaseReadOnlyError(DatabaseLostError):
    """A write to a database that only answers queries, such as a standby server."""


def is_loss(error: BaseException) -> bool:
    """Decide whether an error means that the connection is lost, and not that a statement failed."""
    if isinstance(error, sa.exc.DBAPIError):
        # An error without a statement comes from a failed attempt to connect.
        return error.connection_invalidated or error.statement is None
    return isinstance(error, sa.exc.PendingRollbackError) and error.code == _INVALID_TRANSACTION


@contextlib.contextmanager
def telling_of_loss() -> Iterator[None]:
    """Raise errors with clear messages if the database is lost or read-only.

    :raises DatabaseLostError: the connection was lost
    :raises DatabaseReadOnlyError: the database accepts no changes
    """
    try:
        yield
    except sa.exc.SQLAlchemyError as error:
        if getattr(getattr(error, "orig", None), "pgcode", None) == _READ_ONLY:
            words = tk._(
                "The database is read-only, so nothing can be stored. Run this again when it accepts "
                "changes, or on the server that does."
            )
            raise DatabaseReadOnlyError(words) from error
        if not is_loss(error):
            raise
        cause = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        words = tk._(
            "The database was lost ({error}): the run has stopped. What it had written stays; the next "
            "run goes on from there."
        )
        raise DatabaseLostError(words.format(error=cause)) from error
