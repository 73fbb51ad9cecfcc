"""IATI's update cycle: the registry, what is gone, each dataset's file, the index files. One at a time.

The parts follow each other as in the Bulk Data Service. Each leaves everything as true as it found it: a
cycle that is killed anywhere is made good by the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from time import monotonic
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from ... import settings
from ...checking import engine, run_records
from ...checking.background_loop import in_batches
from ...ckan_adapter import model
from ...ckan_adapter.lost_database import telling_of_loss
from ...copies.store import Store, StoreError
from ...harvesting.locks import locked_if_free
from ...runs.copies import options as copy_options
from ...runs.copies import shelf
from ...search import unindexed
from ...search.unindexed import SolrAwayError
from ...web.client import Client
from ...web.hosts import Hosts
from ..policy import iati_check
from ..policy.iati_check import IatiCheckInput, IatiCheckResult
from ..policy.rules import brakes_expiry
from ..policy.state import IatiPolicy
from ..registry.immediate_harvest import HarvestProgress, HarvestRefused, harvest_now
from . import copy_places, dataset_rows, publication, registered_sources
from . import options as cycle_options
from .copy_places import CopyPlace
from .dataset_rows import KnownDataset
from .published_files import copies_prefix
from .report import CycleReport
from .result_store import ResultStore

Clock = Callable[[], datetime]
Tell = Callable[[str, tuple[int, ...]], None]
"""Told what is being done, and how far: done, how many with an error, of how many; the last may be 0."""

KIND = "iati"
"""Of the cycles' rows among the runs."""

FILES = "files"
"""What is told of the part that asks for files."""

BATCH = 100
"""Findings of one transaction, at most: their bodies wait meanwhile."""


class CycleRunningError(Exception):
    """Another cycle of this source is under way, on this machine or another."""


def lock(source_id: str) -> str:
    """The name of the lock that a cycle of a source holds as long as it lives."""
    return f"iati {source_id}"


def update(
    source: Any,
    clock: Clock,
    tell: Tell = lambda what, numbers: None,
    *,
    strict: bool = False,
    harvest: bool = True,
    package_ids: Sequence[str] | None = None,
) -> CycleReport:
    """Do a whole cycle of a source.

    :param source: row of HarvestSource, of the type ``iati_registry``
    :param clock: the time, aware
    :param strict: the rules alone, without the back-off of files that fail
    :param harvest: ask the registry; otherwise the cycle is about what was registered last
    :param package_ids: only the files of these datasets
    :raises AlreadyRunningError: another cycle of this source is under way
    :raises settings.OptionError: the site has no place for copies
    :raises StoreError: the store is out of reach
    :raises lost.DatabaseLostError: the database went away
    """
    policy = cycle_options.policy(strict=strict)
    store = copy_options.store()
    source_id, title = source.id, source.title or source.url
    with telling_of_loss(), locked_if_free(lock(source_id)) as is_ours:
        if not is_ours:
            words = tk._("Another cycle of {source} is under way: nothing was done")
            raise CycleRunningError(words.format(source=title))
        began = monotonic()
        options = {"source": source_id, "strict": strict, "harvest": harvest}
        report = CycleReport(run_records.begin_run(clock(), options, kind=KIND), title)
        try:
            if not harvest or _harvested(source_id, report, tell):
                _cycle(source_id, store, policy, clock, tell, report, package_ids)
        except BaseException as error:
            _give_up(report, clock(), error)
            raise
        _end(source_id, report, clock(), monotonic() - began)
    return report


def _harvested(source_id: str, report: CycleReport, tell: Tell) -> bool:
    """Ask the registry; whether the cycle goes on.

    It goes on with what was registered last if the registry could not be read: what is wrong there is no
    reason to leave files alone. It stops where far fewer are registered than before.
    """

    def told(progress: HarvestProgress) -> None:
        tell(f"registry: {progress.stage.value}", (progress.done, 0, progress.total or 0))

    try:
        result = harvest_now(source_id, told)
    except HarvestRefused as error:
        report.errors.append(str(error))
        return True
    report.registry_read = not result.source_errors
    report.errors += result.source_errors
    report.remarks += [
        f"{url}: {words}" for url, said in result.record_errors.items() for words in said
    ]
    if result.hold is not None:
        report.stopped = tk._("The cycle stopped: {reason}").format(reason=result.hold.reason)
    return result.hold is None


