"""The update cycle of an IATI source: registry, deleted datasets, checks of all files, published files.

The parts run one after the other, as in the Bulk Data Service. A cycle may be killed at any point: the next one
completes its work.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from ckanext.freshness import settings
from ckanext.freshness.aging.evidence import DatedEvidence, Evidence
from ckanext.freshness.checking import data_changes, run_records
from ckanext.freshness.checking.data_changes import DataChange
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.ckan_adapter.database import HeldLock, locked_if_free, telling_of_loss
from ckanext.freshness.copies import store_keys
from ckanext.freshness.copies.store import Store, StoredCopy, StoreError
from ckanext.freshness.dates import utc_now
from ckanext.freshness.harvesting import holds
from ckanext.freshness.harvesting.messages import from_column
from ckanext.freshness.interfaces import PartReport
from ckanext.freshness.reporting import harvest_sql
from ckanext.freshness.runs import copies
from ckanext.freshness.settings import OptionError
from ckanext.freshness.status import conclusions, indexing
from ckanext.freshness.status.indexing import SolrAwayError
from ckanext.freshness.web.event_loop import in_batches
from ckanext.freshness.web.hosts import Hosts
from ckanext.freshness.web.urls import display_url

from . import datasets, publication, rules
from .iati_check import IatiCheckResult, IatiTools, KnownFile, check_files
from .model import IatiDataset
from .report import KIND, CycleReport
from .rules import IatiOutcome

log = logging.getLogger(__name__)

Clock = Callable[[], datetime]
Harvest = Callable[[str], str]
"""Harvests a source, and returns the id of the job."""
ShowProgress = Callable[[tuple[int, ...]], None]
"""Gets three numbers: checked files, failed ones, and files to check."""

MOST_MESSAGES = 100
"""How many messages of a harvest a report has; the page of its job has all."""
MOST_STORE_ERRORS = 5
"""How many files that could not be stored are named in a report."""

BATCH = 1000
"""Most results of one transaction."""


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
    store = copies.store()
    source_id, title = source.id, source.title or source.url
    lock_name = f"iati {source_id}"
    with telling_of_loss(), locked_if_free(lock_name) as lock:
        if lock is None:
            words = tk._("Another cycle of {source} is under way: nothing was done")
            raise CycleRunningError(words.format(source=title))
        options = {
            **{"source": source_id, "strict": strict, "harvest": harvest is not None},
            **{"lock": lock_name, "package_ids": package_ids and list(package_ids)},
        }
        report = CycleReport(run_records.begin_run(clock(), options, kind=KIND), title)
        cycle = _Cycle(source_id, lock, store, strict, clock, show_progress, report)
        began = monotonic()
        try:
            if harvest is None or _read_registry(source_id, harvest, report):
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
    lock: HeldLock
    store: Store
    strict: bool
    clock: Clock
    show_progress: ShowProgress
    report: CycleReport

    def update_files(self, package_ids: Collection[str] | None) -> None:
        """Delete datasets that are gone, check each file, and publish.

        :param package_ids: check the files of these datasets only
        """
        figures, source_id = self.report.figures, self.source_id
        figures["datasets_added"] = datasets.sync(source_id)
        gone = datasets.gone(source_id)
        figures["datasets_unregistered"] = len(gone)
        if gone:
            with self._reporting_store_errors():
                # A killed cycle may have deleted the rows of copies, and not their files.
                files = [_files(each, store_keys.resource_key(each)) for each in gone]
                copies.delete_files(self.store, [*copies.forget_gone(), *files])
            datasets.forget_gone(source_id)
            # Deleted datasets leave the published files before the checks, which take long.
            self._publish()
        known = datasets.known(source_id)
        sizes = self.store.sizes(store_keys.RESOURCES)
        if package_ids is not None:
            known = [dataset for dataset in known if dataset.package_id in package_ids]
        expired = self._check(known, _lost(known, sizes))
        # Publishing needs memory for each dataset, too.
        del known, sizes
        self._expire(expired)
        self._publish()

    def _check(self, known: Sequence[KnownFile], lost: frozenset[str]) -> list[str]:
        """Check each file, write the results, and return the resource ids whose copies expire."""
        expired: list[str] = []
        figures = self.report.figures
        self.show_progress((0, 0, len(known)))
        if not known:
            return expired
        with closing(in_batches(self._checks(known, lost), most=BATCH, seconds=1.0)) as batches:
            for batch in batches:
                self.lock.check()
                for result in self._write(batch):
                    _count(result, lost, self.report)
                    if rules.has_expired(result.decision.state):
                        expired.append(result.file.resource_id)
                self.show_progress((int(figures["checked"]), int(figures["failed"]), len(known)))
        return expired

    def _checks(
        self, files: Sequence[KnownFile], lost: Collection[str]
    ) -> Callable[[Callable[[IatiCheckResult], None]], Any]:
        """Return a function that makes the coroutine of all checks; read the options in this thread."""
        # Web workers import this module, too, and need no HTTP library.
        from ckanext.freshness.web.client import Client

        checks = settings.checks()
        web = settings.web(checks.limits)
        hosts = Hosts(checks.policy, checks.policies)

        async def check_all(hand_over: Callable[[IatiCheckResult], None]) -> None:
            async with Client(web, hosts, concurrency=settings.CONCURRENCY) as client:
                tools = IatiTools(client, self.store, self.clock, lost, self.strict)
                await check_files(files, tools, hand_over)

        return check_all

    def _write(self, batch: Sequence[IatiCheckResult]) -> list[IatiCheckResult]:
        """Write a batch of results in one transaction, and return those whose datasets are still there."""
        now = self.clock()
        there = datasets.write({each.file.resource_id: each.decision.state for each in batch})
        written = [each for each in batch if each.file.resource_id in there]
        if not written:
            model.Session.rollback()
            return written
        copies.remember([_row_of_copy(each, each.kept, now) for each in written if each.kept])
        confirmed = (IatiOutcome.VERIFIED, IatiOutcome.DOWNLOADED)
        copies.verified(
            [
                each.file.resource_id
                for each in written
                if each.kept is None and each.decision.outcome in confirmed
            ],
            now,
        )
        changed = [each for each in written if each.decision.changed_at is not None]
        data_changes.write([_change(each) for each in changed])
        evidence = _evidence(changed)
        # Whether all links of a dataset are broken is judged, too.
        failing = {each.file.package_id for each in written if _fails_or_failed(each)}
        concerned = sorted(failing | evidence.keys())
        marks = conclusions.assess_and_commit(concerned, now, self.report.run_id, evidence)
        run_records.count_checks(self.report.run_id, len(written))
        replaced = [
            _files(each.file.resource_id, each.file.key, each.file.zip_key)
            for each in written
            if each.kept is not None and each.file.key not in (None, each.kept.key)
        ]
        with self._reporting_store_errors():
            copies.delete_files(self.store, replaced)
        self._index(marks)
        return written

    def _index(self, marks: Mapping[str, datetime]) -> None:
        """Index datasets. If Solr does not answer, the next refresh does it."""
        if not marks:
            return
        try:
            failures = indexing.index(marks)
        except SolrAwayError as error:
            words = indexing.solr_away_in_words(str(error))
            if words not in self.report.errors:
                self.report.errors.append(words)
        else:
            self.report.errors += [failure.in_words() for failure in failures]

    def _expire(self, resource_ids: Sequence[str]) -> None:
        """Delete the copies of files that have failed for too long, unless the brake keeps them."""
        expiring = len(copies.stored_files(resource_ids))
        values = {"source": self.source_id}
        count = int(model.Session.execute(sa.text(_COPIES), values).scalar_one())
        report = self.report
        if rules.brakes_expiry(expiring, count, registry_read=report.registry_read):
            words = tk._(
                "{expiring} of {count} copies would expire in one cycle, so none does: their files have "
                "failed for too long. Check whether this machine reaches their hosts"
            )
            report.errors.append(words.format(expiring=expiring, count=count))
            return
        expired = copies.expire(resource_ids)
        report.figures["datasets_expired"] = len(expired)
        with self._reporting_store_errors():
            # If this fails, no row names the bytes any more; they go with the dataset or with the next copy.
            copies.delete_files(self.store, expired)

    def _publish(self) -> None:
        began = monotonic()
        with self._reporting_store_errors():
            publication.publish(self.source_id, self.store, self.clock())
        self.report.figures["zipper_run_duration"] += round(monotonic() - began, 3)

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
        figures |= model.Session.execute(sa.text(_FIGURES), values).one()._mapping
        figures["checker_run_duration"] = round(seconds, 3)
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
            {"resources": {}, "datasets": figures, "checked": int(figures["checked"])},
            error=error and error[:1000],
        )


def _read_registry(source_id: str, harvest: Harvest, report: CycleReport) -> bool:
    """Harvest the source; return whether the cycle continues.

    If the registry cannot be read, it continues with the last harvest: the files still need their checks.
    If the registry lists far fewer records than before, it stops.
    """
    try:
        job_id = harvest(source_id)
    except tk.ObjectNotFound as error:
        report.errors.append(str(error))
        return True
    values = {"jobs": [job_id], "most": MOST_MESSAGES}
    errors = model.Session.execute(sa.text(harvest_sql.FIRST_GATHER_ERRORS), values).all()
    report.registry_read = not errors
    report.errors += [from_column(row.message)["message"] for row in errors]
    hold = holds.hold_of(source_id)
    if hold is not None:
        report.errors.append(tk._("The cycle stopped: {reason}").format(reason=hold.reason))
    return hold is None


def _count(result: IatiCheckResult, lost: Collection[str], report: CycleReport) -> None:
    """Count a check in the figures of the cycle."""
    figures, decision = report.figures, result.decision
    outcome, was_stored = decision.outcome, result.kept is not None
    figures["checked"] += 1
    figures["failed"] += outcome in (IatiOutcome.FAILED, IatiOutcome.POSTPONED)
    figures["downloaded"] += was_stored
    figures["changed"] += was_stored and decision.changed_at is not None
    if outcome is IatiOutcome.NOT_STORED:
        figures["not_stored"] += 1
        if figures["not_stored"] <= MOST_STORE_ERRORS:
            message = decision.state.attempts[0]["error_details"]["detailed_message"]
            report.errors.append(f"{display_url(result.file.url)}: {message}")
    # An expired copy is downloaded again as well, but it was removed on purpose.
    if result.file.resource_id in lost and result.file.key is not None:
        figures["restored"] += was_stored
        figures["lost"] += not was_stored


def _lost(known: Sequence[KnownFile], sizes: Mapping[str, int]) -> frozenset[str]:
    """Return the resource ids of datasets whose copy or its ZIP is missing, or has another size.

    :param sizes: bytes of all copies in the store by key
    """
    return frozenset(
        dataset.resource_id
        for dataset in known
        if dataset.state.good is not None
        and (
            dataset.key is None
            or sizes.get(dataset.key) != dataset.size
            or (dataset.zip_key or dataset.key) not in sizes
        )
    )


def _files(resource_id: str, key: str | None, zip_key: str | None = None) -> copies.StoredFiles:
    assert key is not None
    return copies.StoredFiles(resource_id, (key, zip_key or store_keys.zip_key(key)))


def _row_of_copy(result: IatiCheckResult, kept: StoredCopy, now: datetime) -> copies.CopyRow:
    return copies.CopyRow(
        resource_id=result.file.resource_id,
        package_id=result.file.package_id,
        kept=kept,
        filename=result.file.new_filename,
        mimetype="application/xml",
        source_url=display_url(result.file.url),
        at=now,
    )


def _fails_or_failed(result: IatiCheckResult) -> bool:
    before, after = result.file.state, result.decision.state
    return before.failing_since is not None or after.failing_since is not None


def _evidence(changed: Sequence[IatiCheckResult]) -> dict[str, list[DatedEvidence]]:
    """Return when contents changed, by dataset; a new generated timestamp is no change."""
    found: dict[str, list[DatedEvidence]] = {}
    for each in changed:
        assert each.decision.changed_at is not None
        at = each.decision.changed_at.replace(microsecond=0)
        dated = DatedEvidence(at, Evidence.HASH, each.file.resource_id)
        found.setdefault(each.file.package_id, []).append(dated)
    return found


def _change(result: IatiCheckResult) -> DataChange:
    """Return the change of a file's contents as the stream of data changes tells it."""
    at, before, after = (
        result.decision.changed_at,
        result.file.state.good,
        result.decision.state.good,
    )
    assert at is not None and before is not None and after is not None
    return DataChange(
        package_id=result.file.package_id,
        resource_id=result.file.resource_id,
        evidence=Evidence.HASH,
        seen_at=at,
        changed_before=at,
        changed_after=before.verified_on_server,
        hash_before=f"sha1:{before.hash_excluding_generated_timestamp}",
        hash_after=f"sha1:{after.hash_excluding_generated_timestamp}",
        size_before=before.content_length,
        size_after=after.content_length,
        media_type_before="application/xml",
        media_type_after=result.mimetype,
    )


