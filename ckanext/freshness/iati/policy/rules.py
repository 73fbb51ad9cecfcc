"""What an answer means for what is known of an IATI dataset: the update cycle's rules, by policy ``iati``.

Pure: neither network nor database nor clock. The rules are those of IATI's Bulk Data Service, numbered
as its documentation numbers them:

1. ``last_update_check`` is now.
2. Downloaded within 24 h, and the source URL is still the same: HEAD; otherwise straight to GET.
3. HEAD failed, downloaded within 6 h: the end.
4. HEAD was answered, ETag and Last-Modified are as they were: the end.
5. HEAD failed and downloaded more than 6 h ago, or either header changed: GET.
6. The answer to GET; 7. which failed in any way: the end.
8. What came has no opening IATI element in its first 6,000 characters: 9. the end.
10. Hashes and a copy are made; 11. and are the last known good ones from now on.

Where it knows no rule, or a bad one, these hold:

- Exactly 24 h and exactly 6 h are still inside.
- The GETs of rules 2 and 5 are unconditional: they exist to distrust validators.
- Where HEAD is refused (405, 501), nothing follows within 6 h of the download. Later, a conditional GET
  takes its place, if there is a validator to ask with. Its 304 says that the server still has what was
  downloaded, and is no download. Every check begins with HEAD again.
- Where HEAD names no validator nothing has been compared, and the 6 h decide. A Content-Length that
  differs is a change always.
- A URL that fails is left alone for a while (:func:`backoff`), at most 6 h, by everything but rule 1; not
  beyond the moment from which rule 5 downloads though HEAD fails.
- A copy that is lost is downloaded again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum

from ...web.headers import parse_http_date
from ...web.urls import display_url
from .attempts import ErrorDetails, ErrorType, IatiAttempt
from .state import KEPT_ATTEMPTS, DownloadedFile, FileState, GoodDownload, IatiPolicy

__all__ = [
    "FAILED",
    "HEAD_REFUSED",
    "KEPT_ATTEMPTS",
    "CheckSubject",
    "DownloadedFile",
    "FileState",
    "GoodDownload",
    "IatiDecision",
    "IatiOutcome",
    "IatiPolicy",
    "NextMethod",
    "Response",
    "backoff",
    "brakes_expiry",
    "decide",
    "has_expired",
    "not_stored",
]

HEAD_REFUSED = frozenset({405, 501})
"""What servers answer who do not know the method (RFC 9110, sections 15.5.6 and 15.6.2)."""


class NextMethod(Enum):
    """What is to be asked next."""

    NOTHING = "nothing"
    HEAD = "head"
    CONDITIONAL_GET = "conditional get"
    GET = "get"


class IatiOutcome(Enum):
    """How a visit ended."""

    POSTPONED = "postponed"
    """The URL fails, and is left alone for a while: rule 1 alone."""
    VERIFIED = "verified"
    """The server still has what was downloaded: rule 4, or a 304."""
    TRUSTED = "trusted"
    """Nothing says that it has something else, and 6 h are not over: rule 4 without validators, or HEAD
    was refused."""
    HEAD_FAILED = "head failed"
    """Rule 3."""
    GET_FAILED = "get failed"
    """Rule 7."""
    NOT_IATI = "not iati"
    """Rule 9."""
    DOWNLOADED = "downloaded"
    """Rule 11."""
    NOT_STORED = "not stored"
    """Downloaded, and could not be kept: the last known good copy is what it was."""


FAILED = frozenset({IatiOutcome.HEAD_FAILED, IatiOutcome.GET_FAILED, IatiOutcome.NOT_IATI})
"""Endings that are the URL's own fault."""


@dataclass(frozen=True, slots=True)
class CheckSubject:
    """What a visit is about.

    :ivar url: the source URL as the registry has it now
    :ivar lost: whether there should be a copy, and is none
    """

    url: str
    lost: bool = False


