"""The rules of a check by the policy ``hdx``: the meaning of each answer for a resource; and what a check takes
and gives, as plain data.

Pure: no network, database or clock. After each step of a check, one of these functions decides the next one:

1. :func:`conditions`: the validators to send, if we have any. :func:`distrusts`: whether the server
   must be asked again without them.
2. :func:`after_headers`: the headers have arrived. The check ends, or the body is hashed.
3. :func:`after_hash`: the body has arrived, and was compared with the promised format by :mod:`.outcomes`. The
   check ends, or a second download is to confirm a new hash.
4. :func:`after_confirmation`: the second download is hashed. :func:`without_confirmation`: it failed.

:func:`after_failure` decides if a request has no answer.

**Nothing new is stored before it is confirmed**: neither the new hash nor the new validators. If the
confirmation fails, the next run finds the same change again; if it reads the same, that confirms it.

The rules are those of HDX's data freshness process, with two additions: conditional requests, and distrust of
dates that a server makes for each answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ..web.errors import FailureReason, Meaning
from .answers import AnswerHeaders, believed, status_in_words, status_means
from .formats import Shape
from .observations import DateColumn, merged, newest_period
from .outlines import Outline
from .selection import SLACK

if TYPE_CHECKING:
    from ..copies.store import StagedBody

RAW = "sha256"
"""The detector's name of files that are hashed by their bytes."""
UNOPENED = "unopened"
"""Instead of the detector's name: the hash of the bytes of a file that its detector could not open."""

PATIENCE = timedelta(days=10)
"""How long a server may promise a file for later, or send something in its place that may lead to it, or be an
error text. Then what comes means what it means in time: mostly that the file is lost."""

EARLIER_HASHES = 20
"""Number of earlier hashes stored for a resource, the newest first."""

_ASK_AGAIN_FOR = frozenset({Meaning.FAILED, Meaning.CANNOT_TELL})

PERHAPS_BY_CONDITIONS = frozenset(
    {
        FailureReason.CONNECTION_RESET,
        FailureReason.READ_TIMEOUT,
        FailureReason.TRUNCATED,
        FailureReason.DAMAGED,
        FailureReason.MALFORMED,
    }
)
"""Failures of servers that do not understand a conditional request: it is repeated without conditions."""

_UNREAD = frozenset({FailureReason.TOO_LARGE, FailureReason.UNFINISHED})
"""Failures to read a file whose headers have arrived."""


class Outcome(Enum):
    """The outcome of a check."""

    NOT_MODIFIED = "not modified"
    """304: the file is the one that we know."""
    HEADER = "http header"
    """A newer Last-Modified, which makes the resource fresh."""
    SAME_HASH = "same hash"
    FIRST_HASH = "first hash"
    """No hash was stored that can be compared: no change of date."""
    REPEAT_HASH = "repeat hash"
    """A hash of an earlier run: no change of date."""
    CHANGED = "hash"
    """A new hash, confirmed by a second download."""
    API = "api"
    """Each download differs: it cannot be determined whether the data changed."""
    UNCONFIRMED = "unconfirmed"
    """A new hash, but the second download failed: the next run checks again."""
    ERROR = "error"
    """No answer, or not the file: the only outcome that counts towards "broken"."""
    PAGE = "page"
    """A web page or the description of a service, whose changes say nothing of the data."""
    CANNOT_TELL = "cannot tell"
    """401, 403, 429 or a bot wall: people may get the file. 202: the file may exist later."""


class OutcomeTraits(Struct, frozen=True):
    """What an outcome says of the file, of the resource's row and of the run.

    :ivar group: the group in which pages count it, a key of ``found`` of :data:`..reporting.labels.LABELS`. The
        label ``error`` of a dataset stands for ``failed``
    :ivar found: whether something is there: the count of failures starts again
    :ivar hashed: whether the file was read and hashed
    :ivar tells: whether the file is known for certain: changes can be detected, ``undetermined`` is reset, and
        a copy may be made
    :ivar undetermined: why changes cannot be detected from now on, a value of
        :data:`..status.judgement.UNDETERMINED`
    :ivar date_is_change: whether a newer date shows a change, since the contents were not compared
    :ivar is_unchanged: whether the file is known not to have changed since the previous check
    :ivar is_new_content: whether what was known of other content is forgotten
    :ivar is_news: whether a new URL with this outcome is news of the data
    """

    group: str
    found: bool = False
    hashed: bool = False
    tells: bool = False
    undetermined: str | None = None
    date_is_change: bool = False
    is_unchanged: bool = False
    is_new_content: bool = False
    is_news: bool = True

    @property
    def is_useful(self) -> bool:
        """Whether the answer is what stands at the URL, so that its headers count."""
        return self.tells or self.hashed


