"""A run of checks: it chooses resources, checks their URLs, writes the results and updates the index.

Results are written in batches. If a run is killed, whole batches remain and its lock is released. The next
run continues from there.

The network has a thread of its own (:mod:`..web.event_loop`). CKAN, the database and Solr are used in
the caller's thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from itertools import islice
from time import monotonic
from typing import Any
from uuid import uuid4

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from .. import settings
from ..checking import check_rows, run_records
from ..checking.decisions import CheckResult, ResourceToCheck
from ..checking.learned import LearnedSelection
from ..checking.run_records import RunCounts
from ..checking.selection import (
    LEARNED,
    Selection,
    rotation_budget,
)
from ..ckan_adapter.core import model
from ..ckan_adapter.database import HeldLock, locked_if_free, require_tables, telling_of_loss
from ..dates import utc, utc_now
from ..interfaces import IFreshnessChecker, IFreshnessDetectors
from ..reporting.labels import counted
from ..status import conclusions, indexing
from ..status.indexing import BATCH, IndexFailure, SolrAwayError
from ..translation import NN_
from ..web.event_loop import in_batches, rare_collections
from ..web.exchange import Limits
from ..web.hosts import Hosts
from . import copies

Clock = Callable[[], datetime]
Progress = Callable[[tuple[int, ...]], None]
"""Receives three numbers: checks done, checks with an error, and checks to do."""

AnySelection = Selection | LearnedSelection

INDEX_EVERY = 300.0
"""Seconds between two times when documents are sent: each check of a dataset may change its document."""
RESULT_BATCH = 1000
"""Results written in one transaction, at most."""


@dataclass(frozen=True, slots=True)
class CheckScope:
    """The resources that a run considers; by default all that are due.

    :ivar package_ids: only these datasets, whether due or not
    :ivar host: only URLs of this normalised host
    :ivar everything: also fresh and recently checked resources
    :ivar policy: the policy that selects resources; None for the site's. ``learned`` only selects from the
        whole catalogue, else ``hdx`` does.
    """

    package_ids: tuple[str, ...] | None = None
    host: str | None = None
    everything: bool = False
    policy: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the run considers all resources."""
        return self.package_ids is None and self.host is None and not self.everything


@dataclass(frozen=True, slots=True)
class RunContext:
    """A run.

    :ivar now: start of the run, aware: intervals count from it
    """

    id: str
    now: datetime
    scope: CheckScope = field(default_factory=CheckScope)


@dataclass(slots=True)
class RunResult:
    """The counts and failures of a run.

    :ivar refused: whether another run was checking, so that this one did not
    :ivar index_failures: datasets whose documents Solr refused; each run tries them again
    :ivar copy_errors: why copies could not be stored; the earlier copies remain
    :ivar solr_away: why Solr does not answer; the next run sends the documents
    """

    counts: RunCounts = field(default_factory=RunCounts)
    refused: bool = False
    index_failures: list[IndexFailure] = field(default_factory=list)
    copy_errors: list[str] = field(default_factory=list)
    solr_away: str | None = None


def check(
    scope: CheckScope, clock: Clock, *, progress: Progress = lambda numbers: None
) -> tuple[RunContext, RunResult]:
    """Do a whole run.

    :param clock: returns the time, aware
    :raises settings.OptionError: copies are to be made, and the site has no place for them
    :raises LocksLostError: the database closed the connection that held the lock
    :raises DatabaseLostError: the database cannot be reached any more
    """
    run_id = str(uuid4())
    with telling_of_loss(), locked_if_free(run_records.lock(run_id)):
        run, result = _begin(run_id, scope, clock()), RunResult()
        try:
            _check_alone(run, clock, progress, result)
        except BaseException as error:
            _record_failure(run, clock(), error)
            raise
        _finish(run, result, clock)
    return run, result


@require_tables
def check_dataset(package_id: str) -> None:
    """Check all links of a dataset, due or not, each by the rules of its checker. A background job."""
    check(CheckScope(package_ids=(package_id,)), utc_now)
    for plugin in p.PluginImplementations(IFreshnessChecker):
        plugin.check_dataset(package_id)


def _check_alone(run: RunContext, clock: Clock, progress: Progress, result: RunResult) -> None:
    """Check the resources of a run, unless another run is checking."""
    if run.scope.package_ids is not None:
        # A check of named datasets makes few requests, and need not wait for the end of a run.
        _check(run, None, clock, progress, result)
        return
    with locked_if_free(run_records.CHECKING) as lock:
        if lock is None:
            result.refused = True
        else:
            _check(run, lock, clock, progress, result)


