"""The rules of a check by the policy ``hdx``: the meaning of each answer for a resource; and what a check takes
and gives, as plain data.

Pure: no network, database or clock. After each step of a check, one of these functions decides the next one:

1. :func:`conditions`: the validators to send, if we have any. :func:`refuses_conditions`: whether the server
   must be asked again without them.
2. :func:`after_headers`: the headers have arrived. The check ends, or the body is hashed.
3. :func:`after_body`: the body has arrived and was compared with the promised format. The check ends, or a
   second download is to confirm a new hash.
4. :func:`after_confirmation`: the second download is hashed.

:func:`after_failure` decides if a request has no answer.

**Nothing new is stored before it is confirmed**: neither the new hash nor the new validators. If the
confirmation fails, the next run finds the same change again.

The rules are those of HDX's data freshness process, with two additions: conditional requests, and distrust of
dates that a server makes for each answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import Enum
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from ..dates import stated_date
from ..web.errors import FailureReason
from ..web.exchange import Answer, can_be_sent, parse_http_date
from .formats import Shape
from .selection import SelectionReason

if TYPE_CHECKING:
    from ..copies.store import StagedBody

MADE_ON_THE_FLY = timedelta(minutes=1)
"""A Last-Modified this close to the answer's Date, or to its receipt, was made for the answer."""

WESTERNMOST = 12
"""The most hours by which local time is behind GMT. Some servers send local time and call it GMT."""

_HOUR = timedelta(hours=1)

EARLIER_HASHES = 20
"""Number of earlier hashes stored for a resource, the newest first."""

_CANNOT_TELL = frozenset({202, 401, 403, 407, 429, 451})
"""202: the file may exist later (RFC 9110, section 15.3.3). The others: people may get the file."""

_REFUSES_CONDITIONS = frozenset({400, 406, 409, 412, 416, 422, 428, 431, 500, 501})
"""Answers of servers that do not understand a conditional request. RFC 9110 (section 13) only has 304 and, for
conditions that we do not send, 412."""

_HOST_REFUSES = frozenset(
    {FailureReason.ROBOTS, FailureReason.HOST_DEFERRED, FailureReason.HOST_SILENT}
)
"""Failures of a host that takes no requests from us, or none now: nothing is known of the URL."""

_READABLE = frozenset({200, 203})
"""Statuses that come with the file. 204 and 205 have no body; 206 answers a request that we never send."""


class Outcome(Enum):
    """The outcome of a check."""

    NOT_MODIFIED = "not modified"
    """304: the file is the one that we know."""
    HEADER = "http header"
    """A newer Last-Modified, which makes the resource fresh."""
    SAME_HASH = "same hash"
    FIRST_HASH = "first hash"
    """No hash was stored to compare with: no change of date."""
    REPEAT_HASH = "repeat hash"
    """A hash of an earlier run: no change of date."""
    CHANGED = "hash"
    """A new hash, confirmed by a second download."""
    API = "api"
    """Each download differs: it cannot be determined whether the data changed."""
    UNCONFIRMED = "unconfirmed"
    """A new hash, but the second download failed: the next run checks again."""
    ERROR = "error"
    CANNOT_TELL = "cannot tell"
    """401, 403, 429 or a bot wall: people may get the file. 202: the file may exist later."""


class Agreement(Enum):
    """The result of comparing a server's Last-Modified with the hash of the file."""

    AGREED = "agreed"
    """Both changed, or neither."""
    MISSED = "missed a change"
    """Only the file changed."""
    MOVED = "moved without a change"
    """Only the date changed."""


class NextRequest(Enum):
    """The next step of a check."""

    END = "end"
    HASH = "hash"
    CONFIRM = "confirm"


class KnownContent(NamedTuple):
    """The stored facts about the file at a resource's URL. They are reset if the URL changes."""

    etag: str | None = None
    last_modified: str | None = None
    """Last-Modified as the server wrote it, to be sent back."""
    hash: str | None = None
    """Hash of the file that came with the validators. It begins with the detector's name: ``sha256:...``."""
    earlier: tuple[str, ...] = ()
    """Earlier hashes, the newest first."""
    outdated: bool = False
    """The hash is older than the validators, since a newer Last-Modified ended a check before the file was
    read. The next hash is not compared with it."""
    tabular: bool = False
    """The last good file was a table of several lines or columns, and the catalogue promises a table."""
    promised: str | None = None
    """The promised format, if the last file was of another kind; None if it fitted."""
    found: str | None = None
    """The kind of that file, in words."""


