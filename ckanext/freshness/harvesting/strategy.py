"""The rule *an error is never an absence*: what a crawl means for the records that are current.

This module decides the class of each record that was read, and which current records are deleted. It is
pure: it uses neither the network nor the database, and ``now`` is an argument.

A list that leaves a record out is the beginning of a proof and not its end: lists come from search indexes, and
these have holes. The record's own URL decides, for every type of source:

- It answers 404 or 410: the record is gone, if an earlier job had the record from this URL. Otherwise, as of
  catalogues whose identifiers may lead nowhere, it cannot tell.
- It answers with the record itself: its deletion is held until an editor releases it. If the source says
  ``delete_unlisted``, the record is gone if two jobs at least 20 hours apart found it left out.
- It answers 401 or 403: the record is gone if two jobs at least 24 hours apart found the same, and no job
  between them anything else that tells.
- It cannot tell (another host, a page for people, an error), or was not requested: the record is gone if two
  jobs at least 20 hours apart found it left out of lists that were all proved to be read whole
  (:mod:`.listings`). If its host asks for another try later (429, 503), the record is held after these hours.
  If the source names a catalog on a host that may not be requested, it is held: it may have moved there. With
  ``delete_unlisted`` neither holds it.

A record that is listed but answers 401, 403, 404 or 410 is gone if two jobs at least 24 hours apart found the
same: proxies answer 404 for a moment while a server starts again. 404 and 403 are not the same. A record that
has been refused in turn for 48 hours, and never answered with itself, is held.

If more than half of a catalog's records answer 401 or 403, or 404 or 410 although they are listed, the server
refuses everything: their deletion is held after 24 hours, and none of them is deleted without an approval. Such
an answer says nothing about one record. When the others answer again, the 24 hours of a record that is still
refused begin.

What is held because of the answers of a record's own URL (with itself, in turn, as all others, or later) is
held no longer if this URL says that the record is gone. An approval ends with the deletion, or when a list has
the record and nothing has refused it since it was last read. It also ends if the record's own URL answers with
the record, and did not do so when the editor approved. A list that has lost all others, too, carries out no
approval; the next job does.

Any other failure keeps records:

- A container that could not be read protects every record of its catalog. Because records
  move between catalogs, it also protects every other unlisted record, unless that record's own URL
  answers 404 or 410. A source whose root could not be read loses nothing.
- A container that was read, but not proved to be read whole, protects unlisted records unless their own URLs
  answer 401, 403, 404 or 410. If records were not read from their own URLs, such an answer for 24 hours only
  lets editors decide. So they do if a container has lost its list altogether.
- A record that could not be read is kept. It protects no other record.

Half a document takes nothing away from a record, either: a version that lacks something, in a document that was
not proved to be read whole, counts only if two jobs at least 20 hours apart found something missing
(:mod:`.survey`).

A source may ask for patience (``absent_for``): for so many days, each job that can tell must find the record
absent. It may also keep what is absent (``on_absence``).

Last, :func:`deletions` holds some of these deletions until an editor releases exactly them: those that look
like an accident (:mod:`.brake`), and all of records that only another harvester has read.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ..dates import utc_words
from .brake import BrakeLimits, alarms, counted, lists_any
from .messages import HarvestMessage, MessageCode
from .record import (
    Approval,
    Containers,
    KnownRecord,
    ReadOutcome,
    Refusal,
    RefusedAs,
    SeenRecord,
    is_listed,
)

WITHDRAWN_AFTER = timedelta(hours=24)
"""How far apart two jobs must be refused a record (401 or 403; if it is listed, also 404 or 410) before it
counts as withdrawn.

The same applies to a listed distribution, unless most distributions of the source are refused.
"""

IN_TURN_AFTER = timedelta(hours=48)
"""How long jobs must have been refused a record, now in one way and now in another, before editors decide. An
answer that stays has had its 24 hours by then."""

LEFT_OUT_AFTER = timedelta(hours=20)
"""How far apart two jobs must find a record left out before it is gone, if its own URL cannot tell. The same
applies to parts of a record whose document may be cut.