def has_resources(host: str, now: datetime) -> bool:
    """Return whether there are resources on a host, due or not."""
    model.Session.rollback()
    check_rows.sync(now, settings.dataset_types())
    with closing(check_rows.stream(now, host=host)) as candidates:
        return next(candidates, None) is not None


def _begin(run_id: str, scope: CheckScope, now: datetime) -> RunContext:
    """Begin a run: add its row and the rows of new resources, and assess datasets that never were.

    :param run_id: whose lock the caller holds until the run ends
    """
    types = settings.dataset_types()
    model.Session.rollback()
    run_records.begin_run(now, asdict(scope), run_id=run_id)
    run = RunContext(run_id, now, scope)
    check_rows.sync(now, types, scope.package_ids)
    new = iter(check_rows.unassessed(types, scope.package_ids))
    while batch := list(islice(new, BATCH)):
        _index(conclusions.assess_and_commit(batch, now, run.id), RunResult())
    return run


def plan(scope: CheckScope, now: datetime) -> AnySelection:
    """Return the selection of a run that would start now, and check nothing."""
    model.Session.rollback()
    check_rows.sync(now, settings.dataset_types(), scope.package_ids)
    return _offered(scope, now)


def _finish(run: RunContext, result: RunResult, clock: Clock) -> None:
    """End a run: count the datasets, and store the counts."""
    types = settings.dataset_types()
    counts = result.counts
    for package_id, newer in run_records.with_newer_review_or_script(run.id):
        counts.updated(package_id, newer)
    statuses = run_records.statuses(clock(), types, run.scope.package_ids)
    for package_id, status, frequency_days in statuses:
        counts.dataset(package_id, status, frequency_days)
    if not result.refused:
        check_rows.remember_dates(types, package_ids=run.scope.package_ids, host=run.scope.host)
    error = result.solr_away or (_refused_in_words() if result.refused else None)
    run_records.end_run(run.id, clock(), counts.columns(), error=error)


def checked_in_words(result: RunResult) -> str:
    """Return how many resources a run has checked, in words for people."""
    forms = NN_(
        "Checked {count} resource, {errors} with an error",
        "Checked {count} resources, {errors} with an error",
    )
    words = counted(forms, result.counts.checks, errors=result.counts.errors)
    if result.counts.longest_days:
        words += f"; {stretched_in_words(result.counts.longest_days)}"
    if not result.counts.put_off:
        return words
    forms = NN_(
        "{count} other was put off until the next run, because its host gave no answer",
        "{count} others were put off until the next run, because their hosts gave no answer",
    )
    return f"{words}; {counted(forms, result.counts.put_off)}"


def stretched_in_words(days: int) -> str:
    """Return how often files are checked if the budget is too small for the policy ``learned``."""
    words = tk._("at this budget, files are checked every {days} days at least")
    return str(words.format(days=days))


def missing_in_words(result: RunResult) -> list[str]:
    """Return what a run has not done, in words for people; empty if it was complete."""
    words = []
    if result.refused:
        words.append(_refused_in_words())
    if result.solr_away:
        words.append(indexing.solr_away_in_words(result.solr_away))
    words += [failure.in_words() for failure in result.index_failures]
    return words + result.copy_errors


def _refused_in_words() -> str:
    return str(tk._("Another run is checking hosts: this one left them to it"))


def _record_failure(run: RunContext, now: datetime, error: BaseException) -> None:
    """Store why a run ended early, if the database still answers."""
    try:
        model.Session.rollback()
        run_records.end_run(run.id, now, error=f"{type(error).__name__}: {error}"[:1000])
    except sa.exc.SQLAlchemyError:
        model.Session.rollback()


# Selecting


def _choose(run: RunContext, counts: RunCounts) -> tuple[Sequence[str], frozenset[str]]:
    """Count all resources of a run's scope; return the ids of those that it checks, and of its rotation."""
    selection = _offered(run.scope, run.now, counts)
    counts.longest_days = selection.longest_days
    return selection.chosen(), selection.rotation()


def _offered(scope: CheckScope, now: datetime, counts: RunCounts | None = None) -> AnySelection:
    """Return a selection to which the resources of a scope were offered, and count these."""
    selection = _selection(scope, now, settings.checks())
    _offer(selection, scope, now, counts)
    return selection


def _policy(scope: CheckScope, checks: settings.Checks) -> str:
    return scope.policy or checks.selection


