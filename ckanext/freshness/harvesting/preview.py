"""Previews: what the next job of a source would do. A survey finds out, and nothing is written."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ..ckan_adapter.core import model
from ..dates import utc_text
from ..settings import brake_limits
from . import elsewhere, holds
from .document_memory import DocumentMemory
from .job_report import coded, not_harvested, nothing_found
from .known_records import content_of, records_of_source, unmapped_properties
from .messages import code_of
from .record import Contents, KnownRecord, Record
from .record_changes import FieldChange, changes
from .sources import ForeignSource, Source, SourceType, source_of, source_type_named
from .strategy import AbsentRecord, HeldDeletions, RecordClass
from .survey import RecordChange, Tell, UnmappedProperty, survey


@dataclass(slots=True)
class PreviewEntry:
    """A record in a preview."""

    url: str
    guid: str
    reason: str
    """Why the record is in its list, in English."""
    reason_code: dict[str, Any] | None = None
    """Code and values of the reason, see :func:`.messages.code_of`."""
    package_id: str | None = None
    """The dataset that the record has or takes over."""
    organization_id: str | None = None
    """The organization that the record became, instead of a dataset."""
    title: str | None = None
    """The title at the source, or the dataset's if the record was not read."""
    changes: list[FieldChange] = field(default_factory=list)
    """What differs from the last harvest."""
    moved_from: str | None = None
    """The catalog that the record leaves."""
    moved_to: str | None = None
    own_url: str | None = None
    """What the record's own URL answered: a value of :class:`.record.ReadOutcome`; None if it was not asked."""


@dataclass(slots=True)
class Preview:
    """The result of a preview: what a job would do."""

    source: Source
    made_at: datetime
    current: int = 0
    """How many records are current now."""
    changes: dict[RecordClass, list[PreviewEntry]] = field(
        default_factory=lambda: {kind: [] for kind in RecordClass}
    )
    failed: list[PreviewEntry] = field(default_factory=list)
    """Records that could not be read."""
    kept: list[PreviewEntry] = field(default_factory=list)
    """Current records that were not read and are kept."""
    errors: list[str] = field(default_factory=list)
    """A line with URL and reason for each container that could not be read."""
    brake: HeldDeletions | None = None
    held: list[PreviewEntry] = field(default_factory=list)
    """The records whose deletion the brake would hold."""
    answered: bool = True
    """The source's own URL was read. If not, the rest of the preview means nothing."""
    requests: int = 0
    unmapped: list[UnmappedProperty] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    """A line for each part of a readable record that could not be read."""
    drafts: int = 0
    """How many records and distributions are listed and were never readable."""
    source_warnings: list[str] = field(default_factory=list)
    """Warnings about the source itself."""
    not_harvested: list[dict[str, Any]] = field(default_factory=list)
    """What the source lists and becomes no dataset, see :func:`.job_report.not_harvested`."""
    nothing: str | None = None
    """For people: why nothing could be harvested from a source that was never harvested."""

    def as_dict(self, limit: int | None = None) -> dict[str, Any]:
        """Return plain data for JSON.

        :param limit: how many entries of each list to include. The counts always cover all.
        """
        source = self.source
        return {
            "source": {
                "id": source.id,
                "title": source.title,
                "url": source.url,
                "type": source.type,
            },
            "made_at": utc_text(self.made_at),
            "current": self.current,
            "requests": self.requests,
            "answered": self.answered,
            "warnings": [*source.warnings, *self.warnings[:limit]],
            "drafts": self.drafts,
            "source_warnings": [coded(warning) for warning in self.source_warnings],
            "not_harvested": self.not_harvested,
            "nothing": None if self.nothing is None else coded(self.nothing),
            "errors": [str(error) for error in self.errors],
            "error_codes": [code_of(error) for error in self.errors],
            "unmapped": [asdict(counted) for counted in self.unmapped],
            "counts": {kind.value: len(entries) for kind, entries in self.changes.items()}
            | {
                "failed": len(self.failed),
                "kept": len(self.kept),
                "unreadable": len({entry.guid for entry in (*self.failed, *self.kept)}),
            },
            **{
                kind.value: [asdict(entry) for entry in entries[:limit]]
                for kind, entries in self.changes.items()
            },
            "failed": [asdict(entry) for entry in self.failed[:limit]],
            "kept": [asdict(entry) for entry in self.kept[:limit]],
            "brake": None
            if self.brake is None
            else {
                "reason": self.brake.reason,
                "count": len(self.held),
                "held": [asdict(entry) for entry in self.held[:limit]],
            },
        }


def _entry(url: str, guid: str, reason: str, owner: KnownRecord | None = None) -> PreviewEntry:
    """Return an entry.

    :param owner: the current or adopted record whose dataset it is
    """
    entry = PreviewEntry(url, guid, str(reason), code_of(reason))
    if owner is not None:
        entry.package_id, entry.organization_id = owner.package_id, owner.organization_id
    return entry


def _absent(absent: AbsentRecord) -> PreviewEntry:
    entry = _entry(absent.known.url, absent.known.guid, absent.reason, absent.known)
    entry.own_url = absent.own_url.value if absent.own_url else None
    return entry