_COPIES = """
SELECT count(*) FROM freshness_copy c JOIN freshness_iati i ON i.resource_id = c.resource_id
WHERE i.source_id = :source AND c.key IS NOT NULL"""

_FIGURES = f"""
SELECT count(*) AS total_number_of_datasets,
    ({_COPIES}) AS datasets_with_download,
    count(*) FILTER (WHERE last.head ->> 'http_status' IS DISTINCT FROM '200' AND last.head IS NOT NULL)
        AS datasets_head_request_non_200,
    count(*) FILTER (WHERE last.get ->> 'http_status' IS DISTINCT FROM '200' AND last.get IS NOT NULL
        AND (last.get ->> 'http_status', last.get ->> 'error_occurred') IS DISTINCT FROM ('304', 'false'))
        AS datasets_downloads_non_200,
    (SELECT count(*) FROM freshness_run r WHERE r.kind = :kind AND r.id <> :run
        AND r.options ->> 'source' = :source AND r.resources IS NULL) AS number_crashes
FROM freshness_iati i
CROSS JOIN LATERAL (
    SELECT jsonb_path_query_first(i.state, '$.attempts[*] ? (@.method == "HEAD")') AS head,
        jsonb_path_query_first(i.state, '$.attempts[*] ? (@.method == "GET")') AS get
) last
WHERE i.source_id = :source"""