class ResourceToCheck(NamedTuple):
    """A resource that a run has chosen, with all that its check needs to know.

    :ivar last_change: the resource's last modification by its evidence
    :ivar fresh_after: a resource that changed after this moment is fresh now; None if no date makes it fresh
    :ivar hash_anyway: whether the file is read even if the server reports no change
    :ivar format: as the catalogue declares it
    :ivar mimetype: as the catalogue declares it; None if a check has written it into the resource
    :ivar keep_copy: whether a good file is staged for a copy
    :ivar has_shape: whether the shape of the stored content was read
    :ivar is_new: whether this run is the first to see the resource
    :ivar is_touched: whether the resource's own date is later than at the previous run
    :ivar why: why the run chose the resource; None if nothing was chosen
    :ivar every_days: the days between two changes that are expected, if these are the reason
    """

    resource_id: str
    package_id: str
    url: str
    memory: KnownContent = KnownContent()
    last_change: datetime | None = None
    fresh_after: datetime | None = None
    hash_anyway: bool = False
    format: str | None = None
    mimetype: str | None = None
    keep_copy: bool = False
    has_shape: bool = False
    is_new: bool = False
    is_touched: bool = False
    why: SelectionReason | None = None
    every_days: int | None = None


class Attempt(NamedTuple):
    """A check as it is stored in the resource's history.

    :ivar at: end of the check, aware
    :ivar status: of the last answer; None if there was none
    :ivar reason: why there was no answer, a value of :class:`..web.errors.FailureReason`, or
        ``format`` if the answer was of no use; else None
    :ivar words: the failure in words for people, without secrets; None if there was none
    :ivar received: bytes of the body
    :ivar seconds: of the last request, without waiting in our own queues
    :ivar final_url: URL after redirects, without secrets; None if it is the resource's URL
    :ivar modified: the Last-Modified that was believed
    """

    at: datetime
    method: str
    outcome: Outcome
    status: int | None = None
    reason: str | None = None
    words: str | None = None
    received: int = 0
    seconds: float = 0.0
    final_url: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    modified: datetime | None = None


class CheckResult(NamedTuple):
    """The result of a resource's check.

    :ivar host: of the resource's URL, normalised; empty if the URL names none
    :ivar memory: what to store for the next check
    :ivar modified: a newer Last-Modified: evidence ``http header``
    :ivar changed_at: when a new hash was found that is confirmed now: evidence ``hash``
    :ivar hashed: whether the file was read and hashed
    :ivar counts_as_failure: whether the result counts towards "broken": certain, and the URL's own fault
    :ivar size: of the file, if it was read whole
    :ivar shape: of the file's tables, empty if it is uncertain; None if it was not read
    :ivar mimetype: as the server says, without parameters; None if the server says nothing, or the answer was
        of no use
    :ivar hides_changes: whether the validators stayed the same although the file has changed; None if it has
        not changed
    :ivar put_off: whether no request was sent because the host gives no answers. Ignore ``outcome``: the next
        run checks the URL.
    :ivar staged: a good file, staged for a copy; the receiver closes it
    """

    resource: ResourceToCheck
    host: str
    outcome: Outcome
    memory: KnownContent
    attempt: Attempt
    modified: datetime | None = None
    changed_at: datetime | None = None
    hashed: bool = False
    counts_as_failure: bool = False
    size: int | None = None
    shape: Shape | None = None
    mimetype: str | None = None
    has_etag: bool = False
    has_last_modified: bool = False
    agreement: Agreement | None = None
    hides_changes: bool | None = None
    put_off: bool = False
    staged: StagedBody | None = None


class AnswerHeaders(NamedTuple):
    """The headers of an answer. Dates are aware, and None if absent or not understood."""

    status: int
    etag: str | None = None
    last_modified_text: str | None = None
    last_modified: datetime | None = None
    date: datetime | None = None
    """The server's time of the answer."""
    wall: bool = False
    """Whether a bot wall answered. Its status can be any."""
    empty: bool = False
    """Content-Length is 0."""
    age: timedelta = timedelta(0)
    """How long a cache has kept the answer."""


