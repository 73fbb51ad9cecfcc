"""Previews: what the next job of a source would do. A survey finds out, and nothing is written.

A crawl can take minutes and a web request must not. Therefore a page's preview is a background job, with an id
made of the source's id. RQ keeps its state in Redis, and its result for a day. No table of ours is needed,
because a preview is only valid for its moment.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from time import monotonic
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa
from rq import get_current_job
from rq.job import Job, JobStatus

from ..ckan_adapter import harvest
from ..ckan_adapter.core import ONCE_MORE, job_from_id, model
from ..ckan_adapter.database import TablesMissingError, refuse_missing_tables
from ..dates import aware, utc_now, utc_text
from . import holds
from .job_report import harvested_elsewhere, not_harvested, nothing_found
from .known_records import last_harvested
from .messages import HarvestMessage, Message, MessageCode, as_plain, code_of
from .packages.organizations import new_organizations
from .record_changes import FieldChange, changes
from .source_config import ConfigError, Source
from .source_memory import SourceMemory
from .source_type import SourceType
from .sources import ForeignSource, source_of, source_type_named
from .strategy import AbsentRecord, RecordClass
from .survey import RecordChange, Survey

Tell = Callable[[int, int | None], None]
"""Receives how many records have been read, of how many; None if the source does not say it beforehand."""

LONGEST = timedelta(hours=2)
"""The longest time for a page's preview: as long as ckanext-harvest gives a gather."""
KEPT = timedelta(days=1)
"""How long a page's preview is kept."""
LISTED = 200
"""How many records of each class are kept for the page. The command line shows all."""
_DEAD_AFTER = timedelta(minutes=5)
"""A job without a heartbeat for so long is dead. RQ's workers send one every 30 seconds."""


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
    survey: Survey = field(default_factory=Survey)
    """If the source did not answer, the rest of the preview means nothing."""
    changes: dict[RecordClass, list[PreviewEntry]] = field(
        default_factory=lambda: {kind: [] for kind in RecordClass}
    )
    failed: list[PreviewEntry] = field(default_factory=list)
    """Records that could not be read."""
    kept: list[PreviewEntry] = field(default_factory=list)
    """Current records that were not read and are kept."""
    absent: list[PreviewEntry] = field(default_factory=list)
    """Current records that the source no longer has and that are kept, for some time or for good."""
    held: list[PreviewEntry] = field(default_factory=list)
    """The records whose deletion the brake would hold."""
    warnings: list[str] = field(default_factory=list)
    """A line for each part of a readable record that could not be read."""
    source_warnings: list[Message] = field(default_factory=list)
    """Warnings about the source itself."""

    @property
    def lists(self) -> dict[str, list[PreviewEntry]]:
        """All lists by the names that they have in plain data."""
        of_classes = {kind.value: entries for kind, entries in self.changes.items()}
        others = {name: getattr(self, name) for name in ("failed", "kept", "absent", "held")}
        return of_classes | others

    def as_dict(self, limit: int | None = None) -> dict[str, Any]:
        """Return plain data for JSON.

        :param limit: how many entries of each list to include. The counts always cover all.
        """
        source, found, nothing = self.source, self.survey, nothing_found(self.survey)
        shown = {key: [asdict(entry) for entry in self.lists[key][:limit]] for key in self.lists}
        counts = {key: len(entries) for key, entries in self.lists.items()}
        brake = {"count": counts.pop("held"), "held": shown.pop("held")}
        counts["unreadable"] = len({entry.guid for entry in (*self.failed, *self.kept)})
        return {
            "source": {key: getattr(source, key) for key in ("id", "title", "url", "type")},
            "made_at": utc_text(self.made_at),
            "current": found.current,
            "requests": found.crawl.requests,
            "answered": found.crawl.has_answered,
            "warnings": [*source.warnings, *self.warnings[:limit]],
            "source_warnings": list(map(as_plain, self.source_warnings)),
            "not_harvested": not_harvested(found),
            "nothing": None if nothing is None else as_plain(nothing),
            "errors": [str(error) for error in found.crawl.errors],
            "error_codes": [code_of(error) for error in found.crawl.errors],
            "counts": counts,
            "brake": {"reason": found.brake.reason, **brake} if found.brake and self.held else None,
            **shown,
        }


