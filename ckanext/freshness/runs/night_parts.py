"""The parts of a night's work, each as it is done by its own command."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import uuid4

import ckan.plugins.toolkit as tk

from ..aging.messages import NN_
from ..checking import run_records
from ..ckan_adapter import SEARCH_FAULTS
from ..dates import utc_now
from ..mails import delivery
from ..mails import summary as mail_words
from ..reporting import history, table_access
from ..reporting.labels import counted, fresh_share, refresh_summary
from ..search.unindexed import IndexFailure, SolrAwayError, solr_away_in_words
from ..status.refresh import refresh
from . import check_run
from .copies import resource_copies
from .night import NightPart, PartReport

KEEP_RUNS = timedelta(days=730)
"""For how long the figures of runs are kept."""


def visits(now: datetime) -> PartReport:
    """Visit the URLs that are due."""
    _, done = check_run.check(check_run.CheckScope(), utc_now)
    told = [check_run.checked_in_words(done), *check_run.missing_in_words(done)]
    return PartReport("; ".join(told), complete=len(told) == 1)


def statuses(now: datetime) -> PartReport:
    """Write the statuses that time has changed."""
    try:
        done = refresh(now, run_id=str(uuid4()))
    except SolrAwayError as error:
        return PartReport(solr_away_in_words(error), complete=False)
    told = refresh_summary(done.datasets, done.changed, done.statuses)
    if done.failures:
        told = f"{told}; {_unindexed(done.failures)}"
    return PartReport(told, complete=not done.failures)


def _unindexed(failures: list[IndexFailure]) -> str:
    forms = NN_(
        "{count} dataset could not be indexed, {dataset}: {error}",
        "{count} datasets could not be indexed, the first {dataset}: {error}",
    )
    first = failures[0]
    return counted(forms, len(failures), dataset=first.package_id, error=first.words)


def prune(now: datetime) -> PartReport:
    """Delete the figures of runs, and the history of statuses, that are older than they are kept."""
    kept = history.retention()
    gone = run_records.prune(now, keep_runs=KEEP_RUNS, keep_transitions=kept)
    days = history.prune(now, kept)
    resource_copies.prune(now)
    told = tk._("Forgot {runs}, {transitions} and {days}").format(
        runs=counted(NN_("{count} run", "{count} runs"), gone.runs),
        transitions=counted(
            NN_("{count} change of a status", "{count} changes of statuses"), gone.transitions
        ),
        days=counted(NN_("{count} day of history", "{count} days of history"), days),
    )
    return PartReport(told)


def report(now: datetime) -> PartReport:
    """Keep how fresh the catalogue is today."""
    try:
        kept = table_access.record(now)
    except SEARCH_FAULTS as error:
        told = tk._("Solr does not answer, so that nothing could be counted: {error}")
        return PartReport(told.format(error=error), complete=False)
    return PartReport(tk._("Of public datasets {share}").format(share=fresh_share(kept)))


def mails(now: datetime) -> PartReport:
    """Write to people about what has come up."""
    try:
        sent = delivery.notify_all(utc_now)
    except (delivery.MailsRunningError, delivery.MailerError) as error:
        return PartReport(str(error), complete=False)
    told = [mail_words.report_line(sent), *mail_words.problems(sent)]
    told += [mail_words.mail_line(mail) for mail in sent.mails if mail.error]
    return PartReport("; ".join(told), complete=sent.is_complete)


PARTS = [
    NightPart("check", visits, writes="check"),
    NightPart("refresh", statuses),
    NightPart("prune", prune),
    NightPart("report", report),
    # That mails do not go is not to be told by more of them.
    NightPart("notify", mails, is_noted=False),
]
"""In the order in which they are done: what one finds, the next ones use. `add_after` adds others."""


def add_after(name: str, part: NightPart) -> None:
    """Add a part behind the one of that name."""
    PARTS.insert(next(at for at, one in enumerate(PARTS) if one.name == name) + 1, part)
