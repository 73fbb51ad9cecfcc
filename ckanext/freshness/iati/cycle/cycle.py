"""The update cycle of an IATI source: registry, deleted datasets, checks of all files, published files.

The parts run one after the other, as in the Bulk Data Service. A cycle may be killed at any point: the next one
completes its work.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from ... import settings
from ...checking import run_records
from ...ckan_adapter import harvest as harvest_tables
from ...ckan_adapter.core import model
from ...ckan_adapter.database import locked_if_free, telling_of_loss
from ...copies.store import Store, StoreError
from ...harvesting import holds
from ...harvesting.messages import from_column
from ...runs import copies
from ...status import indexing
from ...status.indexing import SolrAwayError
from ...web.event_loop import in_batches
from ...web.hosts import Hosts
from ..policy import iati_check
from ..policy.iati_check import IatiCheckInput, IatiCheckResult
from ..policy.rules import brakes_expiry
from ..policy.state import IatiPolicy
from . import dataset_copies, dataset_rows, publication
from .dataset_copies import CopyPlace, ResultStore, copies_prefix
from .dataset_rows import KnownDataset
from .report import CycleReport

Clock = Callable[[], datetime]
Harvest = Callable[[str], str]
"""Harvests a source, and returns the id of the job."""
ShowProgress = Callable[[tuple[int, ...]], None]
"""Gets three numbers: checked files, failed ones, and files to check."""

KIND = "iati"
"""The kind of the cycles' rows among the runs."""

MOST_MESSAGES = 100
"""How many messages of a harvest a report has; the page of its job has all."""

BATCH = 100
"""Most results of one transaction: their files wait for it."""


class CycleRunningError(Exception):
    """Another cycle of this source is running, on this machine or another."""


def run_cycle(
    source: Any,
    clock: Clock,
    show_progress: ShowProgress = lambda numbers: None,
    *,
    strict: bool = False,
    harvest: Harvest | None = None,
    package_ids: Collection[str] | None = None,
) -> CycleReport:
    """Run a cycle of a source.

    :param source: a harvest source's row, of the type ``iati_registry``
    :param clock: the time, aware
    :param strict: check failing files without a pause
    :param harvest: reads the registry first; without it, the cycle uses the last harvest
    :param package_ids: check the files of these datasets only
    :raises CycleRunningError: another cycle of this source is running
    :raises settings.OptionError: the site has no place for copies
    :raises StoreError: the store cannot be used
    :raises DatabaseLostError: the database was lost
    """
    policy = IatiPolicy(strict=strict)
    store = copies.store()
    source_id, title = source.id, source.title or source.url
    with telling_of_loss(), locked_if_free(run_records.cycle_lock(source_id)) as is_ours:
        if not is_ours:
            words = tk._("Another cycle of {source} is under way: nothing was done")
            raise CycleRunningError(words.format(source=title))
        options = {"source": source_id, "strict": strict, "harvest": harvest is not None}
        report = CycleReport(run_records.begin_run(clock(), options, kind=KIND), title)
        cycle = _Cycle(source_id, store, policy, clock, show_progress, report)
        began = monotonic()
        try:
            if harvest is None or cycle.read_registry(harvest):
                cycle.update_files(package_ids)
        except BaseException as error:
            cycle.end_early(error)
            raise
        cycle.end(monotonic() - began)
    return report


