"""What an answer means for what we know of a resource: the rules of one visit, by policy ``hdx``.

Pure: neither network nor database nor clock. After each step of a visit a function here says what comes
next:

1. :func:`question`: what to ask, conditional where we hold validators.
2. :func:`after_headers`: the answer's headers are there: the end, or the body is to be hashed.
3. :func:`after_hash`: the body's hash is there: the end, or a second download is to confirm a new hash.
4. :func:`after_confirmation`: the second hash is there.

**Nothing is remembered as seen before it is confirmed**: until then neither the new hash nor the new
validators are kept, so that the next run meets the change again and none is lost.

The rules are those of HDX's data freshness process, with what it lacks: conditional requests, and no
belief in dates that a server makes up on the fly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum

MADE_ON_THE_FLY = timedelta(minutes=1)
"""A Last-Modified this close to the answer's Date, or to its receipt, was made for the answer."""

WESTERNMOST = 12
"""Hours by which local time is behind GMT at most: servers write it and call it GMT."""

_HOUR = timedelta(hours=1)

EARLIER_HASHES = 20
"""How many earlier hashes of a resource are kept, the newest first."""

_CANNOT_TELL = frozenset({202, 401, 403, 407, 429, 451})
"""202: there will be something to look at later (RFC 9110, section 15.3.3)."""

_READABLE = frozenset({200, 203})
"""The bytes come with these. 204 and 205 have none, and 206 is an answer to nothing that was asked."""


class Outcome(Enum):
    """What a check found."""

    __hash__ = object.__hash__  # as of Evidence

    NOT_MODIFIED = "not modified"
    """304: the server says that it is as we have it."""
    HEADER = "http header"
    """A newer Last-Modified, which makes the resource fresh."""
    SAME_HASH = "same hash"
    FIRST_HASH = "first hash"
    """Nothing was stored to compare with: no change of date."""
    REPEAT_HASH = "repeat hash"
    """A hash that was seen in an earlier run: no change of date."""
    CHANGED = "hash"
    """Another hash, confirmed by a second download."""
    API = "api"
    """Each download differs: whether the data changed cannot be determined."""
    UNCONFIRMED = "unconfirmed"
    """Another hash, and the second download failed: the next run asks again."""
    ERROR = "error"
    CANNOT_TELL = "cannot tell"
    """401, 403, 429 or a wall against robots: it may be there for people. 202: it may come."""


class Agreement(Enum):
    """What a server's Last-Modified was worth, measured against the hash of the bytes."""

    AGREED = "agreed"
    """Both moved, or neither."""
    MISSED = "missed a change"
    """The bytes changed, the date did not."""
    MOVED = "moved without a change"
    """The date moved, the bytes did not."""


class NextRequest(Enum):
    """What a visit does next."""

    END = "end"
    HASH = "hash"
    CONFIRM = "confirm"


@dataclass(frozen=True, slots=True)
class KnownContent:
    """What is remembered of the bytes behind a resource's URL; of another URL nothing is."""

    etag: str | None = None
    last_modified: str | None = None
    """Last-Modified as the server wrote it, to be sent back."""
    hash: str | None = None
    """Of the bytes that came with the validators; names its detector, as in ``sha256:...``."""
    earlier: tuple[str, ...] = ()
    """Hashes seen before that one, the newest first."""
    outdated: bool = False
    """The hash is older than the validators: a newer Last-Modified ended a visit before the bytes were
    read. The next hash is compared with nothing."""
    tabular: bool = False
    """The last good bytes were a table of several lines or columns, where a table is promised."""
    promised: str | None = None
    """The format that was promised when the last bytes were of another kind; None if they fitted."""
    found: str | None = None
    """The kind of those bytes, in words."""


@dataclass(frozen=True, slots=True)
class AnswerDates:
    """What the headers of an answer say; dates are aware, None where absent or not understood."""

    status: int
    etag: str | None = None
    last_modified_text: str | None = None
    last_modified: datetime | None = None
    date: datetime | None = None
    """When the server says it answered."""
    wall: bool = False
    """A page against robots answers, whatever its status."""
    empty: bool = False
    """Nothing comes, says Content-Length."""
    age: timedelta = timedelta(0)
    """How long a cache has kept the answer."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What follows from what is known so far."""

    next: NextRequest
    memory: KnownContent
    """To be kept if the visit ends here."""
    outcome: Outcome | None = None
    """Set where the visit ends."""
    modified: datetime | None = None
    """A newer Last-Modified: evidence ``http header``, however the visit goes on. Each step is given
    that of the step before."""

    @property
    def changed(self) -> bool:
        """Whether the bytes changed: evidence ``hash``, as of now."""
        return self.outcome is Outcome.CHANGED