def _cycle(
    source_id: str,
    store: Store,
    policy: IatiPolicy,
    clock: Clock,
    tell: Tell,
    report: CycleReport,
    package_ids: Sequence[str] | None,
) -> None:
    synced = dataset_rows.sync(source_id, registered_sources.newly(source_id))
    report.figures.datasets_added = synced.added
    report.figures.datasets_unregistered = len(synced.removed)
    prefix = copies_prefix(source_id)
    _remove(store, prefix, synced.removed, report)
    known = dataset_rows.known(source_id)
    there = copy_places.there(store, prefix, known)
    places = copy_places.places(known, source_id)
    if _move(store, known, places, there, report):
        known = dataset_rows.known(source_id)
        there = copy_places.there(store, prefix, known)
        places = copy_places.places(known, source_id)
    strays = _strays(known, prefix, there)
    if synced.removed:
        # Nobody gets the files of before any more: they do not wait for the visits.
        _publish(source_id, store, clock, tell, report, anyway=True)
    if package_ids is not None:
        known = [one for one in known if one.package_id in package_ids]
    is_quiet, expired = _visit(store, known, places, there, policy, clock, tell, report)
    # Both the visits and the files that follow need room for each dataset, though not at once.
    del known, there, places
    _expire(source_id, store, expired, policy, clock(), report)
    _sweep(store, prefix, strays, clock(), report)
    figures = report.figures
    moved = figures.moved or synced.added or synced.removed
    _publish(source_id, store, clock, tell, report, anyway=not is_quiet or bool(moved))


def _remove(store: Store, prefix: str, resource_ids: Sequence[str], report: CycleReport) -> None:
    """The copies of what is no longer registered, and what an earlier cycle has left of such."""
    try:
        shelf.throw_away(store, [*shelf.forget(resource_ids), *shelf.forget_gone(prefix)])
    except StoreError as error:
        report.errors.append(str(error))


def _move(
    store: Store,
    known: Sequence[KnownDataset],
    places: Mapping[str, CopyPlace],
    there: Mapping[str, int],
    report: CycleReport,
) -> bool:
    """The copies of what has another name now; whether there were any."""
    found = False
    for one, error in copy_places.move(store, known, places, there):
        found = True
        if error is None:
            report.figures.moved += 1
        else:
            report.errors.append(f"{one.dataset_name}: {error}")
    return found


def _visit(
    store: Store,
    known: Sequence[KnownDataset],
    places: Mapping[str, CopyPlace],
    there: Mapping[str, int],
    policy: IatiPolicy,
    clock: Clock,
    tell: Tell,
    report: CycleReport,
) -> tuple[bool, list[str]]:
    """Check each file.

    :returns: whether all that was found is what was known, and the resources whose copies expire.
    """
    lost = frozenset(one.resource_id for one in copy_places.lost(known, there))
    visits = [
        IatiCheckInput(one.resource_id, one.package_id, one.url, one.state, one.resource_id in lost)
        for one in known
    ]
    tell(FILES, (0, 0, len(visits)))
    if not visits:
        return True, []
    storing = ResultStore(
        store=store,
        policy=policy,
        run_id=report.run_id,
        known={one.resource_id: one for one in known},
        places=places,
        lost=lost,
        clock=clock,
        index=_Indexing(report),
        figures=report.figures,
    )
    made = in_batches(_visiting(visits, store, policy, clock, storing), most=BATCH)
    try:
        with closing(made) as batches:
            for findings in batches:
                if findings:
                    storing.settle([one for one in findings if one.handed_to is None])
                    figures = report.figures
                    tell(FILES, (figures.visited, figures.failed, len(visits)))
    finally:
        storing.close()
    report.errors += storing.errors
    return storing.is_quiet, storing.expired


def _visiting(
    visits: Sequence[IatiCheckInput],
    store: Store,
    policy: IatiPolicy,
    clock: Clock,
    storing: ResultStore,
) -> Callable[[Callable[[IatiCheckResult], None]], Any]:
    """The coroutine that makes visits and hands over what they find; options are read here and now."""
    checks = settings.checks()
    web = settings.web(checks.limits)
    hosts = Hosts(checks.policy, checks.policies)
    options = engine.EngineOptions(runners=checks.concurrency)

    async def make(hand_over: Callable[[IatiCheckResult], None]) -> None:
        def sink(finding: IatiCheckResult) -> None:
            storing.gate.enter(finding)
            hand_over(finding)

        async with Client(web, hosts) as client:
            tools = iati_check.IatiTools(client, store.stage, clock, policy)
            await iati_check.update(visits, tools, options, sink)

    return make


class _Indexing:
    """Sends documents, unless Solr is away: then the next refresh does, and the cycle goes on."""

    def __init__(self, report: CycleReport) -> None:
        self._report = report
        self._is_away = False

    def __call__(self, marks: Mapping[str, datetime]) -> None:
        if self._is_away:
            return
        try:
            self._report.errors += [one.in_words() for one in unindexed.index(marks)]
        except SolrAwayError as error:
            self._is_away = True
            self._report.errors.append(unindexed.solr_away_in_words(str(error)))


