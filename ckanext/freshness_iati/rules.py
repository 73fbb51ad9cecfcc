"""The rules of IATI's update cycle: the next request for a file, and the file's state after an answer.

Pure: no network, no database, no clock. The rules and their numbers are those of IATI's Bulk Data Service:

1. Set ``last_update_check`` to now.
2. If the last download is at most 24 h old and the source URL is the same, send HEAD; otherwise send GET.
3. If HEAD fails and the download is at most 6 h old, end.
4. If HEAD succeeds and ETag and Last-Modified are unchanged, end.
5. If HEAD fails and the download is older than 6 h, or if a header changed, send GET.
6. Receive the answer to GET.
7. If GET fails, end.
8. Look for an opening IATI element in the first 6,000 characters.
9. If there is none, end.
10. Store the file with its hashes.
11. It is the last known good download.

Where the service has no rule or a harmful one, these apply:

- A download of exactly 24 h or 6 h is still young enough.
- The GETs of rules 2 and 5 are unconditional, because they exist to distrust validators.
- If HEAD is refused (405, 501) and the download is at most 6 h old, end. If it is older, send a conditional
  GET, or a plain GET without a validator. A 304 verifies the download but is not a download. The next check
  starts with HEAD again.
- If HEAD returns no validator, the download stands for 6 h. Another Content-Length is always a change.
- A URL that fails is not requested for a while (:func:`backoff`). The pause is at most 6 h and ends when rule 5
  would download in spite of a failed HEAD.
- A lost copy is downloaded again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from enum import Enum
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ckanext.freshness.web.headers import parse_http_date
from ckanext.freshness.web.urls import display_url

from .attempts import Attempt, ErrorDetails, ErrorType, attempt, kept

HEAD_REFUSED = frozenset({405, 501})
"""Statuses of servers that do not support HEAD (RFC 9110, sections 15.5.6 and 15.6.2)."""

DOWNLOAD_AFTER = timedelta(hours=24)
"""Rule 2: an older download is replaced without asking by HEAD."""
TRUSTED_FOR = timedelta(hours=6)
"""Rules 3 and 5: a younger download stands although HEAD failed."""
EXPIRE_AFTER = timedelta(hours=72)
"""A copy expires if its URL still fails this long after its first failure in a row."""

FIRST_PAUSE = timedelta(minutes=15)
"""The pause after a URL's first failure; each further failure doubles it."""
LONGEST_PAUSE = timedelta(hours=6)

BRAKE_FROM = 10
"""Sources with at least this many copies never lose more than half of them in one cycle."""


class DownloadedFile(NamedTuple):
    """A file as one download returned it.

    :ivar hash: SHA-1 of the bytes, hexadecimal
    :ivar hash_excluding_generated_timestamp: the same without any ``generated-datetime`` attribute
    :ivar content_length: bytes, decompressed
    :ivar initial_contents: the first 150 characters
    """

    hash: str
    hash_excluding_generated_timestamp: str
    content_length: int
    initial_contents: str


# Structs, since each check makes new ones five times, and replacing a field of a dataclass takes long.


class GoodDownload(Struct, frozen=True):
    """The last known good download.

    :ivar downloaded: when
    :ivar verified_on_server: when the server last confirmed, by any answer, that the file is unchanged
    :ivar etag: as the server sent it
    :ivar last_modified: as the server sent it, whether or not it is a date
    :ivar source_url: requested URL as the registry has it, secrets included: use
        :func:`ckanext.freshness.web.urls.display_url` to show it
    """

    hash: str
    hash_excluding_generated_timestamp: str
    downloaded: datetime
    verified_on_server: datetime
    content_length: int
    initial_contents: str
    etag: str | None
    last_modified: str | None
    source_url: str


