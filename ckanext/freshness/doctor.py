"""Diagnosis of a site: the table `CHECKS` says what is checked, and each check what is wrong and what to do.

If a service does not answer or tables are missing, the doctor reports it once, and skips the checks that need
them.
"""

from __future__ import annotations

import difflib
import enum
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from importlib.metadata import entry_points
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import redis
import sqlalchemy as sa

from . import settings
from .checking import run_records
from .ckan_adapter import harvest
from .ckan_adapter.core import (
    background_worker_names,
    background_workers,
    connect_to_redis,
    declared_options,
    model,
    site_names,
    solr_answers,
    waiting_background_jobs,
)
from .ckan_adapter.database import has_newest_migration, is_held
from .ckan_adapter.harvest import (
    QUEUE_TYPE,
    harvest_queue_connection,
    harvest_routing_keys,
    registered_source_types,
)
from .ckan_adapter.mailer import mailer_problem
from .copies.store import StoreError
from .dates import utc, utc_words
from .harvesting.progress import BEGINNING, CRON, LAST, STILL, is_importing
from .harvesting.sources import source_type_named
from .iati.cycle import last_cycle, sources
from .iati.source_type import is_retired
from .mails import recipients
from .model import CheckRun, DatasetFreshness, HarvestHold, Unindexed
from .reporting import runs
from .runs import copies, night
from .status import indexing, own_fields, refresh
from .web.exchange import Limits


class Severity(str, enum.Enum):
    """The severity of a finding."""

    PROBLEM = "problem"
    """Something does not work."""
    WARNING = "warning"
    """Everything works, but probably not as the operator intended."""
    NOTE = "note"
    """Good to know, or waiting for a person."""


@dataclass(frozen=True, slots=True)
class SiteFinding:
    """A fact about the site, with advice.

    :ivar text: the fact and the things it concerns, for people
    :ivar advice: what to do; the complete command if one helps
    """

    severity: Severity
    text: str
    advice: str = ""


_problem = partial(SiteFinding, Severity.PROBLEM)
_warning = partial(SiteFinding, Severity.WARNING)
_note = partial(SiteFinding, Severity.NOTE)


def counted(count: int, singular: str, plural: str) -> str:
    """Return a number and its noun: ``1 dataset``, ``2 datasets``."""
    return f"{count} {singular if count == 1 else plural}"


# Plugins, tables and options

_SHOWN_BY_TEMPLATES = {
    "harvest": "the pages of harvest sources show neither previews nor held deletions",
    "scheming_datasets": "the forms of datasets do not ask for the update frequency",
}
"""What is missing, by plugin, if the plugin stands before ``freshness`` in ckan.plugins."""


def plugins(now: datetime) -> Iterator[SiteFinding]:
    """Report a missing or wrongly ordered plugin."""
    enabled = tk.aslist(tk.config["ckan.plugins"])
    if "harvest" not in enabled:
        yield _note(
            "The plugin harvest is not enabled, so this site harvests nothing",
            "To harvest, add it to ckan.plugins, after freshness.",
        )
    before = enabled[: enabled.index("freshness")]
    for name, effect in _SHOWN_BY_TEMPLATES.items():
        if name in before:
            yield _problem(
                f"ckan.plugins has freshness after {name}, so {effect}",
                f"Move freshness before {name} in ckan.plugins, then restart CKAN.",
            )


def tables(now: datetime) -> Iterator[SiteFinding]:
    """Report plugins whose tables are not those that the code expects."""
    for plugin in _incomplete_plugins():
        yield _problem(
            f"The tables of the plugin {plugin} are missing or old", f"ckan db upgrade -p {plugin}"
        )


def site_options(now: datetime) -> Iterator[SiteFinding]:
    """Report misspelt options of this extension, and options that remove a protection from requests."""
    known = declared_options(settings.PREFIX)
    names = [key.removeprefix(settings.PREFIX) for key in known]
    for key in sorted({key for key in tk.config if key.startswith(settings.PREFIX)} - {*known}):
        nearest = difflib.get_close_matches(key.removeprefix(settings.PREFIX), names, 1)
        suggestion = f"Did you mean {settings.PREFIX}{nearest[0]}? " if nearest else ""
        yield _warning(
            f"There is no option {key}, so it has no effect",
            f"{suggestion}Correct the name in the site's ini file, or remove the line.",
        )
    web = settings.web(Limits())
    if web.proxy:
        yield _note(
            "Requests go through ckan.download_proxy. CKAN refuses addresses inside your network by its "
            "own name lookup, but the proxy looks the name up again",
            "Configure the proxy to refuse addresses inside your network, too.",
        )
    if web.insecure_hosts:
        yield _note(
            "Certificates of these hosts are not verified (ckanext.freshness.insecure_hosts): "
            + ", ".join(sorted(web.insecure_hosts))
        )


