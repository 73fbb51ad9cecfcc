"""A survey: one crawl of a source, with the class of each record that it found. It writes nothing.

A gather writes what the survey reports, and a preview shows it. Therefore both see the same. The caller
hands over what earlier jobs left, so that a survey needs no database of its own.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from ..dates import utc_words
from ..web.urls import display_url
from .brake import BrakeLimits
from .messages import HarvestMessage, Message, MessageCode
from .record import (
    Approval,
    Containers,
    CrawledRecord,
    KnownRecord,
    NotHarvested,
    ReadOutcome,
    SeenRecord,
    guid_of,
)
from .record_changes import MOST, lost
from .strategy import (
    LEFT_OUT_AFTER,
    AbsentRecord,
    Decisions,
    Deletions,
    HeldDeletions,
    RecordClass,
    catalog_of,
    classify,
    deletions,
)

if TYPE_CHECKING:
    from .source_type import CrawlEnd, CrawlInput, SourceType

log = logging.getLogger(__name__)

DRAFT = "draft"
"""The kind of records and distributions that are listed and were never readable."""


@dataclass(frozen=True, slots=True)
class RecordChange:
    """A record that was read or is to be deleted, with its class."""

    kind: RecordClass
    guid: str
    url: str
    reason: HarvestMessage
    """Why it has this class."""
    catalog_url: str | None = None
    """None for a catalog."""
    known: KnownRecord | None = None
    """The current record that it is, if there is one."""
    adopted: KnownRecord | None = None
    """The record that is not current, and whose package a new record takes over."""
    crawled: CrawledRecord | None = None
    """None for a deleted record."""
    own_url: ReadOutcome | None = None
    """What the URL of a deleted record answered; None if it was not requested."""
    approval: Approval | None = None
    """An editor has released its deletion."""
    incomplete_since: datetime | None = None
    """It counts as unchanged, because it may be cut. Keep this for the next job, as
    :attr:`.record.KnownRecord.incomplete_since`."""


class SurveyObserver(Protocol):
    """A receiver of a survey's results while the survey runs."""

    def read(self, count: int, listed: int | None) -> None:
        """Receive how many records have been read, of how many.

        :param listed: None if the source does not say it beforehand.
        """

    def change(self, change: RecordChange) -> None:
        """Receive a record that was read or is to be deleted."""

    def failed(self, url: str, guid: str, error: Message) -> None:
        """Receive a record that could not be read."""

    def kept(self, absent: AbsentRecord) -> None:
        """Receive a current record that was not read and is kept."""


@dataclass(slots=True)
class Survey:
    """The totals of a survey."""

    crawl: CrawlEnd = field(init=False)
    counts: Counter[RecordClass] = field(default_factory=Counter)
    current: int = 0
    """How many records were current before."""
    record_errors: int = 0
    brake: HeldDeletions | None = None


def survey(
    source_type: SourceType,
    given: CrawlInput,
    decisions: Decisions,
    observer: SurveyObserver,
    *,
    limits: BrakeLimits,
) -> Survey:
    """Crawl a source, and report the class of each record to the observer.

    :param decisions: what users have decided about held deletions.
    :param limits: how many deletions need no approval.
    :raises ConfigError: the source's configuration cannot be used.
    """
    source, known = given.source, given.known
    for warning in source.warnings:
        log.warning("Harvest source %s: %s", source.title, warning)
    approvals = {record.guid: record.approval for record in known if record.approval}
    unanswered = {guid for guid, one in approvals.items() if one is Approval.UNANSWERED}
    decisions = replace(
        decisions,
        released={*decisions.released, *approvals},
        unanswered={*decisions.unanswered, *unanswered},
    )
    decided = {*decisions.released, *decisions.held}
    classifier = _Classifier(given, observer, decided)
    crawl = source_type.crawl(given, classifier.take)
    absences = deletions(
        known, classifier.seen, crawl.containers, decisions, now=given.now, limits=limits
    )
    return classifier.end(crawl, absences, decisions)


