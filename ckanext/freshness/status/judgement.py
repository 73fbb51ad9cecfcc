"""Judges a dataset: its evidence, update frequency and status, and the extras that state them.

Nothing here reads or writes the database: a snapshot and ``now`` are arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta, timezone
from functools import cached_property
from typing import Any

from .. import settings
from ..aging.evidence import DatedEvidence, Evidence, newest, observe, remember, script_date
from ..aging.observed_frequency import END_OF_RHYTHM, rhythm
from ..aging.status import Assessment, Status, assess, next_boundary
from ..aging.vocabularies import Vocabulary
from ..checking.observations import DateColumn, Silence, period_of, period_text
from ..checking.observations import newest as newest_column
from ..ckan_adapter.core import NAMES, REVIEW_KEY
from ..dates import EARLIEST, stated_date, utc_text, utc_to_second
from ..web.urls import host_of
from . import frequencies
from .frequencies import FrequencySource, StatedFrequency
from .snapshot import DatasetSnapshot, ResourceSnapshot

UNDETERMINED = ("api", "adhoc", "blocked", "page")
"""Why changes of a resource cannot be determined: each download differs, its host makes it on request, its host
blocks checks, or its link leads to a page. If several apply, people see the first."""

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


@dataclass(frozen=True)
class Judgement:
    """The status of a dataset at one moment, and all it follows from."""

    dataset: DatasetSnapshot
    now: datetime
    rules: SiteRules
    frequency: StatedFrequency
    pieces: list[DatedEvidence]
    """All evidence that counts."""
    newest: DatedEvidence | None
    """The evidence that decides: a change of the data, or a later confirmation."""
    change: DatedEvidence | None
    """The newest evidence of a change of the data."""

    @cached_property
    def assessment(self) -> Assessment:
        """The status."""
        return self.with_frequency(self.frequency.days)

    def with_frequency(self, days: int | None) -> Assessment:
        """Return the status that the dataset would have with an update frequency.

        If all its links are live interfaces or pages, nobody can see whether its data change: it is never
        called late.
        """
        found = assess(
            None if self.newest is None else self.newest.when,
            days,
            self.now,
            self.rules.aging.thresholds,
            has_resources=bool(self.dataset.resources),
        )
        if found.status is not Status.FRESH and is_live(self.dataset):
            return replace(found, status=Status.UNAVAILABLE, boundaries=None)
        return found

    @property
    def confirmed_at(self) -> datetime | None:
        """When an editor last confirmed the data."""
        reviews = (piece.when for piece in self.pieces if piece.evidence is Evidence.REVIEW)
        return max(reviews, default=None)


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
    confirmed_at: datetime | None = None
    absent_since: datetime | None = None
    data_until: str | None = None
    broken_since: datetime | None = None
    data_stands_since: datetime | None = None

    def extras(self) -> dict[str, str]:
        """Return the dataset's extras.

        Those that do not apply are left out: boundaries if time changes nothing, the frequency if none is
        understood.
        """
        values = {**vars(self), "frequency": self.frequency_days}
        if self.frequency_from != FrequencySource.RHYTHM.value:
            del values["frequency_from"]
        return {
            key: utc_text(value) if isinstance(value, datetime) else str(value)
            for name, key in zip(NAMES._fields, NAMES.extras, strict=False)
            if (value := values.get(name)) is not None
        }


def judge(
    dataset: DatasetSnapshot, seen: Iterable[DatedEvidence], now: datetime, rules: SiteRules
) -> Judgement:
    """Judge a dataset.

    :param seen: evidence that may not be remembered yet
    """
    resource_ids = {resource.id for resource in dataset.resources}
    remembered = remember(dataset.pieces, seen, resource_ids)
    pieces = counting(remembered, dataset)
    defaults = {**dataset.defaults, FrequencySource.SITE: rules.aging.default_frequency}
    frequency = frequencies.read(
        dataset.extras, rules.aging.frequency_keys, defaults, rules.vocabularies
    )
    rhythms = (rhythm(one, now, rules.aging.thresholds) for one in dataset.updates.values())
    frequency = frequencies.with_rhythm(frequency, next(filter(None, rhythms), None))
    dated = by_their_data(pieces, dataset) if rules.aging.data_dates_count else pieces
    change = newest(one for one in dated if one.evidence is not Evidence.REVIEW)
    return Judgement(dataset, now, rules, frequency, pieces, newest(dated), change)


_OF_FILES = (Evidence.HTTP_HEADER, Evidence.HASH)


def by_their_data(pieces: Iterable[DatedEvidence], dataset: DatasetSnapshot) -> list[DatedEvidence]:
    """Return evidence that makes no dataset fresher because a file changed without newer data.

    A change of a file counts as of the moment when a check first saw the newest period in it, or as of the end
    of this period: until then, the change may be within it.
    """
    last = {one.id: at for one in dataset.resources if (at := _newest_data_at(one)) is not None}
    return [
        replace(piece, when=last[piece.resource or ""], claimed=None)
        if piece.evidence in _OF_FILES and piece.when > last.get(piece.resource or "", piece.when)
        else piece
        for piece in pieces
    ]


def _newest_data_at(resource: ResourceSnapshot) -> datetime | None:
    """Return until when changes of a file may have brought newer data; None if that is not certain."""
    column = newest_column(resource.dates, resource.date_column)
    if resource.data_since is None or isinstance(column, Silence):
        return None
    period = period_of(period_text(column))
    end = EARLIEST if period is None else datetime.combine(period[0], time.max, timezone.utc)
    return max(resource.data_since, end).replace(microsecond=0)


def is_live(dataset: DatasetSnapshot) -> bool:
    """Decide whether all links of a dataset lead to pages, or answer differently each time."""
    return bool(dataset.resources) and all(
        resource.url_type != "upload" and resource.undetermined in ("api", "page")
        for resource in dataset.resources
    )


def row_of(judgement: Judgement) -> FreshnessRow:
    """Return the row that a judgement gives a dataset."""
    dataset, frequency, assessment = judgement.dataset, judgement.frequency, judgement.assessment
    reached = data_reached(dataset)
    bounds, change = assessment.boundaries, judgement.change
    stated = (dataset.extras.get(STATED_KEY) or "").strip()[:_MAX_STATED] or None
    before = dataset.row
    is_same = before is not None and before.stated_date == stated
    since = before.stated_since if before is not None and is_same else utc_to_second(judgement.now)
    return FreshnessRow(
        package_id=dataset.id,
        status=assessment.status.value,
        last_modified=utc_to_second(None if change is None else change.when),
        evidence=None if change is None else change.evidence.value,
        frequency_days=frequency.days,
        frequency_from=None
        if frequency.stated_by is None or frequency.days is None
        else frequency.stated_by.value,
        due=utc_to_second(bounds.due if bounds else None),
        overdue=utc_to_second(bounds.overdue if bounds else None),
        delinquent=utc_to_second(bounds.delinquent if bounds else None),
        next_boundary=utc_to_second(
            next_boundary(assessment, judgement.now) or _end_of_rhythm(judgement)
        ),
        undetermined=_undetermined(judgement),
        stated_date=stated,
        stated_since=since if stated else None,
        confirmed_at=utc_to_second(judgement.confirmed_at),
        absent_since=utc_to_second(dataset.absent_since),
        data_until=None if isinstance(reached, Silence) else period_text(reached[1]),
        broken_since=utc_to_second(_broken_since(dataset)),
        data_stands_since=utc_to_second(_stands_since(reached, frequency.days)),
    )


def _end_of_rhythm(judgement: Judgement) -> datetime | None:
    """Return when the rhythm of data that have stopped to change does not count any more."""
    bounds, last = judgement.assessment.boundaries, judgement.newest
    if judgement.frequency.stated_by is not FrequencySource.RHYTHM or not bounds or not last:
        return None
    end = last.when + END_OF_RHYTHM * (bounds.delinquent - last.when)
    return end if end > judgement.now else None


_STILL = 2
"""For how many periods of the update frequency a file may change without newer data."""


def _stands_since(
    reached: tuple[ResourceSnapshot, DateColumn] | Silence, days: int | None
) -> datetime | None:
    """Return since when a file has had no newer data if it has changed long after that; None if it has not."""
    if isinstance(reached, Silence) or days is None or days <= 0:
        return None
    resource, _ = reached
    last, changed_at = _newest_data_at(resource), resource.changed_at
    if last is None or changed_at is None:
        return None
    return resource.data_since if changed_at - last > timedelta(days=_STILL * days) else None


def data_reached(dataset: DatasetSnapshot) -> tuple[ResourceSnapshot, DateColumn] | Silence:
    """Return the resource and the column that say up to when a dataset's data reach, or why none does."""
    found = [(one, newest_column(one.dates, one.date_column)) for one in dataset.resources]
    answers = [(resource, one) for resource, one in found if isinstance(one, DateColumn)]
    if answers:
        return max(answers, key=lambda answer: answer[1].until or "")
    reasons = {one for _, one in found if isinstance(one, Silence)}
    return next((one for one in reversed(Silence) if one in reasons), Silence.NONE)