@dataclass(frozen=True, slots=True)
class Response:
    """What became of one request.

    :ivar status: None if there was no answer
    :ivar length: of the uncompressed file as the headers tell it; None where they do not, as when they
        tell that of a compressed one
    :ivar error: set if it failed: no answer, none that can be used, or something that is no IATI file
    :ivar ours: whether the fault is ours, so that nothing is said of the URL
    :ivar document: set if a file came
    :ivar insecure: whether a certificate on the way was not verified
    """

    asked: NextMethod
    status: int | None
    etag: str | None = None
    last_modified: str | None = None
    length: int | None = None
    error: ErrorDetails | None = None
    ours: bool = False
    document: DownloadedFile | None = None
    insecure: bool = False


@dataclass(frozen=True, slots=True)
class IatiDecision:
    """What follows from what is known so far.

    :ivar ask: what to ask next; :attr:`Ask.NOTHING` if the visit ends here
    :ivar state: to be kept if the visit ends here, and what the next step begins from
    :ivar ending: set where the visit ends
    :ivar keep: whether the bytes that came have to be stored
    :ivar changed_at: when another hash, without generated timestamps, was met than that of the last
        known good copy: evidence ``hash``. Of a first download nothing is said.
    """

    ask: NextMethod
    state: FileState
    ending: IatiOutcome | None = None
    keep: bool = False
    changed_at: datetime | None = None


def decide(
    state: FileState,
    response: Response | None,
    now: datetime,
    policy: IatiPolicy,
    subject: CheckSubject,
) -> IatiDecision:
    """What follows from a response to what the step before asked; None before the first.

    :param state: as the step before gave it
    """
    if response is None:
        return _begin(state.checked(now), now, policy, subject)
    return _AFTER[response.asked](_noted(state, response, now), response, now, policy, subject)


def _begin(
    state: FileState, now: datetime, policy: IatiPolicy, subject: CheckSubject
) -> IatiDecision:
    """Rules 1 and 2."""
    if state.failures and not _has_failed(state, subject):
        state = replace(state, failures=0, postponed_until=None, failing_since=None)
    until = state.postponed_until
    if until is not None and not policy.strict and now < until <= now + policy.backoff_most:
        return IatiDecision(NextMethod.NOTHING, state, IatiOutcome.POSTPONED)
    good = state.good
    if good is None or subject.lost or good.source_url != subject.url:
        return IatiDecision(NextMethod.GET, state)
    return IatiDecision(
        NextMethod.HEAD if _within(good, now, policy.download_after) else NextMethod.GET, state
    )


def _after_head(
    state: FileState, response: Response, now: datetime, policy: IatiPolicy, subject: CheckSubject
) -> IatiDecision:
    """Rules 3 to 5."""
    good = state.good
    assert good is not None, "HEAD is asked of what was downloaded"
    if response.error is not None:
        if response.status in HEAD_REFUSED:
            return _after_refused_head(state, good, now, policy)
        return _unanswered(state, good, response, now, policy)
    if _differs(good, response):
        return IatiDecision(NextMethod.GET, state)
    if response.etag or response.last_modified:
        return _verified(state, good, now)
    return _trusted(state, good, now, policy) or IatiDecision(NextMethod.GET, state)


def _after_refused_head(
    state: FileState, good: GoodDownload, now: datetime, policy: IatiPolicy
) -> IatiDecision:
    """Decide after an answer that says nothing of the file, and nothing against it."""
    if trusted := _trusted(state, good, now, policy):
        return trusted
    can_ask = good.etag or good.last_modified
    return IatiDecision(NextMethod.CONDITIONAL_GET if can_ask else NextMethod.GET, state)


def _trusted(
    state: FileState, good: GoodDownload, now: datetime, policy: IatiPolicy
) -> IatiDecision | None:
    """End the check if the download is recent enough to be believed without proof."""
    if _within(good, now, policy.trusted_for):
        return IatiDecision(NextMethod.NOTHING, state.healthy(good), IatiOutcome.TRUSTED)
    return None