def _expire(
    source_id: str,
    store: Store,
    resource_ids: Sequence[str],
    policy: IatiPolicy,
    now: datetime,
    report: CycleReport,
) -> None:
    """Remove the copies of files that have failed for too long, unless the brake holds them."""
    expiring = len(shelf.standing(resource_ids))
    count = int(model.Session.execute(sa.text(_COPIES), {"source": source_id}).scalar_one())
    if brakes_expiry(expiring, count, policy, registry_read=report.registry_read):
        words = tk._(
            "{expiring} of {count} copies would expire in one cycle, so none does: their files have failed for "
            "too long. Check whether this machine reaches their hosts"
        )
        report.errors.append(words.format(expiring=expiring, count=count))
        return
    taken = shelf.expire(resource_ids, now)
    report.figures.datasets_expired = len(taken)
    try:
        shelf.throw_away(store, taken)
    except StoreError as error:
        # No row names their bytes any more, so the next cycle sweeps them away.
        report.errors.append(str(error))


_COPIES = """
SELECT count(*) FROM freshness_copy c JOIN freshness_iati i ON i.resource_id = c.resource_id
WHERE i.source_id = :source AND c.key IS NOT NULL"""


def _strays(known: Sequence[KnownDataset], prefix: str, there: Mapping[str, int]) -> list[str]:
    """Keys of the source's that none of its datasets has."""
    named = {key for one in known for key in (one.key, one.zip_key)}
    return [key for key in there if key not in named and key.startswith(prefix)]


def _sweep(
    store: Store, prefix: str, strays: list[str], now: datetime, report: CycleReport
) -> None:
    """What earlier cycles have left behind that were killed.

    :param strays: that nobody named when this one began
    """
    try:
        shelf.sweep(store, prefix, strays)
        store.sweep(now)
    except StoreError as error:
        report.errors.append(str(error))


def _publish(
    source_id: str, store: Store, clock: Clock, tell: Tell, report: CycleReport, *, anyway: bool
) -> None:
    tell("publish", (0, 0, 0))
    began = monotonic()
    try:
        report.published |= publication.publish(source_id, store, clock(), anyway=anyway)
    except StoreError as error:
        report.errors.append(str(error))
    report.figures.zipper_run_duration += round(monotonic() - began, 3)


def _end(source_id: str, report: CycleReport, now: datetime, seconds: float) -> None:
    figures = report.figures
    model.Session.rollback()
    row = model.Session.execute(
        sa.text(_FIGURES), {"source": source_id, "kind": KIND, "run": report.run_id}
    ).one()
    for name, value in row._mapping.items():
        setattr(figures, name, value)
    figures.checker_run_duration = round(seconds, 3)
    error = "; ".join(report.complaints())[:1000] or None
    run_records.end_run(
        report.run_id,
        now,
        run_records.RunFigures(datasets=figures.as_dict(), visited=figures.visited),
        error=error,
    )


def _give_up(report: CycleReport, now: datetime, error: BaseException) -> None:
    """Write down why a cycle ended early, if the database still listens."""
    try:
        model.Session.rollback()
        figures = run_records.RunFigures(
            datasets=report.figures.as_dict(), visited=report.figures.visited
        )
        words = f"{type(error).__name__}: {error}"[:1000]
        run_records.end_run(report.run_id, now, figures, error=words)
    except sa.exc.SQLAlchemyError:
        model.Session.rollback()


_FIGURES = """
SELECT count(*) AS total_number_of_datasets,
    (SELECT count(*) FROM freshness_copy c JOIN freshness_iati o ON o.resource_id = c.resource_id
        WHERE o.source_id = :source AND c.key IS NOT NULL) AS datasets_with_download,
    count(*) FILTER (WHERE i.head_attempt ->> 'http_status' IS DISTINCT FROM '200'
        AND i.head_attempt IS NOT NULL) AS datasets_head_request_non_200,
    count(*) FILTER (WHERE i.get_attempt ->> 'http_status' IS DISTINCT FROM '200'
        AND i.get_attempt IS NOT NULL
        AND (i.get_attempt ->> 'http_status', i.get_attempt ->> 'error_occurred')
            IS DISTINCT FROM ('304', 'false')) AS datasets_downloads_non_200,
    (SELECT count(*) FROM freshness_run r WHERE r.kind = :kind AND r.id <> :run
        AND r.options ->> 'source' = :source AND r.resources IS NULL) AS number_crashes
FROM freshness_iati i WHERE i.source_id = :source"""