_SAME = OutcomeTraits("unchanged", found=True, tells=True, is_unchanged=True)
_READ = OutcomeTraits("unchanged", found=True, hashed=True, tells=True)

OUTCOMES: Mapping[Outcome, OutcomeTraits] = {
    Outcome.NOT_MODIFIED: _SAME,
    Outcome.HEADER: replace(_SAME, group="changed", is_unchanged=False, date_is_change=True),
    Outcome.SAME_HASH: replace(_READ, is_unchanged=True),
    Outcome.FIRST_HASH: replace(_READ, group="first", date_is_change=True, is_new_content=True),
    Outcome.REPEAT_HASH: replace(_READ, is_unchanged=True, is_new_content=True, is_news=False),
    Outcome.CHANGED: replace(_READ, group="changed", is_new_content=True),
    Outcome.API: OutcomeTraits("undetectable", found=True, hashed=True, undetermined="api"),
    Outcome.UNCONFIRMED: OutcomeTraits("failed", found=True),
    Outcome.ERROR: OutcomeTraits("failed"),
    Outcome.PAGE: OutcomeTraits(
        "page", found=True, hashed=True, undetermined="page", is_unchanged=True, is_news=False
    ),
    Outcome.CANNOT_TELL: OutcomeTraits("blocked", undetermined="blocked"),
}
"""All that the other modules ask of an outcome. Its sentence is in :mod:`..reporting.labels`."""


def outcomes_that(are_wanted: Callable[[OutcomeTraits], object]) -> frozenset[str]:
    """Return the stored texts of the outcomes whose traits meet a condition."""
    return frozenset(one.value for one, traits in OUTCOMES.items() if are_wanted(traits))


class Digest(NamedTuple):
    """The hashes of a file.

    :ivar content: hash of the content. It begins with the detector's name: ``members:<hex>``
    :ivar raw: SHA-256 of the bytes, in hexadecimal
    :ivar detectors: the names before hashes of all contents that files may have now
    """

    content: str
    raw: str
    detectors: frozenset[str] = frozenset()

    @property
    def is_unopened(self) -> bool:
        """Whether the file has a detector that could not open it."""
        return _detector(self.content) == UNOPENED

    def equals(self, *others: str | None) -> bool:
        """Return whether one of these hashes, in hexadecimal, is of the same content or the same bytes."""
        return _value(self.content) in others or self.raw in others


# A Struct, since each check makes a new one or two, and replacing a field of a dataclass takes long.
class KnownContent(Struct, frozen=True):
    """The stored facts about the file at a resource's URL: the column ``known`` of ``freshness_check``.

    They are reset if the URL changes, but for the hashes, by which a file is known that has only moved.
    """

    etag: str | None = None
    last_modified: str | None = None
    """Last-Modified as the server wrote it, to be sent back."""
    hash: str | None = None
    """Hash of the file that came with the validators. It begins with the detector's name: ``sha256:...``."""
    raw: str | None = None
    """SHA-256 of the bytes of that file, in hexadecimal; None if ``hash`` has it."""
    earlier: tuple[str, ...] = ()
    """Earlier hashes, the newest first."""
    outdated: bool = False
    """The hash is older than the validators, since a newer Last-Modified ended a check before the file was
    read. The next hash is not compared with it."""
    outline: Outline | None = None
    """The outline of the last good file."""
    promised: str | None = None
    """The promised format, if the last file was of another kind; None if it fitted."""
    found: str | None = None
    """The kind of that file, in words."""
    unconfirmed: str | None = None
    """A new hash that no second download has confirmed."""
    waits_since: datetime | None = None
    """The first check at which the server promised the file for later, or sent something in its place of which
    nobody could tell what it is, if no check has found the file since."""
    dates_lie: bool | None = None
    """Whether the server's Last-Modified moved while the contents stayed. False if it moved with them; None if
    neither was seen."""
    dates: tuple[DateColumn, ...] | None = None
    """The columns of dates of that file, and those that were schedules in earlier files; None without any."""
    data_since: datetime | None = None
    """When a check first saw the newest period of these columns; None if that is not certain."""


