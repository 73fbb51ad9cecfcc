"""A run of the checker: what is due is visited, remembered, judged, written and indexed.

A run has parts, each with its own shards of hosts: one in this process, one for each of several workers,
or one for each background job. A part holds the locks of its shards, chooses, visits, and writes what it
finds in batches; what it counted is put together when all have ended (:func:`finish`). A run that is
killed leaves whole batches behind, and its locks go with it, so that the next run goes on from there.

The network has a thread of its own (:mod:`..checking.background`); CKAN, the database and Solr belong to
the thread of the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Any

import ckan.plugins as p
import sqlalchemy as sa

from .. import settings
from ..aging.messages import NN_
from ..checking import check_rows, dataset_rows, engine, run_records
from ..checking.background_loop import in_batches
from ..checking.container_sandbox import ContainerSandbox
from ..checking.content import DETECTORS
from ..checking.results import CheckedResource, CheckResult
from ..checking.rotation import SelectedResource, Selection, rotation_budget
from ..checking.run_counts import MetadataChange, RunCounts, metadata_of
from ..checking.selection import SHARDS, SelectionReason, SelectionRules, shard_of
from ..ckan_adapter import model
from ..ckan_adapter.lost_database import DatabaseLostError, telling_of_loss
from ..ckan_adapter.worker_processes import share
from ..copies.store import StoreError
from ..dates import utc
from ..interfaces import IFreshnessDetectors
from ..reporting.labels import counted
from ..search import unindexed
from ..search.documents import DocumentBatch
from ..search.unindexed import BATCH, IndexFailure, SolrAwayError
from ..status import conclusions
from ..web.client import Client
from ..web.hosts import Hosts
from .copies import options as copy_options
from .copies import resource_copies

Clock = Callable[[], datetime]
Tell = Callable[[tuple[int, ...]], None]
"""Told how many visits are done, how many of them met an error, and of how many."""

ALL_SHARDS = tuple(range(SHARDS))

BATCH_OF_FINDINGS = 1000
"""Findings of one transaction, at most."""


@dataclass(frozen=True, slots=True)
class CheckScope:
    """What a run is to look at; without anything, all that is due.

    :ivar package_ids: only these datasets, whether due or not
    :ivar host: only URLs of this (normalised) host
    :ivar everything: what is fresh, too, whenever it was visited last
    """

    package_ids: tuple[str, ...] | None = None
    host: str | None = None
    everything: bool = False


@dataclass(frozen=True, slots=True)
class RunContext:
    """A run, as all of its parts know it.

    :ivar now: its start, with its zone, from which intervals count
    """

    id: str
    now: datetime
    scope: CheckScope = field(default_factory=CheckScope)


@dataclass(slots=True)
class CheckedCounts:
    """What a part of a run has done, or all parts together.

    :ivar left: shards that another run held: their hosts were not visited
    :ivar failures: datasets whose documents Solr refused; each run tries them again
    :ivar not_kept: why copies could not be kept: what was there before still is
    :ivar solr_away: why documents were not sent, where Solr did not answer: the next run sends them
    """

    counting: RunCounts = field(default_factory=RunCounts)
    left: int = 0
    failures: list[IndexFailure] = field(default_factory=list)
    not_kept: list[str] = field(default_factory=list)
    solr_away: str | None = None

    def merge(self, other: CheckedCounts) -> None:
        """Add what another part has done."""
        self.counting.merge(other.counting)
        self.left += other.left
        self.failures += other.failures
        self.not_kept += other.not_kept
        self.solr_away = self.solr_away or other.solr_away


def check(
    scope: CheckScope,
    clock: Clock,
    *,
    workers: int = 1,
    tell: Tell = lambda numbers: None,
) -> tuple[RunContext, CheckedCounts]:
    """Do a whole run, in this process or in several.

    :param clock: the time, aware.
    :param workers: processes, each for its own hosts. More than one only where forking is harmless, as
        in commands.
    :raises settings.OptionError: the site has no place for copies.
    :raises StoreError: the location of copies cannot be used.
    :raises workers.WorkerError: a worker ended before it was done.
    :raises runs.LocksLostError: the database closed the connection with the locks.
    :raises lost.DatabaseLostError: it went away otherwise.
    """
    with telling_of_loss():
        run = begin(scope, clock())
    try:
        if workers > 1:
            done = share(
                [ALL_SHARDS[number::workers] for number in range(workers)],
                lambda shards, tell: part(run, shards, clock, tell),
                tell,
                (run_records.LocksLostError, DatabaseLostError, settings.OptionError, StoreError),
            )
        else:
            done = [part(run, ALL_SHARDS, clock, tell)]
        with telling_of_loss():
            return run, finish(run, done, clock)
    except BaseException as error:
        _give_up(run, clock(), error)
        raise


def has_resources(scope: CheckScope, now: datetime) -> bool:
    """Whether there is anything that a run of now could look at. Nothing is visited."""
    model.Session.rollback()
    check_rows.sync(now, settings.aging().dataset_types)
    rows = check_rows.stream(now, settings.checks(), package_ids=scope.package_ids, host=scope.host)
    # To its end, which closes it.
    return sum(1 for _ in rows) > 0


def begin(scope: CheckScope, now: datetime) -> RunContext:
    """Begin a run: its row, a row for each resource, and a first judgement of datasets without one."""
    aging = settings.aging()
    model.Session.rollback()
    run = RunContext(run_records.begin_run(now, asdict(scope)), now, scope)
    check_rows.sync(now, aging.dataset_types)
    new = iter(check_rows.unassessed(aging.dataset_types))
    while batch := list(islice(new, BATCH)):
        _index(conclusions.judge(batch, now, run.id), CheckedCounts())
    return run


def plan(scope: CheckScope, now: datetime) -> Selection:
    """What a run of now would visit, and why it would not visit the rest. Nothing is visited."""
    model.Session.rollback()
    check_rows.sync(now, settings.aging().dataset_types)
    checks = settings.checks()
    selection = _selection(scope, now, _rules(scope, checks.rules, None))
    for row in check_rows.stream(now, checks, package_ids=scope.package_ids, host=scope.host):
        selection.add(row)
    return selection


def part(
    run: RunContext,
    shards: Collection[int],
    clock: Clock,
    tell: Tell = lambda numbers: None,
    *,
    handed: bool = False,
) -> CheckedCounts:
    """Do a run's part: the hosts of some shards, as far as no other run visits them.

    :param handed: only what other parts were redirected to, and handed on.
    """
    done = CheckedCounts()
    with telling_of_loss(), run_records.shards(shards) as locks:
        done.left = len(set(shards) - locks.held)
        picked = _choose(run, shards, locks.held, done.counting, handed=handed)
        _visit(run, picked, locks, clock, tell, done, handed=handed)
    return done


def finish(
    run: RunContext, parts: Iterable[CheckedCounts], clock: Clock, *, error: str | None = None
) -> CheckedCounts:
    """End a run: follow what was handed on, count its datasets, and write down what it counted.

    :param error: why the parts are not all, for people.
    """
    whole = CheckedCounts()
    for one in parts:
        whole.merge(one)
    if check_rows.handed_on():
        rest = part(run, ALL_SHARDS, clock, handed=True)
        rest.left = 0
        whole.merge(rest)
    types = settings.aging().dataset_types
    _count_datasets(whole.counting, run, types, clock())
    if not whole.left and error is None:
        check_rows.remember_dates(types, package_ids=run.scope.package_ids, host=run.scope.host)
    counting = whole.counting
    figures = run_records.RunFigures(
        resources=counting.resources(),
        datasets=counting.datasets(),
        frequencies=counting.frequencies(),
        hosts=counting.hosts(),
        visited=counting.visits,
    )
    run_records.end_run(run.id, clock(), figures, error=error or whole.solr_away)
    return whole


def visited(done: CheckedCounts) -> str:
    """How much a run has visited, in words for people."""
    forms = NN_(
        "Visited {count} resource, {errors} with an error",
        "Visited {count} resources, {errors} with an error",
    )
    said = counted(forms, done.counting.visits, errors=done.counting.errors)
    if not done.counting.put_off:
        return said
    forms = NN_(
        "{count} other was put off until the next run, because its host gave no answer",
        "{count} others were put off until the next run, because their hosts gave no answer",
    )
    return f"{said}; {counted(forms, done.counting.put_off)}"


def missing(done: CheckedCounts) -> list[str]:
    """What a run has not done, in words for people; nothing if it was complete."""
    said = []
    if done.left:
        forms = NN_(
            "Another run is visiting hosts: {count} of {all} groups of hosts was left to it",
            "Another run is visiting hosts: {count} of {all} groups of hosts were left to it",
        )
        said.append(counted(forms, done.left, all=len(ALL_SHARDS)))
    if done.solr_away:
        said.append(unindexed.solr_away_in_words(done.solr_away))
    return said + [one.in_words() for one in done.failures] + done.not_kept


def _give_up(run: RunContext, now: datetime, error: BaseException) -> None:
    """Write down why a run ended early, if the database still listens."""
    try:
        model.Session.rollback()
        run_records.end_run(run.id, now, error=f"{type(error).__name__}: {error}"[:1000])
    except sa.exc.SQLAlchemyError:
        model.Session.rollback()


# Choosing.


def _rules(
    scope: CheckScope, rules: SelectionRules, shards: Collection[int] | None
) -> SelectionRules:
    asked = scope.everything or scope.package_ids is not None
    return replace(rules, everything=asked, at_once=asked, shards=shards)


def _selection(scope: CheckScope, now: datetime, rules: SelectionRules) -> Selection:
    budget = 0
    if scope == CheckScope():
        budget = rotation_budget(check_rows.total(rules=rules), rules)
    return Selection(utc(now), rules, budget)


def _choose(
    run: RunContext,
    shards: Collection[int],
    held: Collection[int],
    counting: RunCounts,
    *,
    handed: bool,
) -> list[SelectedResource]:
    """What a part visits; all resources of its shards are counted."""
    checks = settings.checks()
    scope = run.scope
    rules = _rules(scope, checks.rules, held)
    if handed:
        rules = replace(rules, everything=True, at_once=True)
    selection = Selection(utc(run.now), rules, 0) if handed else _selection(scope, run.now, rules)
    own = frozenset(shards)
    rows = check_rows.stream(
        run.now, checks, package_ids=scope.package_ids, host=scope.host, handed=handed
    )
    for row in rows:
        verdict = selection.add(row)
        if not handed and (verdict is not SelectionReason.ELSEWHERE or shard_of(row.host) in own):
            counting.chosen(row, verdict)
    return selection.picked()


# Visiting.


def _visit(
    run: RunContext,
    picked: Sequence[SelectedResource],
    locks: run_records.Shards,
    clock: Clock,
    tell: Tell,
    done: CheckedCounts,
    *,
    handed: bool,
) -> None:
    metadata = {one.resource_id: metadata_of(one) for one in picked}
    visits = resource_copies.marked(
        list(check_rows.visits(picked, run.now, settings.aging(), handed=handed))
    )
    counting = done.counting
    tell((0, 0, len(visits)))
    if not visits:
        return
    documents = DocumentBatch(one.package_id for one in visits)
    made = in_batches(_visiting(visits, locks.held, clock), most=BATCH_OF_FINDINGS)
    with closing(made) as batches:
        for findings in batches:
            locks.check()
            if findings:
                _write(run, findings, metadata, documents, clock, done)
            _index(documents.take(), done)
            # Also where nothing came: a worker learns by it that it is alone.
            tell((counting.visits + counting.put_off, counting.errors, len(visits)))
    _index(documents.rest(), done)


def _visiting(
    visits: Sequence[CheckedResource], held: frozenset[int], clock: Clock
) -> Callable[[Callable[[CheckResult], None]], Any]:
    """The coroutine that makes visits and hands over what they find; options are read here and now."""
    checks = settings.checks()
    web = settings.web(checks.limits)
    hosts = Hosts(checks.policy, checks.policies)
    copies = copy_options.store() if any(one.keep_copy for one in visits) else None
    # Those of other plugins first.
    others = p.PluginImplementations(IFreshnessDetectors)
    detectors = [one for plugin in others for one in plugin.content_detectors()]
    options = engine.EngineOptions(
        runners=checks.concurrency,
        confirm_after=checks.confirm_after,
        mine=lambda host: shard_of(host) in held,
        detectors=(*detectors, *DETECTORS),
        stage=copies.stage if copies is not None else None,
    )

    async def make(hand_over: Callable[[CheckResult], None]) -> None:
        with ContainerSandbox() as sandbox:
            async with Client(web, hosts) as client:
                await engine.check(visits, client, sandbox, options, hand_over, now=clock)

    return make


# Writing.


def _write(
    run: RunContext,
    findings: Sequence[CheckResult],
    metadata: Mapping[str, MetadataChange],
    documents: DocumentBatch,
    clock: Clock,
    done: CheckedCounts,
) -> None:
    for finding in findings:
        done.counting.visited(finding, metadata[finding.visit.resource_id])
    # Of what was not asked for nothing is written: it stays as due as it was.
    asked = [finding for finding in findings if not finding.put_off]
    documents.add(conclusions.write(asked, run.id, run.now, clock()))
    documents.ended(finding.visit.package_id for finding in findings)
    if any(finding.staged for finding in findings):
        done.not_kept += resource_copies.keep(copy_options.store(), findings, clock())


def _index(marks: Mapping[str, datetime], done: CheckedCounts) -> None:
    """Send documents, unless Solr is away: then the next refresh does, and visits go on."""
    rest = iter(marks.items())
    while done.solr_away is None and (batch := dict(islice(rest, BATCH))):
        try:
            done.failures += unindexed.index(batch)
        except SolrAwayError as error:
            done.solr_away = str(error)


# Counting.


def _count_datasets(
    counting: RunCounts, run: RunContext, types: Collection[str], now: datetime
) -> None:
    """Count all datasets that the run looked at, with the status that they have now."""
    for package_id, what in dataset_rows.newly_said(run.id):
        counting.updated(package_id, what)
    for package_id, status, frequency in dataset_rows.statuses(now, types, run.scope.package_ids):
        counting.dataset(package_id, status, frequency)