def _broken_since(dataset: DatasetSnapshot) -> datetime | None:
    """Return since when all links of a dataset have been broken; None if one of them is not, or it has none."""
    since = [resource.broken_since for resource in dataset.resources]
    return max(filter(None, since), default=None) if all(since) else None


def current(dataset: DatasetSnapshot, now: datetime) -> tuple[Any, Judgement]:
    """Return the row of a dataset and its judgement, to be shown.

    The row is the stored one, since lists and searches go by it too. Only for a dataset that was never
    judged it is the row that would be written now.
    """
    seen = observed(dataset, now.replace(microsecond=0), None)
    judgement = judge(dataset, seen, now, site_rules())
    return dataset.row or row_of(judgement), judgement


def _undetermined(judgement: Judgement) -> str | None:
    """Return why the status may be wrong: a resource may have changed without a trace.

    None if the dataset is fresh all the same, or has no update frequency.
    """
    dataset, hosts = judgement.dataset, judgement.rules.adhoc_hosts
    if judgement.assessment.status is Status.FRESH or judgement.frequency.days is None:
        return None
    reasons = {_reason(resource, hosts) for resource in dataset.resources}
    if not is_live(dataset):
        # Many datasets have a page beside their data.
        reasons.discard("page")
    return next((reason for reason in UNDETERMINED if reason in reasons), None)


