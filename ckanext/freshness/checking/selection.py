"""Which resources a run visits, and why: the rules, as pure functions over what is known of a resource.

The rules are those of HDX's data freshness process: what is fresh by its dates is not asked, but daily data
always are, and by turns everything is read whole (the *rotation*), so that nothing is believed for ever. On
top, low frequencies are asked less often, and what fails is asked less and less often, up to a week.

:func:`choose` says what happens with one resource; :mod:`.picking` goes through a whole catalogue with it.

Moments are in UTC, without a zone, as the database gives them: there are 149,308 rows to go through.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from zlib import crc32

SHARDS = 64
"""Parts into which hosts are divided; a host is visited by whoever holds its shard."""

SLACK = timedelta(hours=1)
"""An interval counts as passed so much early: nightly runs do not start at the same second."""

DAILY = 1
_DAY = timedelta(days=1)


class SelectionReason(Enum):
    """What happens with a resource in a run, and why."""

    __hash__ = object.__hash__  # as of Evidence

    INTERNAL = "internal"
    """An upload, or on a host of the site: its metadata move with the file."""
    AD_HOC = "ad hoc"
    """On a host that makes files when asked: whether the data changed cannot be determined."""
    ARCHIVED = "archived"
    """Its dataset is kept for history."""
    REQUESTABLE = "requestable"
    """Its dataset is given out on request."""
    ELSEWHERE = "elsewhere"
    """Another run, or another worker of this one, visits its host."""
    NOT_ASSESSED = "not assessed"
    """Its dataset's freshness is not known yet."""
    NO_FREQUENCY = "no frequency"
    """Nobody says how often its dataset is updated."""
    ALWAYS_FRESH = "always fresh"
    """Updated live, never or as needed."""
    FRESH = "fresh"
    """Fresh by its dates."""
    RECENT = "recent"
    """Visited not long ago, measured by its dataset's frequency."""
    BACKING_OFF = "backing off"
    """It has failed, and waits longer each time."""
    VISIT_UNCONFIRMED = "visit: unconfirmed"
    """Another hash was met last time, and could not be confirmed."""
    VISIT_ASKED = "visit: asked for"
    """All were asked for, or just this one."""
    VISIT_DAILY = "visit: daily"
    """Daily data are visited, whatever their status."""
    VISIT_NO_DATE = "visit: no date"
    """Nothing is known of when it changed."""
    VISIT_DUE = "visit: due"
    """Not fresh by its dates."""
    VISIT_ROTATION = "visit: rotation"
    """Not hashed for long; given by :class:`.picking.Selection` alone."""

    @property
    def visits(self) -> bool:
        return self in _VISITS


_VISITS = frozenset(one for one in SelectionReason if one.value.startswith("visit"))


@dataclass(frozen=True, slots=True)
class Intervals:
    """How often resources are visited, by their dataset's frequency.

    :ivar steps: (up to this many days of frequency, interval), ascending
    :ivar above: the interval of all other frequencies, and where there is none
    """

    steps: tuple[tuple[int, timedelta], ...] = ((30, _DAY), (180, 3 * _DAY))
    above: timedelta = 7 * _DAY

    def of(self, frequency_days: int | None) -> timedelta:
        """The interval for a frequency."""
        if frequency_days is not None and frequency_days > 0:
            for up_to, interval in self.steps:
                if frequency_days <= up_to:
                    return interval
        return self.above


@dataclass(frozen=True, slots=True)
class SelectionRules:
    """What decides over visits, as the site and the caller of a run want it.

    :ivar internal_hosts: normalised, as all hosts here
    :ivar adhoc_hosts: hosts whose answers are made when asked
    :ivar intervals: between two visits
    :ivar longest_back_off: to which the intervals of failing ones double
    :ivar rotation: how old a hash may become, and, as its inverse in days, the share of all resources
        that are hashed for that in one run; none if zero
    :ivar everything: visit what is fresh, too
    :ivar at_once: heed no interval
    :ivar shards: those whose hosts this run may visit; None for all
    """

    internal_hosts: Collection[str] = frozenset()
    adhoc_hosts: Collection[str] = frozenset()
    intervals: Intervals = field(default_factory=Intervals)
    longest_back_off: timedelta = 7 * _DAY
    rotation: timedelta = 30 * _DAY
    everything: bool = False
    at_once: bool = False
    shards: Collection[int] | None = None


