"""The freshness of datasets: evidence gathered, judged and remembered, many at once.

Hooks, ``ckan freshness refresh --all`` and whoever finds new evidence all come here. The truth is in own
tables; what of it shows in a package's extras is written by :mod:`.extras`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from enum import Enum
from operator import attrgetter
from typing import Any

import sqlalchemy as sa

from .. import settings
from ..aging.evidence import DatedEvidence, Evidence, newest, remember
from ..aging.status import Assessment, Status, assess, next_boundary
from ..checking import fields
from ..ckan_adapter import lock_packages, model
from ..field_names import own_extras
from . import frequencies, observation, projection, snapshot, undetermined_reasons
from .frequencies import FrequencySource, StatedFrequency
from .resource_notes import DatasetEdit, ResourceAction
from .snapshot import DatasetSnapshot, ResourceSnapshot

_MAX_STATED = 200


class TransitionCause(str, Enum):
    """Why a status changed."""

    EDIT = "edit"
    FREQUENCY = "frequency"
    """An edit of the update frequency, which alone explains the change."""
    TIME = "time"
    CHECK = "check"
    RECOMPUTE = "recompute"


@dataclass(frozen=True, slots=True)
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


_values = attrgetter(*FreshnessRow.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is thought of a dataset at one moment."""

    said: StatedFrequency
    pieces: list[DatedEvidence]
    """All evidence that counts."""
    newest: DatedEvidence | None
    assessment: Assessment


@dataclass(frozen=True, slots=True)
class AssessedDataset:
    """A dataset that was assessed, and what its extras should be."""

    package_id: str
    stored: Mapping[str, str]
    """All its extras, as the database has them."""
    wanted: Mapping[str, str]
    """What this extension's should be."""
    keys: tuple[str, ...]
    """The extras that are this extension's: all of its names but those that a schema declares."""
    resources: Sequence[ResourceSnapshot]
    """Its resources, as the database has them."""
    changes_status: bool
    """Whether it had another status before."""

    def missing_fields(self) -> dict[str, dict[str, Any]]:
        """What the checker had written into resources' fields, by their ids, and is to be written again."""
        links = [one for one in self.resources if one.wrote and one.url_type != "upload"]
        if not links:
            return {}
        allowed = settings.resource_fields()
        missing = {
            one.id: fields.again(fields.stored(*one.fields), json.loads(one.wrote or "{}"), allowed)
            for one in links
        }
        return {resource_id: values for resource_id, values in missing.items() if values}

    @property
    def changes_extras(self) -> bool:
        return {key: self.stored[key] for key in self.keys if key in self.stored} != self.wanted


def assess_packages(
    package_ids: Sequence[str],
    now: datetime,
    *,
    cause: str,
    run_id: str | None = None,
    writer: str | None = None,
    found: Mapping[str, Sequence[DatedEvidence]] | None = None,
) -> list[AssessedDataset]:
    """Judge datasets anew and remember the outcome; see :func:`outcomes`.

    :returns: those whose extras say something else, for :func:`.extras.write_by_sql`.
    """
    done = outcomes(package_ids, now, cause=cause, run_id=run_id, writer=writer, found=found)
    return [one for one in done if one.changes_extras]


