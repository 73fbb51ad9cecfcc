"""Judges a dataset: its evidence, update frequency and status, and the extras that state them.

Nothing here reads or writes the database: a snapshot and ``now`` are arguments.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .. import settings
from ..aging.evidence import DatedEvidence, newest, remember
from ..aging.status import Assessment, Status, assess, next_boundary
from ..aging.vocabularies import Vocabulary
from ..ckan_adapter.core import site_names
from ..dates import utc_text, utc_to_second
from ..web.urls import host_of
from . import frequencies, observation
from .frequencies import FrequencySource, StatedFrequency
from .snapshot import DatasetSnapshot, ResourceSnapshot

REASONS = ("api", "adhoc", "blocked")
"""Why changes of a resource cannot be determined: each download differs, its host makes it on request, or
its host blocks checks. If several apply, people see the first."""

_MAX_STATED = 200


@dataclass(frozen=True, slots=True)
class SiteRules:
    """The site's options, and the vocabularies of its plugins."""

    aging: settings.Aging
    vocabularies: tuple[Vocabulary, ...]
    adhoc_hosts: frozenset[str]


def site_rules() -> SiteRules:
    """Return the rules by which this site judges datasets."""
    return SiteRules(settings.aging(), frequencies.vocabularies(), settings.adhoc_hosts())


@dataclass(frozen=True, slots=True)
class Judgement:
    """The status of a dataset at one moment, and all it follows from."""

    frequency: StatedFrequency
    pieces: list[DatedEvidence]
    """All evidence that counts."""
    newest: DatedEvidence | None
    assessment: Assessment


@dataclass(frozen=True)
class FreshnessRow:
    """A row of ``freshness_dataset``; moments in UTC, without zone."""

    package_id: str
    status: str
    last_modified: datetime | None
    evidence: str | None
    frequency_days: int | None
    frequency_from: str | None
    due: datetime | None
    overdue: datetime | None
    delinquent: datetime | None
    next_boundary: datetime | None
    undetermined: str | None
    stated_date: str | None
    stated_since: datetime | None
    judge_anew: bool = False
    field_prefix: str = ""

    def extras(self) -> dict[str, str]:
        """Return the dataset's extras.

        Those that do not apply are left out: boundaries if time changes nothing, the frequency if none is
        understood.
        """
        names = site_names()
        values = {
            names.status: self.status,
            names.delinquent: utc_text(self.delinquent),
            names.due: utc_text(self.due),
            names.evidence: self.evidence,
            names.frequency: None if self.frequency_days is None else str(self.frequency_days),
            names.last_modified: utc_text(self.last_modified),
            names.overdue: utc_text(self.overdue),
            names.undetermined: self.undetermined,
        }
        return {key: value for key, value in values.items() if value is not None}


def judge(
    dataset: DatasetSnapshot, seen: Iterable[DatedEvidence], now: datetime, rules: SiteRules
) -> Judgement:
    """Judge a dataset.

    :param seen: evidence that may not be remembered yet
    """
    resource_ids = {resource.id for resource in dataset.resources}
    remembered = remember(dataset.pieces, seen, resource_ids)
    pieces = observation.counting(
        remembered, dataset, metadata_edits=rules.aging.count_metadata_edits
    )
    defaults = {**dataset.defaults, FrequencySource.SITE: rules.aging.default_frequency}
    frequency = frequencies.read(
        dataset.extras, rules.aging.frequency_keys, defaults, rules.vocabularies
    )
    piece = newest(pieces)
    return Judgement(
        frequency, pieces, piece, assess_with(piece, frequency.days, dataset, now, rules)
    )


def assess_with(
    piece: DatedEvidence | None,
    days: int | None,
    dataset: DatasetSnapshot,
    now: datetime,
    rules: SiteRules,
) -> Assessment:
    """Return the status that a dataset has with some evidence and some update frequency."""
    return assess(
        None if piece is None else piece.claim,
        days,
        now,
        rules.aging.thresholds,
        has_resources=bool(dataset.resources),
        first_seen=None if piece is None else piece.when,
    )


def row_of(
    dataset: DatasetSnapshot, judgement: Judgement, now: datetime, rules: SiteRules
) -> FreshnessRow:
    """Return the row that a judgement gives a dataset."""
    frequency, assessment = judgement.frequency, judgement.assessment
    bounds = assessment.boundaries
    stated = (dataset.extras.get(observation.STATED_KEY) or "").strip()[:_MAX_STATED] or None
    before = dataset.row
    is_same = before is not None and before.stated_date == stated
    since = before.stated_since if before is not None and is_same else utc_to_second(now)
    return FreshnessRow(
        package_id=dataset.id,
        status=assessment.status.value,
        last_modified=utc_to_second(assessment.last_modified),
        evidence=None if judgement.newest is None else judgement.newest.evidence.value,
        frequency_days=frequency.days,
        frequency_from=None
        if frequency.speaker is None or frequency.days is None
        else frequency.speaker.value,
        due=utc_to_second(bounds.due if bounds else None),
        overdue=utc_to_second(bounds.overdue if bounds else None),
        delinquent=utc_to_second(bounds.delinquent if bounds else None),
        next_boundary=utc_to_second(next_boundary(assessment, now)),
        undetermined=_undetermined(dataset, assessment, frequency.days, rules),
        stated_date=stated,
        stated_since=since if stated else None,
        field_prefix=site_names().prefix,
    )


def current(dataset: DatasetSnapshot, now: datetime, rules: SiteRules) -> tuple[Any, Judgement]:
    """Return the row of a dataset and its judgement, to be shown.

    The row is the stored one, since lists and searches go by it too. Only for a dataset that was never
    judged it is the row that would be written now.
    """
    seen = observation.observed(dataset, now.replace(microsecond=0), None)
    judgement = judge(dataset, seen, now, rules)
    return dataset.row or row_of(dataset, judgement, now, rules), judgement


def _undetermined(
    dataset: DatasetSnapshot, assessment: Assessment, days: int | None, rules: SiteRules
) -> str | None:
    """Return why the status may be wrong: a resource may have changed without a trace.

    None if the dataset is fresh all the same, or has no update frequency.
    """
    if assessment.status is Status.FRESH or days is None:
        return None
    reasons = {_reason(resource, rules.adhoc_hosts) for resource in dataset.resources}
    return next((reason for reason in REASONS if reason in reasons), None)


def _reason(resource: ResourceSnapshot, adhoc_hosts: frozenset[str]) -> str | None:
    if resource.url_type == "upload":
        return None
    host = host_of(resource.url) if resource.host is None else resource.host
    return "adhoc" if host in adhoc_hosts else resource.doubt
