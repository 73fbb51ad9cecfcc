"""What a site does once a night: parts, none of which keeps the others from being done."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from ..checking import run_records
from ..checking.run_records import LocksLostError
from ..ckan_adapter import model
from ..ckan_adapter.lost_database import DatabaseLostError, telling_of_loss
from ..ckan_adapter.tables import TablesMissingError
from ..copies.store import StoreError
from ..dates import utc
from ..harvesting.locks import locked_if_free
from ..model import CheckRun
from ..settings import OptionError

log = logging.getLogger(__name__)

LOCK = "nightly"
KIND = "nightly"
"""Of the rows among the runs that stand for parts which were not done."""

_IN_SENTENCES = (DatabaseLostError, TablesMissingError, LocksLostError, OptionError, StoreError)
"""What says all that there is to say: nobody looks for a fault of ours behind it."""


class NightRunningError(Exception):
    """Another nightly run is under way, on this machine or another."""


@dataclass(frozen=True, slots=True)
class PartReport:
    """What a part has done, for people.

    :ivar complete: whether it did all that it says it does
    :ivar began: whether each run that it is made of could write down how it went
    """

    words: str
    complete: bool = True
    began: bool = True


@dataclass(frozen=True, slots=True)
class NightPart:
    """A part of the nightly work.

    :ivar name: of the command that does it alone
    :ivar work: does it, at a moment (aware)
    :ivar writes: the kind of its own rows among the runs; None if it writes none
    :ivar is_noted: whether it is written down if it was not done
    """

    name: str
    work: Callable[[datetime], PartReport]
    writes: str | None = None
    is_noted: bool = True


@dataclass(frozen=True, slots=True)
class FinishedPart:
    """A part that was done, or that failed."""

    name: str
    told: PartReport


def nightly(parts: Sequence[NightPart], clock: Callable[[], datetime]) -> Iterator[FinishedPart]:
    """Do the parts one after the other, each at its own moment; what has failed is told as it fails.

    Nobody else does so meanwhile. What was not done is also written down among the runs, where those
    who look after the site are told of it from.

    :raises AlreadyRunningError: somebody else does so now.
    :raises DatabaseLostError: there is no database to begin with.
    :raises TablesMissingError: there are none of this extension's tables, or old ones.
    """
    with telling_of_loss(), locked_if_free(LOCK) as is_ours:
        if not is_ours:
            raise NightRunningError("Another nightly run is under way: nothing was done")
        for part in parts:
            began = clock()
            told = _told(part, began)
            if part.is_noted and not told.complete:
                _note(part, told, began, clock())
            yield FinishedPart(part.name, told)


def _told(part: NightPart, now: datetime) -> PartReport:
    try:
        with telling_of_loss():
            return part.work(now)
    except _IN_SENTENCES as error:
        if isinstance(error, TablesMissingError) and "freshness" in error.plugins:
            # No part can do anything, and that they cannot has nowhere to be written down.
            raise
        log.error("The nightly %s failed: %s", part.name, error)
        model.Session.remove()
        return PartReport(str(error), complete=False)
    except Exception as error:
        # The parts have nothing to do with each other: a night without all of them would be worse.
        log.exception("The nightly %s failed", part.name)
        model.Session.rollback()
        return PartReport(f"{type(error).__name__}: {error}", complete=False)


def _note(part: NightPart, told: PartReport, began: datetime, ended: datetime) -> None:
    """Write down that a part was not done, unless a run of its own says so."""
    # Where it cannot be: the log and the exit code have it; the parts to come may meet a database that is back.
    try:
        with telling_of_loss():
            if told.began and part.writes is not None and _says_so(part.writes, began):
                return
            run_id = run_records.begin_run(began, {"part": part.name}, kind=KIND)
            run_records.end_run(run_id, ended, error=f"{part.name}: {told.words}"[:_LONGEST])
    except DatabaseLostError:
        # Nobody looks for a fault of ours behind it, and each part that needs it says so.
        model.Session.remove()
    except sa.exc.SQLAlchemyError:
        log.exception("That the nightly %s was not done could not be written down", part.name)
        model.Session.remove()


_LONGEST = 1000


def _says_so(kind: str, since: datetime) -> bool:
    failed = model.Session.query(CheckRun.id).filter(
        CheckRun.kind == kind, CheckRun.started_at >= utc(since), CheckRun.error.is_not(None)
    )
    return failed.first() is not None
