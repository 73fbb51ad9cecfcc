"""The nightly run: parts that are done one after the other, even if one of them fails."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from ..checking import run_records
from ..checking.run_records import LocksLostError
from ..ckan_adapter.ckan_core import model
from ..ckan_adapter.locks import locked_if_free
from ..ckan_adapter.lost_database import DatabaseLostError, telling_of_loss
from ..copies.store import StoreError
from ..dates import utc
from ..model import CheckRun
from ..settings import OptionError

log = logging.getLogger(__name__)

_LONGEST_ERROR = 1000

LOCK = "nightly"
KIND = "nightly"
"""Kind of the rows of runs that record parts which failed."""

_EXPECTED_ERRORS = (
    *(DatabaseLostError, LocksLostError),
    *(OptionError, StoreError),
)
"""Errors whose message says all: the log needs no traceback."""


class NightRunningError(Exception):
    """Raised if another nightly run is in progress, on this machine or another."""


@dataclass(frozen=True, slots=True)
class PartReport:
    """The report of a part, in words for people.

    :ivar complete: whether the part did all of its work
    :ivar began: whether each run of the part could store its own row
    """

    words: str
    complete: bool = True
    began: bool = True


@dataclass(frozen=True, slots=True)
class NightPart:
    """A part of the nightly run.

    :ivar name: of the command that does the part alone
    :ivar work: does the part; its argument is the time, aware
    :ivar writes: the kind of the part's own rows of runs; None if it writes none
    :ivar is_noted: whether a failure is stored as a row of a run
    """

    name: str
    work: Callable[[datetime], PartReport]
    writes: str | None = None
    is_noted: bool = True


@dataclass(frozen=True, slots=True)
class FinishedPart:
    """A part that is done or has failed, with its report."""

    name: str
    report: PartReport


def nightly(parts: Sequence[NightPart], clock: Callable[[], datetime]) -> Iterator[FinishedPart]:
    """Do the parts one after the other, each at a time of its own, and yield each report as the part ends.

    Failures are also stored as rows of runs, from which the site's administrators are notified. Only one
    nightly run is done at a time.

    :raises NightRunningError: another nightly run is in progress
    :raises DatabaseLostError: the database cannot be reached at the beginning
    """
    with telling_of_loss(), locked_if_free(LOCK) as is_ours:
        if not is_ours:
            raise NightRunningError("Another nightly run is under way: nothing was done")
        for part in parts:
            began = clock()
            report = _report(part, began)
            if part.is_noted and not report.complete:
                _note(part, report, began, clock())
            yield FinishedPart(part.name, report)


def _report(part: NightPart, now: datetime) -> PartReport:
    try:
        with telling_of_loss():
            return part.work(now)
    except _EXPECTED_ERRORS as error:
        log.error("The nightly %s failed: %s", part.name, error)
        model.Session.remove()
        return PartReport(str(error), complete=False)
    except Exception as error:
        # The parts are independent: do the others.
        log.exception("The nightly %s failed", part.name)
        model.Session.rollback()
        return PartReport(f"{type(error).__name__}: {error}", complete=False)


def _note(part: NightPart, report: PartReport, began: datetime, ended: datetime) -> None:
    """Store the failure of a part, unless the row of a run of its own says so."""
    # If it cannot be stored, the log and the exit code have it. The database may be back for the next parts.
    try:
        with telling_of_loss():
            if report.began and part.writes is not None:
                failed = model.Session.query(CheckRun.id).filter(
                    CheckRun.kind == part.writes,
                    CheckRun.started_at >= utc(began),
                    CheckRun.error.is_not(None),
                )
                if failed.first() is not None:
                    return
            run_id = run_records.begin_run(began, {"part": part.name}, kind=KIND)
            run_records.end_run(
                run_id, ended, error=f"{part.name}: {report.words}"[:_LONGEST_ERROR]
            )
    except DatabaseLostError:
        # Each part that needs the database reports this.
        model.Session.remove()
    except sa.exc.SQLAlchemyError:
        log.exception("The failure of the nightly %s could not be stored", part.name)
        model.Session.remove()