def _reason(resource: ResourceSnapshot, adhoc_hosts: frozenset[str]) -> str | None:
    if resource.url_type == "upload":
        return None
    host = host_of(resource.url) if resource.host is None else resource.host
    return "adhoc" if host in adhoc_hosts else resource.undetermined


SCRIPT_KEY = "updated_by_script"
STATED_KEY = "dataset_date"

OF_PEOPLE = frozenset({Evidence.CREATED, Evidence.URL})
"""Evidence of people's edits. A harvest causes the same events, which then prove nothing about the data."""
_ALGORITHM = re.compile(r"([A-Za-z][A-Za-z0-9-]*):")


def is_harvested(dataset: DatasetSnapshot) -> bool:
    """Decide whether a dataset comes from a source, now or formerly: its creation here then proves nothing."""
    return dataset.is_harvested or any(
        piece.evidence is Evidence.HARVEST for piece in dataset.pieces
    )


def counting(pieces: Sequence[DatedEvidence], dataset: DatasetSnapshot) -> list[DatedEvidence]:
    """Return the pieces of evidence that count for a dataset.

    If a date is stated for a resource, by people or by its server, the resource's creation does not count.
    """
    leave_out = OF_PEOPLE if is_harvested(dataset) else frozenset()
    stated = (Evidence.UPLOAD, Evidence.HTTP_HEADER)
    dated = {piece.resource for piece in pieces if piece.evidence in stated}
    return [
        piece
        for piece in pieces
        if piece.evidence not in leave_out
        and not (piece.evidence is Evidence.CREATED and piece.resource in dated)
    ]