def _absent(absent: AbsentRecord) -> PreviewEntry:
    return PreviewEntry(**holds.as_plain(absent))


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


def preview(source: Any, *, now: datetime, tell: Tell = lambda count, listed: None) -> Preview:
    """Crawl a source, and return what a job that began now would do. Write nothing.

    :param source: a HarvestSource row.
    :param tell: receives the progress; see :meth:`.survey.SurveyObserver.read`.
    :raises ForeignSource: see :func:`source_type_of`.
    :raises ConfigError: the source's configuration cannot be used.
    """
    # Imported only by those who make previews: web workers show them.
    from .stages import survey_source

    source_type = source_type_of(source)
    result = Preview(source_of(source), now)
    decisions = holds.decisions(holds.hold_of(source.id))
    memory = SourceMemory(source.id, read_only=True)
    found = result.survey = survey_source(
        source_type, result.source, memory, decisions, _Lists(result, tell), now=now
    )
    if found.brake:
        result.held = [_absent(absent) for absent in found.brake.verified]
    datasets = {entry.guid: entry.package_id for entry in result.kept}
    for entry in result.failed:
        entry.package_id = datasets.get(entry.guid)
    result.warnings.sort()
    lists = result.lists.values()
    _add_titles(entry for entries in lists for entry in entries)
    for entries in lists:
        entries.sort(key=lambda entry: entry.url)
    new = [entry.url for entry in result.changes[RecordClass.NEW] if entry.package_id is None]
    result.source_warnings = [*found.crawl.warnings, *harvested_elsewhere(source.id, new)]
    if titles := new_organizations(source.id, memory, found.crawl.organizations):
        named = ", ".join([*titles[:LISTED], *(["..."] if titles[LISTED:] else [])])
        values: dict[str, str | int] = {"count": len(titles), "titles": named}
        result.source_warnings.append(HarvestMessage(MessageCode.NEW_ORGANIZATIONS, values))
    model.Session.rollback()
    return result


def _add_titles(entries: Iterable[PreviewEntry]) -> None:
    """Give the records that were not read the titles of their datasets."""
    untitled = [entry for entry in entries if entry.title is None]
    ids = sorted({entry.package_id for entry in untitled if entry.package_id})
    titles: dict[str | None, str] = {}
    table = model.Package
    for start in range(0, len(ids), 1000):
        some = ids[start : start + 1000]
        rows = model.Session.execute(
            sa.select(table.id, table.title, table.name).where(table.id.in_(some))
        )
        titles |= {row.id: row.title or row.name for row in rows}
    for entry in untitled:
        entry.title = titles.get(entry.package_id)


class _Lists:
    """A :class:`.survey.SurveyObserver` that keeps the results without the records' contents."""

    def __init__(self, preview: Preview, tell: Tell) -> None:
        self._preview = preview
        self._tell = tell

    def read(self, count: int, listed: int | None) -> None:
        self._tell(count, listed)

    def change(self, change: RecordChange) -> None:
        owner = change.known or change.adopted
        reason = change.reason
        entry = PreviewEntry(change.url, change.guid, str(reason), code_of(reason))
        entry.package_id = owner.package_id if owner is not None else None
        if change.crawled is not None:
            self._preview.warnings += [f"{change.url}: {one}" for one in change.crawled.warnings]
        if change.crawled is not None and change.crawled.contents is not None:
            now = change.crawled.contents
            entry.title = str(now.fields.get("title") or "") or None
            before = last_harvested(change.known) if change.known else None
            if before is not None and change.kind is not RecordClass.UNCHANGED:
                kept = self._preview.source.config.keep_fields
                entry.changes = changes(before, now, without=kept)
        if change.own_url is not None:
            entry.own_url = change.own_url.value
        if change.kind is RecordClass.MOVED and change.known is not None:
            entry.moved_from, entry.moved_to = change.known.catalog_url, change.catalog_url
        self._preview.changes[change.kind].append(entry)

    def failed(self, url: str, guid: str, error: Message) -> None:
        self._preview.failed.append(PreviewEntry(url, guid, str(error), code_of(error)))

    def kept(self, absent: AbsentRecord) -> None:
        is_absent = absent.reason.code in (MessageCode.ABSENT, MessageCode.KEPT)
        (self._preview.absent if is_absent else self._preview.kept).append(_absent(absent))