class Decision(NamedTuple):
    """The conclusions from a step of a check."""

    next: NextRequest
    memory: KnownContent
    """What to store if the check ends here."""
    outcome: Outcome | None = None
    """Set if the check ends."""
    modified: datetime | None = None
    """A newer Last-Modified: evidence ``http header``, however the check continues. Each step is given the
    date of the step before."""
    counts_as_failure: bool = False
    """The failure counts towards "broken": it is certain, and the URL's own fault."""
    put_off: bool = False
    """No request was sent because the host gives no answers. Ignore the outcome: the next run checks again."""

    @property
    def changed(self) -> bool:
        """Whether the file changed: evidence ``hash``."""
        return self.outcome is Outcome.CHANGED


def conditions(memory: KnownContent, *, hash_anyway: bool) -> tuple[str | None, str | None]:
    """Return the ETag and the Last-Modified to send. Without either, the request is unconditional.

    :param hash_anyway: read the file even if the server reports no change: the rotation exists to find
        unreported changes
    """
    if hash_anyway or memory.hash is None:
        return None, None
    return memory.etag, memory.last_modified


def refuses_conditions(status: int) -> bool:
    """Decide whether to repeat a conditional request without its conditions."""
    return status in _REFUSES_CONDITIONS


def after_failure(
    memory: KnownContent, reason: FailureReason, *, confirms: bool, modified: datetime | None = None
) -> Decision:
    """Decide what a request without an answer means.

    :param confirms: it was the second download
    :param modified: the newer Last-Modified of the first one
    """
    if confirms:
        return Decision(NextRequest.END, memory, Outcome.UNCONFIRMED, modified)
    if reason in _HOST_REFUSES:
        put_off = reason is FailureReason.HOST_SILENT
        return Decision(NextRequest.END, memory, Outcome.CANNOT_TELL, put_off=put_off)
    return _error(memory, counts_as_failure=reason.theirs)


def _error(memory: KnownContent, *, counts_as_failure: bool = True) -> Decision:
    return Decision(NextRequest.END, memory, Outcome.ERROR, counts_as_failure=counts_as_failure)


def after_headers(
    memory: KnownContent,
    headers: AnswerHeaders,
    *,
    conditional: bool,
    last_change: datetime | None,
    fresh_after: datetime | None,
    hash_anyway: bool,
    now: datetime,
) -> Decision:
    """Decide what the headers of an answer mean.

    :param conditional: the request had conditions: without them, 304 means nothing
    :param last_change: the resource's last modification, if it is known
    :param fresh_after: a resource that changed after this moment is fresh now; None if no date makes it fresh
    :param hash_anyway: hash the body even if the headers say that it has not changed
    """
    if headers.status == 304 and not conditional:
        return _error(memory)
    if cannot_tell(headers):
        return Decision(NextRequest.END, memory, Outcome.CANNOT_TELL)
    if headers.status == 304:
        return Decision(NextRequest.END, memory, Outcome.NOT_MODIFIED)
    if headers.status not in _READABLE:
        return _error(memory)
    modified = believed(headers, now)
    if modified is not None and last_change is not None and modified <= last_change:
        modified = None
    makes_fresh = modified is not None and fresh_after is not None and modified > fresh_after
    # The date of an empty file is the moment when the data were lost.
    if not makes_fresh or hash_anyway or memory.hash is None or headers.empty:
        return Decision(NextRequest.HASH, memory, modified=modified)
    unread = memory._replace(
        etag=headers.etag, last_modified=headers.last_modified_text, outdated=True
    )
    return Decision(NextRequest.END, unread, Outcome.HEADER, modified)


def cannot_tell(headers: AnswerHeaders) -> bool:
    """Return whether an answer says nothing about the file.

    The server refuses automated clients, or has not finished the file (202).
    """
    return headers.wall or headers.status in _CANNOT_TELL


def has_file(headers: AnswerHeaders) -> bool:
    """Return whether the body of an answer is the file."""
    return headers.status in _READABLE and not headers.wall