def outcomes(
    package_ids: Sequence[str],
    now: datetime,
    *,
    cause: str,
    run_id: str | None = None,
    writer: str | None = None,
    edit: DatasetEdit | None = None,
    found: Mapping[str, Sequence[DatedEvidence]] | None = None,
) -> list[AssessedDataset]:
    """Judge datasets anew and remember the outcome, with a number of statements that does not grow.

    The packages' rows stay locked until the transaction ends. Packages of types that are not judged,
    and those that are gone, are left out. Neither extras nor Solr are written, and nothing is committed.

    :param now: the moment to judge, with its zone.
    :param cause: a :class:`TransitionCause`: why statuses change, unless time alone explains it.
    :param run_id: the run that does so, outside of edits.
    :param writer: the user who has just written the packages; None if nobody did.
    :param edit: what this user did, if only one package is given.
    :param found: evidence that does not stand in the datasets themselves, by package: what a visit
        to their resources found.
    """
    options = settings.aging()
    vocabularies = frequencies.vocabularies()
    adhoc_hosts = settings.adhoc_hosts()
    now = now.astimezone(timezone.utc).replace(microsecond=0)
    lock_packages(package_ids)
    written = _Written()
    done: list[AssessedDataset] = []
    reserved: dict[str, tuple[str, ...]] = {}
    for dataset in snapshot.take(package_ids, options.dataset_types):
        done_by = None if edit is None else _completed(edit, dataset)
        more = (found or {}).get(dataset.id, ())
        replaced = (
            done_by.resource_id if done_by and done_by.change is ResourceAction.REPLACED else None
        )
        pieces = [*observation.observed(dataset, now, writer, replaced), *more]
        judgement = judge(dataset, now, options, vocabularies, pieces)
        row = _row(dataset, judgement, now, adhoc_hosts)
        written.add(dataset, judgement.pieces, row, now, writer)
        changes = list(_transitions(dataset.row, row, now, cause, run_id, done_by))
        if changes:
            changes[-1] |= _authorship(changes[-1], dataset, judgement, now, options, writer)
        written.transitions += changes
        if dataset.type not in reserved:
            reserved[dataset.type] = own_extras(dataset.type)
        keys = reserved[dataset.type]
        wanted = {key: value for key, value in projection.extras(row).items() if key in keys}
        changes_status = dataset.row is not None and dataset.row.status != row.status
        done.append(
            AssessedDataset(
                dataset.id, dataset.extras, wanted, keys, dataset.resources, changes_status
            )
        )
    written.write()
    return done


def standing(
    dataset: DatasetSnapshot, now: datetime, options: settings.Aging, vocabularies: Sequence[Any]
) -> tuple[Any, Judgement]:
    """How a dataset stands, for those who only look: its row, and what it follows from.

    The row of one that was never assessed is as it would be written now. All others are shown as they
    were written, since lists and searches go by that too; only time has gone on since.
    """
    seen = observation.observed(dataset, now.replace(microsecond=0), None)
    judgement = judge(dataset, now, options, vocabularies, seen)
    return dataset.row or _row(dataset, judgement, now, settings.adhoc_hosts()), judgement


def judge(
    dataset: DatasetSnapshot,
    now: datetime,
    options: settings.Aging,
    vocabularies: Sequence[Any],
    seen: Iterable[DatedEvidence] = (),
) -> Judgement:
    """What is thought of a dataset now. Nothing is written.

    :param seen: evidence that is not remembered yet.
    """
    known = remember(dataset.pieces, seen, {one.id for one in dataset.resources})
    counting = observation.counting(known, dataset, metadata_edits=options.count_metadata_edits)
    said = said_by(dataset, options, vocabularies)
    best = newest(counting)
    return Judgement(said, counting, best, _assessment(dataset, best, said.days, now, options))


def _assessment(
    dataset: DatasetSnapshot,
    best: DatedEvidence | None,
    days: int | None,
    now: datetime,
    options: settings.Aging,
) -> Assessment:
    return assess(
        None if best is None else best.claim,
        days,
        now,
        options.thresholds,
        has_resources=bool(dataset.resources),
        first_seen=None if best is None else best.when,
    )


def said_by(
    dataset: DatasetSnapshot, options: settings.Aging, vocabularies: Sequence[Any]
) -> StatedFrequency:
    """How often a dataset is updated, and who says so."""
    defaults = {**dataset.defaults, FrequencySource.SITE: options.default_frequency}
    return frequencies.read(dataset.extras, options.frequency_keys, defaults, vocabularies)


