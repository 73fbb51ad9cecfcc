"""Checks by the policy ``hdx``: the requests to one URL, and what their answers mean for each resource.

The rules are in :mod:`.decisions`; here they meet real answers. :mod:`.engine` decides when a request is sent.

Resources that have the same URL share one check if their requests are the same. The URL is then asked once, and
each resource gets a result of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from ..copies.store import StagedBody
from ..web.errors import FailureReason, FetchError
from ..web.exchange import Answer, Body, Request, RequestAttempts, Sink
from ..web.urls import Target, display_url, join_url
from . import decisions
from .answers import (
    AnswerHeaders,
    mimetype_of,
    read_headers,
    refresh_of,
    status_in_words,
    wall_of_page,
)
from .decisions import (
    UNOPENED,
    Attempt,
    CheckResult,
    Decision,
    Digest,
    NextRequest,
    Outcome,
    ResourceToCheck,
    outcome_in_words,
)
from .engine import NextStep, check_all
from .formats import (
    FormatMismatch,
    PromisedFormat,
    Shape,
    kind_of_text,
    outline,
    promise,
    verdict,
)
from .hasher import ContentSandbox, FirstBytes, HashedBody, Hasher
from .own_network import OwnNetwork

if TYPE_CHECKING:
    from ..web.client import Client

_USELESS = (Outcome.ERROR, Outcome.CANNOT_TELL, Outcome.UNCONFIRMED)
"""Outcomes whose answer may not be the file: its headers are not counted."""

_MOST_REFRESHES = 3

_Sink = Callable[[CheckResult], None]


@dataclass(frozen=True, slots=True)
class HdxTools:
    """The tools that all checks of a run share.

    :ivar now: returns the time, aware
    :ivar stage: opens a place for a file that a copy is made of; None if no copies are made
    """

    client: Client
    sandbox: ContentSandbox
    now: Callable[[], datetime]
    stage: Callable[[], StagedBody] | None = None


async def check_resources(
    resources: Iterable[ResourceToCheck],
    tools: HdxTools,
    sink: _Sink,
    *,
    confirm_after: float = 30.0,
) -> None:
    """Check resources by the policy ``hdx``; see :func:`.engine.check_all`."""
    network = OwnNetwork(sink)

    def begin(resource: ResourceToCheck, host: str, target: Target | None) -> HdxCheck:
        network.expect(host)
        return HdxCheck(tools, resource, host, target)

    await check_all(resources, tools.client, begin, network.give, confirm_after=confirm_after)
    network.end()


class HdxCheck:
    """A check of one URL; see :class:`.engine.Check`."""

    def __init__(
        self, tools: HdxTools, resource: ResourceToCheck, host: str, target: Target | None
    ) -> None:
        self._tools = tools
        self._resources = [resource]
        self._host = host
        self._target = target
        self._url = None if target is None else target.url
        self._refreshes = 0
        self._accept: str | None = None
        self._request: RequestAttempts | None = None
        self._conditional = False
        self._headers: AnswerHeaders | None = None
        self._steps: list[Decision] = []
        """The decision for each resource, by the latest headers or hash."""
        self._first_digest: Digest | None = None
        """Hashes of the first download, once a second one is to confirm it."""
        self._first_at: datetime | None = None
        self._first_headers: AnswerHeaders | None = None
        self._hasher: Hasher | None = None
        self._beginning: FirstBytes | None = None

    def takes(self, resource: ResourceToCheck) -> bool:
        first = self._resources[0]
        is_same = (
            resource.url == first.url
            and not (resource.keep_copy or first.keep_copy)
            and _conditions(resource) == _conditions(first)
            and _promise(resource).accept == _promise(first).accept
        )
        if is_same:
            self._resources.append(resource)
        return is_same

    def begin(self) -> RequestAttempts:
        if self._request is None:
            etag, last_modified = _conditions(self._resources[0])
            self._conditional = etag is not None or last_modified is not None
            self._request = self._ask(etag, last_modified)
        return self._request

    def _ask(self, etag: str | None = None, last_modified: str | None = None) -> RequestAttempts:
        url = self._resources[0].url
        request = Request(url, accept=self._accept, etag=etag, last_modified=last_modified)
        return self._tools.client.begin(request, self._choose_sink, self._target)

    def _choose_sink(self, answer: Answer) -> Sink | Body:
        """Decide what to do with the body of an answer whose headers have arrived."""
        self.close()
        self._hasher = self._beginning = None
        headers = read_headers(answer)
        if self._refreshes or self._accept:
            # The next check's conditions would reach the page, which is older and does not change.
            headers = headers._replace(etag=None, last_modified_text=None, last_modified=None)
        self._headers = headers
        if self._first_digest is not None:
            wanted = decisions.has_file(headers)
        else:
            now = self._tools.now()
            self._steps = [
                decisions.after_headers(
                    resource.memory,
                    headers,
                    conditional=self._conditional,
                    last_change=resource.last_change,
                    fresh_after=resource.fresh_after,
                    hash_anyway=resource.hash_anyway or resource.keep_copy,
                    verifies_dates=resource.verifies_dates,
                    now=now,
                )
                for resource in self._resources
            ]
            wanted = any(step.next is NextRequest.HASH for step in self._steps)
        if wanted:
            stage = self._tools.stage if self._resources[0].keep_copy else None
            self._hasher = Hasher(
                self._tools.sandbox,
                staged=None if stage is None else stage(),
                text=self._text_with_shape(),
            )
            return self._hasher
        is_dated = any(step.outcome is Outcome.HEADER for step in self._steps)
        if is_dated or (self._first_digest is None and decisions.may_show_wall(headers)):
            # A newer date counts only if the body does not begin like an error text. The page of an error may
            # be that of a bot wall.
            self._beginning = FirstBytes()
            return self._beginning
        return Body.SKIP

    def _text_with_shape(self) -> str | None:
        """Return how to read the shape of a text; None if that is not needed, or there is none to be read."""
        for resource in self._resources:
            if self._first_digest is not None or _lacks_shape(resource):
                promised = _promise(resource)
                if kind := kind_of_text(promised.formats):
                    return kind
        return None

    async def answered(self, answer: Answer, sink: _Sink) -> NextStep:
        hashed = None if self._hasher is None else await self._hasher.result()
        if self._conditional and self._headers:
            body = hashed or self._beginning
            is_empty = body is not None and not body.size
            memory = self._resources[0].memory
            if decisions.distrusts(memory, self._headers, is_empty=is_empty):
                return self._ask_again()
        at = self._tools.now()
        judge = self._after_first if self._first_digest is None else self._after_second
        found = [
            (resource, judge(resource, step, answer, hashed))
            for resource, step in zip(self._resources, self._steps, strict=True)
        ]
        is_page = any(judged.reason in _NO_FILE for _, judged in found)
        is_error = any(judged.step.outcome is Outcome.ERROR for _, judged in found)
        if (is_page or is_error) and self._follows_refresh(answer, is_page=is_page):
            return NextStep.ASK_NOW
        if is_page and self._negotiates():
            return self._ask_again(answer)
        shape = await self._shape(found)
        unconfirmed = []
        for resource, judged in found:
            if judged.step.next is NextRequest.CONFIRM:
                unconfirmed.append((resource, judged.step))
            else:
                sink(self._result(resource, judged, answer, at, hashed, shape))
        self.close()
        if not unconfirmed:
            return NextStep.END
        assert hashed is not None
        self._resources = [resource for resource, _ in unconfirmed]
        self._steps = [step for _, step in unconfirmed]
        self._first_digest, self._first_at = hashed.digest, at
        self._first_headers = self._headers
        self._ask_again(answer)
        return NextStep.CONFIRM

    async def _shape(self, found: Iterable[tuple[ResourceToCheck, _Judged]]) -> Shape | None:
        """Return the shape of the body if it is to be stored with a hash that is certain."""
        is_wanted = any(
            judged.is_hashed
            and judged.step.next is NextRequest.END
            and (judged.step.changed or (self._first_digest is None and _lacks_shape(resource)))
            for resource, judged in found
        )
        return await self._hasher.shape() if is_wanted and self._hasher is not None else None

    def _after_first(
        self, resource: ResourceToCheck, step: Decision, answer: Answer, hashed: HashedBody | None
    ) -> _Judged:
        """Judge the first answer for a resource."""
        headers = self._headers
        assert headers is not None
        is_hashed = step.next is NextRequest.HASH
        body = hashed or self._beginning
        is_file = is_hashed or step.outcome is Outcome.HEADER
        mismatch = _mismatch(resource, body, answer) if is_file and body is not None else None
        is_error = mismatch is not None and mismatch.is_error
        is_uncertain = mismatch is not None and mismatch.is_uncertain
        wall = wall_of_page(body.first) if body is not None and (is_error or not is_file) else None
        if not is_file and wall is None:
            return _Judged(step, outcome_in_words(step, headers))
        assert body is not None
        is_landing_page = resource.may_be_landing_page and mismatch is not None and mismatch.is_page
        digest = hashed.digest if hashed is not None and is_hashed else None
        step = decisions.after_body(
            resource.memory,
            headers,
            step,
            fits=not is_error,
            digest=digest,
            is_uncertain=wall is not None or is_landing_page or is_uncertain,
        )
        if wall is not None:
            words = (
                f"answered with a page of {wall} that keeps programs out: "
                "the link may still work in a browser"
            )
            return _Judged(step, words)
        if is_error:
            return _Judged(step, str(mismatch), "landing page" if is_landing_page else "format")
        if is_uncertain:
            return _Judged(step, f"perhaps {mismatch}", "error text")
        return _Judged(_with_kind(step, resource, body, mismatch), is_hashed=is_hashed)

    def _after_second(
        self, resource: ResourceToCheck, step: Decision, answer: Answer, hashed: HashedBody | None
    ) -> _Judged:
        """Judge the second download for a resource."""
        headers = self._headers
        assert headers is not None and self._first_digest is not None
        mismatch = words = None
        if hashed is None:
            words = f"answered {status_in_words(headers.status)} to the second download"
        elif (mismatch := _mismatch(resource, hashed, answer)) and (
            mismatch.is_error or mismatch.is_uncertain
        ):
            words = f"at the second download {mismatch}"
        if hashed is None or words is not None:
            return _Judged(self._without_confirmation(resource, step), words)
        step = decisions.after_confirmation(
            resource.memory, headers, self._first_digest, hashed.digest, step.modified
        )
        if step.outcome is Outcome.UNCONFIRMED:
            return _Judged(step, "could be opened at only one of two downloads", UNOPENED)
        return _Judged(_with_kind(step, resource, hashed, mismatch), is_hashed=True)

    def _without_confirmation(self, resource: ResourceToCheck, step: Decision) -> Decision:
        assert self._first_digest is not None and self._first_headers is not None
        return decisions.without_confirmation(
            resource.memory, self._first_headers, self._first_digest, step.modified
        )

    def _follows_refresh(self, answer: Answer, *, is_page: bool) -> bool:
        """Ask for the URL to which a page sends browsers, with the cookies of the page.

        :param is_page: whether it is a page in place of data. A page of an error counts only if it leads to
            itself: others lead to the home page of the site
        :raises FetchError: ``SCHEME_REFUSED``
        """
        body, before = self._hasher or self._beginning, self._request
        if body is None or before is None or self._refreshes == _MOST_REFRESHES:
            return False
        to = refresh_of(answer, body.first)
        if to is None:
            return False
        try:
            target = join_url(before.target, to)
        except FetchError as error:
            if is_page and error.reason is FailureReason.SCHEME_REFUSED:
                raise
            return False
        is_itself = target.url == answer.final_url
        if not ("Set-Cookie" in answer.headers if is_itself else is_page):
            return False
        self._target = target
        self._refreshes += 1
        self._ask_again(answer)
        return True

    def _ask_again(self, page: Answer | None = None) -> NextStep:
        """Ask without conditions, and with the cookies of the pages that led here."""
        before, self._request, self._conditional = self._request, self._ask(), False
        if self._refreshes and before is not None and page is not None:
            self._request.follow(before, page)
        return NextStep.ASK_NOW

    def _negotiates(self) -> bool:
        """Ask for the promised type of linked data, once, if a page came in its place."""
        before, self._accept = self._accept, _promise(self._resources[0]).accept
        return before != self._accept

    def failed(self, error: FetchError, sink: _Sink) -> NextStep:
        self.close()
        if self._conditional and error.reason in decisions.PERHAPS_BY_CONDITIONS:
            return self._ask_again()
        at = self._tools.now()
        confirms = self._first_digest is not None
        headers = self._headers
        for number, resource in enumerate(self._resources):
            if confirms:
                step = self._without_confirmation(resource, self._steps[number])
            else:
                modified = self._steps[number].modified if self._steps else None
                step = decisions.after_failure(resource.memory, error.reason, headers, modified)
            assert step.outcome is not None
            is_answered = step.modified is not None and not confirms
            attempt = Attempt(
                at=at,
                outcome=step.outcome,
                reason=error.reason.value,
                words=error.words,
                seconds=error.seconds,
                final_url=self._redirected_to(error.target),
                status=headers.status if headers and is_answered else None,
                etag=headers.etag if headers and is_answered else None,
                last_modified=headers.last_modified_text if headers and is_answered else None,
                modified=step.modified,
            )
            sink(self._concluded(resource, step, attempt, hashed=confirms))
        return NextStep.END

    def close(self) -> None:
        if self._hasher is not None:
            self._hasher.close()

    def _result(
        self,
        resource: ResourceToCheck,
        judged: _Judged,
        answer: Answer,
        at: datetime,
        hashed: HashedBody | None,
        shape: Shape | None,
    ) -> CheckResult:
        step, headers, memory = judged.step, self._headers, resource.memory
        outcome = step.outcome
        assert headers is not None and outcome is not None
        certain = hashed if judged.is_hashed else None
        # A change that two runs confirm may end with a second download that failed.
        is_useful = outcome not in _USELESS and not (step.changed and certain is None)
        hides_changes = staged = None
        if certain is not None and outcome is not Outcome.API:
            if outcome is Outcome.CHANGED:
                hides_changes = decisions.hides_changes(memory, headers, certain.digest)
            if is_useful and self._hasher is not None:
                staged = self._hasher.take_staged()
        return self._concluded(
            resource,
            step,
            Attempt(
                at=at,
                outcome=outcome,
                status=answer.status,
                reason=judged.reason,
                words=judged.words,
                received=answer.on_wire,
                seconds=answer.seconds,
                final_url=self._redirected_to(answer.final_url),
                etag=headers.etag,
                last_modified=headers.last_modified_text,
                modified=step.modified,
                outdated_tls=answer.outdated_tls,
            ),
            hashed=judged.is_hashed or self._first_digest is not None,
            size=None if certain is None else certain.size,
            shape=None if certain is None else shape,
            mimetype=mimetype_of(answer) if is_useful else None,
            hides_changes=hides_changes,
            moved_to=self._redirected_to(answer.moved_to)
            if answer.moved_to == display_url(answer.moved_to or "") and not self._refreshes
            else None,
            staged=staged,
        )

    def _concluded(
        self, resource: ResourceToCheck, step: Decision, attempt: Attempt, **more: Any
    ) -> CheckResult:
        return CheckResult(
            resource,
            self._host,
            attempt.outcome,
            step.memory,
            attempt,
            modified=step.modified,
            changed_at=self._first_at if step.changed else None,
            counts_as_failure=step.counts_as_failure,
            put_off=step.put_off,
            **more,
        )

    def _redirected_to(self, url: str | None) -> str | None:
        """Return the URL that answered, without secrets; None if it is the resource's URL."""
        return display_url(url) if url is not None and url != self._url else None