A daily job may begin some hours earlier than the one before.
"""


class RecordClass(enum.Enum):
    """The class of a record, compared with the current records."""

    NEW = "new"
    CHANGED = "changed"
    MOVED = "moved"
    UNCHANGED = "unchanged"
    DELETED = "deleted"


# Records that were read


def catalog_of(seen: SeenRecord, known: KnownRecord | None, containers: Containers) -> str:
    """Return the URL of the catalog that a dataset belongs to.

    The first of these rules that applies decides:

    1. The record's own ``dct:isPartOf`` names a catalog of this source. That catalog need not list the
       record: the listings of real servers do not follow a move.
    2. The record was in a catalog that could not be read this time. It stays there.
    3. The first container in sorted order that lists the record.

    :raises ValueError: no container lists the record, and neither 1 nor 2 applies.
    """
    if seen.part_of in containers.catalogs:
        return seen.part_of
    if known and known.catalog_url and known.catalog_url in containers.unreadable:
        return known.catalog_url
    if not seen.listed_in:
        raise ValueError(f"{seen.url} is listed in no catalog and names none of this source")
    return min(seen.listed_in)


def classify(guid: str, content_hash: str | None, known: KnownRecord | None) -> RecordClass:
    """Return the class of a record that was read.

    :param known: the current record with the same URL, if there is one.
    """
    if known is None:
        return RecordClass.NEW
    if known.guid != guid:
        return RecordClass.MOVED
    return RecordClass.UNCHANGED if known.content_hash == content_hash else RecordClass.CHANGED


# Distributions


@dataclass(frozen=True, slots=True)
class AbsentResource:
    """The decision about the resource of a distribution, or about a service, that this job could not read."""

    stays: bool
    refusal: Refusal | None = None
    """Keep this for the next job, as the ``refusal`` of the next call."""


def decide_distribution(
    *,
    listed: bool,
    outcome: ReadOutcome | None,
    refusal: Refusal | None,
    now: datetime,
    is_wall: bool = False,
) -> AbsentResource:
    """Decide whether a resource stays whose distribution an earlier job read, but not this one.

    A distribution that is refused in turn, now 403 and now 404, stays: no editor could decide about it, each
    job warns, and the check of its link says what people get.

    :param listed: its dataset lists the distribution, or the dataset's list was not read completely.
    :param outcome: the result of the attempt to read it; None if there was no attempt.
    :param refusal: what the previous job kept.
    :param is_wall: more than half of the distributions were refused when the previous job read them: it stays,
        and the 24 hours begin when that is over.
    """
    if not listed:
        return AbsentResource(stays=False)
    refusal = _refusal(refusal, outcome, now, is_wall=is_wall)
    refused = _of_this_job(refusal, outcome)
    stays = refused is None or is_wall or not _is_late(refused, now)
    return AbsentResource(stays, refusal)


# Deletions


@dataclass(frozen=True, slots=True)
class AbsentRecord:
    """The decision about a current record that the crawl did not read."""

    known: KnownRecord
    delete: bool
    reason: HarvestMessage
    """Why it is deleted or kept."""
    refusal: Refusal | None = None
    """Keep this for the next job, as :attr:`.record.KnownRecord.refusal`."""
    absent_since: datetime | None = None
    """The same, as :attr:`.record.KnownRecord.absent_since`."""
    approval: Approval | None = None
    """The same, as :attr:`.record.KnownRecord.approval`."""
    own_url: ReadOutcome | None = None
    """What the record's own URL answered; None if the crawl did not request it."""
    listed_as: str | None = None
    """The URL by which the source lists it now, if that is another one. Keep it for the next job."""
    needs_approval: bool = False
    """Its deletion is held until an editor releases it."""
    wait: timedelta = timedelta()
    """How long it must have been absent."""