def _after_conditional_get(
    state: FileState, response: Response, now: datetime, policy: IatiPolicy, subject: CheckSubject
) -> IatiDecision:
    """Decide in place of rules 3 to 5, where HEAD is refused and the 6 h are over."""
    good = state.good
    assert good is not None, "a condition is made of what was downloaded"
    if response.status == 304:
        return _verified(state, good, now)
    if response.status == 200:
        return _after_get(state, response, now, policy, subject)
    return IatiDecision(NextMethod.GET, state)


def _unanswered(
    state: FileState, good: GoodDownload, response: Response, now: datetime, policy: IatiPolicy
) -> IatiDecision:
    """Apply rules 3 and 5: HEAD failed."""
    if not _within(good, now, policy.trusted_for):
        return IatiDecision(NextMethod.GET, state)
    failed = _failed(state, response, now, policy)
    until = failed.postponed_until
    if until is not None:
        failed = replace(failed, postponed_until=min(until, good.downloaded + policy.trusted_for))
    return IatiDecision(NextMethod.NOTHING, failed, IatiOutcome.HEAD_FAILED)


def _after_get(
    state: FileState, response: Response, now: datetime, policy: IatiPolicy, subject: CheckSubject
) -> IatiDecision:
    """Rules 6 to 11."""
    found = response.document
    if response.error is not None or found is None:
        why = None if response.error is None else response.error.error_type
        ending = _ENDINGS.get(why, IatiOutcome.GET_FAILED)
        return IatiDecision(NextMethod.NOTHING, _failed(state, response, now, policy), ending)
    before = state.good
    is_other = before is None or before.hash != found.hash
    is_changed = (
        before is None
        or before.hash_excluding_generated_timestamp != found.hash_excluding_generated_timestamp
    )
    state = FileState(
        last_update_check=state.last_update_check,
        head_attempt=state.head_attempt,
        get_attempt=state.get_attempt,
        attempts=state.attempts,
        good=GoodDownload(
            hash=found.hash,
            hash_excluding_generated_timestamp=found.hash_excluding_generated_timestamp,
            downloaded=now,
            verified_on_server=now,
            content_length=found.content_length,
            initial_contents=found.initial_contents,
            etag=response.etag,
            last_modified=response.last_modified,
            source_url=subject.url,
        ),
        content_modified=now if is_other else state.content_modified,
        content_modified_excluding_generated_timestamp=(
            now if is_changed else state.content_modified_excluding_generated_timestamp
        ),
    )
    return IatiDecision(
        NextMethod.NOTHING,
        state,
        IatiOutcome.DOWNLOADED,
        keep=is_other or subject.lost,
        changed_at=now if is_changed and before is not None else None,
    )


_ENDINGS: Mapping[ErrorType | None, IatiOutcome] = {
    ErrorType.NOT_IATI_CONTENT: IatiOutcome.NOT_IATI,
    ErrorType.STORE_ERROR: IatiOutcome.NOT_STORED,
}
_AFTER: Mapping[
    NextMethod, Callable[[FileState, Response, datetime, IatiPolicy, CheckSubject], IatiDecision]
] = {
    NextMethod.HEAD: _after_head,
    NextMethod.CONDITIONAL_GET: _after_conditional_get,
    NextMethod.GET: _after_get,
}


def not_stored(
    before: FileState, step: IatiDecision, now: datetime, details: ErrorDetails
) -> IatiDecision:
    """What is left of a download that could not be kept: the attempt, and nothing else.

    The URL is not to blame: it is asked again by the next cycle.

    :param before: the state that the visit began from
    :param step: what :func:`decide` made of the download
    :param details: of the type ``store_error``
    """
    came = step.state.get_attempt
    assert came is not None, "it was downloaded"
    attempt = replace(came, at=now, error_details=details)
    state = replace(
        step.state,
        get_attempt=attempt,
        attempts=(attempt, *step.state.attempts[1:]),
        good=before.good,
        content_modified=before.content_modified,
        content_modified_excluding_generated_timestamp=(
            before.content_modified_excluding_generated_timestamp
        ),
    )
    return IatiDecision(NextMethod.NOTHING, state, IatiOutcome.NOT_STORED)