@dataclass(slots=True)
class Candidate:
    """What the rules need to know of a resource; moments in UTC, without zone.

    :ivar host: of its URL, normalised; of where another worker handed the visit on, if one did
    :ivar assessed: whether its dataset's freshness is known
    :ivar frequency_days: of its dataset; None if nobody says one
    :ivar due: when its dataset becomes due; None where time changes nothing, or no date is known
    :ivar archived: whether its dataset is
    :ivar requestable: likewise
    :ivar visited_at: start of the run that visited it last
    :ivar has_hash: whether a hash is remembered
    :ivar hashed_at: when its bytes were hashed last
    :ivar tried_at: end of the last visit
    :ivar succeeded_at: end of the last visit that found it there
    :ivar failures: since then
    :ivar unconfirmed: another hash was met and could not be confirmed
    :ivar is_new: whether this run sees it for the first time
    :ivar is_touched: whether its own date is later than in the run before
    """

    resource_id: str
    package_id: str
    url_type: str | None
    host: str
    assessed: bool
    frequency_days: int | None
    due: datetime | None
    archived: bool
    requestable: bool
    visited_at: datetime | None
    has_hash: bool
    hashed_at: datetime | None
    tried_at: datetime | None
    succeeded_at: datetime | None
    failures: int
    unconfirmed: bool
    is_new: bool
    is_touched: bool


@dataclass(frozen=True, slots=True)
class CandidateChoice:
    """What is to be done with a resource.

    :ivar is_candidate: whether the rotation may pick it, to read its bytes whole
    """

    verdict: SelectionReason
    is_candidate: bool = False


@dataclass(frozen=True, slots=True)
class NextCheck:
    """When a resource is visited next.

    :ivar at: from then on
    :ivar in_turn: only as far as the rotation comes to it: a run has room for a part of those whose turn it is
    """

    at: datetime
    in_turn: bool = False


_CHOICES = {
    (verdict, candidate): CandidateChoice(verdict, candidate)
    for verdict in SelectionReason
    for candidate in (False, True)
}


def shard_of(host: str) -> int:
    """The shard of a normalised host, the same on every machine."""
    return crc32(host.encode()) % SHARDS


def choose(row: Candidate, now: datetime, rules: SelectionRules) -> CandidateChoice:
    """What happens with a resource in a run that started at ``now`` (UTC, without zone)."""
    left_out = _left_out(row, rules)
    if left_out is not None:
        return _CHOICES[left_out, False]
    verdict = _reason(row, now, rules)
    if verdict in _VISITS and not _is_at_once(row, verdict, rules):
        since = row.visited_at
        if since is not None and since > now - _interval(row, rules) + SLACK:
            verdict = SelectionReason.BACKING_OFF if row.failures else SelectionReason.RECENT
    # What has no hash is read whole by any visit.
    is_candidate = _has_its_turn(row, now, rules) and (row.has_hash or verdict not in _VISITS)
    return _CHOICES[verdict, is_candidate]


def next_visit(row: Candidate, now: datetime, rules: SelectionRules) -> NextCheck | None:
    """The first moment, ``now`` (UTC, without zone) or later, at which :func:`choose` has a resource visited.

    :returns: None if there is none as things are.
    """
    if _left_out(row, rules) is not None:
        return None
    moments = [_at_its_turn(row, now, rules), _at_its_interval(row, now, rules)]
    at = min((one for one in moments if one is not None), default=None)
    if at is None:
        return None
    return NextCheck(at, in_turn=choose(row, at, rules).verdict not in _VISITS)