@dataclass(frozen=True, slots=True)
class HeldDeletions:
    """Deletions that are held until an editor releases exactly these.

    They include records that were held before and that this crawl could not read.
    """

    held: tuple[AbsentRecord, ...]
    current: int
    """How many records of the source are current."""
    reason: str
    """For people: why the deletions are held."""
    answered: Collection[str] = ()
    """Guids of those that are held only for what their own URLs answered. If such a URL says later that the
    record is gone, this ends the hold."""

    @property
    def verified(self) -> list[AbsentRecord]:
        """Those that this crawl found to be gone. It could not tell whether the others are."""
        return [absent for absent in self.held if absent.delete]


@dataclass(frozen=True, slots=True)
class Decisions:
    """The records of a held list by guid, as users had decided at one moment."""

    released: Collection[str] = ()
    """An editor has released their deletion, and the brake does not hold it. They stay on the list if a job
    cannot tell whether they are gone."""
    held: Collection[str] = ()
    """All others. Only a release ends this, even if so many records are current by now that the brake would not
    hold them."""
    answered: Collection[str] = ()
    """Those of ``held`` that are :attr:`HeldDeletions.answered`."""
    unanswered: Collection[str] = ()
    """Those of ``released`` whose own URLs had not answered with the record. If they do now, the release
    ends."""


@dataclass(frozen=True, slots=True)
class Deletions:
    """The decisions about all current records that a crawl did not read."""

    delete: tuple[AbsentRecord, ...]
    keep: tuple[AbsentRecord, ...]
    brake: HeldDeletions | None


def must_ask(known: KnownRecord, listed: Collection[str], containers: Containers) -> bool:
    """Return whether the crawl must request a record's own URL to learn whether it is gone.

    Records that an unreadable container protects are kept without a request.

    :param listed: the URLs of current records that a container lists.
    """
    return (
        known.recognised
        and known.url not in listed
        and containers.root not in containers.unreadable
        and containers.unreadable_as(known.catalog_url) is None
        and containers.unreadable_as(known.url) is None
    )


def deletions(
    known: Iterable[KnownRecord],
    seen: Mapping[str, SeenRecord],
    containers: Containers,
    decisions: Decisions,
    *,
    now: datetime,
    limits: BrakeLimits,
) -> Deletions:
    """Decide about every current record that the crawl did not read.

    :param known: all current records of the source.
    :param seen: every record that the crawl met, by URL, with the answers that :func:`must_ask` wanted.
    :param limits: how many deletions need no approval.
    """
    current = list(known)
    held, answered = decisions.held, decisions.answered
    released = {*decisions.released} - {
        record.guid
        for record in current
        if record.guid in decisions.unanswered
        and _answer(seen.get(record.url)) is ReadOutcome.PRESENT
    }
    crawl = _Crawl(
        containers,
        _refusing_catalogs(current, seen, containers),
        limits,
        answered,
        now,
    )
    absent = [
        replace(
            _patient(decision, crawl, released, found),
            approval=record.approval
            if record.guid in released and _stays_decided(record, found)
            else None,
            own_url=_answer(found),
            listed_as=_other_url(record, found),
        )
        for record in current
        for found in (seen.get(record.url),)
        if (decision := _decide(record, found, crawl)) is not None
    ]
    if not lists_any(seen):
        absent = _without_approvals(absent, decisions)
    going = {decision.known.url for decision in absent if decision.delete}
    accidents = alarms(current, seen, going, released, limits)

    def is_held_before(one: AbsentRecord) -> bool:
        is_gone = one.reason.code in (MessageCode.GONE, MessageCode.WITHDRAWN)
        return one.known.guid in held and not (is_gone and one.known.guid in answered)

    def is_stopped(one: AbsentRecord) -> bool:
        needs_approval = accidents or one.needs_approval or one.known.foreign or is_held_before(one)
        return one.delete and bool(needs_approval) and one.known.guid not in released

    if not accidents:
        decided = {*released, *held}
        absent = [one if one.known.guid in decided else _unhurried(one, now) for one in absent]
    stopped = [decision for decision in absent if is_stopped(decision)]
    keep = [decision for decision in absent if not decision.delete]
    # Held or released by an earlier job, and this one cannot tell whether they are gone. They stay on
    # the list: a release is used up only when it is applied.
    unread = [
        decision
        for decision in keep
        if decision.known.guid in held or decision.known.guid in released
        if not decision.known.approval
        if _stays_decided(decision.known, seen.get(decision.known.url))
    ]
    stopped_guids = {decision.known.guid for decision in stopped}
    on_list = sorted([*stopped, *unread], key=lambda decision: decision.known.url)
    only_answered = {
        one.known.guid
        for one in on_list
        if one.known.guid in answered
        or (one.known.guid not in held and _is_held_for_its_answer(one, containers))
        if not accidents and not one.known.foreign
    }
    return Deletions(
        tuple(one for one in absent if one.delete and one.known.guid not in stopped_guids),
        tuple(keep),
        HeldDeletions(
            tuple(on_list),
            len(current),
            "; ".join(accidents) or _why_held(stopped, unread, len(current)),
            only_answered,
        )
        if on_list
        else None,
    )


