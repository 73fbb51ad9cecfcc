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
from ..reporting import history, options, table_access
from ..reporting.labels import counted, fresh_share, looked_at
from ..search.unindexed import Failure, SolrAwayError, solr_away_in_words
from ..status.refresh import refresh
from . import check_run
from .copies import resource_copies
from .night import Part, Told

KEEP_RUNS = timedelta(days=730)
"""For how long the figures of runs are kept."""


def visits(now: datetime) -> Told:
    """Visit the URLs that are due."""
    _, done = check_run.check(check_run.Scope(), utc_now)
    told = [check_run.visited(done), *check_run.missing(done)]
    return Told("; ".join(told), complete=len(told) == 1)


def statuses(now: datetime) -> Told:
    """Write the statuses that time has changed."""
    try:
        done = refresh(now, run_id=str(uuid4()))
    except SolrAwayError as error:
        return Told(solr_away_in_words(error), complete=False)
    told = looked_at(done.datasets, done.changed, done.statuses)
    if done.failures:
        told = f"{told}; {_unindexed(done.failures)}"
    return Told(told, complete=not done.failures)


def _unindexed(failures: list[Failure]) -> str:
    forms = NN_(
        "{count} dataset could not be indexed, {dataset}: {error}",
        "{count} datasets could not be indexed, the first {dataset}: {error}",
    )
    first = failures[0]
    return counted(forms, len(failures), dataset=first.package_id, error=first.words)


def prune(now: datetime) -> Told:
    """Delete the figures of runs, and the history of statuses, that are older than they are kept."""
    kept = options.keep_history()
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
    return Told(told)


def report(now: datetime) -> Told:
    """Keep how fresh the catalogue is today."""
    try:
        kept = table_access.record(now)
    except SEARCH_FAULTS as error:
        told = tk._("Solr does not answer, so that nothing could be counted: {error}")
        return Told(told.format(error=error), complete=False)
    return Told(tk._("Of public datasets {share}").format(share=fresh_share(kept)))


def mails(now: datetime) -> Told:
    """Write to people about what has come up."""
    try:
        sent = delivery.notify_all(utc_now)
    except (delivery.AlreadySendingError, delivery.MailerError) as error:
        return Told(str(error), complete=False)
    told = [mail_words.of_report(sent), *mail_words.troubles(sent)]
    told += [mail_words.of_mail(mail) for mail in sent.mails if mail.error]
    return Told("; ".join(told), complete=sent.is_complete)


PARTS = [
    Part("check", visits, writes="check"),
    Part("refresh", statuses),
    Part("prune", prune),
    Part("report", report),
    # That mails do not go is not to be told by more of them.
    Part("notify", mails, is_noted=False),
]
"""In the order in which they are done: what one finds, the next ones use. `add_after` adds others."""


def add_after(name: str, part: Part) -> None:
    """Add a part behind the one of that name."""
    PARTS.insert(next(at for at, one in enumerate(PARTS) if one.name == name) + 1, part)