_NO_FILE = ("format", "landing page")
"""Reasons of answers that are not the file."""


class _Judged(NamedTuple):
    """What an answer means for a resource.

    :ivar words: why the answer was of no use
    :ivar is_hashed: whether the body is the file, so that its hash is certain
    """

    step: Decision
    words: str | None = None
    reason: str | None = None
    is_hashed: bool = False


def _mismatch(
    resource: ResourceToCheck, body: HashedBody | FirstBytes, answer: Answer
) -> FormatMismatch | None:
    """Return how a body differs from the format that the catalogue promises; None if it may fit."""
    return verdict(
        _promise(resource),
        body.first,
        body.size,
        last=resource.memory.outline,
        was_coded="Content-Encoding" in answer.headers,
        sent_as=mimetype_of(answer),
        url=answer.final_url,
    )


def _with_kind(
    step: Decision,
    resource: ResourceToCheck,
    body: HashedBody | FirstBytes,
    mismatch: FormatMismatch | None,
) -> Decision:
    """Return a decision about a usable file that also stores the kind of the file."""
    last = step.memory.outline
    if last is None or (isinstance(body, HashedBody) and step.outcome is not Outcome.SAME_HASH):
        last = outline(body.first, body.size)
    memory = replace(
        step.memory,
        outline=last,
        promised=None if mismatch is None else mismatch.promised,
        found=None if mismatch is None else mismatch.found.value,
    )
    return step._replace(memory=memory)


def _promise(resource: ResourceToCheck) -> PromisedFormat:
    return promise(resource.format, resource.mimetype)


def _lacks_shape(resource: ResourceToCheck) -> bool:
    """Decide whether the shape of the content at a URL is unknown, or perhaps that of earlier content."""
    return not resource.has_shape or resource.memory.outdated


def _conditions(resource: ResourceToCheck) -> tuple[str | None, str | None]:
    return decisions.conditions(resource.memory, hash_anyway=resource.hash_anyway)