def _at_its_turn(row: Candidate, now: datetime, rules: SelectionRules) -> datetime | None:
    """From when on :func:`_has_its_turn`."""
    if not rules.rotation:
        return None
    at = now if row.hashed_at is None else max(now, row.hashed_at + rules.rotation - SLACK)
    if row.visited_at is None or was_found(row):
        return at
    return max(at, row.visited_at + rules.longest_back_off - SLACK)


def _at_its_interval(row: Candidate, now: datetime, rules: SelectionRules) -> datetime | None:
    """From when on a resource is visited for another reason than its turn."""
    reason = _reason(row, now, rules)
    at = now
    if reason is SelectionReason.FRESH and row.due is not None:
        at = row.due
    elif reason not in _VISITS:
        return None
    if row.visited_at is None or _is_at_once(row, reason, rules):
        return at
    return max(at, row.visited_at + _interval(row, rules) - SLACK)


def _left_out(row: Candidate, rules: SelectionRules) -> SelectionReason | None:
    """Why a resource is never visited, or not by this run."""
    host = row.host
    if rules.shards is not None and shard_of(host) not in rules.shards:
        return SelectionReason.ELSEWHERE
    if row.url_type == "upload" or host in rules.internal_hosts:
        return SelectionReason.INTERNAL
    if row.archived:
        return SelectionReason.ARCHIVED
    if row.requestable:
        return SelectionReason.REQUESTABLE
    if host in rules.adhoc_hosts:
        return SelectionReason.AD_HOC
    return None


def _reason(row: Candidate, now: datetime, rules: SelectionRules) -> SelectionReason:
    """Why a resource would be visited were there no intervals, or why not."""
    if row.unconfirmed:
        return SelectionReason.VISIT_UNCONFIRMED
    if rules.everything:
        return SelectionReason.VISIT_ASKED
    if not row.assessed:
        return SelectionReason.NOT_ASSESSED
    frequency = row.frequency_days
    if frequency is None:
        return SelectionReason.NO_FREQUENCY
    if frequency <= 0:
        return SelectionReason.ALWAYS_FRESH
    if frequency == DAILY:
        return SelectionReason.VISIT_DAILY
    if row.due is None:
        return SelectionReason.VISIT_NO_DATE
    return SelectionReason.FRESH if row.due > now else SelectionReason.VISIT_DUE


def _is_at_once(row: Candidate, reason: SelectionReason, rules: SelectionRules) -> bool:
    """Whether no interval is heeded."""
    return rules.at_once or (reason is SelectionReason.VISIT_UNCONFIRMED and was_found(row))


def _interval(row: Candidate, rules: SelectionRules) -> timedelta:
    """How long a resource waits between two visits: doubled by each failure after the first."""
    interval = rules.intervals.of(row.frequency_days)
    if row.failures <= 1 or interval >= rules.longest_back_off:
        return interval
    # A week is reached long before the exponent is.
    return min(interval * 2 ** min(row.failures - 1, 20), rules.longest_back_off)


def _has_its_turn(row: Candidate, now: datetime, rules: SelectionRules) -> bool:
    """Whether a resource has not been hashed for so long that the rotation may pick it."""
    if not rules.rotation:
        return False
    hashed_at = row.hashed_at
    if hashed_at is not None and hashed_at > now - rules.rotation + SLACK:
        return False
    # What could not be read last time is left alone for as long as one that fails.
    return (
        row.visited_at is None
        or was_found(row)
        or row.visited_at <= now - rules.longest_back_off + SLACK
    )


def was_found(row: Candidate) -> bool:
    """Whether the last visit found the resource there."""
    if row.succeeded_at is None or row.tried_at is None:
        return False
    return row.succeeded_at >= row.tried_at


def is_broken(
    failures: int,
    failing_since: datetime | None,
    tried_at: datetime | None,
    *,
    least_failures: int,
    least_span: timedelta,
) -> bool:
    """Whether a URL is broken: it failed several times in a row, spread over some time."""
    if failing_since is None or tried_at is None:
        return False
    return failures >= least_failures and tried_at - failing_since >= least_span
