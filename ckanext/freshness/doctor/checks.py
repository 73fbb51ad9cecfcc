"""The checker's runs and what they leave: whether they come, whether they end, whether statuses follow."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from .. import settings
from ..checking import run_records
from ..ckan_adapter import model
from ..dates import utc, utc_words
from ..harvesting.locks import is_held
from ..model import CheckRun, DatasetFreshness, Unindexed
from ..runs import night
from . import Finding, counted, note, problem

NIGHT = timedelta(hours=36)
"""A nightly run may be late, but not by half a day."""
LATE = timedelta(minutes=15)
"""Age of a passed boundary or an unsent document at which refresh is late: cron runs it every ten minutes."""

BEGINNING = timedelta(minutes=10)
"""Between its row and its locks a run looks at all resources, and at datasets that it does not know."""

_CRON = "Call ckan freshness nightly by cron, once a night."


def nights(now: datetime) -> Iterator[Finding]:
    """Whether somebody calls the checker every night."""
    newest = _newest()
    if newest is None:
        yield note("The URLs of this site's resources have never been checked", _CRON)
        return
    if utc(now) - newest.started_at > NIGHT:
        yield problem(
            f"The last check was begun on {utc_words(newest.started_at)}: nothing has been looked at since",
            _CRON,
        )
    if newest.error:
        yield problem(
            f"The check of {utc_words(newest.started_at)} ended early: {newest.error}",
            "The next run goes on where it was: ckan freshness nightly",
        )


def parts(now: datetime) -> Iterator[Finding]:
    """Parts of the last night that were not done, besides those whose runs say so themselves."""
    newest = _newest()
    rows = model.Session.query(CheckRun).filter(CheckRun.kind == night.KIND)
    if newest is not None:
        # A night begins with its check: what was noted before that is of another night.
        rows = rows.filter(CheckRun.ended_at >= newest.started_at)
    last = {row.options.get("part"): row for row in rows.order_by(CheckRun.started_at)}
    for row in last.values():
        yield problem(
            f"Not all of the nightly work of {utc_words(row.started_at)} was done: {row.error}",
            "Mend what it says, then: ckan freshness nightly",
        )


def stuck(now: datetime) -> Iterator[Finding]:
    """A newest run that was killed, or whose machine went away."""
    newest = _newest()
    if newest is None or newest.ended_at is not None:
        return
    if run_records.held_shards() or is_held(night.LOCK):
        return
    if utc(now) - newest.started_at <= BEGINNING:
        yield note(
            f"The check of {utc_words(newest.started_at)} has not ended, and nobody visits anything: it is "
            "just beginning, or it was killed",
            f"Ask again {counted(int(BEGINNING.total_seconds() // 60), 'minute', 'minutes')} after its "
            "beginning. If it was killed, the next run goes on where it was: ckan freshness nightly",
        )
    else:
        yield problem(
            f"The check of {utc_words(newest.started_at)} has not ended, and nobody works on it: it was "
            "killed, or no worker takes its background jobs",
            "The next run goes on where it was: ckan freshness nightly",
        )


def statuses(now: datetime) -> Iterator[Finding]:
    """Report passed boundaries and unsent documents that refresh should have written by now."""
    dataset, package = DatasetFreshness, model.Package
    late = (
        model.Session.query(sa.func.count(), sa.func.min(dataset.next_boundary))
        .join(package, package.id == dataset.package_id)
        .filter(dataset.next_boundary < utc(now) - LATE, package.state != "deleted")
        .one()
    )
    if late[0]:
        yield problem(
            f"The stored statuses of {counted(late[0], 'dataset', 'datasets')} are behind, the first since "
            f"{utc_words(late[1])}: refresh is late, and searches and lists show old statuses",
            "Call ckan freshness refresh by cron, every ten minutes.",
        )
    unsent = (
        model.Session.query(sa.func.count(), sa.func.min(Unindexed.since))
        .filter(Unindexed.since < utc(now) - LATE)
        .one()
    )
    if unsent[0]:
        yield problem(
            f"The documents of {counted(unsent[0], 'dataset', 'datasets')} in Solr are older than what is "
            f"known of their freshness, the first since {utc_words(unsent[1])}",
            "ckan freshness refresh sends them, and names those that Solr refuses.",
        )


def unjudged(now: datetime) -> Iterator[Finding]:
    """Report datasets that have no status, as those that were created while tables were missing."""
    dataset, package = DatasetFreshness, model.Package
    count = (
        model.Session.query(sa.func.count(package.id))
        .outerjoin(dataset, dataset.package_id == package.id)
        .filter(package.type.in_(settings.dataset_types()), package.state == "active")
        .filter(dataset.package_id.is_(None))
        .scalar()
    )
    if count:
        yield problem(
            f"{counted(count, 'dataset has', 'datasets have')} no freshness status yet",
            "ckan freshness refresh --all",
        )


def _newest() -> Any:
    """The newest check of the whole catalogue; IATI's cycles are no checks of it."""
    options = CheckRun.options
    return (
        model.Session.query(CheckRun)
        .filter(CheckRun.kind == "check")
        .filter(options["package_ids"].astext.is_(None), options["host"].astext.is_(None))
        .order_by(CheckRun.started_at.desc())
        .first()
    )
