"""Checks of the nightly runs and of the statuses that follow from them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import sqlalchemy as sa

from .. import settings
from ..checking import run_records
from ..checking.learned import REACHABLE
from ..checking.run_counts import ALL_HOSTS
from ..ckan_adapter.ckan_core import model
from ..ckan_adapter.locks import is_held
from ..ckan_adapter.site_names import site_names
from ..dates import utc, utc_words
from ..model import CheckRun, DatasetFreshness, Unindexed
from ..reporting import newest_runs
from ..runs import night
from ..search import unindexed
from ..status import own_fields, refresh, removal
from . import SiteFinding, counted, note, problem, some, warning

NIGHT = timedelta(hours=36)
"""Age of the last nightly run at which the next one is overdue: a night and half a day."""
LATE = timedelta(minutes=15)
"""Age of a passed boundary or an unsent document at which refresh is late: cron runs it every ten minutes."""

BEGINNING = timedelta(minutes=10)
"""A starting run may take this long to select resources before it holds its first lock."""

_CRON = "Call ckan freshness nightly by cron, once a night."
_REFRESH = "ckan freshness refresh"
_RESUME = "The next run continues where it stopped: ckan freshness nightly"


def nights(now: datetime) -> Iterator[SiteFinding]:
    """Report a missing nightly check, or one that ended early."""
    newest = newest_runs.full_checks().first()
    if newest is None:
        yield note("The URLs of this site's resources have never been checked", _CRON)
        return
    if utc(now) - newest.started_at > NIGHT:
        yield problem(
            f"The last check began on {utc_words(newest.started_at)}; no URL has been checked since",
            _CRON,
        )
    if newest.error:
        yield problem(
            f"The check of {utc_words(newest.started_at)} ended early: {newest.error}",
            _RESUME,
        )


def stretched(now: datetime) -> Iterator[SiteFinding]:
    """Report that the policy ``learned`` has too few checks for its longest intervals."""
    newest = newest_runs.full_checks().first()
    sums = (newest.hosts or {}).get(ALL_HOSTS, {}) if newest is not None else {}
    if days := sums.get("longest_days"):
        yield warning(
            f"The runs of checks are small for this site: files are checked every {days} days at this budget, "
            f"not every {REACHABLE.days}",
            "Raise ckanext.freshness.check.checks_per_run, or set it to 0.",
        )


def parts(now: datetime) -> Iterator[SiteFinding]:
    """Report failed parts of the last night. Checks and cycles report their own failures."""
    newest = newest_runs.full_checks().first()
    rows = model.Session.query(CheckRun).filter(CheckRun.kind == night.KIND)
    if newest is not None:
        # A night begins with its check, so earlier rows belong to earlier nights.
        rows = rows.filter(CheckRun.ended_at >= newest.started_at)
    last = {row.options.get("part"): row for row in rows.order_by(CheckRun.started_at)}
    for row in last.values():
        yield problem(
            f"A part of the nightly run of {utc_words(row.started_at)} failed: {row.error}",
            "Correct the reported cause, then: ckan freshness nightly",
        )


def stuck(now: datetime) -> Iterator[SiteFinding]:
    """Report that the newest run was killed."""
    newest = newest_runs.full_checks().first()
    if newest is None or newest.ended_at is not None:
        return
    if run_records.held_shards() or is_held(night.LOCK):
        return
    if utc(now) - newest.started_at <= BEGINNING:
        yield note(
            f"The check of {utc_words(newest.started_at)} has not ended, and no process works on it: it is "
            "still starting, or it was killed",
            f"Run the doctor again {int(BEGINNING.total_seconds() // 60)} minutes after the start of the "
            f"check. If it was killed: {_RESUME[0].lower()}{_RESUME[1:]}",
        )
    else:
        yield problem(
            f"The check of {utc_words(newest.started_at)} has not ended, and no process works on it: it was "
            "killed, or no worker takes its background jobs",
            _RESUME,
        )


def statuses(now: datetime) -> Iterator[SiteFinding]:
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
            f"The stored statuses of {counted(late[0], 'dataset', 'datasets')} are out of date, the first "
            f"since {utc_words(late[1])}: searches and lists show old statuses",
            "Call ckan freshness refresh by cron, every ten minutes.",
        )
    unsent = (
        model.Session.query(sa.func.count(), sa.func.min(Unindexed.since))
        .filter(Unindexed.since < utc(now) - LATE)
        .one()
    )
    if unsent[0]:
        yield problem(
            f"The documents of {counted(unsent[0], 'dataset', 'datasets')} in Solr are older than the stored "
            f"statuses, the first since {utc_words(unsent[1])}",
            "This indexes them, and names those that Solr refuses: ckan freshness refresh",
        )


def documents(now: datetime) -> Iterator[SiteFinding]:
    """Report datasets that Solr has lost, and documents of datasets that are gone."""
    ids = unindexed.differences()
    package = model.Package
    rows = model.Session.query(package.name).filter(package.id.in_(ids), package.state == "active")
    lost = sorted(name for (name,) in rows)
    if lost:
        yield problem(
            f"{counted(len(lost), 'active dataset has', 'active datasets have')} no document in Solr, so that "
            f"searches do not find them: {some(lost)}",
            _REFRESH,
        )
    if gone := len(ids) - len(lost):
        yield problem(
            f"Solr has the documents of {counted(gone, 'dataset that is', 'datasets that are')} not active any "
            "more",
            _REFRESH,
        )


def without_status(now: datetime) -> Iterator[SiteFinding]:
    """Report datasets without a status, and those that have lost it.

    They were created or edited while tables were missing or the plugin was not enabled.
    """
    dataset, package = DatasetFreshness, model.Package
    unjudged = (
        model.Session.query(package.id)
        .outerjoin(dataset, dataset.package_id == package.id)
        .filter(package.type.in_(settings.dataset_types()), package.state == "active")
        .filter(dataset.package_id.is_(None))
    )
    # Datasets with fields of the site's own wait for its choice, not for a refresh.
    count = len({id_ for (id_,) in unjudged} - {field.package_id for field in own_fields.find()})
    if count:
        yield problem(
            f"{counted(count, 'dataset has', 'datasets have')} no freshness status yet",
            _REFRESH,
        )
    if lost := refresh.count_lost():
        yield problem(
            f"{counted(lost, 'dataset has', 'datasets have')} lost the extras, probably by an edit while the "
            "plugin freshness was not enabled: searches and lists show no status",
            _REFRESH,
        )


def fields_of_the_site(now: datetime) -> Iterator[SiteFinding]:
    """Report fields of the site's own under names that this extension uses."""
    if found := own_fields.find():
        yield problem(
            f"{own_fields.in_words(found)}. These datasets have no status", own_fields.CHOICE
        )
    for package_type, names in own_fields.declared().items():
        words = (
            f"The schema of the type {package_type} declares {', '.join(names)}, so this extension leaves "
            f"{'this field' if len(names) == 1 else 'these fields'} to the site"
        )
        if site_names().status in names:
            words += ". Searches and reports show no status of these datasets"
        yield (warning if site_names().status in names else note)(
            words,
            "If it is to write all of its own fields, set ckanext.freshness.field_prefix, then: "
            "ckan freshness refresh --all",
        )


def leaving(now: datetime) -> Iterator[SiteFinding]:
    """Report that the extension is being uninstalled."""
    if (since := removal.begun_at()) is not None:
        yield warning(
            f"Since {utc_words(since)} this extension is being uninstalled: it writes no extras",
            "To stay: ckan freshness-uninstall --undo. To leave: remove the plugins from ckan.plugins, restart "
            "CKAN, then: ckan freshness-uninstall --drop-tables",
        )