class ResourceToCheck(NamedTuple):
    """A resource that a run has chosen, with all that its check needs to know.

    :ivar last_change: the resource's last modification by its evidence
    :ivar fresh_after: a resource that changed after this moment is fresh now; None if no date makes it fresh
    :ivar hash_anyway: whether the file is read even if the server reports no change
    :ivar format: as the catalogue declares it
    :ivar mimetype: as the catalogue declares it; None if a check has written it into the resource
    :ivar may_be_landing_page: whether its URL is one for access (``dcat:accessURL``), and there is none to
        download. By DCAT, a page may stand there that leads to the data
    :ivar keep_copy: whether a good file is staged for a copy
    :ivar has_shape: whether the shape of the stored content was read
    :ivar is_new: whether this run is the first to see the resource
    :ivar is_touched: whether the resource's own date is later than at the previous run
    :ivar is_failing: whether its last check failed
    :ivar doubts: whether dates and pages are doubted, as by the policy ``learned``: a date counts once it was
        compared with the file's contents, and a page is no evidence. HDX believes both
    :ivar date_column: an editor's answer, see :func:`.observations.newest`
    """

    resource_id: str
    package_id: str
    url: str
    known: KnownContent = KnownContent()
    last_change: datetime | None = None
    fresh_after: datetime | None = None
    hash_anyway: bool = False
    format: str | None = None
    mimetype: str | None = None
    may_be_landing_page: bool = False
    keep_copy: bool = False
    has_shape: bool = False
    is_new: bool = False
    is_touched: bool = False
    is_failing: bool = False
    doubts: bool = False
    date_column: Sequence[str | None] | None = None


class Attempt(NamedTuple):
    """A check as it is stored with its resource.

    :ivar at: end of the check, aware
    :ivar status: of the last answer; None if there was none
    :ivar reason: why there was no answer, a value of :class:`..web.errors.FailureReason`, or
        ``format``, ``landing page``, ``leads on``, ``error text`` or ``wall`` if the answer was of no use, or
        :data:`UNOPENED`; else None
    :ivar words: the failure in words for people, without secrets; None if there was none
    :ivar received: bytes of the body
    :ivar seconds: of the last request, without waiting in our own queues
    :ivar final_url: URL after redirects, without secrets; None if it is the resource's URL
    :ivar modified: the newer Last-Modified that was believed
    :ivar outdated_tls: whether the server speaks only outdated TLS
    """

    at: datetime
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
    outdated_tls: bool = False


class CheckResult(NamedTuple):
    """The result of a resource's check.

    :ivar host: of the resource's URL, normalised; empty if the URL names none
    :ivar known: what to store for the next check
    :ivar changed_at: when a new hash was found that is confirmed now: evidence ``hash``
    :ivar size: of the file, if it was read whole
    :ivar shape: of the file's tables, empty if it is uncertain; None if it was not read
    :ivar mimetype: as the server says, without parameters; None if the server says nothing, or the answer was
        of no use
    :ivar hides_changes: whether the validators stayed the same although the file has changed; None if it has
        not changed
    :ivar moved_to: where the server says that the file has moved for good; None if it says nothing, or the
        URL there has secrets
    :ivar staged: a good file, staged for a copy; the receiver closes it
    """

    resource: ResourceToCheck
    host: str
    known: KnownContent
    attempt: Attempt
    changed_at: datetime | None = None
    size: int | None = None
    shape: Shape | None = None
    mimetype: str | None = None
    hides_changes: bool | None = None
    moved_to: str | None = None
    staged: StagedBody | None = None

    @property
    def outcome(self) -> Outcome:
        return self.attempt.outcome

    @property
    def modified(self) -> datetime | None:
        """A newer Last-Modified: evidence ``http header``."""
        return self.attempt.modified

    @property
    def is_put_off(self) -> bool:
        """Whether no request was sent because the host gives no answers: the next run checks the URL."""
        is_silent = self.attempt.reason == FailureReason.HOST_SILENT.value
        return is_silent and self.outcome is Outcome.CANNOT_TELL