def _stays_decided(known: KnownRecord, seen: SeenRecord | None) -> bool:
    """Return whether a hold or a release of a record outlives a job that cannot tell whether it is gone.

    A listed record was held because it was refused: only its own answer ends that.
    """
    return known.refusal is not None or not is_listed(seen)


def _why_held(stopped: Sequence[AbsentRecord], unread: Sequence[AbsentRecord], current: int) -> str:
    """Return, for people, why deletions are held that are not too many.

    :param stopped: those that this job found to be gone.
    :param unread: those that an earlier job held, and this one could not verify.
    """
    records = counted(current, "records")
    foreign = sum(decision.known.foreign for decision in stopped)
    unsure = sum(decision.needs_approval for decision in stopped)
    reasons = []
    if foreign:
        reasons.append(
            f"{foreign} of {records} would be deleted that only another harvester has read, and such "
            "records are never deleted without an approval"
        )
    if unsure:
        reasons.append(f"{unsure} of {records} would be deleted, and may still be there")
    if reasons:
        return "; ".join(reasons)
    reason = f"an earlier job held the deletion of {len(stopped or unread)} of {records}"
    return reason if stopped else f"{reason}, and this job could not verify it"


@dataclass(frozen=True, slots=True)
class _Crawl:
    """What a crawl means for every record."""

    containers: Containers
    refusing: Collection[str | None]
    """See :func:`_refusing_catalogs`."""
    limits: BrakeLimits
    answered: Collection[str]
    """Guids of records that are held for what their own URLs answered."""
    now: datetime


def _decide(known: KnownRecord, seen: SeenRecord | None, crawl: _Crawl) -> AbsentRecord | None:
    """Decide about one current record; None if it was read."""
    containers = crawl.containers
    if seen is not None and is_listed(seen) and seen.outcome is ReadOutcome.PRESENT:
        return None
    answer = _answer(seen)
    is_wall = _may_be_wall(seen) and known.catalog_url in crawl.refusing
    refusal = _refusal(known.refusal, answer, crawl.now, is_wall=is_wall)
    if not known.recognised and not is_listed(seen):
        reason = HarvestMessage(MessageCode.FOREIGN, details=known.guid)
        return AbsentRecord(known, False, reason)
    if seen is None and known.url in containers.listed and not known.is_catalog:
        # Its contents were asked for, and something else came. Catalogs are no records if the source says so.
        return AbsentRecord(known, False, _NOT_READ, refusal)
    for url in (containers.root, known.catalog_url, known.url):
        if (shield := containers.unreadable_as(url)) is not None:
            reason = HarvestMessage(MessageCode.CONTAINER_NOT_READ, details=shield)
            return AbsentRecord(known, False, reason, refusal)
    if seen is None or not is_listed(seen):
        return _decide_unlisted(known, answer, refusal, crawl)
    if (refused := _of_this_job(refusal, seen.outcome)) is not None:
        return _decide_refused(known, refused, crawl)
    return AbsentRecord(known, False, _NOT_READ, refusal)