def believed(headers: AnswerHeaders, now: datetime) -> datetime | None:
    """Return the Last-Modified of an answer; None if it was made for the answer, or lies in the future.

    :param now: receipt of the answer: some servers send no Date, or a wrong one
    """
    modified = headers.last_modified
    if modified is None or modified >= now - MADE_ON_THE_FLY:
        return None
    date = now if headers.date is None else headers.date
    # Some caches keep the answer's Date, others replace it.
    ages = [at - modified - kept for at in (now, date) for kept in (timedelta(0), headers.age)]
    return None if any(_is_made_on_the_fly(age) for age in ages) else modified


def _is_made_on_the_fly(age: timedelta) -> bool:
    """Decide whether a date was made for an answer, in GMT or in the local time of a zone behind it.

    :param age: from the date to the answer
    """
    hours = round(age / _HOUR)
    return 0 <= hours <= WESTERNMOST and abs(age - hours * _HOUR) <= MADE_ON_THE_FLY


def after_body(
    memory: KnownContent,
    headers: AnswerHeaders,
    step: Decision,
    *,
    fits: bool,
    digest: str | None,
) -> Decision:
    """Decide what a body means that the headers made us read.

    :param step: the decision about the headers
    :param fits: the body may be of the promised format
    :param digest: its hash; None if the headers decide and only its beginning was read
    """
    if not fits:
        return _error(memory)
    if step.next is NextRequest.END:
        return step
    if digest is None:
        raise ValueError("a body that decides must be hashed")
    return after_hash(memory, headers, digest, step.modified)


def after_hash(
    memory: KnownContent, headers: AnswerHeaders, digest: str, modified: datetime | None
) -> Decision:
    """Decide what the hash of a body means, compared with the stored ones."""
    if memory.hash is None or memory.outdated:
        outcome = Outcome.FIRST_HASH
    elif digest == memory.hash:
        outcome = Outcome.SAME_HASH
    elif _detector(memory.hash) != _detector(digest):
        outcome = Outcome.FIRST_HASH
    elif digest in memory.earlier:
        outcome = Outcome.REPEAT_HASH
    else:
        return Decision(NextRequest.CONFIRM, memory, modified=modified)
    return Decision(NextRequest.END, _seen(memory, headers, digest), outcome, modified)


def after_confirmation(
    memory: KnownContent,
    headers: AnswerHeaders,
    first: str,
    second: str | None,
    modified: datetime | None,
) -> Decision:
    """Decide what the second download means.

    :param headers: of the second download, so that the stored validators belong to the stored hash
    :param second: hash of the second download; None if it failed
    """
    if second is None:
        return Decision(NextRequest.END, memory, Outcome.UNCONFIRMED, modified)
    if second == first:
        return Decision(NextRequest.END, _seen(memory, headers, second), Outcome.CHANGED, modified)
    if second == memory.hash:
        # Unchanged after all: several servers behind one name, or a temporary fault.
        return Decision(NextRequest.END, memory, Outcome.SAME_HASH, modified)
    return Decision(NextRequest.END, memory, Outcome.API, modified)


def agreement(memory: KnownContent, headers: AnswerHeaders, digest: str) -> Agreement | None:
    """Return whether Last-Modified agreed with a hash that is certain; None if there is nothing to compare.

    :param memory: before the check
    """
    if memory.hash is None or memory.outdated:
        return None
    if memory.last_modified is None or headers.last_modified_text is None:
        return None
    if _detector(memory.hash) != _detector(digest):
        return None
    changed = digest != memory.hash
    moved = headers.last_modified_text != memory.last_modified
    if changed == moved:
        return Agreement.AGREED
    return Agreement.MISSED if changed else Agreement.MOVED


def hides_changes(memory: KnownContent, headers: AnswerHeaders, digest: str) -> bool | None:
    """Return whether a server's validators stayed the same although its file has changed.

    Such a server answers "not modified" to conditional requests, so that only reading the file shows a change.

    :param memory: before the check
    :returns: None if the file has not changed, or there is nothing to compare
    """
    before = memory.etag, memory.last_modified
    if memory.hash is None or memory.outdated or before == (None, None):
        return None
    if digest == memory.hash or _detector(memory.hash) != _detector(digest):
        return None
    return before == (headers.etag, headers.last_modified_text)