def _row(
    dataset: DatasetSnapshot, judgement: Judgement, now: datetime, adhoc_hosts: Collection[str]
) -> FreshnessRow:
    said, best, assessment = judgement.said, judgement.newest, judgement.assessment
    bounds = assessment.boundaries
    stated = (dataset.extras.get(observation.STATED_KEY) or "").strip()[:_MAX_STATED] or None
    before = dataset.row
    is_same = before is not None and before.stated_date == stated
    since = before.stated_since if before is not None and is_same else _naive(now)
    return FreshnessRow(
        package_id=dataset.id,
        status=assessment.status.value,
        last_modified=_naive(assessment.last_modified),
        evidence=None if best is None else best.evidence.value,
        frequency_days=said.days,
        frequency_from=said.speaker.value if said.speaker and said.days is not None else None,
        due=_naive(bounds.due if bounds else None),
        overdue=_naive(bounds.overdue if bounds else None),
        delinquent=_naive(bounds.delinquent if bounds else None),
        next_boundary=_naive(next_boundary(assessment, now)),
        undetermined=undetermined_reasons.undetermined(dataset, assessment, said.days, adhoc_hosts),
        stated_date=stated,
        stated_since=since if stated else None,
    )


def _completed(edit: DatasetEdit, dataset: DatasetSnapshot) -> DatasetEdit:
    """Return an edit with the id that CKAN has given to a new resource meanwhile."""
    if edit.change is not ResourceAction.ADDED or edit.resource_id is not None:
        return edit
    new = [one.id for one in dataset.resources if not one.is_known]
    return replace(edit, resource_id=new[-1] if new else None)


def _transitions(
    before: Any | None,
    after: FreshnessRow,
    now: datetime,
    cause: str,
    run_id: str | None,
    edit: DatasetEdit | None,
) -> Iterator[dict[str, Any]]:
    """Return the changes since the last look: first those of time alone, each at its boundary."""
    status: Any = None if before is None else before.status
    if before is not None and before.judge_anew:
        cause, edit = TransitionCause.RECOMPUTE, None
    no_edit = dict.fromkeys(DatasetEdit.__dataclass_fields__)

    def changed(
        to: str,
        at: datetime | None,
        evidence: str | None,
        why: str,
        edit: DatasetEdit | None = None,
    ) -> dict[str, Any]:
        return {
            **(no_edit if edit is None else asdict(edit)),
            "package_id": after.package_id,
            "from_status": status,
            "to_status": to,
            "changed_at": _naive(at),
            "evidence": evidence,
            "cause": TransitionCause(why).value,
            "run_id": run_id,
        }

    if before is not None and before.due is not None:
        bounds = (before.due, before.overdue, before.delinquent)
        for to, at, following in zip(_AGES[1:4], bounds, (*bounds[1:], None), strict=True):
            passed = at <= _naive(now) and at != following
            if passed and _AGES.index(to) > _AGES.index(status):
                yield changed(to, at, before.evidence, TransitionCause.TIME)
                status = to
    if status != after.status:
        yield changed(after.status, _naive(now), after.evidence, cause, edit)


def _authorship(
    change: Mapping[str, Any],
    dataset: DatasetSnapshot,
    judgement: Judgement,
    now: datetime,
    options: settings.Aging,
    writer: str | None,
) -> dict[str, Any]:
    """Return who changed a status, and both update frequencies if these alone explain the change."""
    if change["cause"] == TransitionCause.TIME.value:
        return {}
    is_edit = change["cause"] == TransitionCause.EDIT.value
    found: dict[str, Any] = {"author": writer if is_edit else None}
    days = judgement.said.days
    if dataset.row is None or dataset.row.frequency_days == days:
        return found
    before = dataset.row.frequency_days
    otherwise = _assessment(dataset, judgement.newest, before, now, options)
    if otherwise.status.value == change["from_status"]:
        found |= {"frequency_before": before, "frequency_after": days}
        found |= {"cause": TransitionCause.FREQUENCY.value} if is_edit else {}
    return found


_AGES = [one.value for one in Status]