def has_expired(state: FileState, policy: IatiPolicy) -> bool:
    """Decide whether a copy expires: its URL fails now, and has failed for long enough.

    The time counts from the first failure after the last success. So it does not matter how many checks there
    were in between, and if no cycle ran for days, the first failure after that expires nothing.
    """
    if state.good is None or state.failing_since is None or state.failed_at is None:
        return False
    return state.failed_at - state.failing_since >= policy.expire_after


def brakes_expiry(expiring: int, copies: int, policy: IatiPolicy, *, registry_read: bool) -> bool:
    """Decide whether copies stay that would expire, because they are more than half of a source's copies.

    So many files do not vanish at once: it is more likely that this machine has lost its network. Of fewer
    than ``brake_from`` copies, more than half may be one or two files, or all those of one host that closed,
    and a brake would never let them go. Each has failed for 72 h by itself, so the brake then holds only if
    the registry could not be read either.

    :param expiring: copies that would expire in this cycle
    :param registry_read: the registry answered in this cycle
    """
    if registry_read and copies < policy.brake_from:
        return False
    return 2 * expiring > copies


def backoff(failures: int, policy: IatiPolicy) -> timedelta:
    """For how long a URL is left alone that failed so many times in a row, at least once."""
    # Beyond that many doublings every first wait of a second has become hours.
    return min(policy.backoff_first * 2 ** min(failures - 1, 16), policy.backoff_most)


def _noted(state: FileState, response: Response, now: datetime) -> FileState:
    """With the attempt that a response was."""
    method = "HEAD" if response.asked is NextMethod.HEAD else "GET"
    return state.tried(IatiAttempt(now, method, response.status, response.error, response.insecure))


def _verified(state: FileState, good: GoodDownload, now: datetime) -> IatiDecision:
    good = replace(good, verified_on_server=now)
    return IatiDecision(NextMethod.NOTHING, state.healthy(good), IatiOutcome.VERIFIED)


def _failed(state: FileState, response: Response, now: datetime, policy: IatiPolicy) -> FileState:
    if response.ours:
        return state
    failures = state.failures + 1
    until = None if policy.strict else now + backoff(failures, policy)
    return replace(
        state,
        failures=failures,
        postponed_until=until,
        failing_since=state.failing_since or now,
        failed_at=now,
    )


def _has_failed(state: FileState, subject: CheckSubject) -> bool:
    """Whether it is this URL that failed."""
    failed = next((one.error_details for one in state.attempts if one.error_details), None)
    return failed is None or failed.source_url == display_url(subject.url)


def _within(good: GoodDownload, now: datetime, limit: timedelta) -> bool:
    """Whether it was downloaded within that time. What comes from the future, by a clock that has been
    set right since, was downloaded nobody knows when."""
    return timedelta(0) <= now - good.downloaded <= limit


def _differs(good: GoodDownload, response: Response) -> bool:
    """Whether the headers say that the server has something else than what was downloaded.

    What a header that is absent was is not known. A Content-Length of 0 comes from servers that answer
    HEAD without knowing: no IATI file is empty.
    """
    return (
        bool(response.etag and not _same_etag(response.etag, good.etag))
        or bool(
            response.last_modified and not _same_date(response.last_modified, good.last_modified)
        )
        or bool(response.length and response.length != good.content_length)
    )


def _same_etag(one: str, other: str | None) -> bool:
    """RFC 9110, section 8.8.3.2, weak comparison: servers that compress as they send make the ETag of a
    GET weak, and not that of a HEAD."""
    return other is not None and one.removeprefix("W/") == other.removeprefix("W/")


def _same_date(one: str, other: str | None) -> bool:
    """The same words, or the same moment in others."""
    if one == other:
        return True
    moment = parse_http_date(one)
    return moment is not None and other is not None and moment == parse_http_date(other)
