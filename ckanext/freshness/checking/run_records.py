"""Runs in the database: their rows, and the lock that keeps two runs off the same hosts."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from importlib.metadata import version
from typing import Any

import sqlalchemy as sa

from ..ckan_adapter.core import model
from ..ckan_adapter.database import LOCK_CLASS
from ..dates import utc

_LOCKS_LOST = (
    "The database closed the connection that held this run's lock: the run stops, because another run may "
    "check the same hosts now. The next run goes on."
)
_CONNECTION_ERRORS = (sa.exc.DBAPIError, sa.exc.PendingRollbackError)
"""Errors of a lost connection: the first is raised at once, the second by each later use."""


class LocksLostError(Exception):
    """The connection that held a run's lock is lost: the run must not check hosts any more."""


@dataclass(frozen=True, slots=True)
class RunFigures:
    """The counts of a run; see the columns of ``freshness_run``."""

    resources: Mapping[str, int] = field(default_factory=dict)
    datasets: Mapping[str, float] = field(default_factory=dict)
    frequencies: Mapping[str, int] = field(default_factory=dict)
    hosts: Mapping[str, Any] = field(default_factory=dict)
    visited: int = 0


@dataclass(frozen=True, slots=True)
class Pruned:
    """Numbers of rows that were deleted because of their age."""

    runs: int
    transitions: int


class ChecksLock:
    """The right to check hosts, which a process holds while its connection lives."""

    def __init__(self, connection: sa.engine.Connection) -> None:
        self._connection = connection
        self._is_lost = False

    def check(self) -> None:
        """Make sure that the lock is still held. Call this regularly during a run.

        :raises LocksLostError: the connection is lost; stop the run
        """
        try:
            self._connection.execute(sa.text("SELECT 1"))
        except _CONNECTION_ERRORS as error:
            # Its next use may reconnect, but the lock is lost.
            self._is_lost = True
            raise LocksLostError(_LOCKS_LOST) from error
        if self._is_lost:
            raise LocksLostError(_LOCKS_LOST)


@contextlib.contextmanager
def checking(*, alone: bool) -> Iterator[ChecksLock | None]:
    """Hold the lock of runs, or yield None if another run holds it. Never wait.

    It is an advisory lock of PostgreSQL on a connection of its own. If the process dies, PostgreSQL releases
    it.

    :param alone: whether no other process may check meanwhile; background jobs share the lock
    """
    suffix = "" if alone else "_shared"
    engine = model.Session.get_bind()
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        take = sa.text(f"SELECT pg_try_advisory_lock{suffix}(:class, :lock)")
        is_free = bool(connection.execute(take, _LOCK).scalar())
        try:
            yield ChecksLock(connection) if is_free else None
        finally:
            # A lost connection has released its locks.
            with contextlib.suppress(*_CONNECTION_ERRORS):
                if is_free:
                    give_back = sa.text(f"SELECT pg_advisory_unlock{suffix}(:class, :lock)")
                    connection.execute(give_back, _LOCK)


def is_checking() -> bool:
    """Return whether any process holds the lock of runs."""
    with model.Session.get_bind().connect() as connection:
        return bool(connection.execute(sa.text(_HELD), _LOCK).scalar())


_LOCK = {"class": LOCK_CLASS, "lock": 0}


def begin_run(
    now: datetime, options: Mapping[str, Any], *, kind: str = "check", run_id: str | None = None
) -> str:
    """Store the beginning of a run, commit, and return the run's id.

    :param now: aware
    :param options: how the run was called, as JSON
    """
    run_id = run_id or str(uuid.uuid4())
    model.Session.execute(
        sa.text(_BEGIN),
        {
            "id": run_id,
            "kind": kind,
            "now": utc(now),
            "options": json.dumps(dict(options)),
            "version": version("ckanext-freshness"),
        },
    )
    model.Session.commit()
    return run_id


def lock(run_id: str) -> str:
    """Return the name of the lock that a process holds as long as it does the run."""
    return f"run {run_id}"


def cycle_lock(source_id: str) -> str:
    """Return the name of the lock that a process holds as long as it does an update cycle of a source."""
    return f"iati {source_id}"


def count_checks(run_id: str, number: int) -> None:
    """Add checks to the number of a run that goes on, and commit."""
    values = {"id": run_id, "number": number}
    model.Session.execute(sa.text(_COUNT), values)
    model.Session.commit()


def end_run(
    run_id: str, now: datetime, figures: RunFigures | None = None, *, error: str | None = None
) -> None:
    """Store the end of a run and its counts, and commit.

    :param figures: the counts; None keeps the number of checks that :func:`count_checks` has counted
    :param error: why the run ended early, in words for people; None if it did not
    """
    counted = figures or RunFigures()
    model.Session.execute(
        sa.text(_END),
        {
            "id": run_id,
            "now": utc(now),
            "resources": json.dumps(dict(counted.resources)),
            "datasets": json.dumps(dict(counted.datasets)),
            "frequencies": json.dumps(dict(counted.frequencies)),
            "hosts": json.dumps(dict(counted.hosts)),
            "visited": figures and figures.visited,
            "error": error,
        },
    )
    model.Session.commit()


def prune(now: datetime, *, keep_runs: timedelta, keep_transitions: timedelta) -> Pruned:
    """Delete runs and transitions that are older than they are kept, and commit."""
    runs = model.Session.execute(
        sa.text("DELETE FROM freshness_run WHERE started_at < :before"),
        {"before": utc(now - keep_runs)},
    ).rowcount
    model.Session.commit()
    transitions = model.Session.execute(
        sa.text("DELETE FROM freshness_transition WHERE changed_at < :before"),
        {"before": utc(now - keep_transitions)},
    ).rowcount
    model.Session.commit()
    return Pruned(runs, transitions)


# Locks with a pair of keys have objsubid 2.
_HELD = """
SELECT EXISTS (
    SELECT FROM pg_locks
    WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid::bigint = :class
        AND objid::bigint = :lock
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
)"""

_BEGIN = """
INSERT INTO freshness_run (id, kind, started_at, options, version)
VALUES (:id, :kind, :now, CAST(:options AS jsonb), :version)"""
_COUNT = """
UPDATE freshness_run SET visited = coalesce(visited, 0) + :number WHERE id = :id"""
_END = """
UPDATE freshness_run SET ended_at = :now, resources = CAST(:resources AS jsonb),
    datasets = CAST(:datasets AS jsonb), frequencies = CAST(:frequencies AS jsonb),
    hosts = CAST(:hosts AS jsonb), visited = coalesce(:visited, visited, 0), error = :error
WHERE id = :id"""
