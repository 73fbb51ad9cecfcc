"""Draws conclusions from the results of checks: writes them, assesses the datasets concerned, and commits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .. import settings
from ..aging.evidence import DatedEvidence, Evidence
from ..checking import data_changes, fields, result_writer
from ..checking.decisions import OUTCOMES, CheckResult, Outcome
from ..checking.selection import is_broken
from ..ckan_adapter.core import model
from ..dates import utc
from ..model import DatasetFreshness, FreshnessEvidence, KnownResource
from . import indexing
from .assessment import update_packages
from .changes import Occasion, TransitionCause


@dataclass(frozen=True, slots=True)
class Conclusions:
    """The changes that the results of checks caused.

    :ivar marks: of the datasets whose documents are to be sent, for :func:`.indexing.index`
    :ivar newly_broken: number of links that broke
    :ivar repaired: number of broken links that work again
    """

    marks: dict[str, datetime]
    newly_broken: int
    repaired: int


def write(
    results: Sequence[CheckResult], run_id: str, run_start: datetime, now: datetime
) -> Conclusions:
    """Write the results of checks, assess the datasets that they concern, and commit.

    :param run_start: when the run started: the intervals between checks count from there
    """
    written = result_writer.write(results, run_start)
    found: dict[str, list[DatedEvidence]] = defaultdict(list)
    concerned, undetermined, first, seen = set[str](), set[str](), set[str](), set[str]()
    lying = [result.resource for result, _ in written if _shows_lies(result)]
    _withdraw_dates(resource.resource_id for resource in lying)
    concerned.update(resource.package_id for resource in lying)
    turns = _turns(written)
    concerned.update(package_id for package_id, _ in turns)
    for result, row in written:
        package_id, traits = result.resource.package_id, OUTCOMES[result.outcome]
        if pieces := _evidence(result):
            found[package_id] += pieces
            concerned.add(package_id)
        if row.undetermined_changed or result.known.dates != result.resource.known.dates:
            concerned.add(package_id)
        elif traits.undetermined is not None:
            undetermined.add(package_id)
        if traits.is_new_content:
            first.add(package_id)
        if traits.found:
            seen.add(package_id)
    may_concern: tuple[tuple[set[str], Any, Any], ...] = (
        # A reason that came from another resource with the same URL ends with a resource's own first check.
        (first, DatasetFreshness, DatasetFreshness.undetermined.is_not(None)),
        # A fresh dataset is not undetermined. Once it is no longer fresh, an old reason begins to matter.
        (undetermined, DatasetFreshness, DatasetFreshness.next_boundary <= utc(now)),
        # A new URL is news of the data once a file was found there.
        (seen, KnownResource, KnownResource.url_changed_at.is_not(None)),
    )
    for package_ids, table, condition in may_concern:
        if package_ids := package_ids - concerned:
            concerned.update(_those_of(package_ids, table, condition))
    changes = (data_changes.of_check(result, row) for result, row in written)
    data_changes.write([change for change in changes if change is not None])
    touched = fields.write_found(written, settings.resource_fields())
    marks = assess_and_commit(sorted(concerned), now, run_id, found, touched)
    newly_broken = sum(is_broken_now for _, is_broken_now in turns)
    return Conclusions(marks, newly_broken, repaired=len(turns) - newly_broken)


def _shows_lies(result: CheckResult) -> bool:
    """Decide whether a check is the first to show that the dates of a server move without its file.

    If the file has moved, those that counted are of the server before.
    """
    is_first = result.known.dates_lie and not result.resource.known.dates_lie
    return bool(is_first) and result.outcome is not Outcome.REPEAT_HASH


def _withdraw_dates(resource_ids: Iterable[str]) -> None:
    """Delete the evidence that the dates of servers gave for resources; nothing is committed."""
    if ids := sorted(resource_ids):
        model.Session.query(FreshnessEvidence).filter(
            FreshnessEvidence.resource_id.in_(ids),
            FreshnessEvidence.evidence == Evidence.HTTP_HEADER.value,
        ).delete(synchronize_session=False)


def _those_of(package_ids: Collection[str], table: Any, condition: Any) -> list[str]:
    """Return those of some datasets for which a condition on a table of ours holds."""
    ids = table.package_id
    rows = model.Session.query(ids).filter(ids.in_(sorted(package_ids)), condition)
    return [package_id for (package_id,) in rows]


def _turns(written: Iterable[tuple[CheckResult, Any]]) -> list[tuple[str, bool]]:
    """Return of each link that broke or works again its dataset, and whether it is broken now."""
    found = []
    for result, row in written:
        is_broken_now = is_broken(row.failures, row.failing_since, row.failed_at)
        before = row.failures_before, row.failing_since_before, row.failed_at_before
        if is_broken_now != is_broken(*before):
            found.append((result.resource.package_id, is_broken_now))
    return found


def assess_and_commit(
    ids: Sequence[str],
    now: datetime,
    run_id: str,
    found: Mapping[str, Sequence[DatedEvidence]] | None = None,
    touched: Sequence[str] = (),
) -> dict[str, datetime]:
    """Assess datasets, write the extras that have changed, and commit.

    :param found: the evidence that checks found, by dataset
    :param touched: other datasets whose documents are to be sent
    :returns: the marks of the datasets whose documents are to be sent, for :func:`.indexing.index`
    """
    changed = set(touched)
    if ids:
        updated = update_packages(ids, Occasion(now, TransitionCause.CHECK, run_id), found)
        changed.update(dataset.package_id for dataset in updated)
    marks = indexing.mark(sorted(changed))
    model.Session.commit()
    return marks


def _evidence(result: CheckResult) -> list[DatedEvidence]:
    """Return the evidence that the result of a check gives."""
    dates = ((result.modified, Evidence.HTTP_HEADER), (result.changed_at, Evidence.HASH))
    return [
        DatedEvidence(when.replace(microsecond=0), evidence, result.resource.resource_id)
        for when, evidence in dates
        if when is not None
    ]