_NOT_READ = HarvestMessage(MessageCode.NOT_READ)


_REFUSED_AS = {ReadOutcome.FORBIDDEN: RefusedAs.FORBIDDEN, ReadOutcome.GONE: RefusedAs.GONE}


def _refusal(
    before: Refusal | None, answer: ReadOutcome | None, now: datetime, *, is_wall: bool = False
) -> Refusal | None:
    """Return how a record or distribution has been refused, with what its own URL answered now.

    If it answers with the record, it is refused no longer, wherever it is listed. A failure neither ends a
    refusal nor begins it anew; another refusal does. So many others may be refused that this says nothing about
    this one: that does not end its refusal, and begins it anew when it is over.

    :param is_wall: so many others are refused in this way that a refusal says nothing about this one.
    """
    if answer is ReadOutcome.PRESENT:
        return None
    kind = _REFUSED_AS.get(answer) if answer is not None else None
    if kind is None:
        return before
    if is_wall:
        return replace(before or Refusal(kind, now, now), kind=RefusedAs.WALL)
    if before is None or before.kind is RefusedAs.WALL:
        return Refusal(kind, now, now)
    return before if before.kind is kind else Refusal(kind, now, before.first)


def _of_this_job(refusal: Refusal | None, answer: ReadOutcome | None) -> Refusal | None:
    """Return a refusal if this job got it, too; None if this job got no refusal."""
    return refusal if answer in _REFUSED_AS else None


def _decide_unlisted(
    known: KnownRecord, answer: ReadOutcome | None, refusal: Refusal | None, crawl: _Crawl
) -> AbsentRecord:
    """Decide about a record that no container lists.

    :param answer: what its own URL answered; None if it was not requested.
    """
    containers = crawl.containers
    was_there = containers.has_own_documents or known.guid in crawl.answered
    if answer is ReadOutcome.GONE and was_there:
        reason = HarvestMessage(MessageCode.GONE, details="its own URL answers 404 or 410")
        return AbsentRecord(known, True, reason, refusal)
    container = next(iter([*containers.unreadable, *containers.unproved]), None)
    refused = None if containers.unreadable else _of_this_job(refusal, answer)
    if refused and answer is ReadOutcome.FORBIDDEN and (was_there or container is None):
        return _decide_refused(known, refused, crawl)
    if container is not None:
        # If its URL may always have answered so, and the list is never proved, only an editor can decide.
        is_late = refused is not None and (
            _is_late(refused, crawl.now) or _is_in_turn(refused, crawl.now)
        )
        reason = HarvestMessage(MessageCode.MAY_BE_LISTED, {"container": container}, container)
        return AbsentRecord(known, is_late, reason, refusal, needs_approval=is_late)
    if answer is ReadOutcome.PRESENT:
        reason = HarvestMessage(MessageCode.UNLISTED_ANSWERS)
        is_sure = crawl.limits.delete_unlisted and not containers.without_list
        return AbsentRecord(
            known, True, reason, refusal, needs_approval=not is_sure, wait=LEFT_OUT_AFTER
        )
    may_be_elsewhere = containers.elsewhere and answer is not ReadOutcome.GONE
    if may_be_elsewhere and not crawl.limits.delete_unlisted:
        words = ", ".join(sorted(containers.elsewhere))
        reason = HarvestMessage(MessageCode.MAY_BE_ELSEWHERE, details=words)
        return AbsentRecord(known, True, reason, refusal, needs_approval=True)
    reason = HarvestMessage(MessageCode.UNLISTED)
    is_doubtful = bool(containers.without_list) or (
        answer is ReadOutcome.UNAVAILABLE
        and crawl.now - _absent_since(known, crawl.now) >= LEFT_OUT_AFTER
        and not crawl.limits.delete_unlisted
    )
    return AbsentRecord(
        known, True, reason, refusal, needs_approval=is_doubtful, wait=LEFT_OUT_AFTER
    )