class _Written:
    """What is to be written of some datasets: only what differs from what is there."""

    def __init__(self) -> None:
        self.datasets: list[dict[str, Any]] = []
        self.evidence: list[dict[str, Any]] = []
        self.dropped: list[dict[str, Any]] = []
        self.resources: list[dict[str, Any]] = []
        self.gone: list[str] = []
        self.transitions: list[dict[str, Any]] = []

    def add(
        self,
        dataset: DatasetSnapshot,
        pieces: Iterable[DatedEvidence],
        row: FreshnessRow,
        now: datetime,
        writer: str | None,
    ) -> None:
        # Not asdict(), which copies deeply: a seventh of all this.
        values = _values(row)
        if dataset.row is None or _values(dataset.row) != values:
            self.datasets.append(dict(zip(FreshnessRow.__dataclass_fields__, values, strict=True)))
        before = {(one.resource, one.evidence): one for one in dataset.pieces}
        after = {(one.resource, one.evidence): one for one in pieces}
        for key, piece in after.items():
            old = before.get(key)
            if old != piece:
                previous = old.when if old and piece.evidence is Evidence.REVIEW else None
                said = {"author": writer, "previous_at": _naive(previous)}
                self.evidence.append({**_piece(dataset.id, piece), **said})
        self.dropped += [_piece(dataset.id, one) for key, one in before.items() if key not in after]
        self.gone += dataset.gone
        for one in dataset.resources:
            if not one.is_known or (one.url, one.hash) != (one.known_url, one.known_hash or ""):
                same_hash = one.is_known and one.hash == (one.known_hash or "")
                self.resources.append(
                    {
                        "resource_id": one.id,
                        "package_id": dataset.id,
                        "url": one.url,
                        "hash": one.hash or None,
                        "hash_writer": one.hash_writer if same_hash else writer,
                        "first_seen": _naive(now),
                    }
                )

    def write(self) -> None:
        """All of it in one statement."""
        parts = {
            "datasets": self.datasets,
            "evidence": self.evidence,
            "dropped": self.dropped,
            "resources": self.resources,
            "transitions": self.transitions,
        }
        if any(parts.values()) or self.gone:
            rows = {
                name: json.dumps(part, default=datetime.isoformat) for name, part in parts.items()
            }
            model.Session.execute(sa.text(_WRITE), {**rows, "gone": self.gone})


def _piece(package_id: str, piece: DatedEvidence) -> dict[str, Any]:
    return {
        "package_id": package_id,
        "resource_id": piece.resource or "",
        "evidence": piece.evidence.value,
        "happened_at": _naive(piece.when),
        "claimed_at": _naive(piece.claimed),
    }


def _naive(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.replace(microsecond=0, tzinfo=None)


def _upsert(
    table: str, rows: str, keys: Sequence[str], columns: Sequence[str], once: Sequence[str] = ()
) -> str:
    names = ", ".join((*keys, *columns, *once))
    new = ", ".join(f"{column} = excluded.{column}" for column in columns)
    return f"""
    INSERT INTO {table} ({names})
    SELECT {names} FROM jsonb_populate_recordset(NULL::{table}, CAST(:{rows} AS jsonb))
    ON CONFLICT ({", ".join(keys)}) DO UPDATE SET {new}"""


_DATASETS = _upsert(
    "freshness_dataset", "datasets", ("package_id",), tuple(FreshnessRow.__dataclass_fields__)[1:]
)
_PIECE = ("package_id", "resource_id", "evidence")
_EVIDENCE = _upsert(
    "freshness_evidence", "evidence", _PIECE, ("happened_at", "claimed_at", "author", "previous_at")
)
_RESOURCES = _upsert(
    "freshness_resource",
    "resources",
    ("resource_id",),
    ("package_id", "url", "hash", "hash_writer"),
    ("first_seen",),
)
_TRANSITION = (
    "package_id, from_status, to_status, changed_at, evidence, cause, run_id"
    ", action, change, resource_id, resource_name, author, frequency_before, frequency_after"
)
_WRITE = f"""
WITH datasets AS ({_DATASETS}),
evidence AS ({_EVIDENCE}),
dropped AS (
    DELETE FROM freshness_evidence e
    USING jsonb_populate_recordset(NULL::freshness_evidence, CAST(:dropped AS jsonb)) d
    WHERE (e.package_id, e.resource_id, e.evidence) = (d.package_id, d.resource_id, d.evidence)
),
resources AS ({_RESOURCES}),
gone AS (DELETE FROM freshness_resource WHERE resource_id = ANY(:gone))
INSERT INTO freshness_transition ({_TRANSITION})
SELECT {_TRANSITION}
FROM jsonb_populate_recordset(NULL::freshness_transition, CAST(:transitions AS jsonb))"""
"""One statement for each call. Its parts never touch the same row."""