def _selection(scope: CheckScope, now: datetime, checks: settings.Checks) -> AnySelection:
    asked = scope.everything or scope.package_ids is not None
    rules = replace(checks.rules, everything=asked)
    if not scope.is_whole:
        return Selection(utc(now), rules, 0)
    rotation = rotation_budget(check_rows.total())
    if _policy(scope, checks) != LEARNED:
        return Selection(utc(now), rules, rotation)
    budget = checks.per_run
    if not budget:
        as_hdx = Selection(utc(now), rules, rotation)
        _offer(as_hdx, scope, now)
        budget = len(as_hdx.chosen())
    return LearnedSelection(utc(now), rules, budget, rotation)


def _offer(
    selection: AnySelection, scope: CheckScope, now: datetime, counts: RunCounts | None = None
) -> None:
    """Offer the resources of a scope to a selection, and count them."""
    candidates = check_rows.stream(
        now,
        package_ids=scope.package_ids,
        host=scope.host,
        with_history=isinstance(selection, LearnedSelection),
    )
    with rare_collections():
        for candidate in candidates:
            reason = selection.add(candidate)
            if counts is not None:
                counts.chosen(candidate, reason)


# Checking


def _check(
    run: RunContext,
    lock: HeldLock | None,
    clock: Clock,
    progress: Progress,
    result: RunResult,
) -> None:
    """Choose and check resources, and write the results as they come.

    :param lock: held while the run checks; None if it needs none
    """
    counts = result.counts
    chosen = check_rows.resources_to_check(
        *_choose(run, counts),
        run.now,
        settings.aging(),
        doubts=_policy(run.scope, settings.checks()) == LEARNED,
    )
    resources = copies.marked(list(chosen))
    progress((0, 0, len(resources)))
    if not resources:
        return
    marks: dict[str, datetime] = {}
    indexed_at = monotonic()
    produced = in_batches(checks_of(resources, clock), most=RESULT_BATCH)
    with closing(produced) as batches:
        for batch in batches:
            if lock is not None:
                lock.check()
            if batch:
                marks |= _write(run, batch, clock, result)
            if monotonic() - indexed_at >= INDEX_EVERY:
                _index(marks, result)
                marks, indexed_at = {}, monotonic()
            progress((counts.checks + counts.put_off, counts.errors, len(resources)))
    _index(marks, result)


def checks_of(
    resources: Sequence[ResourceToCheck], clock: Clock, limits: Limits | None = None
) -> Callable[[Callable[[CheckResult], None]], Any]:
    """Return the coroutine that checks resources and hands over their results.

    The site's options are read here: the coroutine runs in another thread.

    :param limits: of each request; None for the site's
    """
    # Web workers import this module, too, and need neither an HTTP client nor a reader of workbooks.
    from ..checking.hasher import DETECTORS, ContentSandbox
    from ..checking.hdx_check import HdxTools, check_resources
    from ..web.client import Client

    checks = settings.checks()
    web = settings.web(limits or checks.limits)
    hosts = Hosts(checks.policy, checks.policies)
    # Detectors of other plugins come first.
    plugins = p.PluginImplementations(IFreshnessDetectors)
    detectors = [detector for plugin in plugins for detector in plugin.content_detectors()]

    async def produce(hand_over: Callable[[CheckResult], None]) -> None:
        with ContentSandbox((*detectors, *DETECTORS)) as sandbox:
            async with Client(web, hosts, concurrency=settings.CONCURRENCY) as client:
                tools = HdxTools(client, sandbox, clock)
                await check_resources(
                    resources, tools, hand_over, confirm_after=settings.CONFIRM_AFTER
                )

    return produce


# Writing


def _write(
    run: RunContext,
    batch: Sequence[CheckResult],
    clock: Clock,
    result: RunResult,
) -> dict[str, datetime]:
    """Write results, and return the marks of the datasets whose documents are to be sent."""
    for check_result in batch:
        result.counts.checked(check_result)
    # A resource that was put off stays as due as it was.
    checked = [check_result for check_result in batch if not check_result.is_put_off]
    concluded = conclusions.write(checked, run.id, run.now, clock())
    result.counts.newly_broken += concluded.newly_broken
    result.counts.repaired += concluded.repaired
    run_records.count_checks(run.id, len(checked))
    result.copy_errors += copies.keep(batch, clock())
    return concluded.marks


def _index(marks: Mapping[str, datetime], result: RunResult) -> None:
    """Send documents of datasets to Solr.

    If Solr does not answer, checks continue without it. The next refresh sends the documents.
    """
    rest = iter(marks.items())
    while result.solr_away is None and (batch := dict(islice(rest, BATCH))):
        try:
            result.index_failures += indexing.index(batch)
        except SolrAwayError as error:
            result.solr_away = str(error)
