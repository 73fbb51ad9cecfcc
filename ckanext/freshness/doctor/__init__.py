"""Diagnosis of a site: the table says what is checked, and each check what is wrong and what to do.

If a service does not answer or tables cannot be used, the doctor reports it once, and skips the checks that
need them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import ckan.plugins as p
import redis
import sqlalchemy as sa

from .. import settings
from ..ckan_adapter.core import (
    background_workers,
    model,
    waiting_background_jobs,
)
from ..ckan_adapter.mailer import mailer_problem, unreachable_server
from ..ckan_adapter.services import away, misplaced_plugins
from ..ckan_adapter.tables import has_newest_migration, unusable_tables
from ..copies.store import StoreError
from ..dates import utc, utc_words
from ..interfaces import IFreshnessOperations
from ..mails import digests, kinds, news, recipients
from ..mails.news import ProblemKind
from ..model import CheckRun, DatasetFreshness, Unindexed
from ..reporting import runs
from ..runs import copies, night
from ..status import indexing
from ..web.address_guard import EVERYWHERE
from ..web.client import Client
from ..web.errors import FailureReason, FetchError
from ..web.event_loop import run
from ..web.exchange import Body, Limits, Request
from ..web.hosts import Hosts
from ..web.urls import display_url
from . import datasets, harvests
from .findings import SiteFinding, counted, named, note, problem, warning
from .harvests import KEEP_RUNNING


def services(now: datetime) -> Iterator[SiteFinding]:
    """Report services that do not answer."""
    yield from itertools.starmap(problem, away())


def plugins_and_tables(now: datetime) -> Iterator[SiteFinding]:
    """Report tables that cannot be used, and plugins in a wrong order."""
    for tables in unusable_tables():
        yield problem(tables.what(), tables.advice())
    yield from itertools.starmap(problem, misplaced_plugins())


def address_and_mails(now: datetime) -> Iterator[SiteFinding]:
    """Report a site that does not answer at ``ckan.site_url``, and mails that do not arrive."""
    yield from _address()
    if settings.flag("notify.enabled"):
        yield from _mails(now)


def _address() -> Iterator[SiteFinding]:
    url = f"{settings.site_url()}/freshness"
    limits = Limits(read=10, total=10, attempts=1, backoff=())
    web = replace(settings.web(limits), guard=EVERYWHERE, proxy=None)

    async def status() -> int:
        async with Client(web, Hosts()) as client:
            return (await client.fetch(Request(url), lambda _: Body.SKIP)).status

    try:
        answer = f"HTTP status {found}" if (found := run(status)) not in (200, 401, 403) else ""
    except FetchError as error:
        answer = error.words
    if answer:
        yield warning(
            f"This site does not answer at {display_url(url)}: {answer}. Links in mails and feeds lead there",
            "Start the web server, or correct ckan.site_url.",
        )


_DOUBTFUL = timedelta(days=7)
"""How long mails are named that may not have arrived."""


def _mails(now: datetime) -> Iterator[SiteFinding]:
    if missing := mailer_problem():
        yield problem(
            f"Mails are on but cannot be sent: {missing}",
            "Set it in the site's ini file, or switch mails off: ckanext.freshness.notify.enabled = false",
        )
    elif silent := unreachable_server():
        yield problem(
            f"Mails are on but the mail server does not answer: {silent}",
            "Start it, or correct smtp.server. Mails of these nights are sent when it is back.",
        )
    if doubtful := digests.doubtful(now - _DOUBTFUL):
        address, error = min(doubtful.items())
        yield warning(
            f"Mails of the last 7 days may not have reached "
            f"{counted(len(doubtful), 'address', 'addresses')}, for example {address}: {error}",
            "They are not sent again, other than about held deletions and failing sources. Look at the log of "
            "the mail server, or tell these people: " + ", ".join(sorted(doubtful)[:10]),
        )
    if not recipients.operators():
        yield problem(
            "Mails are on but no sysadmin has an address, so no mail reports failed checks and delinquent "
            "datasets",
            "Set ckanext.freshness.notify.operators to the addresses of the site's operators, or give a "
            "sysadmin an address.",
        )


# Consumers and nights


def consumers(now: datetime) -> Iterator[SiteFinding]:
    """Report harvest queues without a consumer, and queues of background jobs without a worker."""
    if p.plugin_loaded("harvest"):
        yield from harvests.consumers(now)
    running = background_workers()
    for queue, count in sorted(waiting_background_jobs().items()):
        if count and not running.get(queue):
            waiting = counted(
                count,
                f"background job waits in the queue {queue}",
                f"background jobs wait in the queue {queue}",
            )
            yield problem(
                f"{waiting}, and no worker serves it",
                f"{KEEP_RUNNING}ckan jobs worker {queue}",
            )
    if not any(running.values()):
        yield warning(
            "No background worker is running: previews and checks that editors start on pages wait for one",
            f"{KEEP_RUNNING}ckan jobs worker",
        )


def nights(now: datetime) -> Iterator[SiteFinding]:
    """Report nightly runs that are missing, killed or incomplete, and statuses that nobody refreshes."""
    yield from _statuses(now)
    newest = runs.full_checks().first()
    if newest is None:
        yield note("The URLs of this site's resources have never been checked", f"{_EACH_NIGHT}.")
    for one in news.problems(_last_runs(newest, now), now):
        # Whether a run was killed is known at once here, by its lock.
        if one.details["kind"] is not ProblemKind.KILLED:
            yield problem(kinds.problem_words(one), _RESUME)
    if newest is not None and runs.line(newest)["state"] == "interrupted":
        yield problem(
            f"The check of {utc_words(newest.started_at)} has not ended, and no process works on it",
            _RESUME,
        )


def _last_runs(newest: CheckRun | None, now: datetime) -> Iterator[CheckRun]:
    """Yield the last row of each kind of run, part of the night and source: it tells whether all is well now.

    :param newest: the newest check of all links
    """
    if newest is not None:
        yield newest
    # The row of a part that failed may begin before the check of its night.
    end = sa.func.coalesce(CheckRun.ended_at, CheckRun.started_at)
    others = model.Session.query(CheckRun).filter(
        CheckRun.kind != "check",
        CheckRun.options["package_ids"].astext.is_(None),
        end >= utc(now) - news.RECENT,
    )
    if newest is not None:
        # A night begins with its check. A part has a row only if it failed, so that no later row replaces it.
        others = others.filter(sa.or_(CheckRun.kind != night.KIND, end >= newest.started_at))
    last: dict[Any, CheckRun] = {}
    for row in others.order_by(CheckRun.started_at):
        key = row.kind, row.options.get("part"), row.options.get("source")
        # A run that goes on, or was killed, does not tell that the failure before it is mended.
        if row.ended_at is not None or key not in last:
            last[key] = row
    yield from last.values()


_EACH_NIGHT = "Run ckan freshness serve, or call ckan freshness nightly by cron, once a night"
_RESUME = f"{_EACH_NIGHT}. The next run continues where the last one stopped."

_LATE = timedelta(minutes=15)
"""Age of a passed boundary or an unsent document at which refresh is late: cron runs it every ten minutes."""


def _statuses(now: datetime) -> Iterator[SiteFinding]:
    dataset, package = DatasetFreshness, model.Package
    late = (
        model.Session.query(sa.func.count(), sa.func.min(dataset.next_boundary))
        .join(package, package.id == dataset.package_id)
        .filter(dataset.next_boundary < utc(now) - _LATE, package.state != "deleted")
        .one()
    )
    if late[0]:
        yield problem(
            f"The stored statuses of {counted(late[0], 'dataset', 'datasets')} are out of date, the first "
            f"since {utc_words(late[1])}: searches and lists show old statuses",
            "Run ckan freshness serve, or call ckan freshness refresh by cron, every ten minutes.",
        )
    unsent = (
        model.Session.query(sa.func.count(), sa.func.min(Unindexed.since))
        .filter(Unindexed.since < utc(now) - _LATE)
        .one()
    )
    if unsent[0]:
        yield problem(
            f"The documents of {counted(unsent[0], 'dataset', 'datasets')} in Solr are older than the stored "
            f"statuses, the first since {utc_words(unsent[1])}",
            "This indexes them, and names those that Solr refuses: ckan freshness refresh",
        )


# Links and copies


def links(now: datetime) -> Iterator[SiteFinding]:
    """Report links that this site may not request, and copies that are lost or cannot be kept."""
    inside = model.Session.execute(sa.text(_INSIDE), {"reason": FailureReason.INSIDE_ADDRESS.value})
    hosts = dict(map(tuple, inside))
    if hosts:
        count = sum(hosts.values())
        yield note(
            f"{counted(count, 'link is', 'links are')} never checked, because the address is inside a network: "
            f"{named([*hosts])}",
            "If the files should be checked, add their networks to ckanext.freshness.allowed_networks.",
        )
    yield from _copies()


_INSIDE = """
SELECT c.host, count(*) FROM freshness_check c
JOIN resource r ON r.id = c.resource_id AND r.url = c.url AND r.state = 'active'
WHERE c.attempts -> 0 ->> 'reason' = :reason GROUP BY c.host ORDER BY 2 DESC, 1"""

SAMPLE = 20
"""Copies to look up. An unmounted place has none of them, and each one costs a request to a remote store."""


def _copies() -> Iterator[SiteFinding]:
    newest = copies.newest(SAMPLE)
    # Without the tables of harvests, it is not known which sources keep copies.
    is_known = not p.plugin_loaded("harvest") or has_newest_migration("harvest")
    try:
        if is_known and copies.is_wanted():
            copies.store().try_out()
        if not newest:
            return
        place = copies.store()
        gone = [key for key in newest if place.size(key) is None]
    except (settings.OptionError, StoreError) as error:
        yield _no_store(error)
        return
    # A run may have moved some of them meanwhile.
    if count := len(copies.owners(gone)):
        yield problem(
            f"{count} of the {counted(len(newest), 'newest copy', 'newest copies')} missing from "
            f"{place.location}",
            "Check that the disk or share is mounted, and that ckanext.freshness.copies.location still names "
            "the same place. Lost copies are downloaded again by the next checks.",
        )


def _no_store(error: Exception) -> SiteFinding:
    """Return the finding that no copies can be kept, because of an OptionError or a StoreError."""
    return problem(
        f"No copies can be kept: {error}",
        "Correct this cause (free disk space, let CKAN's user write there, mount the disk), or name "
        "another place in ckanext.freshness.copies.location: the path of a directory, or a URL of fsspec "
        "whose library is installed (pip install 'ckanext-freshness[s3]' for s3://).",
    )


# The table

Check = Callable[[datetime], Iterable[SiteFinding]]
"""Takes the current time (aware) and yields findings."""

CHECKS: Mapping[str, Check] = {
    "services": services,
    "plugins and tables": plugins_and_tables,
    "address and mails": address_and_mails,
    "consumers": consumers,
    "harvest sources": harvests.sources,
    "nights": nights,
    "links": links,
    "datasets": datasets.datasets,
}


def checks() -> dict[str, Check]:
    """Return the checks of this site by their subject, those of other plugins last."""
    found = dict(CHECKS)
    for plugin in p.PluginImplementations(IFreshnessOperations):
        found |= plugin.doctor_checks()
    return found


def examine(now: datetime) -> Iterator[SiteFinding]:
    """Run all checks that can run and yield their findings.

    :param now: the current time, aware
    """
    for subject, check in checks().items():
        skipped = note(f"Not checked, because a service or table is missing: {subject}")
        try:
            yield from check(now)
        except _AWAY:
            yield skipped
        except sa.exc.ProgrammingError:
            model.Session.rollback()
            if not unusable_tables():
                raise
            yield skipped
        finally:
            model.Session.remove()


_AWAY = (redis.exceptions.RedisError, sa.exc.OperationalError, indexing.SolrAwayError)
"""Errors of services that do not answer."""