class _Classifier:
    """The part of a survey that classifies and reports each record of a crawl.

    :ivar seen: the records that the crawl met, by the URL of the current record or by their own
    """

    def __init__(self, given: CrawlInput, observer: SurveyObserver, decided: set[str]) -> None:
        self._decided = decided
        """Guids whose deletion is held or released."""
        self._now = given.now
        self.seen: dict[str, SeenRecord] = {}
        self._known = given.known
        self._source = given.source
        self._observer = observer
        self._has_catalogs = False
        """Catalogs become records, too, and come before their datasets."""
        self._result = Survey(current=len(self._known))
        self._refused: dict[str, tuple[str, Message]] = {}
        """Guid and error of current records that answer 401, 403, 404 or 410. The error is reported only
        if the record is not deleted."""
        self._adopters: dict[str, str] = {}
        """Package id to the URL of the record that takes it over."""
        self._drafts = NotHarvested()
        """Records and distributions that are listed and were never readable."""

    def take(self, crawled: CrawledRecord, containers: Containers) -> None:
        """Classify and report a record that the crawl met."""
        self._take(crawled, containers)
        self._has_catalogs |= crawled.seen.is_catalog
        if crawled.seen.listed_in:
            listed = len(containers.listed)
            if not self._has_catalogs:
                listed -= len(containers.catalogs)
            # Some sources list records while they are read: then nobody knows how many there will be.
            self._observer.read(len(self.seen), listed if listed >= len(self.seen) else None)

    def _take(self, crawled: CrawledRecord, containers: Containers) -> None:
        seen = crawled.seen
        before = self._before(crawled, containers)
        url = seen.url if before is None else before.url
        self.seen[url] = seen
        is_refused = seen.outcome in (ReadOutcome.GONE, ReadOutcome.FORBIDDEN)
        if seen.listed_in and is_refused and before is None:
            self._drafts.add(display_url(seen.url))
        if seen.listed_in and seen.outcome is not ReadOutcome.PRESENT and crawled.error:
            guid = before.guid if before else guid_of(seen.url, min(seen.listed_in))
            if before is not None and is_refused:
                self._refused[url] = guid, crawled.error
            else:
                self._report_failure(seen.url, guid, crawled.error)
        if not seen.listed_in or seen.outcome is not ReadOutcome.PRESENT:
            return
        catalog = None if seen.is_catalog else catalog_of(seen, before, containers)
        guid = guid_of(seen.url, catalog)
        kind = classify(guid, seen.content_hash, before)
        adopted = self._adoptable(crawled, containers) if kind is RecordClass.NEW else None
        reason = _reason(kind, before, adopted)
        change = RecordChange(kind, guid, seen.url, reason, catalog, before, adopted, crawled)
        for url in crawled.drafts:
            self._drafts.add(display_url(url))
        self._report(self._unless_cut(change, containers))

    def _unless_cut(self, change: RecordChange, containers: Containers) -> RecordChange:
        """Return the change, or an unchanged record in its place while what it lacks may be cut off."""
        owner, crawled = change.known or change.adopted, change.crawled
        if owner is None or crawled is None or crawled.contents is None:
            return change
        if owner.object_id is None:
            # Without an object, nothing could remember since when it waits: it would wait for ever.
            return change
        if owner.is_deleted:
            # What it had is lost already, and the dataset would stay deleted meanwhile.
            return change
        may_be_cut = crawled.may_be_cut or not containers.left_out <= self._decided
        since = owner.incomplete_since or self._now
        until = since + LEFT_OUT_AFTER
        if not owner.package_id or not (may_be_cut or owner.incomplete_since) or self._now >= until:
            return change
        missing = lost(self._known.contents_of(owner), crawled.contents)
        if not missing:
            return change
        lacks = f"it lacks {', '.join(missing[:MOST])}; a job after {utc_words(until)} decides"
        reason = HarvestMessage(MessageCode.INCOMPLETE, details=lacks)
        return replace(
            change,
            kind=RecordClass.UNCHANGED,
            guid=owner.guid,
            reason=reason,
            known=owner,
            crawled=replace(
                crawled,
                contents=None,
                memory=owner.memory,
                warnings=[*crawled.warnings, str(reason)],
            ),
            incomplete_since=since,
        )

    def end(self, crawl: CrawlEnd, decided: Deletions, decisions: Decisions) -> Survey:
        """Report the records that were not read, and return the totals."""
        result = self._result
        # Datasets are deleted before the catalog that contains them.
        for absent in sorted(decided.delete, key=lambda absent: absent.known.is_catalog):
            known = absent.known
            self._refused.pop(known.url, None)
            self._report(
                RecordChange(
                    RecordClass.DELETED,
                    known.guid,
                    known.url,
                    absent.reason,
                    known.catalog_url,
                    known,
                    own_url=absent.own_url,
                    approval=_approval(known.guid, decisions),
                )
            )
        for absent in decided.brake.verified if decided.brake else ():
            self._refused.pop(absent.known.url, None)
        for url, (guid, error) in self._refused.items():
            self._report_failure(url, guid, error)
        for absent in decided.keep:
            if not absent.known.recognised:
                log.warning("Harvest source %s: %s", self._source.title, absent.reason)
            self._observer.kept(absent)
        result.crawl = crawl
        result.brake = decided.brake
        if stay := sum(one.reason.code in _NO_LONGER_LISTED for one in decided.keep):
            crawl.warnings.append(HarvestMessage(MessageCode.NO_LONGER_LISTED, {"count": stay}))
        if self._drafts.count:
            crawl.not_harvested[DRAFT] = self._drafts
        return result

    def _before(self, crawled: CrawledRecord, containers: Containers) -> KnownRecord | None:
        """Return the current record that the crawl met, unless another URL already continues it."""
        url = crawled.seen.url
        before = self._known.of(url, containers.listed, crawled.subject)
        if before is not None and before.url in self.seen and self.seen[before.url].url != url:
            return None
        return before

    def _adoptable(self, crawled: CrawledRecord, containers: Containers) -> KnownRecord | None:
        """Return the record whose package a new record takes over.

        It was deleted, is of a deleted source, or has no harvest objects.
        """
        url = crawled.seen.url
        adopted = self._known.adoptable.of(url, containers.listed, crawled.subject)
        if adopted is None or adopted.package_id is None:
            return adopted
        # Only one URL takes a package over: the first that the crawl met.
        return adopted if self._adopters.setdefault(adopted.package_id, url) == url else None

    def _report(self, change: RecordChange) -> None:
        self._result.counts[change.kind] += 1
        self._observer.change(change)

    def _report_failure(self, url: str, guid: str, error: Message) -> None:
        self._result.record_errors += 1
        self._observer.failed(url, guid, error)