class Decision(NamedTuple):
    """The conclusions from a step of a check.

    :ivar known: what to store if the check ends here
    :ivar outcome: None if the check goes on: the body is to be read, or its new hash to be confirmed
    :ivar modified: a newer Last-Modified: evidence ``http header``, however the check continues. Each step is
        given the date of the step before
    :ivar reason: see :class:`Attempt`
    :ivar words: why the answer was of no use, for people
    """

    known: KnownContent
    outcome: Outcome | None = None
    modified: datetime | None = None
    reason: str | None = None
    words: str | None = None

    @property
    def has_hash(self) -> bool:
        """Whether the answer is the file, and its hash is certain."""
        return self.words is None and self.outcome is not None and OUTCOMES[self.outcome].hashed


def conditions(resource: ResourceToCheck) -> tuple[str | None, str | None]:
    """Return the ETag and the Last-Modified to send. Without either, the request is unconditional.

    The rotation exists to find unreported changes, and sends none.
    """
    known = resource.known
    if resource.hash_anyway or known.hash is None:
        return None, None
    return known.etag, known.last_modified


def distrusts(known: KnownContent, headers: AnswerHeaders, *, is_empty: bool = False) -> bool:
    """Decide whether to repeat a conditional request without its conditions before its answer counts.

    Servers that do not understand conditions answer with all kinds of errors, and with nothing: RFC 9110
    (section 13) has only 304 for the conditions that we send. Some say 304 and name the validators of a new
    file. Who has asked for a pause is not asked again.

    :param is_empty: the body had no bytes
    """
    if headers.status == HTTPStatus.TOO_MANY_REQUESTS or headers.busy:
        return False
    if headers.status == HTTPStatus.NOT_MODIFIED:
        return _names_another_file(known, headers)
    return headers.empty or is_empty or status_means(headers.status) in _ASK_AGAIN_FOR


def _names_another_file(known: KnownContent, headers: AnswerHeaders) -> bool:
    """Decide whether a 304 has other validators than those of the file that we know. An ETag says more."""
    if known.etag is not None and headers.etag is not None:
        return headers.etag.removeprefix("W/") != known.etag.removeprefix("W/")
    dates = known.last_modified, headers.last_modified_text
    return None not in dates and dates[0] != dates[1]


def after_failure(
    known: KnownContent,
    reason: FailureReason,
    headers: AnswerHeaders | None = None,
    modified: datetime | None = None,
) -> Decision:
    """Decide what a request without a whole answer means, unless it was the second download.

    :param headers: those that had arrived, if any
    :param modified: the newer Last-Modified by these headers
    """
    if reason in _UNREAD and headers is not None and modified is not None:
        step = _unread(known, headers, modified)
        if known.last_modified is None:
            # The date counts. But whether the link works is not known before it moves.
            return step._replace(outcome=Outcome.CANNOT_TELL)
        if known.last_modified != headers.last_modified_text:
            return step
    if reason.meaning is not Meaning.FAILED:
        return Decision(known, Outcome.CANNOT_TELL)
    return failed(known)


def failed(known: KnownContent, reason: str | None = None, words: str | None = None) -> Decision:
    """Return the decision that a link has failed, certainly and by its own fault."""
    return Decision(known, Outcome.ERROR, reason=reason, words=words)


def _unread(known: KnownContent, headers: AnswerHeaders, modified: datetime) -> Decision:
    """Let a newer date count for a file that is not read."""
    unread = replace(
        known,
        etag=headers.etag,
        last_modified=headers.last_modified_text,
        outdated=True,
        unconfirmed=None,
    )
    return Decision(unread, Outcome.HEADER, modified)


def after_headers(
    resource: ResourceToCheck, headers: AnswerHeaders, now: datetime, *, conditional: bool
) -> Decision:
    """Decide what the headers of the first answer mean for a resource.

    :param conditional: the request had conditions: without them, 304 means nothing
    """
    known = resource.known
    if headers.status == 304 and not conditional:
        return failed(known)
    if headers.promises_later:
        return waits(known, now)
    if cannot_tell(headers):
        return Decision(known, Outcome.CANNOT_TELL)
    if headers.status == 304:
        return Decision(replace(known, unconfirmed=None), Outcome.NOT_MODIFIED)
    if status_means(headers.status) is Meaning.FAILED or headers.partial:
        return failed(known)
    modified = None if known.dates_lie else believed(headers, now)
    last_change, fresh_after = resource.last_change, resource.fresh_after
    if modified is not None and last_change is not None and modified <= last_change:
        modified = None
    makes_fresh = modified is not None and fresh_after is not None and modified > fresh_after
    hash_anyway = resource.hash_anyway or resource.keep_copy
    if resource.doubts and known.dates_lie is None:
        hash_anyway = True
    # The date of an empty file is the moment when the data were lost.
    if modified is None or not makes_fresh or hash_anyway or known.hash is None or headers.empty:
        return Decision(known, modified=modified)
    return _unread(known, headers, modified)


