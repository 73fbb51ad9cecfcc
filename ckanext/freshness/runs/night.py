"""The nightly run: parts that are done one after the other, even if one of them fails. Each does the work of
one command."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from uuid import uuid4

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from ..checking import data_changes, run_records
from ..ckan_adapter.core import model
from ..ckan_adapter.database import (
    DatabaseLostError,
    LocksLostError,
    locked_if_free,
    telling_of_loss,
)
from ..ckan_adapter.packages import SEARCH_FAULTS
from ..ckan_adapter.services import in_words
from ..copies.store import StoreError
from ..dates import utc, utc_now
from ..interfaces import NightPart, PartReport
from ..mails import digests
from ..mails.report import mail_line, report_lines
from ..model import CheckRun
from ..reporting import counts
from ..reporting.labels import counted, refresh_summary
from ..settings import OptionError
from ..status.indexing import SolrAwayError, solr_away_in_words
from ..status.refresh import refresh
from ..translation import NN_
from . import check_run, copies

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


def nightly(
    parts: Sequence[NightPart], clock: Callable[[], datetime]
) -> Iterator[tuple[str, PartReport]]:
    """Do the parts one after the other, each at a time of its own, and yield its name and report as it ends.

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
            yield part.name, report


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


# The parts

KEEP_RUNS = timedelta(days=730)
"""How long the rows of runs are kept."""


def check(now: datetime) -> PartReport:
    """Check the URLs that are due."""
    _, result = check_run.check(check_run.CheckScope(), utc_now)
    missing = check_run.missing_in_words(result)
    words = "; ".join([check_run.checked_in_words(result), *missing])
    return PartReport(words, complete=not missing)


def statuses(now: datetime) -> PartReport:
    """Write the statuses of datasets whose boundary has passed."""
    try:
        done = refresh(now, run_id=str(uuid4()), compares_index=True)
    except SolrAwayError as error:
        return PartReport(solr_away_in_words(error), complete=False)
    words = refresh_summary(done.datasets, done.changed, done.statuses)
    if done.failures:
        forms = NN_(
            "{count} dataset could not be indexed, {dataset}: {error}",
            "{count} datasets could not be indexed, the first {dataset}: {error}",
        )
        first = done.failures[0]
        failed = counted(forms, len(done.failures), dataset=first.package_id, error=first.words)
        words = f"{words}; {failed}"
    return PartReport(words, complete=not done.failures)


def prune(now: datetime) -> PartReport:
    """Delete old runs, old history of statuses and data, and copies that are not needed any more."""
    kept = counts.KEEP
    runs, transitions = run_records.prune(now, keep_runs=KEEP_RUNS, keep_transitions=kept)
    days = counts.prune(now, kept)
    copies.prune(now)
    changes = data_changes.prune(now)
    words = tk._("Deleted {runs}, {transitions}, {changes} and {days}").format(
        runs=counted(NN_("{count} run", "{count} runs"), runs),
        transitions=counted(
            NN_("{count} change of a status", "{count} changes of statuses"), transitions
        ),
        changes=counted(NN_("{count} change of data", "{count} changes of data"), changes),
        days=counted(NN_("{count} day of history", "{count} days of history"), days),
    )
    return PartReport(words)


def report(now: datetime) -> PartReport:
    """Store today's figures of the catalogue's freshness."""
    try:
        kept = counts.record(now)
    except SEARCH_FAULTS as error:
        words = tk._("Solr does not answer, so that nothing could be counted: {error}")
        return PartReport(words.format(error=in_words(error)), complete=False)
    return PartReport(tk._("Public datasets: {share}").format(share=counts.fresh_share(kept)))


def mails(now: datetime) -> PartReport:
    """Send the mails that are due."""
    try:
        sent = digests.notify_all(utc_now)
    except digests.NotifyError as error:
        return PartReport(str(error), complete=False)
    words = [*report_lines(sent)]
    words += [mail_line(mail) for mail in sent.mails if mail.failure]
    return PartReport("; ".join(words), complete=sent.is_complete)