def source_type_of(source: Any) -> SourceType:
    """Return our source type of a HarvestSource row.

    :raises ForeignSource: its type belongs to another harvester, or its plugin is not enabled.
    """
    found = source_type_named(source.type)
    if found is None:
        raise ForeignSource(
            f"The source {source.title or source.url} is of the type {source.type}, which no enabled "
            "plugin of this extension harvests: only sources of its own types can be previewed"
        )
    return found


def preview(source: Any, *, now: datetime, tell: Tell | None = None) -> Preview:
    """Crawl a source, and return what a job that began now would do. Write nothing.

    :param source: a HarvestSource row.
    :param tell: receives the progress; see :func:`.survey.survey`.
    :raises ForeignSource: see :func:`source_type_of`.
    :raises ConfigError: the source's configuration cannot be used.
    """
    source_type = source_type_of(source)
    result = Preview(source_of(source), now)
    decisions = holds.decisions(holds.hold_of(source.id))
    found = survey(
        source_type,
        result.source,
        DocumentMemory(source.id, read_only=True),
        records_of_source(source.id, source_type.adopts, organizations=source_type.organizations),
        _Lists(result),
        now=now,
        unmapped=unmapped_properties(source.id),
        limits=brake_limits(result.source.config, source_type.min_records),
        released=decisions.released,
        held=decisions.held,
        tell=tell,
    )
    if found.brake is not None:
        result.held = [_absent(absent) for absent in found.brake.held]
    datasets = {entry.guid: entry.package_id for entry in result.kept}
    for entry in result.failed:
        entry.package_id = datasets.get(entry.guid)
    lists = [*result.changes.values(), result.failed, result.kept, result.held]
    _add_titles(entry for entries in lists for entry in entries)
    result.current = found.current
    result.errors = found.container_errors
    result.brake = found.brake
    result.answered = found.answered
    result.requests = found.requests
    result.unmapped = found.unmapped
    result.warnings = found.warnings
    new = [entry.url for entry in result.changes[RecordClass.NEW] if entry.package_id is None]
    found_elsewhere = elsewhere.find(source.id, new)
    result.source_warnings = [
        *found.source_warnings,
        *(each.in_words() for each in found_elsewhere),
    ]
    result.not_harvested = not_harvested(found)
    model.Session.rollback()
    result.nothing = nothing_found(found)
    result.drafts = found.drafts
    for entries in lists:
        entries.sort(key=lambda entry: entry.url)
    return result


def _add_titles(entries: Iterable[PreviewEntry]) -> None:
    """Give the records that were not read the titles of their datasets and organizations."""
    untitled = [entry for entry in entries if entry.title is None]
    for table, key in ((model.Package, "package_id"), (model.Group, "organization_id")):
        ids = sorted({getattr(entry, key) for entry in untitled if getattr(entry, key)})
        titles: dict[str, str] = {}
        for start in range(0, len(ids), 1000):
            rows = model.Session.execute(
                sa.select(table.id, table.title, table.name).where(
                    table.id.in_(ids[start : start + 1000])
                )
            )
            titles |= {row.id: row.title or row.name for row in rows}
        for entry in untitled:
            entry.title = entry.title or titles.get(getattr(entry, key))


class _Lists:
    """A :class:`.survey.SurveyObserver` that keeps the results without the records' contents."""

    def __init__(self, preview: Preview) -> None:
        self._preview = preview

    def change(self, change: RecordChange) -> None:
        owner = change.known or change.adopted
        entry = _entry(change.url, change.guid, change.reason, owner)
        if change.sighting is not None and change.sighting.contents is not None:
            now = _record(change.sighting.contents)
            entry.title = str(now.fields.get("title") or "") or None
            before = _last_harvested(change.known)
            if before is not None and change.kind is not RecordClass.UNCHANGED:
                kept = self._preview.source.config.keep_fields
                entry.changes = changes(before, now, without=kept)
        if change.own_url is not None:
            entry.own_url = change.own_url.value
        if change.kind is RecordClass.MOVED and change.known is not None:
            entry.moved_from, entry.moved_to = change.known.catalog_url, change.catalog_url
        self._preview.changes[change.kind].append(entry)

    def withdraw(self, kind: RecordClass, url: str) -> None:
        entries = self._preview.changes[kind]
        entries[:] = [entry for entry in entries if entry.url != url]

    def failed(self, url: str, guid: str, error: str) -> None:
        self._preview.failed.append(_entry(url, guid, error))

    def kept(self, absent: AbsentRecord) -> None:
        self._preview.kept.append(_absent(absent))

    def answered(self, known: KnownRecord) -> None:
        """No-op: a preview does not show it."""


def _record(contents: Contents) -> Record:
    return contents if isinstance(contents, Record) else Record.from_json(contents.as_json())


def _last_harvested(known: KnownRecord | None) -> Record | None:
    """Return a current record's contents; None if they are unknown, or another harvester wrote them."""
    if known is None or known.object_id is None:
        return None
    content, _ = content_of(known.object_id)
    model.Session.commit()  # no transaction stays open during the next request
    with contextlib.suppress(ValueError):
        return Record.from_json(content or "")
    return None
