"""The parts of the nightly run. Each does the work of one command."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import uuid4

import ckan.plugins.toolkit as tk

from ..aging.messages import NN_
from ..checking import data_changes, run_records
from ..ckan_adapter.solr import SEARCH_FAULTS
from ..dates import utc_now
from ..mails import digests
from ..reporting import daily_counts, history
from ..reporting.labels import counted, fresh_share, refresh_summary
from ..search.unindexed import SolrAwayError, solr_away_in_words
from ..status.refresh import refresh
from . import check_run
from .copies import resource_copies
from .night import NightPart, PartReport

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
        done = refresh(now, run_id=str(uuid4()), compares_all=True)
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
    kept = history.retention()
    gone = run_records.prune(now, keep_runs=KEEP_RUNS, keep_transitions=kept)
    days = history.prune(now, kept)
    resource_copies.prune(now)
    changes = data_changes.prune(now)
    words = tk._("Forgot {runs}, {transitions}, {changes} and {days}").format(
        runs=counted(NN_("{count} run", "{count} runs"), gone.runs),
        transitions=counted(
            NN_("{count} change of a status", "{count} changes of statuses"), gone.transitions
        ),
        changes=counted(NN_("{count} change of data", "{count} changes of data"), changes),
        days=counted(NN_("{count} day of history", "{count} days of history"), days),
    )
    return PartReport(words)


def report(now: datetime) -> PartReport:
    """Store today's figures of the catalogue's freshness."""
    try:
        kept = daily_counts.record(now)
    except SEARCH_FAULTS as error:
        words = tk._("Solr does not answer, so that nothing could be counted: {error}")
        return PartReport(words.format(error=error), complete=False)
    return PartReport(tk._("Public datasets: {share}").format(share=fresh_share(kept)))


def mails(now: datetime) -> PartReport:
    """Send the mails that are due."""
    try:
        sent = digests.notify_all(utc_now)
    except digests.NotifyError as error:
        return PartReport(str(error), complete=False)
    words = [*digests.report_lines(sent)]
    words += [digests.mail_line(mail) for mail in sent.mails if mail.failure]
    return PartReport("; ".join(words), complete=sent.is_complete)


PARTS = [
    NightPart("check", check, writes="check"),
    NightPart("refresh", statuses),
    NightPart("prune", prune),
    NightPart("report", report),
    # A failure of the mails is not stored, because the stored ones are reported by mail.
    NightPart("notify", mails, is_noted=False),
]
"""In the order in which they are done: later parts use results of earlier ones. `add_after` adds others."""


def add_after(name: str, part: NightPart) -> None:
    """Add a part after the part with this name."""
    PARTS.insert(next(at for at, earlier in enumerate(PARTS) if earlier.name == name) + 1, part)