# Cycles that other parts of the site start


def update_all(harvest: Harvest) -> PartReport:
    """Run a cycle of each source, as a part of the nightly run. If one fails, the others still run.

    :param harvest: reads the registry of a source
    """
    messages, complete, began = [], True, True
    for source in datasets.sources():
        title = source.title or source.url
        try:
            report = run_cycle(source, utc_now, harvest=harvest)
        except (CycleRunningError, OptionError, StoreError) as error:
            messages.append(f"{title}: {error}")
            # The error may have come before the cycle had a row among the runs.
            complete = began = False
            continue
        messages += [*report.lines(), *report.complaints()]
        complete = complete and report.complete
    return PartReport(
        "; ".join(messages) or tk._("There is no source of an IATI registry"), complete, began
    )


def check_dataset(package_id: str) -> None:
    """Check the files of a dataset without a pause.

    :raises settings.OptionError: the site has no place for copies
    :raises StoreError: the store cannot be used
    :raises DatabaseLostError: the database was lost
    """
    rows = model.Session.query(IatiDataset.source_id).filter_by(package_id=package_id)
    source_ids = {row.source_id for row in rows}
    for source in datasets.sources() if source_ids else ():
        if source.id in source_ids:
            try:
                run_cycle(source, utc_now, strict=True, package_ids=[package_id])
            except CycleRunningError as error:
                # The running cycle checks this file as well, or has just done so.
                log.info("%s", error)
