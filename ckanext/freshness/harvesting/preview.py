"""Previews: what the next job of a source would do. A survey finds out, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from ..ckan_adapter import model
from ..dates import utc_text
from . import holds
from .document_memory import DocumentMemory
from .record import KnownRecord
from .sources import ForeignSource, Source, SourceType, source_of, source_type_named
from .strategy import AbsentRecord, HeldDeletions, RecordClass
from .survey import RecordChange, UnmappedProperty, survey


@dataclass(frozen=True, slots=True)
class PreviewEntry:
    """A record in a preview."""

    url: str
    guid: str
    reason: str
    """For people: why the record is in its list."""
    package_id: str | None = None
    """The dataset that the record has or takes over."""


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
    answered: bool = True
    """The source's own URL was read. If not, the rest of the preview means nothing."""
    requests: int = 0
    unmapped: list[UnmappedProperty] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    """A line for each part of a readable record that could not be read."""
    drafts: int = 0
    """How many records and distributions are listed and were never readable."""

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
            "errors": list(self.errors),
            "unmapped": [asdict(counted) for counted in self.unmapped],
            "counts": {kind.value: len(entries) for kind, entries in self.changes.items()}
            | {"failed": len(self.failed), "kept": len(self.kept)},
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
                "count": len(self.brake.held),
                "held": [asdict(_entry(absent)) for absent in self.brake.held[:limit]],
            },
        }


def _entry(absent: AbsentRecord) -> PreviewEntry:
    known = absent.known
    return PreviewEntry(known.url, known.guid, absent.reason, known.package_id)


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


def preview(
    source: Any, *, now: datetime, progress: Callable[[int], None] | None = None
) -> Preview:
    """Crawl a source, and return what a job that began now would do. Write nothing.

    :param source: a HarvestSource row.
    :param progress: called with the number of records read so far.
    :raises ForeignSource: see :func:`source_type_of`.
    :raises ConfigError: the source's configuration cannot be used.
    """
    source_type = source_type_of(source)
    result = Preview(source_of(source), now)
    found = survey(
        source_type,
        result.source,
        DocumentMemory(source.id, read_only=True),
        _Lists(result, progress),
        now=now,
        released=holds.released_guids(source.id),
        held=holds.held_guids(source.id),
    )
    model.Session.rollback()
    result.current = found.current
    result.errors = found.container_errors
    result.brake = found.brake
    result.answered = found.answered
    result.requests = found.requests
    result.unmapped = found.unmapped
    result.warnings = found.warnings
    result.drafts = found.drafts
    for entries in (*result.changes.values(), result.failed, result.kept):
        entries.sort(key=lambda entry: entry.url)
    return result


class _Lists:
    """A :class:`.survey.SurveyObserver` that keeps the results without the records' contents."""

    def __init__(self, preview: Preview, progress: Callable[[int], None] | None) -> None:
        self._preview = preview
        self._progress = progress
        self._read = 0

    def change(self, change: RecordChange) -> None:
        owner = change.known or change.adopted
        self._preview.changes[change.kind].append(
            PreviewEntry(
                change.url, change.guid, change.reason, owner.package_id if owner else None
            )
        )
        self._count()

    def withdraw(self, kind: RecordClass, url: str) -> None:
        entries = self._preview.changes[kind]
        entries[:] = [entry for entry in entries if entry.url != url]

    def failed(self, url: str, guid: str, error: str) -> None:
        self._preview.failed.append(PreviewEntry(url, guid, error))
        self._count()

    def kept(self, absent: AbsentRecord) -> None:
        self._preview.kept.append(_entry(absent))

    def answered(self, known: KnownRecord) -> None:
        """No-op: a preview does not show it."""

    def _count(self) -> None:
        self._read += 1
        if self._progress:
            self._progress(self._read)
