"""A survey: one crawl of a source, and the class of everything it found. It writes nothing itself.

A gather writes what the survey reports; a preview shows it. Both see the same, by construction.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from .document_memory import DocumentMemory
from .harvest_tables import current_records, orphaned_records
from .record_identity import CurrentRecords
from .sightings import Sighting, Sink
from .source_config import SourceConfig
from .strategy import (
    AbsentRecord,
    Containers,
    Deletions,
    HeldBrake,
    KnownRecord,
    ReadOutcome,
    RecordClass,
    SeenRecord,
    catalog_of,
    classify,
    deletions,
    guid_of,
)
from .unmapped import UnmappedProperty, count, of_current_objects

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Source:
    """A harvest source."""

    id: str
    url: str
    type: str
    title: str
    config: SourceConfig
    warnings: tuple[str, ...] = ()
    """What of its configuration has no effect, for people."""


@dataclass(slots=True)
class CrawlEnd:
    """How a crawl ended."""

    containers: Containers
    errors: list[str] = field(default_factory=list)
    """One line for people for each container that could not be read: URL and reason."""
    requests: int = 0


class SourceType(Protocol):
    """What a source type brings: how its sources are crawled."""

    @property
    def name(self) -> str:
        """The type's name in ckanext-harvest."""

    @property
    def min_records(self) -> int:
        """From how many current records on the brake looks at the share that would be deleted."""

    @property
    def organizations(self) -> bool:
        """Whether catalogs are organisations: each becomes an organization of CKAN's, which owns its
        datasets, and the brake looks at organisations and datasets each by itself."""

    @property
    def owned_keys(self) -> frozenset[str]:
        """What goes from a package when its source no longer gives it. The extras that the record had
        at the harvest before go too."""

    @property
    def adopts(self) -> tuple[str, ...]:
        """Types of deleted sources whose packages a source of this type takes over."""

    def validate_config(self, text: str) -> str:
        """Return the configuration in a source's form if it can be used.

        :raises ConfigError: names every mistake.
        """

    def crawl(
        self,
        source: Source,
        known: CurrentRecords,
        memory: DocumentMemory,
        sink: Sink,
        now: datetime,
    ) -> CrawlEnd:
        """Crawl a source, handing each record to the sink as it comes.

        :param known: the current records of the source.
        :param now: when the job began.
        :raises ConfigError: the source's configuration cannot be used.
        """


@dataclass(frozen=True, slots=True)
class RecordChange:
    """A record that was read, or that is to be deleted, with its class."""

    kind: RecordClass
    guid: str
    url: str
    reason: str
    catalog_url: str | None = None
    known: KnownRecord | None = None
    """The current record that it is, if there is one."""
    adopted: KnownRecord | None = None
    """The current record of a deleted source whose package a new record takes over."""
    sighting: Sighting | None = None
    """None for a deleted one."""


class SurveyObserver(Protocol):
    """Who is told of each record while a survey runs."""

    def change(self, change: RecordChange) -> None:
        """A record that was read or is to be deleted."""

    def withdraw(self, kind: RecordClass, url: str) -> None:
        """A record was told of too early: its change is told once more."""

    def failed(self, url: str, guid: str, error: str) -> None:
        """A record that could not be read."""

    def kept(self, verdict: AbsentRecord) -> None:
        """A current record that was not read and is kept."""

    def answered(self, known: KnownRecord) -> None:
        """A current record that answered again after 401/403."""


@dataclass(slots=True)
class Survey:
    """The sums of a survey."""

    counts: Counter[RecordClass] = field(default_factory=Counter)
    current: int = 0
    """Records that were current before."""
    container_errors: list[str] = field(default_factory=list)
    record_errors: int = 0
    kept: int = 0
    brake: HeldBrake | None = None
    read_whole: bool = True
    """All containers were read."""
    answered: bool = True
    """The source's own URL was read."""
    requests: int = 0
    unmapped: list[UnmappedProperty] = field(default_factory=list)
    """Properties of the source's records that no field has."""
    warnings: list[str] = field(default_factory=list)
    """A line for people for whatever of a record could not be read, though the record could."""
    drafts: int = 0
    """Records and distributions that are listed and were never readable."""