_NO_LONGER_LISTED = {MessageCode.ABSENT, MessageCode.KEPT, MessageCode.MAY_BE_LISTED}
"""The reasons of records that no list has and that are kept, although no error says so."""


def _approval(guid: str, decisions: Decisions) -> Approval | None:
    """Return how an editor has released the deletion of a record; None if nobody has."""
    if guid not in decisions.released:
        return None
    return Approval.UNANSWERED if guid in decisions.unanswered else Approval.ANSWERED


def _reason(
    kind: RecordClass, before: KnownRecord | None, adopted: KnownRecord | None
) -> HarvestMessage:
    """Return why a record has its class."""
    if kind is RecordClass.MOVED and before is not None:
        is_foreign = before.catalog_url is None
        code = MessageCode.TAKEN_OVER if is_foreign else MessageCode.MOVED
        return HarvestMessage(code, details=f"was {before.guid}")
    if adopted is not None:
        return HarvestMessage(MessageCode.ADOPTED)
    return _AS_LISTED[kind]


_AS_LISTED = {
    kind: HarvestMessage(MessageCode.AS_LISTED, details=words)
    for kind, words in (
        (RecordClass.NEW, "listed for the first time"),
        (RecordClass.CHANGED, "its contents changed"),
        (RecordClass.UNCHANGED, "its contents are as they were"),
    )
}