def _patient(
    decision: AbsentRecord, crawl: _Crawl, released: Collection[str], seen: SeenRecord | None
) -> AbsentRecord:
    """Return a decision that deletes nothing too early, or nothing at all if the source wants that.

    What an editor has released is deleted at once, and what needs an approval waits for nothing else. A job
    that cannot tell whether the record is absent does not end its absence; a list that has it does, and so does
    an answer with the record, unless the source deletes what is not listed.
    """
    known, limits = decision.known, crawl.limits
    answers = _answer(seen) is ReadOutcome.PRESENT and not limits.delete_unlisted
    is_there = is_listed(seen) or answers
    decision = replace(decision, absent_since=None if is_there else known.absent_since)
    if not decision.delete or known.guid in released:
        return decision
    since = _absent_since(known, crawl.now)
    until = since + limits.absent_for
    if not limits.deletes:
        reason = HarvestMessage(MessageCode.KEPT, details=f"absent since {utc_words(since)}")
    elif crawl.now < until and not decision.needs_approval:
        return _waiting(decision, until, since)
    else:
        return decision
    return replace(decision, delete=False, reason=reason, absent_since=since)


def _unhurried(decision: AbsentRecord, now: datetime) -> AbsentRecord:
    """Return a decision that deletes no record before its :attr:`AbsentRecord.wait` has passed."""
    since = _absent_since(decision.known, now)
    until = since + decision.wait
    is_for_editors = decision.needs_approval or decision.known.foreign
    if not decision.delete or is_for_editors or now >= until:
        return decision
    return _waiting(decision, until, since)


def _absent_since(known: KnownRecord, now: datetime) -> datetime:
    """Return since when a record is absent: since this job if no earlier one proved it."""
    return known.absent_since or now


def _waiting(decision: AbsentRecord, until: datetime, since: datetime) -> AbsentRecord:
    """Return the decision to keep a record that is to be deleted later."""
    reason = HarvestMessage(MessageCode.ABSENT, {"date": utc_words(until)}, str(decision.reason))
    return replace(decision, delete=False, reason=reason, absent_since=since)


def _without_approvals(absent: list[AbsentRecord], decisions: Decisions) -> list[AbsentRecord]:
    """Return the decisions of a crawl that found no dataset in any list, where an approval may have to wait.

    An editor approved while the source listed others. If it has lost these, too, its list does not tell that it
    still leaves out the approved ones. In the next job editors know of all.
    """
    known = {*decisions.released, *decisions.held}
    if all(one.known.guid in known for one in absent if one.delete):
        return absent
    reason = HarvestMessage(MessageCode.LISTS_NOTHING_NOW)
    by_list = (
        MessageCode.UNLISTED,
        MessageCode.UNLISTED_ANSWERS,
        MessageCode.MAY_BE_ELSEWHERE,
    )
    return [
        replace(one, delete=False, reason=reason)
        if one.known.guid in decisions.released and one.reason.code in by_list
        else one
        for one in absent
    ]


def _answer(seen: SeenRecord | None) -> ReadOutcome | None:
    return None if seen is None else seen.outcome


def _other_url(known: KnownRecord, seen: SeenRecord | None) -> str | None:
    return seen.url if seen is not None and seen.listed_in and seen.url != known.url else None