def _seen(memory: KnownContent, headers: AnswerHeaders, digest: str) -> KnownContent:
    """Return what to store once the hash of a body is certain."""
    earlier = memory.earlier
    if memory.hash or earlier:
        before = (memory.hash, *earlier) if memory.hash else earlier
        earlier = tuple(hash_ for hash_ in dict.fromkeys(before) if hash_ != digest)[
            :EARLIER_HASHES
        ]
    return KnownContent(
        headers.etag,
        headers.last_modified_text,
        digest,
        earlier,
        tabular=memory.tabular,
        promised=memory.promised,
        found=memory.found,
    )


def _detector(digest: str) -> str:
    return digest.partition(":")[0]


# Headers and statuses

_LONGEST_VALIDATOR = 1024
"""Longest validator that is stored; an ETag has some forty characters."""

REQUEST_DENIED = 999
"""LinkedIn's own status for suspected bots. It is not registered with IANA."""

BOT_WALLS: tuple[tuple[str, frozenset[str]], ...] = (
    # https://developers.cloudflare.com/cloudflare-challenges/challenge-types/challenge-pages/detect-response/
    ("cf-mitigated", frozenset({"challenge"})),
    # 202 and 405:
    # https://docs.aws.amazon.com/waf/latest/developerguide/waf-captcha-and-challenge-how-it-works.html
    ("x-amzn-waf-action", frozenset({"challenge", "captcha"})),
    # https://vercel.com/docs/headers/response-headers
    ("x-vercel-mitigated", frozenset({"challenge", "deny"})),
)
"""Headers and values by which a bot wall says that it answered in place of the site.

Only documented signs are listed. A wall that answers with 401, 403 or 429 needs no row.
"""


def read_headers(answer: Answer) -> AnswerHeaders:
    """Return the headers of an answer that decide."""
    headers, modified, date, age = answer.headers, None, None, timedelta(0)
    text = headers.get("Last-Modified")
    # A 304 counts whatever its dates, and parsing them is half of the work on its headers.
    if text is not None and answer.status != 304:
        modified = stated_date(parse_http_date(text))
        # These two are only compared with Last-Modified.
        date = parse_http_date(headers.get("Date", ""))
        age = _age(headers.get("Age", ""))
    return AnswerHeaders(
        answer.status,
        storable_validator(headers.get("ETag")),
        storable_validator(text),
        modified,
        date,
        is_bot_wall(answer.status, headers),
        headers.get("Content-Length") == "0",
        age,
    )


def is_bot_wall(status: int, headers: Mapping[str, str]) -> bool:
    """Decide whether a bot wall answered in place of the site.

    :param headers: a mapping that ignores the case of names
    """
    if status == REQUEST_DENIED:
        return True
    # Hardly any answer has one of these headers.
    return any(
        name in headers and headers[name].strip().lower() in values for name, values in BOT_WALLS
    )


def _age(text: str) -> timedelta:
    """Return the time in an Age header (RFC 9111, section 5.1); 0 if it names none."""
    text = text.strip()
    is_number = text.isascii() and text.isdigit() and len(text) <= 9
    return timedelta(seconds=int(text) if is_number else 0)


def storable_validator(value: str | None) -> str | None:
    """Return a validator if it can be stored and sent back."""
    if not value or len(value) > _LONGEST_VALIDATOR or not can_be_sent(value):
        return None
    return value


def mimetype_of(answer: Answer) -> str | None:
    """Return the media type in Content-Type, without parameters; None if there is no usable one."""
    text = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return text if text.count("/") == 1 and len(text) <= 127 and can_be_sent(text) else None


def outcome_in_words(step: Decision, headers: AnswerHeaders) -> str | None:
    """Return why an answer was of no use, in words for people; None if it was."""
    if step.outcome is Outcome.ERROR:
        unasked = " to a request without conditions" if headers.status == 304 else ""
        return f"answered {status_in_words(headers.status)}{unasked}"
    if step.outcome is Outcome.CANNOT_TELL:
        answered = "a bot wall answered" if headers.wall else "answered"
        return f"{answered} {status_in_words(headers.status)}: the link may still work in a browser"
    return None


def status_in_words(status: int) -> str:
    """Return a status with its name: ``404 (Not Found)``."""
    try:
        return f"{status} ({HTTPStatus(status).phrase})"
    except ValueError:
        return str(status)