# Workers and harvests

_KEEP_RUNNING = "Keep this running, under supervisor or systemd: "


def workers(now: datetime) -> Iterator[SiteFinding]:
    """Report queues of background jobs without a worker."""
    running = background_workers()
    for queue, count in sorted(waiting_background_jobs().items()):
        if count and not running.get(queue):
            waiting = counted(
                count,
                f"background job waits in the queue {queue}",
                f"background jobs wait in the queue {queue}",
            )
            yield _problem(
                f"{waiting}, and no worker serves it",
                f"{_KEEP_RUNNING}ckan jobs worker {queue}",
            )
    if not any(running.values()):
        yield _note(
            "No background worker is running: previews and checks that editors start on pages wait for one",
            f"{_KEEP_RUNNING}ckan jobs worker",
        )


def source_types(now: datetime) -> Iterator[SiteFinding]:
    """Report active sources without a harvester."""
    plugins = {
        point.load().source_type.name: point.name
        for point in entry_points(group="ckan.plugins")
        if point.value.startswith("ckanext.freshness.harvesters:")
    }
    source = harvest.SOURCE.c
    rows = model.Session.execute(
        sa.select(source.type, sa.func.count(source.id), sa.func.min(source.title))
        .where(source.active.is_(True), source.type.not_in(registered_source_types()))
        .group_by(source.type)
    )
    for source_type, count, title in rows:
        yield _problem(
            f"No enabled plugin harvests the type {source_type}, which "
            f"{counted(count, 'active source has', 'active sources have')}, for example {title}",
            f"Add {plugins.get(source_type, 'the plugin that harvests it')} to ckan.plugins and restart the "
            "consumers, or change the type of the sources.",
        )


def consumers(now: datetime) -> Iterator[SiteFinding]:
    """Report harvest queues without a consumer, and a missing option.

    An idle consumer is blocked in Redis. If a message waits while no message of its queue is being
    processed, the queue has no consumer.
    """
    if tk.config.get(QUEUE_TYPE) is None:
        yield _problem(
            "ckan.harvest.mq.type is not set. ckanext-harvest then uses Redis, but never sends a message again "
            "that is lost, so that the job of a killed consumer never ends",
            "Set it in the site's ini file: ckan.harvest.mq.type = redis. Then restart the consumers.",
        )
    connection = harvest_queue_connection()
    if connection is None:
        yield _note("The harvest queues are in RabbitMQ, which the doctor cannot read")
        return
    keys = harvest_routing_keys()
    busy = {
        stage for stage, key in keys.items() if _is_busy(connection, key, _RESENT_AFTER[stage], now)
    }
    waiting = {stage: connection.llen(key) for stage, key in keys.items()}
    unserved = [stage for stage, count in waiting.items() if count and stage not in busy]
    for stage in unserved:
        yield _problem(
            f"{counted(waiting[stage], 'message waits', 'messages wait')} in the {stage} queue, "
            "and no consumer takes any",
            f"{_KEEP_RUNNING}ckan harvester {stage}-consumer",
        )
    idle = _idle_consumers(connection)
    if not unserved and idle + len(busy) < len(keys):
        found = "Only one consumer" if idle + len(busy) else "No consumer"
        yield _problem(
            f"{found} of the harvest queues is running; gather and fetch need one each",
            "Keep these running, under supervisor or systemd: ckan harvester gather-consumer and "
            "ckan harvester fetch-consumer",
        )


_RESENT_AFTER = {"gather": timedelta(hours=2), "fetch": timedelta(minutes=3)}
"""Time after which ``ckan harvester run`` sends a message again that was taken and not completed.
The values are ckanext-harvest's."""


def _is_busy(connection: Any, routing_key: str, limit: timedelta, now: datetime) -> bool:
    """Return whether a consumer has taken a message that it has not completed, and is not overdue."""
    ages = (_age(connection, key, now) for key in connection.scan_iter(f"{routing_key}:*"))
    return any(age is not None and age <= limit for age in ages)