def observed(
    dataset: DatasetSnapshot, now: datetime, writer: str | None
) -> Iterator[DatedEvidence]:
    """Yield every piece of evidence that a dataset gives now, including pieces that do not count.

    :param now: to the second
    :param writer: the user who has just written the dataset, if known
    """
    claims: list[tuple[datetime | None, Evidence]] = [
        (stated_date(dataset.extras.get(REVIEW_KEY)), Evidence.REVIEW),
        (script_date(dataset.extras.get(SCRIPT_KEY)), Evidence.SCRIPT),
    ]
    yield from _pieces(claims, now, None)
    cut = {
        piece.resource: piece.claimed
        for piece in dataset.pieces
        if piece.evidence is Evidence.CREATED and piece.claimed is not None
    }
    for resource in dataset.resources:
        if _is_new(resource, cut):
            yield from _pieces([(resource.created, Evidence.CREATED)], now, resource.id)
        dates = _of_resource(resource, now, writer, dataset)
        yield from _pieces(dates, now, resource.id)
    if is_harvested(dataset):
        yield from _of_source(dataset, now)


def _pieces(
    claims: Iterable[tuple[datetime | None, Evidence]], now: datetime, resource: str | None
) -> Iterator[DatedEvidence]:
    for claim, evidence in claims:
        if claim is not None:
            yield observe(claim.replace(microsecond=0), evidence, now, resource)


def _of_resource(
    resource: ResourceSnapshot, now: datetime, writer: str | None, dataset: DatasetSnapshot
) -> Iterator[tuple[datetime | None, Evidence]]:
    # The date of a harvested link is the date that the source states.
    is_own = resource.url_type == "upload" or not dataset.is_harvested
    kind = Evidence.UPLOAD if is_own else Evidence.HARVEST
    yield resource.last_modified, kind
    yield stated_date(resource.extras.get("revision_last_updated")), kind
    # Another URL alone proves nothing: it may be mistyped, or lead to the same file.
    if resource.found_at_url and resource.is_news_at_url:
        yield resource.url_changed_at, Evidence.URL
    if not dataset.is_harvested and _has_new_hash(resource, writer):
        yield now, Evidence.HASH


def has_new_url(
    resource: ResourceSnapshot, dataset: DatasetSnapshot, *, is_replaced: bool = False
) -> bool:
    """Decide whether a resource got another URL, without a newer date that states when its data changed.

    :param is_replaced: whether an edit has just given it another file or URL
    """
    differs = resource.is_known and resource.url != resource.known_url
    # CKAN dates uploads itself, and gives them the URL of their file's name. Sources move files without news.
    if resource.url_type == "upload" or not (differs or is_replaced) or is_harvested(dataset):
        return False
    date = resource.last_modified
    return date is None or any(
        piece.evidence is Evidence.UPLOAD and piece.resource == resource.id and piece.claim >= date
        for piece in dataset.pieces
    )


def _is_new(resource: ResourceSnapshot, cut: Mapping[str | None, datetime]) -> bool:
    """Decide whether to note a resource's creation: once, and later only to correct a date in the future.

    Not later, because the reason why it did not count at first, such as a harvest, may be forgotten by then.

    :param cut: the claimed dates of creation that lay in the future, by resource
    """
    if not resource.is_known:
        return True
    return resource.created is not None and resource.created < cut.get(resource.id, EARLIEST)


def _of_source(dataset: DatasetSnapshot, now: datetime) -> Iterator[DatedEvidence]:
    """Yield the dates that a source states: modified dates, or issued dates if no modified date is stated."""
    for keys in (("modified", "dcat_modified"), ("issued", "dcat_issued")):
        owners = [
            (None, dataset.extras),
            *((resource.id, resource.extras) for resource in dataset.resources),
        ]
        found = [
            piece
            for resource, extras in owners
            for key in keys
            for piece in _pieces([(stated_date(extras.get(key)), Evidence.HARVEST)], now, resource)
        ]
        if found:
            yield from found
            return


def _has_new_hash(resource: ResourceSnapshot, writer: str | None) -> bool:
    """Decide whether the same writer gave another hash of the same algorithm.

    Another writer may hash something else, such as the archive instead of the file in it.
    """
    old, new = resource.known_hash or "", resource.hash
    return (
        writer is not None
        and resource.hash_writer == writer
        and old != new
        and "" not in (old, new)
        and _form(old) == _form(new)
    )


def _form(hash_: str) -> tuple[str, int]:
    """Return the form of an algorithm's hashes: the name before a colon, and the length."""
    match = _ALGORITHM.match(hash_)
    return (match[1].lower() if match else "", len(hash_))