# Previews of pages


def start(source_id: str, title: str, user: str, now: datetime) -> dict[str, Any]:
    """Start a preview, unless one is waiting or running.

    :param user: the name of the user who asks for it.
    :returns: see :func:`progress`.
    """
    earlier = _job(source_id)
    if earlier is not None:
        found = _progress(earlier, now)
        if found["state"] in ("waiting", "running"):
            return found
        earlier.delete()
    job = tk.enqueue_job(
        run,
        [source_id],
        title=f"Preview of the harvest source {title}",
        rq_kwargs={
            "job_id": _job_id(source_id),
            "timeout": int(LONGEST.total_seconds()),
            "result_ttl": int(KEPT.total_seconds()),
            "failure_ttl": int(KEPT.total_seconds()),
            "meta": {"asked_by": user},
            "retry": ONCE_MORE,
        },
    )
    return _progress(job, now)


def progress(source_id: str, now: datetime) -> dict[str, Any]:
    """Return the state of a source's preview, and its result if there is one.

    :returns: ``state``: ``none``, ``waiting`` (no background worker has begun it yet), ``running``, ``done`` or
        ``failed``; ``asked_at`` and ``asked_by``; ``read``, the records that have been read so far, and
        ``listed``, of how many, or None if that is not known; ``error``, for people: why there is no preview;
        and ``preview``: :meth:`Preview.as_dict`.
    """
    job = _job(source_id)
    return _state("none") if job is None else _progress(job, now)


def run(source_id: str) -> dict[str, Any]:
    """Make a preview, in a background worker.

    :returns: ``{"preview": ...}``, or ``{"error": ...}`` with a text for people.
    """
    source = harvest.source_row(source_id)
    if source is None:
        return {"error": "The source has been removed"}
    try:
        refuse_missing_tables()
        made = preview(source, now=utc_now(), tell=_watch(get_current_job()))
    except (TablesMissingError, ForeignSource, ConfigError) as error:
        return {"error": str(error)}
    return {"preview": made.as_dict(LISTED)}


def _watch(job: Job | None) -> Tell:
    """Return a callback that saves the progress in a job, at most once a second."""
    saved_at = 0.0

    def read(count: int, listed: int | None) -> None:
        nonlocal saved_at
        moment = monotonic()
        if job is not None and moment >= saved_at + 1:
            saved_at = moment
            job.meta |= {"read": count, "listed": listed}
            job.save_meta()  # type: ignore[no-untyped-call]

    return read


def _job_id(source_id: str) -> str:
    return f"freshness-preview-{source_id}"


def _job(source_id: str) -> Job | None:
    with contextlib.suppress(KeyError):
        job: Job = job_from_id(_job_id(source_id))
        return job
    return None


def _progress(job: Job, now: datetime) -> dict[str, Any]:
    status = job.get_status()
    result = (job.return_value() or {}) if status == JobStatus.FINISHED else {}
    state = "failed"
    if "preview" in result:
        state = "done"
    elif status == JobStatus.QUEUED:
        state = "waiting"
    elif status == JobStatus.STARTED:
        heartbeat = job.last_heartbeat
        if heartbeat is None or now - _aware(heartbeat) <= _DEAD_AFTER:
            state = "running"
    asked_at = utc_text(_aware(job.created_at)) if job.created_at else None
    saved = {key: job.meta[key] for key in ("asked_by", "read", "listed") if key in job.meta}
    return _state(state, asked_at=asked_at, **saved, **result)


def _state(state: str, **known: Any) -> dict[str, Any]:
    unknown = dict.fromkeys(("asked_at", "asked_by", "listed", "error", "preview"))
    return {"state": state, "read": 0, **unknown, **known}


def _aware(moment: datetime) -> datetime:
    """Return a moment of RQ as an aware one: RQ 1 returns UTC without a zone, RQ 2 with it."""
    return moment if moment.tzinfo else aware(moment)
