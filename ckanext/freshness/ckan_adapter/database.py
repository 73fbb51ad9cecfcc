"""CKAN's database: unusable tables, lost connections, locks, time limits.

Tables are missing until ``ckan db upgrade`` was run, and may be those of another version (:mod:`.tables`). Then
CKAN works as without this extension, and our pages, actions and commands say what to do. A process that has
found the right ones once does not look again.

Locks are PostgreSQL's advisory locks, which end with the process that holds them. A named lock has its own
connection. CKAN's session returns its connection at every commit, so that a lock taken there could be lost, or
stay with a connection that other code uses. :func:`lock_checks` is for one transaction of the session.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

import ckan.plugins.toolkit as tk
import sqlalchemy as sa
from ckan import model

from .tables import UnusableTables, unusable_tables

LOCK_CLASS = 0x66726573
"""The class of our advisory locks with two numbers ("fres")."""

_CHECKS = {"class": LOCK_CLASS, "table": -1}

statement = cache(sa.text)
"""Return SQL as a statement, which is made once: SQLAlchemy reads a text for its parameters."""

_LOST = (sa.exc.DBAPIError, sa.exc.PendingRollbackError)
"""Errors of a lost connection, at first and later. Its locks have ended with it."""


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold a lock. Wait as long as it is held elsewhere."""
    key = {"key": _key(name)}
    engine = model.Session.get_bind()
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        try:
            connection.execute(sa.text("SELECT pg_advisory_lock(:key)"), key)
        except BaseException:
            # The wait was cancelled, and the lock may be held: it ends with the connection.
            connection.invalidate()
            raise
        try:
            yield
        finally:
            with contextlib.suppress(*_LOST):
                connection.execute(sa.text("SELECT pg_advisory_unlock(:key)"), key)


@contextlib.contextmanager
def locked_if_free(name: str) -> Iterator[HeldLock | None]:
    """Hold a lock if it is free, and yield it; None if it is not free. Never wait.

    If the process dies, PostgreSQL releases the lock.
    """
    engine = model.Session.get_bind()
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        key = {"key": _key(name)}
        take = sa.text("SELECT pg_try_advisory_lock(:key)")
        is_free = bool(connection.execute(take, key).scalar())
        try:
            yield HeldLock(connection) if is_free else None
        finally:
            if is_free:
                # A lost connection has released its locks.
                with contextlib.suppress(*_LOST):
                    connection.execute(sa.text("SELECT pg_advisory_unlock(:key)"), key)


class LocksLostError(Exception):
    """The connection that held a run's lock is lost: the run must not check hosts any more."""


class HeldLock:
    """A lock that a process holds while its connection lives."""

    def __init__(self, connection: sa.engine.Connection) -> None:
        self._connection = connection
        self._is_lost = False

    def check(self) -> None:
        """Make sure that the lock is still held. Call this regularly during a run.

        :raises LocksLostError: the connection is lost; stop the run
        """
        try:
            self._connection.execute(sa.text("SELECT 1"))
        except _LOST:
            # Its next use may reconnect, but the lock is lost.
            self._is_lost = True
        if self._is_lost:
            raise LocksLostError(
                "The database closed the connection that held this run's lock: the run stops, because another "
                "run may check the same hosts now. The next run goes on."
            )


def is_held(name: str) -> bool:
    """Return whether any process holds a lock now."""
    # pg_locks shows a 64-bit key as two halves, with objsubid 1. A pair of 32-bit keys has objsubid 2.
    high, low = divmod(_key(name) % (1 << 64), 1 << 32)
    engine = model.Session.get_bind()
    with engine.connect() as connection:
        return bool(
            connection.execute(
                sa.text(
                    "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted "
                    "AND objsubid = 1 AND classid::bigint = :high AND objid::bigint = :low "
                    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))"
                ),
                {"high": high, "low": low},
            ).scalar()
        )


def lock_checks(session: Any) -> None:
    """Wait until no other transaction writes to ``freshness_check``, and keep it so until this one ends."""
    session.execute(sa.text("SELECT pg_advisory_xact_lock(:class, :table)"), _CHECKS)


def lock_checks_shared(session: Any) -> None:
    """Wait for :func:`lock_checks` of other transactions, and let none succeed until this one ends."""
    session.execute(sa.text("SELECT pg_advisory_xact_lock_shared(:class, :table)"), _CHECKS)


class TimeLimitError(Exception):
    """The end of work that took longer than its :func:`time_limit`. Its transaction must be rolled back."""