def waits(known: KnownContent, now: datetime) -> Decision:
    """Decide for a file that the server has promised for later, or in whose place something else came."""
    if has_waited(known, now):
        return failed(known)
    since = known.waits_since or now
    return Decision(replace(known, waits_since=since), Outcome.CANNOT_TELL)


def has_waited(known: KnownContent, now: datetime) -> bool:
    """Return whether a file has not been found for so long that nobody waits for it any more."""
    return known.waits_since is not None and now - known.waits_since >= PATIENCE - SLACK


def cannot_tell(headers: AnswerHeaders) -> bool:
    """Return whether an answer says nothing about the file.

    The server refuses automated clients, or has not finished the file (202).
    """
    return status_means(headers.status) in (Meaning.CANNOT_TELL, Meaning.OURS)


def has_file(headers: AnswerHeaders) -> bool:
    """Return whether the body of an answer is the file."""
    return status_means(headers.status) is Meaning.WORKS and not (
        headers.status == HTTPStatus.NOT_MODIFIED or headers.partial
    )


def after_hash(
    known: KnownContent, headers: AnswerHeaders, digest: Digest, modified: datetime | None
) -> Decision:
    """Decide what the hashes of a body mean, compared with the stored ones."""
    seen = _seen(known, headers, digest)
    is_same = _is_same(known, digest)
    is_moved = known.hash is None and digest.content in known.earlier
    if is_moved and modified is not None:
        # It has the date of the move.
        seen = replace(seen, dates_lie=True)
    if seen.dates_lie:
        modified = None
    if is_moved:
        outcome = Outcome.REPEAT_HASH
    elif is_same is None or known.outdated:
        outcome = Outcome.FIRST_HASH
        if digest.is_unopened:
            # Perhaps it can be opened at the next check: ask for it without conditions.
            seen = replace(seen, etag=None, last_modified=None)
    elif is_same:
        outcome = Outcome.SAME_HASH
    elif digest.content in known.earlier:
        outcome = Outcome.REPEAT_HASH
    else:
        return Decision(known, modified=modified)
    return Decision(seen, outcome, modified)


def after_confirmation(
    known: KnownContent,
    headers: AnswerHeaders,
    first: Digest,
    second: Digest,
    modified: datetime | None,
) -> Decision:
    """Decide what the second download means.

    :param headers: of the second download, so that the stored validators belong to the stored hash
    """
    known = replace(known, unconfirmed=None)
    if second.equals(first.raw, _value(first.content)):
        opened = first if second.is_unopened else second
        return Decision(_seen(known, headers, opened), Outcome.CHANGED, modified)
    if _is_same(known, second):
        # Unchanged after all: several servers behind one name, or a temporary fault.
        return Decision(known, Outcome.SAME_HASH, modified)
    if first.is_unopened is not second.is_unopened:
        unconfirmed = replace(known, unconfirmed=first.content)
        return Decision(unconfirmed, Outcome.UNCONFIRMED, modified)
    return Decision(known, Outcome.API, modified)


def without_confirmation(
    known: KnownContent, headers: AnswerHeaders, first: Digest, modified: datetime | None
) -> Decision:
    """Decide what a new hash means if the second download failed: two runs that read it confirm each other.

    :param headers: of the first download
    """
    if first.content == known.unconfirmed:
        return Decision(_seen(known, headers, first), Outcome.CHANGED, modified)
    unconfirmed = replace(known, unconfirmed=first.content)
    return Decision(unconfirmed, Outcome.UNCONFIRMED, modified)


def hides_changes(known: KnownContent, headers: AnswerHeaders, digest: Digest) -> bool | None:
    """Return whether a server's validators stayed the same although its file has changed.

    Such a server answers "not modified" to conditional requests, so that only reading the file shows a change.

    :param known: before the check
    :returns: None if the file has not changed, or there is nothing to compare
    """
    before = known.etag, known.last_modified
    if known.outdated or before == (None, None) or _is_same(known, digest) is not False:
        return None
    return before == (headers.etag, headers.last_modified_text)


