"""What is asked and answered at one URL, from the first request to the findings.

The rules are those of :mod:`.decide`; here they meet real answers. When a request is made, and whether
it has to wait, is the affair of :mod:`.engine`.

Resources with one URL that ask the same share one conversation: the URL is asked once, and each of them
draws its own conclusions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ..copies.store import StagedBody
from ..web.attempts import RequestAttempts
from ..web.client import Answer, Body, Client, FailureReason, FetchError, Request, Sink
from ..web.urls import Target, display_url
from . import decisions
from .answer_headers import mimetype_of, read_headers, status_in_words, words_of
from .check import NextStep
from .container_sandbox import ContainerSandbox
from .content import DETECTORS
from .decisions import AnswerDates, Decision, KnownContent, NextRequest, Outcome
from .detectors import Detector
from .formats import FormatMismatch, PromisedFormat, is_tabular, promise, verdict
from .hasher import FirstBytes, HashedBody, Hasher
from .results import Attempt, CheckedResource, CheckResult
from .tee import Tee

REFUSALS = frozenset({400, 406, 409, 412, 416, 422, 428, 431, 500, 501})
"""What servers answer who do not understand a condition: they are asked again without one. RFC 9110
(section 13) knows 304 and, for conditions that we do not send, 412."""

_OTHERS_RULES = frozenset(
    {FailureReason.ROBOTS, FailureReason.HOST_DEFERRED, FailureReason.HOST_SILENT}
)
"""The host does not want to be visited, by us or now: nothing can be told."""

_USELESS = (Outcome.ERROR, Outcome.CANNOT_TELL, Outcome.UNCONFIRMED)
"""What comes with such an outcome need not be what the URL stands for."""


@dataclass(frozen=True, slots=True)
class HdxTools:
    """What all conversations of a run have in common."""

    client: Client
    sandbox: ContainerSandbox
    now: Callable[[], datetime]
    detectors: Sequence[type[Detector]] = DETECTORS
    stage: Callable[[], StagedBody] | None = None


class HdxCheck:
    """One URL, and those who want to know.

    :ivar asking: the request on its way; None before the first
    """

    __slots__ = (
        "_beginning",
        "_conditional",
        "_first",
        "_first_at",
        "_hasher",
        "_headers",
        "_steps",
        "_target",
        "_tee",
        "_tools",
        "asking",
        "host",
        "visits",
    )

    def __init__(
        self, tools: HdxTools, visit: CheckedResource, host: str, target: Target | None = None
    ) -> None:
        self.visits = [visit]
        self.host = host
        self._target = target
        self.asking: RequestAttempts | None = None
        self._tools = tools
        self._conditional = False
        self._first: str | None = None
        self._first_at: datetime | None = None
        self._hasher: Hasher | None = None
        self._beginning: FirstBytes | None = None
        self._tee: Tee | None = None
        self._headers: AnswerDates | None = None
        self._steps: list[Decision] = []

    @property
    def url(self) -> str:
        """Where it begins."""
        return self.visits[0].start_at or self.visits[0].url

    def takes(self, visit: CheckedResource) -> bool:
        """Take up a visit that would ask the same."""
        first = self.visits[0]
        is_same = (
            visit.url == first.url
            and not (visit.keep_copy or first.keep_copy)
            and visit.start_at == first.start_at
            and _question(visit) == _question(first)
        )
        if is_same:
            self.visits.append(visit)
        return is_same

    def begin(self) -> RequestAttempts:
        """Make the request, if that is not done.

        :raises FetchError: the URL cannot be asked for
        """
        if self.asking is None:
            etag, last_modified = _question(self.visits[0])
            self._conditional = etag is not None or last_modified is not None
            self._ask(etag, last_modified)
        assert self.asking is not None
        return self.asking

    def _ask(self, etag: str | None = None, last_modified: str | None = None) -> None:
        request = Request(self.url, etag=etag, last_modified=last_modified)
        self.asking = self._tools.client.begin(request, self._choose, self._target)

    def _choose(self, answer: Answer) -> Sink | Body:
        """What happens to the body of an answer whose headers are there."""
        self._hasher = self._beginning = None
        self._let_go()
        headers = self._headers = read_headers(answer)
        if self._first is not None:
            wanted = decisions.has_bytes(headers)
        else:
            at = self._tools.now()
            self._steps = [_first_step(visit, headers, at) for visit in self.visits]
            wanted = any(step.next is NextRequest.HASH for step in self._steps)
        if not wanted:
            if any(step.outcome is Outcome.HEADER for step in self._steps):
                # The date of an error text makes nothing fresh.
                self._beginning = FirstBytes()
                return self._beginning
            return Body.SKIP
        self._hasher = Hasher(self._tools.sandbox, detectors=self._tools.detectors)
        if self.visits[0].keep_copy and self._tools.stage is not None:
            self._tee = Tee(self._hasher, self._tools.stage())
            return self._tee
        return self._hasher

    def _let_go(self) -> None:
        """What was put aside is not wanted."""
        if self._tee is not None:
            self._tee.close()
            self._tee = None

    async def answered(self, answer: Answer, sink: Callable[[CheckResult], None]) -> NextStep:
        """Draw the conclusions from an answer."""
        if self._conditional and answer.status in REFUSALS:
            self._conditional = False
            self._ask()
            return NextStep.ASK_NOW
        hashed = None if self._hasher is None else await self._hasher.result()
        at = self._tools.now()
        if self._first is not None:
            for finding in self._confirmed(answer, hashed, at):
                sink(finding)
            self._let_go()
            return NextStep.END
        unconfirmed: list[CheckedResource] = []
        steps: list[Decision] = []
        for visit, step in zip(self.visits, self._steps, strict=True):
            found = self._found(visit, step, answer, hashed, at)
            if isinstance(found, CheckResult):
                sink(found)
            else:
                unconfirmed.append(visit)
                steps.append(found)
        self._let_go()
        if not unconfirmed:
            return NextStep.END
        assert hashed is not None
        self.visits, self._steps = unconfirmed, steps
        self._first, self._first_at = hashed.hash, at
        self._conditional = False
        self._ask()
        return NextStep.CONFIRM

    def _found(
        self,
        visit: CheckedResource,
        step: Decision,
        answer: Answer,
        hashed: HashedBody | None,
        at: datetime,
    ) -> CheckResult | Decision:
        """What a first answer means to one visit: a finding, or a step to be confirmed."""
        headers = self._headers
        assert headers is not None
        unasked = answer.status == 304 and not self._conditional
        is_judged = step.next is NextRequest.HASH or step.outcome is Outcome.HEADER
        if not (is_judged or unasked):
            return self._finding(visit, step, answer, at, words=words_of(step, headers))
        body = self._beginning if hashed is None else hashed
        if unasked or body is None:
            words = "answered 304 (Not Modified) to a request without conditions"
            error = Decision(NextRequest.END, visit.memory, Outcome.ERROR)
            return self._finding(visit, error, answer, at, words=words)
        judged = _judge(visit, body, answer)
        if judged.is_error:
            error = Decision(NextRequest.END, visit.memory, Outcome.ERROR)
            words = str(judged.misfit)
            return self._finding(visit, error, answer, at, words=words, reason="format")
        if step.next is NextRequest.END:
            return self._finding(visit, step, answer, at, judged=judged)
        assert hashed is not None
        step = decisions.after_hash(visit.memory, headers, hashed.hash, step.modified)
        if step.next is NextRequest.CONFIRM:
            return step
        return self._finding(visit, step, answer, at, hashed=hashed, judged=judged)

    def _confirmed(
        self, answer: Answer, hashed: HashedBody | None, at: datetime
    ) -> Iterator[CheckResult]:
        """What the second download means."""
        headers = self._headers
        assert headers is not None and self._first is not None
        for visit, before in zip(self.visits, self._steps, strict=True):
            words = judged = None
            if hashed is None:
                words = f"answered {status_in_words(headers.status)} to the second download"
            elif (judged := _judge(visit, hashed, answer)).is_error:
                words = f"at the second download {judged.misfit}"
            second = None if hashed is None or words else hashed.hash
            step = decisions.after_confirmation(
                visit.memory, headers, self._first, second, before.modified
            )
            kept = hashed if second else None
            if not kept:
                judged = None
            yield self._finding(visit, step, answer, at, words=words, hashed=kept, judged=judged)

    def failed(self, error: FetchError, sink: Callable[[CheckResult], None]) -> NextStep:
        """Draw the conclusions from there being no answer."""
        self._let_go()
        at = self._tools.now()
        cannot_tell = error.reason in _OTHERS_RULES
        outcome = Outcome.CANNOT_TELL if cannot_tell else Outcome.ERROR
        for number, visit in enumerate(self.visits):
            step = Decision(NextRequest.END, visit.memory, outcome)
            if self._first is not None:
                modified = self._steps[number].modified
                step = decisions.after_confirmation(
                    visit.memory, AnswerDates(0), self._first, None, modified
                )
            assert step.outcome is not None
            attempt = Attempt(
                at=at,
                method="GET",
                outcome=step.outcome,
                reason=error.reason.value,
                words=error.words,
                seconds=error.seconds,
                final_url=self._elsewhere(error.target),
                modified=step.modified,
            )
            finding = CheckResult(
                visit,
                self.host,
                step.outcome,
                step.memory,
                attempt,
                modified=step.modified,
                hashed=self._first is not None,
                counts_as_failure=step.outcome is Outcome.ERROR and error.reason.theirs,
                put_off=error.reason is FailureReason.HOST_SILENT and self._first is None,
            )
            sink(finding)
        return NextStep.END

    def handed(self, sink: Callable[[CheckResult], None]) -> None:
        """The conversation is another worker's, from where it has been redirected to."""
        assert self.asking is not None
        at, target = self._tools.now(), self.asking.target.url
        for visit in self.visits:
            # Of what was not visited the next run knows nothing either.
            outcome = Outcome.UNCONFIRMED
            attempt = Attempt(at, "GET", outcome, final_url=self._elsewhere(target))
            sink(CheckResult(visit, self.host, outcome, visit.memory, attempt, handed_to=target))

    def _finding(
        self,
        visit: CheckedResource,
        step: Decision,
        answer: Answer,
        at: datetime,
        *,
        words: str | None = None,
        reason: str | None = None,
        hashed: HashedBody | None = None,
        judged: _Judged | None = None,
    ) -> CheckResult:
        headers, outcome = self._headers, step.outcome
        assert headers is not None and outcome is not None
        etag, last_modified = headers.etag, headers.last_modified_text
        as_remembered = outcome is Outcome.NOT_MODIFIED
        useful = outcome not in _USELESS
        memory = visit.memory
        return CheckResult(
            visit,
            self.host,
            outcome,
            step.memory if judged is None else judged.remembered(step.memory),
            Attempt(
                at,
                "GET",
                outcome,
                answer.status,
                reason,
                words,
                answer.on_wire,
                answer.seconds,
                self._elsewhere(answer.final_url),
                etag,
                last_modified,
                step.modified,
            ),
            modified=step.modified,
            changed_at=self._first_at if step.changed else None,
            hashed=hashed is not None or self._first is not None,
            counts_as_failure=outcome is Outcome.ERROR,
            size=None if hashed is None else hashed.size,
            mimetype=mimetype_of(answer) if useful else None,
            # A 304 need not repeat what it confirms.
            has_etag=useful and bool(etag or (as_remembered and memory.etag)),
            has_last_modified=useful
            and bool(last_modified or (as_remembered and memory.last_modified)),
            agreement=decisions.agreement(memory, headers, hashed.hash)
            if hashed is not None and outcome is not Outcome.API
            else None,
            staged=self._tee.take()
            if self._tee is not None
            and hashed is not None
            and useful
            and outcome is not Outcome.API
            else None,
        )

    def _elsewhere(self, url: str | None) -> str | None:
        """Where it ended, to be shown, if that is not where it began."""
        if url is None or self.asking is None:
            return None
        moved = url != self.asking.start.url or self.visits[0].start_at is not None
        return display_url(url) if moved else None

    def close(self) -> None:
        """Leave it as it is: nothing on disk is kept."""
        self._let_go()
        if self._hasher is not None:
            self._hasher.close()


