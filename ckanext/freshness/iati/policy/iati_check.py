"""What is asked and answered at one IATI dataset's URL, from the first request to the finding.

The rules are those of :mod:`.rules`; here they meet real answers. :func:`update` visits many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from ...checking.check import NextStep
from ...checking.engine import EngineOptions, converse
from ...copies.store import StagedBody, StoreError
from ...web.attempts import RequestAttempts
from ...web.client import Answer, Body, Client, FetchError, Request, Sink
from ...web.headers import can_be_sent
from ...web.urls import Target, display_url
from . import error_details
from .intake import Intake
from .rules import CheckSubject, FileState, IatiDecision, IatiPolicy, NextMethod, Response, decide

_LONGEST_VALIDATOR = 1024
"""An ETag has some forty characters."""


@dataclass(frozen=True, slots=True)
class IatiCheckInput:
    """One dataset whose URL is to be visited.

    :ivar lost: whether there should be a copy, and is none
    :ivar start_at: where to ask, if another worker was redirected from ``url`` to there
    """

    resource_id: str
    package_id: str
    url: str
    state: FileState
    lost: bool = False
    start_at: str | None = None


@dataclass(slots=True)
class IatiCheckResult:
    """What a visit brought home.

    :ivar step: what follows: the state to be kept, and whether ``staged`` has to be. If the store does
        not take it, :func:`.rules.not_stored` says what is to be kept instead.
    :ivar host: of the URL, normalised; empty where the URL names none, or nothing was asked
    :ivar staged: the whole body, if it has to be kept; whoever gets it closes it
    :ivar mimetype: what the server says that it is, without parameters; None if it says nothing
    :ivar final_url: what answered after redirects, fit to be shown; None if it is the dataset's URL
    :ivar received: bytes of bodies as they came over the wire, in all requests of the visit
    :ivar seconds: of its requests, without waiting in our own queues
    :ivar handed_to: where to go on, if the URL redirects to another worker's host; nothing was found
        then
    """

    visit: IatiCheckInput
    step: IatiDecision
    host: str = ""
    staged: StagedBody | None = None
    mimetype: str | None = None
    final_url: str | None = None
    received: int = 0
    seconds: float = 0.0
    handed_to: str | None = None


@dataclass(frozen=True, slots=True)
class IatiTools:
    """What all conversations of a cycle have in common.

    :ivar stage: makes a place for a body
    :ivar now: the time, aware
    """

    client: Client
    stage: Callable[[], StagedBody]
    now: Callable[[], datetime]
    policy: IatiPolicy = IatiPolicy()  # noqa: RUF009, it is frozen


async def update(
    visits: Iterable[IatiCheckInput],
    tools: IatiTools,
    options: EngineOptions,
    sink: Callable[[IatiCheckResult], None],
) -> None:
    """Visit all; each visit gives the sink one finding, whatever its server does.

    Those whose URLs are left alone for now give it at once, without being asked. What the sink raises
    ends everything at once and is raised.
    """

    def due() -> Iterator[_Begun]:
        for visit in visits:
            subject = CheckSubject(visit.url, visit.lost)
            step = decide(visit.state, None, tools.now(), tools.policy, subject)
            if step.ask is NextMethod.NOTHING:
                sink(IatiCheckResult(visit, step))
            else:
                yield _Begun(visit, subject, step)

    def begin(begun: _Begun, host: str, target: Target | None) -> IatiCheck:
        return IatiCheck(tools, begun, host, target)

    await converse(due(), tools.client, begin, options, sink)


@dataclass(frozen=True, slots=True)
class _Begun:
    """A visit of which rules 1 and 2 have said what is asked first."""

    visit: IatiCheckInput
    subject: CheckSubject
    step: IatiDecision

    @property
    def url(self) -> str:
        return self.visit.url

    @property
    def start_at(self) -> str | None:
        return self.visit.start_at


class IatiCheck:
    """One dataset's URL. Each has a state of its own, so that none shares its requests with another."""

    __slots__ = (
        *(
            "_asking",
            "_finding",
            "_intake",
            "_not_staged",
            "_step",
            "_subject",
            "_target",
            "_tools",
        ),
    )

    def __init__(self, tools: IatiTools, begun: _Begun, host: str, target: Target | None) -> None:
        self._tools = tools
        self._subject = begun.subject
        self._step = begun.step
        self._target = target
        self._finding = IatiCheckResult(begun.visit, begun.step, host)
        self._asking: RequestAttempts | None = None
        self._intake: Intake | None = None
        self._not_staged: str | None = None

    def takes(self, _: _Begun, /) -> bool:
        """Never."""
        return False

    def begin(self) -> RequestAttempts:
        """The request that is to be made, or is on its way."""
        if self._asking is None:
            self._asking = self._ask(self._step)
        return self._asking

    def _ask(self, step: IatiDecision) -> RequestAttempts:
        visit, etag, last_modified = self._finding.visit, None, None
        if step.ask is NextMethod.CONDITIONAL_GET:
            good = step.state.good
            assert good is not None
            etag, last_modified = good.etag, good.last_modified
        request = Request(
            visit.start_at or visit.url,
            "HEAD" if step.ask is NextMethod.HEAD else "GET",
            etag=etag,
            last_modified=last_modified,
        )
        return self._tools.client.begin(request, self._choose, self._target)

    def _choose(self, answer: Answer) -> Sink | Body:
        """What happens to the body of an answer whose headers are there."""
        self.close()
        if answer.status != 200 or self._step.ask is NextMethod.HEAD:
            return Body.SKIP
        try:
            self._intake = Intake(self._tools.stage())
        except StoreError as error:
            self._not_staged = str(error)
            return Body.SKIP
        return self._intake

    async def answered(
        self, answer: Answer, sink: Callable[[IatiCheckResult], None], /
    ) -> NextStep:
        """Draw the conclusions from an answer."""
        found = self._finding
        found.received += answer.on_wire
        found.seconds += answer.seconds
        headers, ask = answer.headers, self._step.ask
        error, ours, document = None, False, None
        if answer.status != 200:
            if not (answer.status == 304 and ask is NextMethod.CONDITIONAL_GET):
                method = "HEAD" if ask is NextMethod.HEAD else "GET"
                error = error_details.of_status(answer.status, headers, method, found.visit.url)
        elif ask is not NextMethod.HEAD:
            intake = self._intake
            document = None if intake is None else intake.finish()
            if intake is not None and intake.no_iati is not None:
                error = error_details.of_content(intake.no_iati, headers, found.visit.url)
            elif document is None:
                ours = True
                words = self._not_staged if intake is None else intake.not_staged
                error = error_details.of_store(
                    words or "It could not be put aside.", found.visit.url
                )
        response = Response(
            ask,
            answer.status,
            _validator(headers.get("ETag")),
            _validator(headers.get("Last-Modified")),
            _length(answer) if ask is NextMethod.HEAD else None,
            error,
            ours,
            document,
            answer.insecure,
        )
        if document is not None:
            found.mimetype = _mimetype(answer)
        if answer.final_url != answer.url or found.visit.start_at is not None:
            found.final_url = display_url(answer.final_url)
        return self._go_on(response, sink)

    def failed(self, error: FetchError, sink: Callable[[IatiCheckResult], None], /) -> NextStep:
        """Draw the conclusions from there being no answer."""
        found, ask = self._finding, self._step.ask
        found.seconds += error.seconds
        if self._asking is None:
            # The URL is none: nothing else can be asked of it.
            ask = NextMethod.GET
        method = "HEAD" if ask is NextMethod.HEAD else "GET"
        response = Response(
            ask,
            None,
            error=error_details.of_fault(error, method, found.visit.url),
            ours=error.reason in error_details.OURS,
        )
        return self._go_on(response, sink)

    def _go_on(self, response: Response, sink: Callable[[IatiCheckResult], None]) -> NextStep:
        tools, found = self._tools, self._finding
        step = decide(self._step.state, response, tools.now(), tools.policy, self._subject)
        self._step = step
        if step.ask is not NextMethod.NOTHING:
            self.close()
            self._asking = self._ask(step)
            return NextStep.ASK_NOW
        found.step = step
        if step.keep and self._intake is not None:
            found.staged = self._intake.staged
            self._intake = None
        self.close()
        sink(found)
        return NextStep.END

    def handed(self, sink: Callable[[IatiCheckResult], None], /) -> None:
        """The visit is another worker's, who begins it anew from where it has been redirected to."""
        found = self._finding
        found.step = IatiDecision(NextMethod.NOTHING, found.visit.state)
        found.handed_to = self.begin().target.url
        self.close()
        sink(found)

    def close(self) -> None:
        """Let go of what has been read."""
        if self._intake is not None:
            self._intake.staged.close()
            self._intake = None


def _validator(value: str | None) -> str | None:
    """A validator, if it can be kept and sent back."""
    if not value or len(value) > _LONGEST_VALIDATOR or not can_be_sent(value):
        return None
    return value


def _length(answer: Answer) -> int | None:
    """How long the file is, uncompressed."""
    text = answer.headers.get("Content-Length")
    coded = answer.headers.get("Content-Encoding", "identity").strip().lower()
    if text is None or coded not in ("", "identity") or not (text.isascii() and text.isdigit()):
        return None
    return int(text) if len(text) <= 18 else None


def _mimetype(answer: Answer) -> str | None:
    text = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return text if text.count("/") == 1 and len(text) <= 127 and can_be_sent(text) else None