def survey(
    source_type: SourceType,
    source: Source,
    memory: DocumentMemory,
    report: SurveyObserver,
    *,
    now: datetime,
    released: Collection[str] = (),
    held: Collection[str] = (),
) -> Survey:
    """Crawl a source and classify all of it.

    :param released: guids whose deletion an editor has released.
    :param held: guids whose deletion is held, and not released.
    :raises ConfigError: the source's configuration cannot be used.
    """
    for warning in source.warnings:
        log.warning("Harvest source %s: %s", source.title, warning)
    classifier = _Classifier(source_type, source, report)
    crawled = source_type.crawl(source, classifier.known, memory, classifier.take, now)
    ending = deletions(
        classifier.known,
        classifier.seen,
        crawled.containers,
        now=now,
        max_delete_fraction=source.config.max_delete_fraction,
        min_records=source_type.min_records,
        released=released,
        held=held,
        catalogs_apart=source_type.organizations,
    )
    return classifier.end(crawled, ending)


class _Classifier:
    """Classifies and reports what a crawl finds, one record at a time.

    :ivar known: the current records
    :ivar seen: by the URL of the current record that it is, or by its own
    """

    def __init__(self, source_type: SourceType, source: Source, report: SurveyObserver) -> None:
        def orphans() -> Iterable[KnownRecord]:
            return orphaned_records(
                source_type.adopts, source.id, organizations=source_type.organizations
            ).values()

        self.known = CurrentRecords(current_records(source.id).values(), orphans)
        self.seen: dict[str, SeenRecord] = {}
        self._source = source
        self._report = report
        self._result = Survey(current=len(self.known))
        self._refused: dict[str, tuple[str, str]] = {}
        """Guids and errors of current records that may be gone: an error only if they are not."""
        self._adopters: dict[str, str] = {}
        """The URLs of the records that go on with packages of deleted sources, by these."""
        self._noted: dict[str, Sighting] = {}
        """Sightings, by URL, with warnings, drafts or distributions to be told or remembered."""
        self._unmapped: dict[str, Mapping[str, str]] = {}
        """By URL, the properties of records that no field has."""
        self._unmapped_before = of_current_objects(source.id)

    def take(self, sighting: Sighting, containers: Containers) -> None:
        """Classify a record that the crawl found, and report it."""
        one = sighting.seen
        before = self._before(sighting, containers)
        url = one.url if before is None else before.url
        first, self.seen[url] = self.seen.get(url), one
        refusal = one.outcome in (ReadOutcome.GONE, ReadOutcome.FORBIDDEN)
        self._result.drafts += bool(one.listed_in and refusal and before is None)
        if one.listed_in and one.outcome is not ReadOutcome.PRESENT and sighting.error:
            guid = before.guid if before else guid_of(one.url, min(one.listed_in))
            if before is not None and refusal:
                self._refused[url] = guid, sighting.error
            else:
                self._failed(one.url, guid, sighting.error)
        if not one.listed_in or one.outcome is not ReadOutcome.PRESENT:
            return
        catalog = None if one.is_catalog else catalog_of(one, before, containers)
        guid = guid_of(one.url, catalog)
        kind = classify(guid, one.content_hash, before)
        earlier_note = self._noted.pop(url, None)
        if sighting.warnings or sighting.drafts or sighting.distributions:
            self._noted[url] = sighting
        if first is not None:
            remembered = earlier_note.distributions if earlier_note else {}
            if first.content_hash == one.content_hash and remembered == sighting.distributions:
                return
            earlier_kind = classify(guid, first.content_hash, before)
            self._result.counts[earlier_kind] -= 1
            self._report.withdraw(earlier_kind, one.url)
        adopted = self._adoptable(sighting, containers) if kind is RecordClass.NEW else None
        if sighting.contents is not None:
            self._unmapped[one.url] = sighting.contents.unmapped
        elif before is not None:
            self._unmapped[one.url] = self._unmapped_before.get(before.object_id or "", {})
        why = _why(kind, guid, before, adopted)
        self._tell(RecordChange(kind, guid, one.url, why, catalog, before, adopted, sighting))
        if before is not None and before.forbidden_since is not None:
            self._report.answered(before)

    def end(self, crawled: CrawlEnd, ending: Deletions) -> Survey:
        """Report what is deleted, kept and failed, and return the sums."""
        result = self._result
        # What is in a catalog goes before it.
        for verdict in sorted(ending.delete, key=lambda one: one.known.is_catalog):
            gone = verdict.known
            self._refused.pop(gone.url, None)
            self._tell(
                RecordChange(
                    RecordClass.DELETED, gone.guid, gone.url, verdict.reason, gone.catalog_url, gone
                )
            )
        for verdict in ending.brake.held if ending.brake else ():
            if verdict.delete:
                self._refused.pop(verdict.known.url, None)
        for url, (guid, error) in self._refused.items():
            self._failed(url, guid, error)
        for verdict in ending.keep:
            if not verdict.known.recognised:
                log.warning("Harvest source %s: %s", self._source.title, verdict.reason)
            self._report.kept(verdict)
        result.kept = len(ending.keep)
        result.brake = ending.brake
        result.container_errors = crawled.errors
        result.read_whole = not crawled.containers.unreadable
        result.answered = crawled.containers.root not in crawled.containers.unreadable
        result.requests = crawled.requests
        result.unmapped = count(self._unmapped.values())
        for url, sighting in sorted(self._noted.items()):
            result.warnings += [f"{url}: {one}" for one in sighting.warnings]
            result.drafts += sighting.drafts
        return result

    def _before(self, sighting: Sighting, containers: Containers) -> KnownRecord | None:
        """Return the current record that a sighting is, unless another URL goes on with it."""
        url = sighting.seen.url
        before = self.known.of(url, containers.listed)
        if before is None and sighting.subject is not None:
            before = self.known.of(sighting.subject, containers.listed)
        if before is not None and before.url in self.seen and self.seen[before.url].url != url:
            return None
        return before

    def _adoptable(self, sighting: Sighting, containers: Containers) -> KnownRecord | None:
        """Return the record of a deleted source whose package a new record takes over."""
        url, adoptable = sighting.seen.url, self.known.adoptable
        adopted = adoptable.of(url, containers.listed)
        if adopted is None and sighting.subject is not None:
            adopted = adoptable.of(sighting.subject, containers.listed)
        if adopted is None or adopted.becomes is None:
            return adopted
        # Another URL may go on with it.
        return adopted if self._adopters.setdefault(adopted.becomes, url) == url else None

    def _tell(self, change: RecordChange) -> None:
        self._result.counts[change.kind] += 1
        self._report.change(change)

    def _failed(self, url: str, guid: str, error: str) -> None:
        self._result.record_errors += 1
        self._report.failed(url, guid, error)


def _why(
    kind: RecordClass, guid: str, before: KnownRecord | None, adopted: KnownRecord | None
) -> str:
    if kind is RecordClass.MOVED and before is not None:
        if before.catalog_url is None:
            return f"taken over from another harvester, which called it {before.guid}"
        return f"moved: was {before.guid}"
    if adopted is not None:
        return "new here; takes over the dataset of a deleted source"
    return {
        RecordClass.NEW: "listed for the first time",
        RecordClass.CHANGED: "its contents changed",
        RecordClass.UNCHANGED: "its contents are as they were",
    }[kind]