def _idle_consumers(connection: Any) -> int:
    """Count the connections to the queues' database that wait for a message, without those of RQ's workers."""
    database = str(connection.connection_pool.connection_kwargs.get("db", 0))
    rq_workers = background_worker_names()
    return sum(
        client["cmd"] == "blpop" and client["db"] == database and client["name"] not in rq_workers
        for client in connection.client_list()
    )


_CALL_HARVESTER = "Call ckan harvester run by cron, every few minutes."

_job = harvest.JOB.c
_object = harvest.OBJECT.c
_source = harvest.SOURCE.c
_package = model.Package.__table__.c

_OPEN = _object.state.not_in(("COMPLETE", "ERROR"))
_OPEN_JOBS = (
    sa.select(
        *(_job.id, _job.status, _job.created, _job.gather_finished),
        *(_source.type, _package.name),
        sa.func.count().filter(_OPEN).label("open"),
        LAST.filter(_object.state.in_(("FETCH", "IMPORT"))).label("begun"),
        LAST.label("progress"),
    )
    .select_from(
        harvest.JOB.join(harvest.SOURCE, _source.id == _job.source_id)
        .join(model.Package.__table__, _package.id == _source.id)
        .outerjoin(harvest.OBJECT, _object.harvest_job_id == _job.id)
    )
    .where(_job.status.in_(("New", "Running")))
    .group_by(_job.id, _source.id, _package.id)
    .order_by(_job.created)
)


def harvest_jobs(now: datetime) -> Iterator[SiteFinding]:
    """Report jobs that no process works on, and sources whose next job is overdue."""
    some_are_imported = is_importing(now)
    for job in model.Session.execute(_OPEN_JOBS).all():
        abort = f"ckan harvester job-abort {job.id}, then harvest the source again"
        words, advice = "", ""
        if job.status == "New":
            if utc(now) - job.created > CRON:
                words, advice = "was never sent to a consumer", _CALL_HARVESTER
        elif job.gather_finished is None:
            if not _is_gathered(job, now):
                words = "is not gathered: its consumer was killed, or Redis was emptied"
                # ckanext-harvest requeues what Redis has; our own types are requeued without it, too.
                ours = "ckan harvester run requeues it within two hours; call it by cron. At once: "
                advice = f"{ours if source_type_named(job.type) else ''}{abort}"
        elif job.open:
            # Records whose turn has not come may wait while a consumer imports others.
            stuck = utc(now) - job.begun > STILL if job.begun else not some_are_imported
            if stuck and utc(now) - job.gather_finished > STILL:
                words = f"makes no progress: {job.open} of its records are not imported"
                advice = (
                    "ckan harvester run requeues the records of a killed consumer. If that changes nothing, "
                    f"start ckan harvester fetch-consumer. To abandon the job: {abort}"
                )
        elif utc(now) - max(job.gather_finished, job.progress or job.gather_finished) > CRON:
            words, advice = "is complete, but not marked as finished", _CALL_HARVESTER
        if words:
            yield _problem(
                f"Job {job.id} of the source {job.name}, of {utc_words(job.created)}, {words}",
                advice,
            )
    late = model.Session.execute(
        sa.select(sa.func.count(), sa.func.min(_source.next_run)).where(
            _source.active.is_(True),
            _source.frequency != "MANUAL",
            _source.next_run < utc(now) - CRON,
        )
    ).one()
    if late[0]:
        yield _problem(
            f"{counted(late[0], 'harvest source is', 'harvest sources are')} overdue, the first since "
            f"{utc_words(late[1])}",
            _CALL_HARVESTER,
        )


def _is_gathered(job: Any, now: datetime) -> bool:
    """Return whether a gather consumer has the job, or will take it from the queue."""
    is_ours = source_type_named(job.type) is not None
    connection = harvest_queue_connection()
    # Our gathers hold a lock while they run. Gathers of other harvesters can only be judged by their age.
    if connection is None or (is_ours and is_held(f"gather {job.id}")):
        return True
    key = harvest_routing_keys()["gather"]
    if job.id in {
        json.loads(message)["harvest_job_id"] for message in connection.lrange(key, 0, -1)
    }:
        return True
    age = _age(connection, f"{key}:{job.id}", now)
    if age is None:
        return bool(utc(now) - job.created <= STILL)
    return age <= (BEGINNING if is_ours else _RESENT_AFTER["gather"])