@dataclass(frozen=True, slots=True)
class _Cycle:
    """One cycle of one source."""

    source_id: str
    store: Store
    policy: IatiPolicy
    clock: Clock
    show_progress: ShowProgress
    report: CycleReport

    def read_registry(self, harvest: Harvest) -> bool:
        """Harvest the source; return whether the cycle continues.

        If the registry cannot be read, it continues with the last harvest: the files still need their checks.
        If the registry lists far fewer records than before, it stops.
        """
        report = self.report
        try:
            job_id = harvest(self.source_id)
        except tk.ObjectNotFound as error:
            report.errors.append(str(error))
            return True
        values = {"jobs": [job_id], "most": MOST_MESSAGES}
        errors, remarks = (
            model.Session.execute(sa.text(statement), values).all()
            for statement in (
                harvest_tables.FIRST_GATHER_ERRORS,
                harvest_tables.FIRST_RECORD_ERRORS,
            )
        )
        report.registry_read = not errors
        report.errors += [from_column(row.message) for row in errors]
        report.remarks += [f"{row.url}: {from_column(row.message)}" for row in remarks]
        hold = holds.hold_of(self.source_id)
        if hold is not None:
            report.stopped = tk._("The cycle stopped: {reason}").format(reason=hold.reason)
        return hold is None

    def update_files(self, package_ids: Collection[str] | None) -> None:
        """Delete datasets that are gone, check each file, and publish.

        :param package_ids: check the files of these datasets only
        """
        figures, prefix = self.report.figures, copies_prefix(self.source_id)
        synced = dataset_rows.sync(self.source_id, dataset_rows.unsynced(self.source_id))
        figures.datasets_added = synced.added
        figures.datasets_unregistered = len(synced.removed)
        with self._reporting_store_errors():
            gone = [*copies.forget(synced.removed), *copies.forget_gone(prefix)]
            copies.delete_files(self.store, gone)
        datasets, sizes, places = self._copies()
        if dataset_copies.move(self.store, datasets, places, sizes, self.report):
            datasets, sizes, places = self._copies()
        named = {key for dataset in datasets for key in (dataset.key, dataset.zip_key)}
        strays = [key for key in sizes if key not in named and key.startswith(prefix)]
        if synced.removed:
            # Deleted datasets leave the published files before the checks, which take long.
            self._publish(force=True)
        if package_ids is not None:
            datasets = [dataset for dataset in datasets if dataset.package_id in package_ids]
        lost = dataset_copies.lost(datasets, sizes)
        unchanged, expired = self._check(datasets, places, lost)
        # Publishing needs memory for each dataset, too.
        del datasets, sizes, places, named
        self._expire(expired)
        with self._reporting_store_errors():
            # Killed cycles leave bytes without rows.
            copies.sweep(self.store, prefix, strays)
            self.store.sweep(self.clock())
        has_changed = figures.moved or synced.added or synced.removed or not unchanged
        self._publish(force=bool(has_changed))

    def _copies(self) -> tuple[list[KnownDataset], dict[str, int], dict[str, CopyPlace]]:
        """Return the datasets, the bytes of stored copies by key, and the places of copies by resource id."""
        datasets = dataset_rows.known(self.source_id)
        sizes = dataset_copies.stored_sizes(self.store, copies_prefix(self.source_id), datasets)
        return datasets, sizes, dataset_copies.places(datasets, self.source_id)

    def _check(
        self,
        datasets: Sequence[KnownDataset],
        places: Mapping[str, CopyPlace],
        lost: frozenset[str],
    ) -> tuple[bool, list[str]]:
        """Check each file, and store the results.

        :returns: whether all checks confirmed the known state, and the resource ids whose copies expire
        """
        results = ResultStore(
            store=self.store,
            policy=self.policy,
            run_id=self.report.run_id,
            known={dataset.resource_id: dataset for dataset in datasets},
            places=places,
            lost=lost,
            clock=self.clock,
            index=_Indexer(self.report),
            figures=self.report.figures,
        )
        inputs = [
            IatiCheckInput(
                dataset.resource_id,
                dataset.package_id,
                dataset.url,
                dataset.state,
                dataset.resource_id in lost,
            )
            for dataset in datasets
        ]
        self.show_progress((0, 0, len(inputs)))
        try:
            if inputs:
                with closing(in_batches(self._checks(inputs, results), most=BATCH)) as batches:
                    for batch in batches:
                        if batch:
                            results.settle(batch)
                            figures = self.report.figures
                            numbers = (figures.visited, figures.failed, len(inputs))
                            self.show_progress(numbers)
        finally:
            results.close()
        self.report.errors += results.errors
        return results.unchanged, results.expired

    def _checks(
        self, inputs: Sequence[IatiCheckInput], results: ResultStore
    ) -> Callable[[Callable[[IatiCheckResult], None]], Any]:
        """Return a function that makes the coroutine of all checks; read the options in this thread."""
        # Web workers import this module, too, and need no HTTP library.
        from ...web.client import Client

        checks = settings.checks()
        web = settings.web(checks.limits)
        hosts = Hosts(checks.policy, checks.policies)

        async def check_all(hand_over: Callable[[IatiCheckResult], None]) -> None:
            def sink(result: IatiCheckResult) -> None:
                results.bytes_limit.enter(result)
                hand_over(result)

            async with Client(web, hosts, concurrency=settings.CONCURRENCY) as client:
                tools = iati_check.IatiTools(client, self.store.stage, self.clock, self.policy)
                await iati_check.check_datasets(inputs, tools, sink)

        return check_all

    def _expire(self, resource_ids: Sequence[str]) -> None:
        """Delete the copies of files that have failed for too long, unless the brake keeps them."""
        expiring = len(copies.stored_files(resource_ids))
        values = {"source": self.source_id}
        count = int(model.Session.execute(sa.text(_COPIES), values).scalar_one())
        report = self.report
        if brakes_expiry(expiring, count, self.policy, registry_read=report.registry_read):
            words = tk._(
                "{expiring} of {count} copies would expire in one cycle, so none does: their files have "
                "failed for too long. Check whether this machine reaches their hosts"
            )
            report.errors.append(words.format(expiring=expiring, count=count))
            return
        expired = copies.expire(resource_ids, self.clock())
        report.figures.datasets_expired = len(expired)
        with self._reporting_store_errors():
            # If this fails, no row names the bytes any more, so the next cycle sweeps them.
            copies.delete_files(self.store, expired)

    def _publish(self, *, force: bool) -> None:
        began = monotonic()
        with self._reporting_store_errors():
            self.report.published |= publication.publish(
                self.source_id, self.store, self.clock(), force=force
            )
        self.report.figures.zipper_run_duration += round(monotonic() - began, 3)

    @contextmanager
    def _reporting_store_errors(self) -> Iterator[None]:
        """Report an error of the store and continue: each part is repeated by the next cycle."""
        try:
            yield
        except StoreError as error:
            self.report.errors.append(str(error))

    def end(self, seconds: float) -> None:
        """Write the figures and errors to the cycle's row among the runs."""
        figures = self.report.figures
        model.Session.rollback()
        values = {"source": self.source_id, "kind": KIND, "run": self.report.run_id}
        row = model.Session.execute(sa.text(_FIGURES), values).one()
        for name, value in row._mapping.items():
            setattr(figures, name, value)
        figures.checker_run_duration = round(seconds, 3)
        self._end_run("; ".join(self.report.complaints()) or None)

    def end_early(self, error: BaseException) -> None:
        """Write the error to the cycle's row among the runs, if the database still answers."""
        try:
            model.Session.rollback()
            self._end_run(f"{type(error).__name__}: {error}")
        except sa.exc.SQLAlchemyError:
            model.Session.rollback()

    def _end_run(self, error: str | None) -> None:
        figures = self.report.figures
        run_records.end_run(
            self.report.run_id,
            self.clock(),
            run_records.RunFigures(datasets=figures.as_dict(), visited=figures.visited),
            error=error and error[:1000],
        )


class _Indexer:
    """Indexes datasets until Solr stops answering. The next refresh indexes the rest."""

    def __init__(self, report: CycleReport) -> None:
        self._report = report
        self._is_away = False

    def __call__(self, marks: Mapping[str, datetime]) -> None:
        if self._is_away:
            return
        try:
            failures = indexing.index(marks)
        except SolrAwayError as error:
            self._is_away = True
            self._report.errors.append(indexing.solr_away_in_words(str(error)))
        else:
            self._report.errors += [failure.in_words() for failure in failures]


_COPIES = """
SELECT count(*) FROM freshness_copy c JOIN freshness_iati i ON i.resource_id = c.resource_id
WHERE i.source_id = :source AND c.key IS NOT NULL"""

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
