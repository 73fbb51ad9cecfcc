"""What follows from what visits found: remembered, judged and written, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from .. import settings
from ..aging.evidence import DatedEvidence, Evidence
from ..checking import dataset_rows, result_writer
from ..checking.decisions import Outcome
from ..checking.results import CheckResult
from ..ckan_adapter import model
from ..search import unindexed
from . import resource_fields
from .assessment import TransitionCause, assess_packages
from .extras import write_by_sql

_DOUBTS = frozenset({Outcome.API, Outcome.CANNOT_TELL})
"""What may make a dataset's freshness undetermined."""


def write(
    findings: Sequence[CheckResult], run_id: str, run_start: datetime, now: datetime
) -> dict[str, datetime]:
    """Remember what visits found, judge the datasets of which that tells something, and commit.

    :param run_start: from which intervals count.
    :returns: marks of the datasets whose documents are to be sent, for :func:`.indexing.index`.
    """
    written = result_writer.write(findings, run_start)
    found: dict[str, list[DatedEvidence]] = {}
    doubted = set()
    anew = set()
    for one in written:
        package_id = one.finding.visit.package_id
        if pieces := _evidence(one.finding):
            found.setdefault(package_id, []).extend(pieces)
        if one.doubt_changed:
            anew.add(package_id)
        elif one.finding.outcome in _DOUBTS:
            doubted.add(package_id)
    anew.update(found)
    # A doubt may have come from another resource with the same URL, and end with its own first visit.
    told = [one.finding for one in written]
    first = {one.visit.package_id for one in told if one.outcome is Outcome.FIRST_HASH}
    if first := first - anew:
        anew.update(dataset_rows.in_doubt(sorted(first)))
    # What is fresh is not in doubt; the same doubt as before may be news once it is fresh no more.
    if doubted := doubted - anew:
        anew.update(dataset_rows.passed(sorted(doubted), now))
    ids = sorted(anew)
    touched = resource_fields.write_found(written, settings.resource_fields())
    return judge(ids, now, run_id, found, touched)


def judge(
    ids: Sequence[str],
    now: datetime,
    run_id: str,
    found: Mapping[str, Sequence[DatedEvidence]] | None = None,
    touched: Sequence[str] = (),
) -> dict[str, datetime]:
    """Judge datasets anew, write those that say something else, and commit.

    :param found: what visits found, by dataset.
    :param touched: other datasets whose documents are to be sent.
    :returns: marks, for :func:`.indexing.index`.
    """
    changed = set(touched)
    if ids:
        says_else = assess_packages(
            ids, now, cause=TransitionCause.CHECK, run_id=run_id, found=found
        )
        write_by_sql(says_else)
        changed.update(one.package_id for one in says_else)
    marks = unindexed.mark(sorted(changed)) if changed else {}
    model.Session.commit()
    return marks


def _evidence(finding: CheckResult) -> list[DatedEvidence]:
    """What a visit says of when the data changed."""
    resource = finding.visit.resource_id
    said = (
        (finding.modified, Evidence.HTTP_HEADER),
        (finding.changed_at, Evidence.HASH),
    )
    return [
        DatedEvidence(when.replace(microsecond=0), evidence, resource)
        for when, evidence in said
        if when is not None
    ]