def _age(connection: Any, key: str, now: datetime) -> timedelta | None:
    """Return the time since a consumer took a message; None if none has it."""
    taken_at = connection.get(key)
    # ckanext-harvest stores local times without a zone.
    local = now.astimezone().replace(tzinfo=None)
    return None if taken_at is None else local - datetime.fromisoformat(taken_at)


def held_deletions(now: datetime) -> Iterator[SiteFinding]:
    """Report held deletions."""
    rows = (
        model.Session.query(HarvestHold, _package.name)
        .join(model.Package, _package.id == HarvestHold.source_id)
        .filter(_package.state == "active")
    )
    for hold, name in rows:
        deletions = f"{counted(len(hold.held), 'deletion', 'deletions')} of the source {name}"
        if hold.released_at:
            yield _note(
                f"{deletions} approved by {hold.released_by} at {utc_words(hold.released_at)}: the next job "
                "makes them",
                "Start the job on the source's page, or take the approval back there.",
            )
        else:
            yield _note(
                f"{deletions} held since {utc_words(hold.held_at)}: {hold.reason}",
                f"Review them on the source's page. If they are right: ckan freshness release {name}",
            )


def iati_sources(now: datetime) -> Iterator[SiteFinding]:
    """Report IATI sources at the retired registry, or without a recent cycle that succeeded."""
    for source in sources():
        name = model.Package.get(source.id).name
        update = f"ckan iati update {name}"
        if is_retired(source.url):
            yield _problem(
                f"The IATI source {name} gets no more changes: IATI has retired the CKAN of its registry",
                "Create a source of this type with the URL https://bulk-data.iatistandard.org, and look at its "
                "preview. Then set the old one to be harvested manually; its datasets stay.",
            )
        last = last_cycle(source.id)
        if last is None:
            yield _note(
                f"No update cycle of the IATI source {name} has run yet",
                f"{update}, and ckan freshness nightly by cron",
            )
            continue
        begun = f"The update cycle of the IATI source {name} of {utc_words(last.started_at)}"
        if utc(now) - last.started_at > _CYCLE:
            yield _problem(
                f"{begun} is the last one, although one is due each night",
                f"Run ckan freshness nightly by cron, once a night. At once: {update}",
            )
        if last.error:
            yield _problem(f"{begun} failed: {last.error}", f"Correct the cause, then: {update}")
        elif last.ended_at is None and not is_held(run_records.cycle_lock(source.id)):
            yield _problem(
                f"{begun} was killed: it has not ended, and no process runs it",
                f"The next cycle completes its work: {update}",
            )


_CYCLE = timedelta(days=2)
"""A nightly cycle may be missed once."""


# Runs, statuses and copies

_NIGHT = timedelta(hours=36)
"""Age of the last nightly run at which the next one is overdue: a night and half a day."""
_SELECTING = timedelta(minutes=10)
"""A starting run may take this long to select resources before it holds its first lock."""


def nightly_run(now: datetime) -> Iterator[SiteFinding]:
    """Report a missing or killed nightly run, and its failed parts."""
    by_cron = "Call ckan freshness nightly by cron, once a night."
    newest = runs.full_checks().first()
    if newest is None:
        yield _note("The URLs of this site's resources have never been checked", by_cron)
    else:
        begun = utc_words(newest.started_at)
        if utc(now) - newest.started_at > _NIGHT:
            yield _problem(
                f"The last check began on {begun}; no URL has been checked since", by_cron
            )
        if newest.error:
            yield _problem(f"The check of {begun} ended early: {newest.error}", _RESUME)
        works = is_held(run_records.CHECKING) or is_held(night.LOCK)
        if newest.ended_at is None and not works and utc(now) - newest.started_at > _SELECTING:
            yield _problem(
                f"The check of {begun} has not ended, and no process works on it: it was killed, or no "
                "worker takes its background jobs",
                _RESUME,
            )
    failed = model.Session.query(CheckRun).filter(CheckRun.kind == night.KIND)
    if newest is not None:
        # A night begins with its check, so earlier rows belong to earlier nights.
        failed = failed.filter(CheckRun.ended_at >= newest.started_at)
    last = {row.options.get("part"): row for row in failed.order_by(CheckRun.started_at)}
    for row in last.values():
        yield _problem(
            f"A part of the nightly run of {utc_words(row.started_at)} failed: {row.error}",
            "Correct the reported cause, then: ckan freshness nightly",
        )