class FileState(Struct, frozen=True):
    """The state of one dataset's file, as the database keeps it. All times are aware.

    :ivar last_update_check: rule 1
    :ivar content_modified: when a download last had a new hash; the first download counts
    :ivar failures: failed checks since the last successful one
    :ivar failed_url: URL of the last failure, without secrets
    :ivar failing_since: when the first of these checks failed
    :ivar postponed_until: no request is sent before this time; None: no pause
    :ivar attempts: see :func:`.attempts.kept`
    :ivar failed_at: when the last check failed; None if it succeeded, or sent no request
    """

    last_update_check: datetime | None = None
    good: GoodDownload | None = None
    content_modified: datetime | None = None
    content_modified_excluding_generated_timestamp: datetime | None = None
    failures: int = 0
    failed_url: str | None = None
    failing_since: datetime | None = None
    postponed_until: datetime | None = None
    attempts: tuple[Attempt, ...] = ()
    failed_at: datetime | None = None

    def without_failures(self, good: GoodDownload | None) -> FileState:
        """Return the state after a successful check, with its last known good download."""
        return replace(
            self,
            good=good,
            failures=0,
            failed_url=None,
            failing_since=None,
            postponed_until=None,
            failed_at=None,
        )


class NextMethod(Enum):
    """The next request."""

    NOTHING = "nothing"
    HEAD = "head"
    CONDITIONAL_GET = "conditional get"
    GET = "get"

    @property
    def http_method(self) -> str:
        return "HEAD" if self is NextMethod.HEAD else "GET"


class IatiOutcome(Enum):
    """The outcome of a check."""

    POSTPONED = "postponed"
    """No request: the URL failed recently."""
    VERIFIED = "verified"
    """The server confirmed that the file is unchanged: rule 4, or a 304."""
    TRUSTED = "trusted"
    """The download is at most 6 h old, and the answer to HEAD neither confirms nor contradicts it."""
    FAILED = "failed"
    """Rules 3, 7 and 9: a failure that counts against the URL, or a fault of this site."""
    DOWNLOADED = "downloaded"
    """Rule 11."""
    NOT_STORED = "not stored"
    """The file was downloaded but could not be stored. The previous copy stays."""


class CheckSubject(NamedTuple):
    """The registered URL and its copy.

    :ivar url: source URL as the registry has it now
    :ivar lost: the copy is missing from the store
    :ivar strict: apply the rules alone, without pauses after failures
    """

    url: str
    lost: bool = False
    strict: bool = False


class Response(NamedTuple):
    """The result of one request.

    :ivar status: None without an answer
    :ivar length: Content-Length of the uncompressed file; None if the answer does not state it
    :ivar error: no answer, an unusable answer, or no IATI file
    :ivar our_fault: the error says nothing about the URL
    :ivar file: a downloaded IATI file
    :ivar insecure: a certificate was not verified
    """

    method: NextMethod
    status: int | None
    etag: str | None = None
    last_modified: str | None = None
    length: int | None = None
    error: ErrorDetails | None = None
    our_fault: bool = False
    file: DownloadedFile | None = None
    insecure: bool = False


class IatiDecision(NamedTuple):
    """The next request of a check, and the state to store if there is none.

    :ivar next_method: :attr:`NextMethod.NOTHING` ends the check
    :ivar state: to be stored if the check ends; otherwise the input of the next decision
    :ivar outcome: None while the check goes on
    :ivar keep: the downloaded bytes must be stored
    :ivar changed_at: when the contents changed, as evidence ``hash``: the hash without generated timestamps
        differs from that of the last known good download. None for a first download.
    """

    next_method: NextMethod
    state: FileState
    outcome: IatiOutcome | None = None
    keep: bool = False
    changed_at: datetime | None = None


def decide(
    state: FileState,
    response: Response | None,
    now: datetime,
    subject: CheckSubject,
) -> IatiDecision:
    """Decide what follows from a response.

    :param state: of the previous decision; before the first request, the stored one
    :param response: to the request of the previous decision; None before the first request
    """
    if response is None:
        begun = replace(state, last_update_check=now, failed_at=None)
        return _begin(begun, now, subject)
    made = attempt(
        now,
        response.method.http_method,
        response.status,
        response.error,
        insecure=response.insecure,
    )
    state = replace(state, attempts=kept((made, *state.attempts)))
    return _AFTER[response.method](state, response, now, subject)