def _is_held_for_its_answer(one: AbsentRecord, containers: Containers) -> bool:
    """Return whether a record needs an approval only for what a URL answered from which jobs have read it."""
    if one.own_url is ReadOutcome.PRESENT:
        return True
    may_be_late = (*_REFUSED_AS, ReadOutcome.UNAVAILABLE)
    return one.needs_approval and containers.has_own_documents and one.own_url in may_be_late


def _is_late(refusal: Refusal, now: datetime) -> bool:
    """Return whether jobs have got one refusal for long enough."""
    return now - refusal.since >= WITHDRAWN_AFTER


def _is_in_turn(refusal: Refusal, now: datetime) -> bool:
    """Return whether jobs have got several refusals for so long that none of them lasts."""
    return now - refusal.first >= IN_TURN_AFTER


_REFUSED = {
    RefusedAs.FORBIDDEN: (MessageCode.ACCESS_REFUSED, MessageCode.WITHDRAWN),
    RefusedAs.WALL: (MessageCode.CATALOG_REFUSED, MessageCode.CATALOG_REFUSED),
    RefusedAs.GONE: (MessageCode.STILL_LISTED, MessageCode.GONE),
}
"""By refusal: why a record is kept at first, and why it is deleted or held later."""


def _decide_refused(known: KnownRecord, refusal: Refusal, crawl: _Crawl) -> AbsentRecord:
    """Decide about a record that answers 401 or 403, or a listed one that answers 404 or 410.

    With the latter the server contradicts itself.
    """
    early, late = _REFUSED[refusal.kind]
    is_wall = refusal.kind is RefusedAs.WALL
    words = f"refused since {utc_words(refusal.since)}"
    if _is_late(refusal, crawl.now):
        reason = HarvestMessage(late, details=words)
        return AbsentRecord(known, True, reason, refusal, needs_approval=is_wall)
    if _is_in_turn(refusal, crawl.now):
        words = f"401, 403, 404 and 410 in turn since {utc_words(refusal.first)}"
        reason = HarvestMessage(MessageCode.REFUSED_IN_TURN, details=words)
        return AbsentRecord(known, True, reason, refusal, needs_approval=True)
    words += f"; a job after {utc_words(refusal.since + WITHDRAWN_AFTER)} decides"
    return AbsentRecord(known, False, HarvestMessage(early, details=words), refusal)


def _refusing_catalogs(
    known: Iterable[KnownRecord], seen: Mapping[str, SeenRecord], containers: Containers
) -> set[str | None]:
    """Return the catalogs with more than half of their records refused (:func:`_may_be_wall`).

    If more than half of the listed records that were asked answer 401 or 403
    (:attr:`.record.Containers.controls`), one such record is enough for its catalog.

    Only records that are current or can be read now count. Drafts that were never readable prove nothing about
    the server.
    """
    total: dict[str | None, int] = {}
    refused: dict[str | None, int] = {}
    current_urls = set()
    for record in known:
        current_urls.add(record.url)
        total[record.catalog_url] = total.get(record.catalog_url, 0) + 1
        if _may_be_wall(seen.get(record.url)):
            refused[record.catalog_url] = refused.get(record.catalog_url, 0) + 1
    if not refused:
        return set()
    controls = containers.controls
    if controls.count(ReadOutcome.FORBIDDEN) * 2 > len(controls):
        return set(refused)
    for url, found in seen.items():
        is_readable = found.outcome is ReadOutcome.PRESENT and found.listed_in
        if is_readable and url not in current_urls:
            catalog = catalog_of(found, None, containers)
            total[catalog] = total.get(catalog, 0) + 1
    return {catalog for catalog, count in refused.items() if count * 2 > total[catalog]}


def _may_be_wall(seen: SeenRecord | None) -> bool:
    """Return whether a record answers 401 or 403, or 404 or 410 although it is listed.

    A proxy may answer so for all records below a path.
    """
    return seen is not None and (
        seen.outcome is ReadOutcome.FORBIDDEN
        or (seen.outcome is ReadOutcome.GONE and is_listed(seen))
    )