_RESUME = "The next run continues where it stopped: ckan freshness nightly"

_LATE = timedelta(minutes=15)
"""Age of a passed boundary or an unsent document at which refresh is late: cron runs it every ten minutes."""
_REFRESH = "ckan freshness refresh"


def statuses(now: datetime) -> Iterator[SiteFinding]:
    """Report statuses and documents that refresh should have written by now, and datasets without a status."""
    dataset, package = DatasetFreshness, model.Package
    late = (
        model.Session.query(sa.func.count(), sa.func.min(dataset.next_boundary))
        .join(package, package.id == dataset.package_id)
        .filter(dataset.next_boundary < utc(now) - _LATE, package.state != "deleted")
        .one()
    )
    if late[0]:
        yield _problem(
            f"The stored statuses of {counted(late[0], 'dataset', 'datasets')} are out of date, the first "
            f"since {utc_words(late[1])}: searches and lists show old statuses",
            "Call ckan freshness refresh by cron, every ten minutes.",
        )
    unsent = (
        model.Session.query(sa.func.count(), sa.func.min(Unindexed.since))
        .filter(Unindexed.since < utc(now) - _LATE)
        .one()
    )
    if unsent[0]:
        yield _problem(
            f"The documents of {counted(unsent[0], 'dataset', 'datasets')} in Solr are older than the stored "
            f"statuses, the first since {utc_words(unsent[1])}",
            "This indexes them, and names those that Solr refuses: ckan freshness refresh",
        )
    # Datasets with fields of the site's own wait for its choice, not for a refresh.
    count = len(refresh.without_status() - {field.package_id for field in own_fields.find()})
    if count:
        yield _problem(
            f"{counted(count, 'dataset has', 'datasets have')} no freshness status in searches and lists: "
            "created or edited while the plugin freshness was not enabled",
            _REFRESH,
        )


def documents(now: datetime) -> Iterator[SiteFinding]:
    """Report datasets that Solr has lost, and documents of datasets that are gone."""
    ids = indexing.differences()
    package = model.Package
    rows = model.Session.query(package.name).filter(package.id.in_(ids), package.state == "active")
    lost = sorted(name for (name,) in rows)
    if lost:
        yield _problem(
            f"{counted(len(lost), 'active dataset has', 'active datasets have')} no document in Solr, so that "
            f"searches do not find them, for example {', '.join(lost[:3])}",
            _REFRESH,
        )
    if gone := len(ids) - len(lost):
        yield _problem(
            f"Solr has the documents of {counted(gone, 'dataset that is', 'datasets that are')} not active any "
            "more",
            _REFRESH,
        )


def fields_of_the_site(now: datetime) -> Iterator[SiteFinding]:
    """Report fields of the site's own under names that this extension uses."""
    if found := own_fields.find():
        yield _problem(
            f"{own_fields.in_words(found)}. These datasets have no status", own_fields.CHOICE
        )
    for package_type, names in own_fields.declared().items():
        words = (
            f"The schema of the type {package_type} declares {', '.join(names)}, so this extension leaves "
            f"{'this field' if len(names) == 1 else 'these fields'} to the site"
        )
        if site_names().status in names:
            words += ". Searches and reports show no status of these datasets"
        yield (_warning if site_names().status in names else _note)(
            words,
            "If it is to write all of its own fields, set ckanext.freshness.field_prefix, then: "
            "ckan freshness refresh --all",
        )


SAMPLE = 20
"""Copies to look up. An unmounted place has none of them, and each one costs a request to a remote store."""