def _begin(state: FileState, now: datetime, subject: CheckSubject) -> IatiDecision:
    """Choose the first request: back-off and rule 2."""
    if state.failed_url is not None and state.failed_url != display_url(subject.url):
        # Another URL is registered now, which has not failed.
        state = state.without_failures(state.good)
    until = state.postponed_until
    if until is not None and not subject.strict and now < until <= now + LONGEST_PAUSE:
        return IatiDecision(NextMethod.NOTHING, state, IatiOutcome.POSTPONED)
    good = state.good
    if (
        good is not None
        and not subject.lost
        and good.source_url == subject.url
        and _is_within(good, now, DOWNLOAD_AFTER)
    ):
        return IatiDecision(NextMethod.HEAD, state)
    return IatiDecision(NextMethod.GET, state)


def _after_head(
    state: FileState, response: Response, now: datetime, subject: CheckSubject
) -> IatiDecision:
    """Apply rules 3 to 5."""
    good = state.good
    assert good is not None, "HEAD is sent only if there is a download"
    is_recent = _is_within(good, now, TRUSTED_FOR)
    trusted = IatiDecision(NextMethod.NOTHING, state.without_failures(good), IatiOutcome.TRUSTED)
    if response.status in HEAD_REFUSED:
        if is_recent:
            return trusted
        has_validator = good.etag or good.last_modified
        return IatiDecision(NextMethod.CONDITIONAL_GET if has_validator else NextMethod.GET, state)
    if response.error is not None:
        if not is_recent:
            return IatiDecision(NextMethod.GET, state)
        failed = _failed(state, response, now, subject)
        if failed.postponed_until is not None:
            # From this moment on rule 5 downloads the file although HEAD fails.
            latest = good.downloaded + TRUSTED_FOR
            failed = replace(failed, postponed_until=min(failed.postponed_until, latest))
        return IatiDecision(NextMethod.NOTHING, failed, IatiOutcome.FAILED)
    if _differs(good, response):
        return IatiDecision(NextMethod.GET, state)
    if response.etag or response.last_modified:
        return _verified(state, good, now)
    return trusted if is_recent else IatiDecision(NextMethod.GET, state)


def _after_conditional_get(
    state: FileState, response: Response, now: datetime, subject: CheckSubject
) -> IatiDecision:
    """Decide after the request that replaces a refused HEAD."""
    assert state.good is not None, "a condition is made from a download"
    if response.status == 304:
        return _verified(state, state.good, now)
    if response.status == 200:
        return _after_get(state, response, now, subject)
    return IatiDecision(NextMethod.GET, state)


def _after_get(
    state: FileState, response: Response, now: datetime, subject: CheckSubject
) -> IatiDecision:
    """Apply rules 6 to 11."""
    file, error = response.file, response.error
    if error is not None and error["error_type"] == ErrorType.STORE_ERROR.value:
        # The URL works, so the next cycle requests it again.
        works = state.without_failures(state.good)
        return IatiDecision(NextMethod.NOTHING, works, IatiOutcome.NOT_STORED)
    if error is not None or file is None:
        failed = _failed(state, response, now, subject)
        return IatiDecision(NextMethod.NOTHING, failed, IatiOutcome.FAILED)
    before = state.good
    has_new_bytes = before is None or before.hash != file.hash
    has_changed = (
        before is None
        or before.hash_excluding_generated_timestamp != file.hash_excluding_generated_timestamp
    )
    good = GoodDownload(
        downloaded=now,
        verified_on_server=now,
        etag=response.etag,
        last_modified=response.last_modified,
        source_url=subject.url,
        **file._asdict(),
    )
    state = replace(
        state.without_failures(good),
        content_modified=now if has_new_bytes else state.content_modified,
        content_modified_excluding_generated_timestamp=(
            now if has_changed else state.content_modified_excluding_generated_timestamp
        ),
    )
    return IatiDecision(
        NextMethod.NOTHING,
        state,
        IatiOutcome.DOWNLOADED,
        keep=has_new_bytes or subject.lost,
        changed_at=now if has_changed and before is not None else None,
    )


