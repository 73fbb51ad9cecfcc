"""Locks that end with the process that holds them: PostgreSQL advisory locks.

A named lock has its own connection. CKAN's session returns its connection at every commit, so that a lock taken
there could be lost, or stay with a connection that other code uses. :func:`lock_checks` is for one transaction
of the session.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import sqlalchemy as sa
from ckan import model

LOCK_CLASS = 0x66726573
"""The class of our advisory locks with two numbers ("fres"). The lock of runs has the number 0."""

_CHECKS = {"class": LOCK_CLASS, "table": -1}

_LOST = (sa.exc.DBAPIError, sa.exc.PendingRollbackError)
"""Errors of a lost connection, at first and later. Its locks have ended with it."""


@contextlib.contextmanager
def locked(*names: str) -> Iterator[None]:
    """Hold the named locks. Wait as long as any of them is held elsewhere.

    All callers take their locks in the same order, so that two of them never wait for each other.
    """
    keys = sorted(_key(name) for name in names)
    engine = model.Session.get_bind()
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        try:
            _each(connection, "SELECT pg_advisory_lock(key) FROM unnest(:keys) AS key", keys)
        except BaseException:
            # The wait was cancelled, and some of the locks may be held: they end with the connection.
            connection.invalidate()
            raise
        try:
            yield
        finally:
            with contextlib.suppress(*_LOST):
                _each(connection, "SELECT pg_advisory_unlock(key) FROM unnest(:keys) AS key", keys)


@contextlib.contextmanager
def locked_if_free(name: str) -> Iterator[bool]:
    """Hold a lock if it is free, and yield whether it is held. Never wait."""
    engine = model.Session.get_bind()
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        key = {"key": _key(name)}
        got = bool(connection.execute(sa.text("SELECT pg_try_advisory_lock(:key)"), key).scalar())
        try:
            yield got
        finally:
            if got:
                with contextlib.suppress(*_LOST):
                    connection.execute(sa.text("SELECT pg_advisory_unlock(:key)"), key)


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


def _each(connection: sa.engine.Connection, statement: str, keys: Iterable[int]) -> None:
    typed = sa.text(statement).bindparams(
        sa.bindparam("keys", list(keys), type_=sa.ARRAY(sa.BigInteger))
    )
    connection.execute(typed).fetchall()


def _key(name: str) -> int:
    """Return a signed 64-bit number for a name."""
    return int.from_bytes(
        hashlib.sha256(f"freshness {name}".encode()).digest()[:8], "big", signed=True
    )