def question(memory: KnownContent, *, hash_anyway: bool) -> tuple[str | None, str | None]:
    """The ETag and the Last-Modified to ask with; without either the request is unconditional.

    :param hash_anyway: the bytes are wanted whatever the server believes: the rotation's visits exist to
        find out what servers do not tell.
    """
    if hash_anyway or memory.hash is None:
        return None, None
    return memory.etag, memory.last_modified


def after_headers(
    memory: KnownContent,
    headers: AnswerDates,
    *,
    known: datetime | None,
    fresh: Callable[[datetime], bool],
    hash_anyway: bool,
    now: datetime,
) -> Decision:
    """What an answer's headers mean.

    :param known: the resource's last modification as it is known, if it is.
    :param fresh: whether a resource modified then would be fresh now.
    :param hash_anyway: the body is hashed, whatever the headers say.
    """
    if tells_nothing(headers):
        return Decision(NextRequest.END, memory, Outcome.CANNOT_TELL)
    if headers.status == 304:
        return Decision(NextRequest.END, memory, Outcome.NOT_MODIFIED)
    if headers.status not in _READABLE:
        return Decision(NextRequest.END, memory, Outcome.ERROR)
    modified = believed(headers, now)
    if modified is not None and known is not None and modified <= known:
        modified = None
    # The date of an empty file is that of the moment in which somebody lost the data.
    wanted = hash_anyway or memory.hash is None or headers.empty
    if modified is None or wanted or not fresh(modified):
        return Decision(NextRequest.HASH, memory, modified=modified)
    unread = replace(
        memory, etag=headers.etag, last_modified=headers.last_modified_text, outdated=True
    )
    return Decision(NextRequest.END, unread, Outcome.HEADER, modified)


def tells_nothing(headers: AnswerDates) -> bool:
    """Whether an answer was meant for somebody else, or came too early."""
    return headers.wall or headers.status in _CANNOT_TELL


def has_bytes(headers: AnswerDates) -> bool:
    """Whether what follows the headers is what the URL stands for."""
    return headers.status in _READABLE and not headers.wall


def believed(headers: AnswerDates, now: datetime) -> datetime | None:
    """Return the Last-Modified of an answer if it says something of the data, else None.

    :param now: when the answer was received: not every server sends Date, and some send a wrong one.
    """
    modified = headers.last_modified
    if modified is None or modified >= now - MADE_ON_THE_FLY:
        return None
    date = now if headers.date is None else headers.date
    # Some caches keep the Date of the answer, others make one anew.
    passed = [at - modified - kept for at in (now, date) for kept in (timedelta(0), headers.age)]
    return None if any(_is_made_on_the_fly(one) for one in passed) else modified


def _is_made_on_the_fly(passed: timedelta) -> bool:
    """Decide whether a date was made for an answer, in GMT or in the local time of a zone behind it.

    :param passed: from the date to the answer
    """
    hours = round(passed / _HOUR)
    return 0 <= hours <= WESTERNMOST and abs(passed - hours * _HOUR) <= MADE_ON_THE_FLY


def after_hash(
    memory: KnownContent, headers: AnswerDates, digest: str, modified: datetime | None
) -> Decision:
    """What the hash of a body means, compared with what is remembered."""
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
    headers: AnswerDates,
    first: str,
    second: str | None,
    modified: datetime | None,
) -> Decision:
    """What a second download means.

    :param headers: those of the second download, so that validators and bytes belong together.
    :param second: its hash; None if it failed.
    """
    if second is None:
        return Decision(NextRequest.END, memory, Outcome.UNCONFIRMED, modified)
    if second == first:
        return Decision(NextRequest.END, _seen(memory, headers, second), Outcome.CHANGED, modified)
    if second == memory.hash:
        # As before after all: several servers behind one name, or a moment's fault.
        return Decision(NextRequest.END, memory, Outcome.SAME_HASH, modified)
    return Decision(NextRequest.END, memory, Outcome.API, modified)


def agreement(memory: KnownContent, headers: AnswerDates, digest: str) -> Agreement | None:
    """What Last-Modified was worth, once the hash of a body is certain; None where there is nothing
    to compare.

    :param memory: as it was before the visit
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


def _seen(memory: KnownContent, headers: AnswerDates, digest: str) -> KnownContent:
    """Return what is remembered once a body is known."""
    earlier = memory.earlier
    if memory.hash or earlier:
        before = (memory.hash, *earlier) if memory.hash else earlier
        earlier = tuple(one for one in dict.fromkeys(before) if one != digest)[:EARLIER_HASHES]
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