_AFTER: Mapping[
    NextMethod, Callable[[FileState, Response, datetime, CheckSubject], IatiDecision]
] = {
    NextMethod.HEAD: _after_head,
    NextMethod.CONDITIONAL_GET: _after_conditional_get,
    NextMethod.GET: _after_get,
}


def has_expired(state: FileState) -> bool:
    """Decide whether a copy expires: its URL failed in this check, and has failed for long enough.

    The time counts from the first failure after the last success, whatever the number of checks since. If no
    cycle ran for days, the first failure after the gap expires nothing.
    """
    if state.good is None or state.failing_since is None or state.failed_at is None:
        return False
    return state.failed_at - state.failing_since >= EXPIRE_AFTER


def brakes_expiry(expiring: int, copies: int, *, registry_read: bool) -> bool:
    """Decide whether expiring copies are kept because they are more than half of a source's copies.

    So many files rarely vanish at once: this machine has more likely lost its network. In a source with fewer
    than :data:`BRAKE_FROM` copies, more than half may be one or two files, or all files of one closed host,
    and a brake would keep them for ever. Each has failed for 72 h, so there the brake holds only if the
    registry could not be read either.

    :param expiring: copies that would expire in this cycle
    :param registry_read: the registry answered in this cycle
    """
    if registry_read and copies < BRAKE_FROM:
        return False
    return 2 * expiring > copies


def backoff(failures: int) -> timedelta:
    """Return the pause after a number of failures in a row, at least one."""
    doublings = min(failures - 1, 5)
    pause: timedelta = FIRST_PAUSE * 2**doublings
    return min(pause, LONGEST_PAUSE)


def _verified(state: FileState, good: GoodDownload, now: datetime) -> IatiDecision:
    state = state.without_failures(replace(good, verified_on_server=now))
    return IatiDecision(NextMethod.NOTHING, state, IatiOutcome.VERIFIED)


def _failed(
    state: FileState, response: Response, now: datetime, subject: CheckSubject
) -> FileState:
    if response.our_fault:
        return state
    failures = state.failures + 1
    return replace(
        state,
        failures=failures,
        failed_url=display_url(subject.url),
        failing_since=state.failing_since or now,
        postponed_until=None if subject.strict else now + backoff(failures),
        failed_at=now,
    )


def _is_within(good: GoodDownload, now: datetime, limit: timedelta) -> bool:
    """Decide whether a download is at most this old; a date in the future, from a wrong clock, is not."""
    return timedelta(0) <= now - good.downloaded <= limit


def _differs(good: GoodDownload, response: Response) -> bool:
    """Decide whether headers say that the file has changed; an absent header says nothing.

    A Content-Length of 0 is ignored: no IATI file is empty, and some servers answer HEAD so.
    """
    return (
        bool(response.etag and not _same_etag(response.etag, good.etag))
        or bool(
            response.last_modified and not _same_date(response.last_modified, good.last_modified)
        )
        or bool(response.length and response.length != good.content_length)
    )


def _same_etag(new: str, known: str | None) -> bool:
    """Compare weakly (RFC 9110, section 8.8.3.2).

    Servers that compress while sending make the ETag of a GET weak, but not that of a HEAD.
    """
    return known is not None and new.removeprefix("W/") == known.removeprefix("W/")


def _same_date(new: str, known: str | None) -> bool:
    """Compare texts, then times: a server may write the same time in another format."""
    if new == known:
        return True
    time = parse_http_date(new)
    return time is not None and known is not None and time == parse_http_date(known)
