"""What an answer with its body means for a resource: the rules of :mod:`.decisions`, applied to what came."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from ..web.errors import FailureReason, FetchError, Meaning
from ..web.exchange import Answer
from ..web.urls import Target, display_url, join_url
from . import answers, decisions, formats
from .answers import AnswerHeaders, mimetype_of, status_in_words
from .decisions import OUTCOMES, Attempt, CheckResult, Decision, Digest, Outcome, ResourceToCheck
from .formats import FormatMismatch, PromisedFormat, SentAs
from .hasher import FirstBytes, HashedBody
from .pages import PageKind, kind_of_page, refresh_of

NO_FILE = ("format", "landing page", "leads on")
"""Reasons of answers that are not the file."""

NOT_PUBLIC = "not public"
"""The reason of answers by which an object store gives a file to nobody."""

WALL = "wall"
"""The reason of pages of bot walls."""
_WALL_PAGE = "with a page that keeps programs out"


class Link(NamedTuple):
    """A URL that is checked, parsed, with its host; None and an empty text if it is invalid."""

    host: str
    url: str | None

    def redirected_to(self, url: str | None) -> str | None:
        """Return the URL that answered, without secrets; None if it is this one."""
        return display_url(url) if url is not None and url != self.url else None


class Received(NamedTuple):
    """An answer with as much of its body as was read.

    :ivar hashed: the whole body; None if it was not read whole
    :ivar beginning: its first bytes, if only these were read
    :ivar at: when it ended, aware
    :ivar is_led_to: whether a page has led to its URL, as it leads browsers
    """

    answer: Answer
    headers: AnswerHeaders
    hashed: HashedBody | None
    beginning: FirstBytes | None
    at: datetime
    is_led_to: bool

    @property
    def body(self) -> HashedBody | FirstBytes | None:
        return self.hashed or self.beginning

    @property
    def digest(self) -> Digest:
        """The hashes of a body that was read whole."""
        assert self.hashed is not None
        return self.hashed.digest

    def mismatch(self, resource: ResourceToCheck) -> FormatMismatch | None:
        """Return how the body differs from the format that the catalogue promises; None if it may fit."""
        if self.body is None:
            return None
        return formats.verdict(
            promise_of(resource),
            self.body.first,
            self.body.size,
            last=resource.known.outline,
            sent_as=self._sent_as,
        )

    def page_kind(self, resource: ResourceToCheck, mismatch: FormatMismatch | None) -> PageKind:
        """Return what the body is as a web page.

        :param mismatch: how it differs from the promised format
        """
        body, status = self.body, self.headers.status
        if body is None or status in answers.NOT_THERE:
            return PageKind.OTHER
        in_place = mismatch is not None and mismatch.meaning is Meaning.FAILED and mismatch.is_page
        is_meant = (
            mismatch is None and promise_of(resource).takes_pages and formats.is_page(body.first)
        )
        if not (in_place or is_meant or status >= 400):
            return PageKind.OTHER
        return kind_of_page(body.first, body.size, is_data_promised=in_place)

    def is_no_evidence(self, resource: ResourceToCheck) -> bool:
        """Decide whether the body is a page that is no evidence."""
        return (
            resource.doubts
            and self.body is not None
            and formats.is_no_evidence(promise_of(resource), self.body.first, self._sent_as)
        )

    @property
    def _sent_as(self) -> SentAs:
        answer = self.answer
        return SentAs(mimetype_of(answer), answer.final_url, "Content-Encoding" in answer.headers)


def refresh_target(
    before: Target, received: Received, *, is_page: bool, is_data_promised: bool
) -> Target | None:
    """Return the URL to which a page sends browsers; None if it is not to be asked.

    :param before: the URL of the page
    :param is_page: whether it is a page in place of data, and not that of an error
    :param is_data_promised: whether no page is meant. If one is, the page of an error counts only if it leads
        to itself: others lead to the home page of the site
    :raises FetchError: ``SCHEME_REFUSED``
    """
    answer, body = received.answer, received.body
    to = None if body is None else refresh_of(answer, body.first)
    if to is None:
        return None
    try:
        target = join_url(before, to)
    except FetchError as error:
        if is_page and error.reason is FailureReason.SCHEME_REFUSED:
            raise
        return None
    is_itself = target.url == answer.final_url
    is_lead = is_page or is_data_promised
    return target if ("Set-Cookie" in answer.headers if is_itself else is_lead) else None


def after_first(resource: ResourceToCheck, step: Decision, received: Received) -> Decision:
    """Decide what the first answer means for a resource.

    :param step: the decision about its headers
    """
    known, body = resource.known, received.body
    may_be_file = step.outcome in (None, Outcome.HEADER)
    if not may_be_file and (refusal := _refusal(resource, received)):
        return decisions.failed(known, NOT_PUBLIC, refusal)
    mismatch = received.mismatch(resource) if may_be_file else None
    if mismatch is not None and _is_accepted(resource, mismatch, received):
        if not _is_known(known, received):
            # What was known is not compared with it: if it is an error text after all, it is no change.
            known = replace(known, outdated=True)
        mismatch = None
    page = received.page_kind(resource, mismatch)
    if page is PageKind.WALL:
        words = f"answered {_WALL_PAGE}: the link may still work in a browser"
        return Decision(resource.known, Outcome.CANNOT_TELL, None, WALL, words)
    if not may_be_file:
        return step._replace(words=decisions.outcome_in_words(step, received.headers))
    if mismatch is not None and mismatch.meaning is not Meaning.WORKS:
        return _without_file(resource, mismatch, page, received.at)
    if received.is_no_evidence(resource):
        # What is known of a file stays: a page may stand in its place for a while.
        step = Decision(replace(known, unconfirmed=None), Outcome.PAGE)
    elif step.outcome is None:
        step = decisions.after_hash(known, received.headers, received.digest, step.modified)
    assert body is not None
    return _with_kind(step, body, mismatch)


def _without_file(
    resource: ResourceToCheck, mismatch: FormatMismatch, page: PageKind, at: datetime
) -> Decision:
    """Decide what something else in place of the file means."""
    known, words, in_time = resource.known, str(mismatch), Meaning.CANNOT_TELL
    if resource.may_be_landing_page and mismatch.is_page:
        reason = "landing page"
    elif page is not PageKind.OTHER:
        reason, words = "leads on", f"{mismatch}, but it may lead to the file in a browser"
        if page is PageKind.MAY_LEAD_ON and known.hash is not None:
            # The file that was here is perhaps lost: many such pages have a search.
            in_time = Meaning.FAILED
    elif mismatch.meaning is Meaning.FAILED:
        return decisions.failed(known, "format", words)
    else:
        reason, words, in_time = "error text", f"perhaps {mismatch}", mismatch.in_time
    if in_time is Meaning.CANNOT_TELL:
        return Decision(known, Outcome.CANNOT_TELL, None, reason, words)
    step = decisions.waits(known, at)
    if step.outcome is Outcome.ERROR:
        reason, words = "format", f"{mismatch} for {decisions.PATIENCE.days} days"
    return step._replace(reason=reason, words=words)


def _is_accepted(resource: ResourceToCheck, mismatch: FormatMismatch, received: Received) -> bool:
    """Decide whether a doubtful text is the file: it was the file before, or has come for so long."""
    if mismatch.meaning is not Meaning.CANNOT_TELL:
        return False
    if _is_known(resource.known, received):
        return True
    has_waited = decisions.has_waited(resource.known, received.at)
    return has_waited and mismatch.in_time is Meaning.WORKS


def _is_known(known: decisions.KnownContent, received: Received) -> bool:
    hashed = received.hashed
    return hashed is not None and hashed.digest.content in (known.hash, *known.earlier)


def _refusal(resource: ResourceToCheck, received: Received) -> str | None:
    """Return why nobody gets the file, if an object store says so."""
    if received.body is None or not answers.may_be_of_store(received.answer):
        return None
    worked = resource.known.hash is not None
    code = answers.refusal_of_store(received.body.first, worked=worked)
    return code and f"answered {status_in_words(received.headers.status)}: {code} in its store"


def after_second(
    resource: ResourceToCheck, step: Decision, received: Received, first: Received
) -> Decision:
    """Decide what the second download means for a resource.

    :param step: the decision about the first one
    """
    hashed, mismatch, words = received.hashed, received.mismatch(resource), None
    if hashed is None:
        words = f"answered {status_in_words(received.headers.status)} to the second download"
    elif mismatch is not None and mismatch.meaning is not Meaning.WORKS:
        words = f"at the second download {mismatch}"
    elif received.page_kind(resource, mismatch) is PageKind.WALL:
        words = f"answered the second download {_WALL_PAGE}"
    elif received.is_no_evidence(resource):
        words = "at the second download a page came"
    if hashed is None or words is not None:
        return without_second(resource, step, first)._replace(words=words)
    step = decisions.after_confirmation(
        resource.known, received.headers, first.digest, hashed.digest, step.modified
    )
    if step.outcome is Outcome.UNCONFIRMED:
        words = "could be opened at only one of two downloads"
        return step._replace(reason=decisions.UNOPENED, words=words)
    return _with_kind(step, hashed, mismatch)


def without_second(resource: ResourceToCheck, step: Decision, first: Received) -> Decision:
    """Decide for a resource whose second download failed.

    :param step: the decision about the first one
    """
    return decisions.without_confirmation(
        resource.known, first.headers, first.digest, step.modified
    )


def _with_kind(
    step: Decision, body: HashedBody | FirstBytes, mismatch: FormatMismatch | None
) -> Decision:
    """Return a decision about a usable file that also stores the kind of the file."""
    last = step.known.outline
    is_other = isinstance(body, HashedBody) and step.outcome is not Outcome.SAME_HASH
    if step.outcome is not Outcome.PAGE and (last is None or is_other):
        last = formats.outline(body.first, body.size)
    elif last is None:
        # By its names, the error text of a lost service is known.
        last = formats.outline(body.first, 0)
    promised, found = (mismatch.promised, mismatch.found.value) if mismatch else (None, None)
    known = step.known
    if (last, promised, found) == (known.outline, known.promised, known.found):
        # Most files are as before, and a copy takes longer than this comparison.
        return step
    return step._replace(known=replace(known, outline=last, promised=promised, found=found))


def promise_of(resource: ResourceToCheck) -> PromisedFormat:
    """Return the format that the catalogue promises."""
    return formats.promise(resource.format, resource.mimetype)


# Results


def result_of(
    link: Link,
    resource: ResourceToCheck,
    step: Decision,
    received: Received,
    first: Received | None,
) -> CheckResult:
    """Return the result of a check that an answer ends, without shape and file."""
    answer, headers = received.answer, received.headers
    certain = received.hashed if step.has_hash else None
    hides_changes = None
    if certain is not None and step.outcome is Outcome.CHANGED:
        hides_changes = decisions.hides_changes(resource.known, headers, certain.digest)
    is_move = answer.moved_to == display_url(answer.moved_to or "") and not received.is_led_to
    attempt = attempt_of(link, step, received.at, headers, answer.final_url, answer.seconds)
    attempt = attempt._replace(received=answer.on_wire, outdated_tls=answer.outdated_tls)
    # A change that two runs confirm may end with a second download that failed.
    is_useful = OUTCOMES[attempt.outcome].is_useful and step.words is None
    return concluded(link, resource, step, attempt, first)._replace(
        size=None if certain is None else certain.size,
        mimetype=mimetype_of(answer) if is_useful else None,
        hides_changes=hides_changes,
        moved_to=link.redirected_to(answer.moved_to) if is_move else None,
    )


def attempt_of(
    link: Link,
    step: Decision,
    at: datetime,
    headers: AnswerHeaders | None,
    url: str | None,
    seconds: float,
) -> Attempt:
    """Return what is stored of a check.

    :param at: when it ended, aware
    :param headers: those that count, if any
    :param url: the last one that was asked; None if that is not known
    :param seconds: of the last request
    """
    assert step.outcome is not None
    return Attempt(
        at=at,
        outcome=step.outcome,
        status=headers and headers.status,
        reason=step.reason,
        words=step.words,
        seconds=seconds,
        final_url=link.redirected_to(url),
        etag=headers and headers.etag,
        last_modified=headers and headers.last_modified_text,
        modified=step.modified,
    )


def concluded(
    link: Link,
    resource: ResourceToCheck,
    step: Decision,
    attempt: Attempt,
    first: Received | None,
) -> CheckResult:
    """Return the result of a check by its last decision, as far as that knows it."""
    known = step.known
    if known.waits_since is not None and OUTCOMES[attempt.outcome].found:
        known = replace(known, waits_since=None)
    return CheckResult(
        resource,
        link.host,
        known,
        attempt,
        changed_at=first.at if step.outcome is Outcome.CHANGED and first is not None else None,
    )