_end: ContextVar[float] = ContextVar("end of the time limit", default=math.inf)
"""When the :func:`time_limit` of this thread ends, on the monotonic clock."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Limit the time of work with CKAN's session, which begins and ends without an open transaction.

    After that time, PostgreSQL cancels the statement that runs or waits, and no session of CKAN in this thread
    begins another, even if code of other extensions removes the session. Code that uses the database in no way
    is not interrupted.

    :raises TimeLimitError: the work took longer
    """
    # The listeners stay: other threads may be calling them.
    if not sa.event.contains(model.Session, "after_begin", _limit_transaction):
        sa.event.listen(model.Session, "after_begin", _limit_transaction)
    end = time.monotonic() + seconds
    token = _end.set(end)
    try:
        yield
    except sa.exc.DBAPIError as error:
        if is_loss(error) or time.monotonic() < end:
            raise
        raise TimeLimitError from error
    finally:
        _end.reset(token)


def _limit_transaction(session: Any, transaction: Any, connection: sa.engine.Connection) -> None:
    if transaction.nested or _end.get() == math.inf:
        return
    left = max(1, math.ceil((_end.get() - time.monotonic()) * 1000))
    connection.exec_driver_sql(f"SET LOCAL statement_timeout = {left}")
    sa.event.listen(connection, "before_cursor_execute", _refuse_late)


def _refuse_late(connection: Any, cursor: Any, statement: str, *others: Any) -> None:
    if time.monotonic() >= _end.get() and not statement.startswith("ROLLBACK TO SAVEPOINT"):
        raise TimeLimitError


def _key(name: str) -> int:
    """Return a signed 64-bit number for a name."""
    return int.from_bytes(
        hashlib.sha256(f"freshness {name}".encode()).digest()[:8], "big", signed=True
    )


_INVALID_TRANSACTION = "8s2b"
"""SQLAlchemy's error code for statements in a session whose connection was lost."""


class DatabaseLostError(Exception):
    """The loss of the database during a run. Committed work stays, and the next run continues."""


def is_loss(error: BaseException) -> bool:
    """Decide whether an error means that the connection is lost, and not that a statement failed."""
    if isinstance(error, sa.exc.DBAPIError):
        # An error without a statement comes from a failed attempt to connect.
        return error.connection_invalidated or error.statement is None
    return isinstance(error, sa.exc.PendingRollbackError) and error.code == _INVALID_TRANSACTION


@contextlib.contextmanager
def telling_of_loss() -> Iterator[None]:
    """Raise an error with a clear message if the database is lost.

    :raises DatabaseLostError: the connection was lost
    """
    try:
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


log = logging.getLogger(__name__)

Params = ParamSpec("Params")
Result = TypeVar("Result")


class TablesMissingError(tk.ValidationError):
    """Missing, old or other tables than this version needs.

    It is a ValidationError so that CKAN's API returns the message.
    """

    def __init__(self, unusable: Sequence[UnusableTables]) -> None:
        self.words = " ".join(tables.sentence() for tables in unusable)
        super().__init__({"tables": [self.words]})

    def __str__(self) -> str:
        return self.words


class _Seen:
    """What this process knows of the tables."""

    are_complete = False
    is_told = False
    """Whether the log says that tables cannot be used."""


def missing_tables() -> list[UnusableTables]:
    """Return the tables that cannot be used, until this process has found that all can; log them once."""
    if _Seen.are_complete:
        return []
    unusable = unusable_tables()
    _Seen.are_complete = not unusable
    if unusable and not _Seen.is_told:
        _Seen.is_told = True
        for tables in unusable:
            log.error("ckanext-freshness is off. %s", tables.sentence(str))
    return unusable


def forget_tables() -> None:
    """Forget what this process knows of the tables, because the plugins have just been loaded."""
    _Seen.are_complete = _Seen.is_told = False


def skip_without_tables(hook: Callable[Params, None]) -> Callable[Params, None]:
    """Decorate a hook of CKAN: if tables are missing, it does nothing."""

    @wraps(hook)
    def called(*args: Params.args, **kwargs: Params.kwargs) -> None:
        if not missing_tables():
            hook(*args, **kwargs)

    return called


def require_tables(action: Callable[Params, Result]) -> Callable[Params, Result]:
    """Decorate an action that needs tables: if they are missing, it raises TablesMissingError."""

    @wraps(action)
    def called(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        refuse_missing_tables()
        return action(*args, **kwargs)

    return called


def refuse_missing_tables() -> None:
    """Check that the tables are there.

    :raises TablesMissingError: they are not
    """
    if unusable := missing_tables():
        raise TablesMissingError(unusable)