def _is_same(known: KnownContent, digest: Digest) -> bool | None:
    """Return whether a file has the content that we know; None if they cannot be compared.

    If two detectors have read the files, only equal contents and equal bytes show the same. If the earlier
    detector does not exist any more, what it would have found is not known.
    """
    if known.hash is None:
        return None
    detector = _detector(digest.content)
    opened = (hash_ for hash_ in known.earlier if _detector(hash_) != UNOPENED)
    last_opened = next(opened, None)
    hash_ = known.hash
    if _detector(hash_) == UNOPENED and last_opened and _detector(last_opened) == detector:
        hash_ = last_opened
    if _detector(hash_) == detector:
        return hash_ == digest.content
    if digest.equals(_value(hash_), known.raw):
        return True
    both = {detector, _detector(hash_)}
    # A file that could not be opened may have the content of one that could.
    is_perhaps_unopened = UNOPENED in both and RAW not in both
    return None if is_perhaps_unopened or _detector(hash_) not in digest.detectors else False


def _seen(known: KnownContent, headers: AnswerHeaders, digest: Digest) -> KnownContent:
    """Return what to store once the hash of a body is certain."""
    content: str | None = digest.content
    raw = None if digest.content.endswith(digest.raw) else digest.raw
    is_same = _is_same(known, digest)
    if is_same and digest.is_unopened:
        content, raw = known.hash, known.raw
    earlier = known.earlier
    if known.hash or earlier:
        before = (known.hash, *earlier) if known.hash else earlier
        earlier = tuple(hash_ for hash_ in dict.fromkeys(before) if hash_ != content)[
            :EARLIER_HASHES
        ]
    return KnownContent(
        headers.etag,
        headers.last_modified_text,
        content,
        raw,
        earlier,
        outline=known.outline,
        promised=known.promised,
        found=known.found,
        dates_lie=_dates_lie(known, headers, is_same),
        dates=merged(known.dates, (), None) or None if known.dates and not is_same else known.dates,
        data_since=known.data_since if is_same else None,
    )


def with_tables(result: CheckResult, shape: Shape, dates: Sequence[DateColumn]) -> CheckResult:
    """Return a result with what was read of the file's tables.

    :param shape: of its tables; empty if it is uncertain, so that the names of the other columns are not known
    :param dates: its columns of dates
    """
    if not dates and not result.known.dates and result.known.data_since is None:
        return result._replace(shape=shape)
    names = [name for table in shape for name in table.columns or ()]
    is_whole = bool(shape) and all(table.columns is not None for table in shape)
    found = merged(result.known.dates or (), dates, names if is_whole else None)
    before, answer = result.resource.known, result.resource.date_column
    period = newest_period(found, answer)
    is_same = period == newest_period(before.dates, answer)
    at = (is_same and before.data_since) or result.attempt.at
    since = None if period is None else at
    known = replace(result.known, dates=found or None, data_since=since)
    return result._replace(shape=shape, known=known)


def _dates_lie(known: KnownContent, headers: AnswerHeaders, is_same: bool | None) -> bool | None:
    """Return what is known of a server's dates once it is certain whether the file is the same."""
    if known.dates_lie or is_same is None:
        return known.dates_lie
    moved = headers.last_modified_text not in (None, known.last_modified)
    if is_same:
        # An outdated hash is that of the file before its date moved.
        return True if known.outdated or (moved and known.last_modified) else known.dates_lie
    return False if moved and not known.outdated else known.dates_lie


def _detector(hash_: str) -> str:
    return hash_.partition(":")[0]


def _value(hash_: str) -> str:
    return hash_.partition(":")[2]


def outcome_in_words(step: Decision, headers: AnswerHeaders) -> str | None:
    """Return why an answer was of no use, in words for people; None if it was."""
    if step.outcome is Outcome.ERROR:
        more = " to a request without conditions" if headers.status == 304 else ""
        if headers.promises_later:
            more = f" for {PATIENCE.days} days"
        return f"answered {status_in_words(headers.status)}{more}"
    if step.outcome is not None and OUTCOMES[step.outcome].group == "blocked":
        return f"answered {status_in_words(headers.status)}: the link may still work in a browser"
    return None