def stored_copies(now: datetime) -> Iterator[SiteFinding]:
    """Report a store that cannot be used, and newest copies that are not at the place that their rows name."""
    newest = copies.newest(SAMPLE)
    harvests = p.plugin_loaded("harvest")
    # Without the tables of harvests, it is not known which sources keep copies.
    is_known = not harvests or has_newest_migration("harvest")
    try:
        if is_known and (copies.is_wanted() or (harvests and sources())):
            copies.store().try_out()
        if not newest:
            return
        place = copies.store()
        gone = [key for key in newest if place.size(key) is None]
    except (settings.OptionError, StoreError) as error:
        yield _problem(
            f"No copies can be kept: {error}",
            "Correct this cause (free disk space, let CKAN's user write there, mount the disk), or name "
            "another place in ckanext.freshness.copies.location: the path of a directory, or a URL of fsspec "
            "whose library is installed (pip install 'ckanext-freshness[s3]' for s3://).",
        )
        return
    # A run may have moved some of them meanwhile.
    if count := len(copies.owners(gone)):
        yield _problem(
            f"{count} of the {counted(len(newest), 'newest copy', 'newest copies')} missing from "
            f"{place.location}",
            "Check that the disk or share is mounted, and that ckanext.freshness.copies.location still names "
            "the same place. Lost copies are downloaded again by the next checks, those of IATI by ckan iati "
            "update.",
        )


def mails(now: datetime) -> Iterator[SiteFinding]:
    """Report mails that are switched on but cannot be sent, or have no recipient."""
    if not settings.flag("notify.enabled"):
        return
    if missing := mailer_problem():
        yield _problem(
            f"Mails are on but cannot be sent: {missing}",
            "Set it in the site's ini file, or switch mails off: ckanext.freshness.notify.enabled = false",
        )
    if not recipients.operators():
        yield _problem(
            "Mails are on but no sysadmin has an address, so no mail reports failed checks and delinquent "
            "datasets",
            "Set ckanext.freshness.notify.operators to the addresses of the site's operators, or give a "
            "sysadmin an address.",
        )


# The examination

Check = Callable[[datetime], Iterable[SiteFinding]]
"""Takes the current time (aware) and yields findings."""

SITE_CHECKS: Mapping[str, Check] = {
    "plugins": plugins,
    "options": site_options,
    "tables": tables,
    "background workers": workers,
    "nightly run": nightly_run,
    "statuses": statuses,
    "documents in Solr": documents,
    "fields of the site": fields_of_the_site,
    "copies": stored_copies,
    "mails": mails,
}
HARVEST_CHECKS: Mapping[str, Check] = {
    "source types": source_types,
    "consumers": consumers,
    "harvest jobs": harvest_jobs,
    "held deletions": held_deletions,
    "IATI sources": iati_sources,
}
"""Checks of sites that harvest."""


def examine(now: datetime) -> Iterator[SiteFinding]:
    """Run all checks that can run and yield their findings.

    :param now: the current time, aware
    """
    yield from services()
    checks = {**SITE_CHECKS, **(HARVEST_CHECKS if p.plugin_loaded("harvest") else {})}
    for name, check in checks.items():
        try:
            yield from list(check(now))
        except _AWAY:
            yield _note(f"{_SKIPPED}: {name}")
        except sa.exc.ProgrammingError:
            model.Session.rollback()
            if not _incomplete_plugins():
                raise
            yield _note(f"{_SKIPPED}: {name}")
        finally:
            model.Session.remove()


_SKIPPED = "Not checked, because a service or table is missing"
_AWAY = (redis.exceptions.RedisError, sa.exc.OperationalError, indexing.SolrAwayError)
"""Errors of services that do not answer."""


def services() -> Iterator[SiteFinding]:
    """Report services that do not answer."""
    for text, answers, option in _SERVICES:
        try:
            is_there = answers()
        except _AWAY:
            is_there = False
        if not is_there:
            yield _problem(text, f"Start it, or correct {option}.")


def _incomplete_plugins() -> list[str]:
    """Return the enabled plugins whose tables are not those that the code expects."""
    return [
        plugin
        for plugin in ("freshness", "harvest")
        if p.plugin_loaded(plugin) and not has_newest_migration(plugin)
    ]


def _database_answers() -> bool:
    try:
        model.Session.execute(sa.text("SELECT 1"))
        return True
    finally:
        model.Session.rollback()


def _queues_answer() -> bool:
    connection = harvest_queue_connection()
    return connection is None or bool(connection.ping())


_SERVICES: tuple[tuple[str, Callable[[], bool], str], ...] = (
    ("PostgreSQL does not answer", _database_answers, "sqlalchemy.url"),
    ("Redis does not answer", lambda: bool(connect_to_redis().ping()), "ckan.redis.url"),
    (
        "The Redis of the harvest queues does not answer",
        _queues_answer,
        "ckan.harvest.mq.hostname",
    ),
    ("Solr does not answer", solr_answers, "solr_url"),
)
"""The problem, whether the service answers, and the option with its address."""