@dataclass(frozen=True, slots=True)
class _Judged:
    """A body as the promise of the catalogue has it.

    :ivar misfit: how it is not what was promised; None if it may be
    """

    promised: PromisedFormat
    misfit: FormatMismatch | None
    body: HashedBody | FirstBytes

    @property
    def is_error(self) -> bool:
        return self.misfit is not None and self.misfit.is_error

    def remembered(self, memory: KnownContent) -> KnownContent:
        """Return the memory with what this body, which is no error, was."""
        misfit = self.misfit
        tabular = (
            self.promised.is_table
            and misfit is None
            and is_tabular(self.body.first, self.body.size)
        )
        if misfit is None and memory.found is None and memory.tabular is tabular:
            return memory
        return replace(
            memory,
            tabular=tabular,
            promised=None if misfit is None else misfit.promised,
            found=None if misfit is None else misfit.found.value,
        )


def _judge(visit: CheckedResource, body: HashedBody | FirstBytes, answer: Answer) -> _Judged:
    promised = promise(visit.format, visit.mimetype)
    misfit = verdict(
        promised,
        body.first,
        body.size,
        was_tabular=visit.memory.tabular,
        was_coded="Content-Encoding" in answer.headers,
    )
    return _Judged(promised, misfit, body)


def _first_step(visit: CheckedResource, headers: AnswerDates, now: datetime) -> Decision:
    after = visit.fresh_after
    return decisions.after_headers(
        visit.memory,
        headers,
        known=visit.known,
        fresh=lambda modified: after is not None and modified > after,
        hash_anyway=visit.hash_anyway or visit.keep_copy,
        now=now,
    )


def _question(visit: CheckedResource) -> tuple[str | None, str | None]:
    return decisions.question(visit.memory, hash_anyway=visit.hash_anyway)
