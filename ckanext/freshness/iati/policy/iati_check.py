"""Checks of IATI datasets' URLs: requests and answers, from the first request to the result.

The rules are in :mod:`.rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from ...checking.decisions import mimetype_of, storable_validator
from ...checking.engine import NextStep, check_all
from ...copies.store import StagedBody, StoreError
from ...web.errors import FetchError
from ...web.exchange import Answer, Body, Request, RequestAttempts, Sink
from ...web.urls import Target, display_url
from .attempts import OUR_FAULTS, ErrorDetails
from .iati_file import IatiFileSink
from .rules import CheckSubject, IatiDecision, NextMethod, Response, decide
from .state import DownloadedFile, FileState, IatiPolicy

if TYPE_CHECKING:
    from ...web.client import Client


class IatiCheckInput(NamedTuple):
    """A dataset whose URL is to be checked.

    :ivar lost: the copy is missing from the store
    """

    resource_id: str
    package_id: str
    url: str
    state: FileState
    lost: bool = False


@dataclass(slots=True)
class IatiCheckResult:
    """The result of a check.

    :ivar decision: the last one: the state to be stored, and whether ``staged`` must be. If ``staged`` cannot
        be stored, use :func:`.rules.not_stored`.
    :ivar host: normalised host of the URL; empty if the URL has none, or if no request was sent
    :ivar staged: the whole body, if it must be stored; the receiver closes it
    :ivar mimetype: Content-Type without parameters; None if the server states none
    :ivar final_url: URL after redirects, without secrets; None if it is the dataset's URL
    :ivar received: bytes of bodies on the wire, in all requests
    :ivar seconds: of all requests, without waiting in our own queues
    """

    input: IatiCheckInput
    decision: IatiDecision
    host: str = ""
    staged: StagedBody | None = None
    mimetype: str | None = None
    final_url: str | None = None
    received: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class IatiTools:
    """The tools that all checks of a cycle share.

    :ivar stage: makes a temporary place for a body
    :ivar now: the time, aware
    """

    client: Client
    stage: Callable[[], StagedBody]
    now: Callable[[], datetime]
    policy: IatiPolicy = IatiPolicy()  # noqa: RUF009, it is frozen


async def check_datasets(
    inputs: Iterable[IatiCheckInput],
    tools: IatiTools,
    sink: Callable[[IatiCheckResult], None],
) -> None:
    """Check URLs; the sink gets one result for each.

    Checks that end without a request give their results at once. An exception of the sink ends all checks.
    """

    def due() -> Iterator[_BegunCheck]:
        for check_input in inputs:
            subject = CheckSubject(check_input.url, check_input.lost)
            decision = decide(check_input.state, None, tools.now(), tools.policy, subject)
            if decision.next_method is NextMethod.NOTHING:
                sink(IatiCheckResult(check_input, decision))
            else:
                yield _BegunCheck(check_input, subject, decision)

    def begin(begun: _BegunCheck, host: str, target: Target | None) -> IatiCheck:
        return IatiCheck(tools, begun, host, target)

    await check_all(due(), tools.client, begin, sink)


class _BegunCheck(NamedTuple):
    """A check whose first request is decided."""

    input: IatiCheckInput
    subject: CheckSubject
    decision: IatiDecision

    @property
    def url(self) -> str:
        return self.input.url


class IatiCheck:
    """A check of one dataset's URL, as the engine runs it."""

    def __init__(
        self, tools: IatiTools, begun: _BegunCheck, host: str, target: Target | None
    ) -> None:
        self._tools = tools
        self._subject = begun.subject
        self._decision = begun.decision
        self._target = target
        self._result = IatiCheckResult(begun.input, begun.decision, host)
        self._attempts: RequestAttempts | None = None
        self._file_sink: IatiFileSink | None = None
        self._staging_error: str | None = None

    def takes(self, _: _BegunCheck, /) -> bool:
        """Return False: each dataset has its own state, so checks of one URL share no requests."""
        return False

    def begin(self) -> RequestAttempts:
        """Return the attempts of the current request."""
        if self._attempts is None:
            self._attempts = self._request(self._decision)
        return self._attempts

    def _request(self, decision: IatiDecision) -> RequestAttempts:
        check_input, etag, last_modified = self._result.input, None, None
        if decision.next_method is NextMethod.CONDITIONAL_GET:
            good = decision.state.good
            assert good is not None
            etag, last_modified = good.etag, good.last_modified
        request = Request(
            check_input.url,
            decision.next_method.http_method,
            etag=etag,
            last_modified=last_modified,
        )
        return self._tools.client.begin(request, self._choose_sink, self._target)

    def _choose_sink(self, answer: Answer) -> Sink | Body:
        """Choose what receives the body, when the headers have arrived."""
        self.close()
        if answer.status != 200 or self._decision.next_method is NextMethod.HEAD:
            return Body.SKIP
        try:
            self._file_sink = IatiFileSink(self._tools.stage())
        except StoreError as error:
            self._staging_error = str(error)
            return Body.SKIP
        return self._file_sink

    async def answered(
        self, answer: Answer, sink: Callable[[IatiCheckResult], None], /
    ) -> NextStep:
        """Decide what follows from an answer."""
        result, method, url = self._result, self._decision.next_method, self._result.input.url
        result.received += answer.on_wire
        result.seconds += answer.seconds
        headers = answer.headers
        error: ErrorDetails | None = None
        our_fault = False
        file: DownloadedFile | None = None
        if answer.status != 200:
            if answer.status != 304 or method is not NextMethod.CONDITIONAL_GET:
                error = ErrorDetails.of_status(answer.status, headers, method.http_method, url)
        elif method is not NextMethod.HEAD:
            file_sink = self._file_sink
            file = None if file_sink is None else file_sink.finish()
            if file_sink is not None and file_sink.problem is not None:
                error = ErrorDetails.of_content(file_sink.problem, headers, url)
            elif file is None:
                our_fault = True
                message = self._staging_error if file_sink is None else file_sink.staging_error
                error = ErrorDetails.of_store_error(message or "It could not be staged.", url)
        response = Response(
            method,
            answer.status,
            etag=storable_validator(headers.get("ETag")),
            last_modified=storable_validator(headers.get("Last-Modified")),
            length=_length(answer) if method is NextMethod.HEAD else None,
            error=error,
            our_fault=our_fault,
            file=file,
            insecure=answer.insecure,
        )
        if file is not None:
            result.mimetype = mimetype_of(answer)
        if answer.final_url != answer.url:
            result.final_url = display_url(answer.final_url)
        return self._go_on(response, sink)

    def failed(self, error: FetchError, sink: Callable[[IatiCheckResult], None], /) -> NextStep:
        """Decide what follows if no attempt got an answer."""
        method = self._decision.next_method
        self._result.seconds += error.seconds
        if self._attempts is None:
            # The URL is invalid, so no other method would help: end the check as a failed GET does.
            method = NextMethod.GET
        details = ErrorDetails.of_fetch_error(error, method.http_method, self._result.input.url)
        our_fault = error.reason in OUR_FAULTS
        return self._go_on(Response(method, None, error=details, our_fault=our_fault), sink)

    def _go_on(self, response: Response, sink: Callable[[IatiCheckResult], None]) -> NextStep:
        tools, result = self._tools, self._result
        decision = decide(self._decision.state, response, tools.now(), tools.policy, self._subject)
        self._decision = decision
        if decision.next_method is not NextMethod.NOTHING:
            self.close()
            self._attempts = self._request(decision)
            return NextStep.ASK_NOW
        result.decision = decision
        if decision.keep and self._file_sink is not None:
            result.staged = self._file_sink.staged
            self._file_sink = None
        self.close()
        sink(result)
        return NextStep.END

    def close(self) -> None:
        """Delete the staged bytes of the current answer."""
        if self._file_sink is not None:
            self._file_sink.staged.close()
            self._file_sink = None


def _length(answer: Answer) -> int | None:
    """Return the Content-Length of an uncompressed file."""
    text = answer.headers.get("Content-Length")
    encoding = answer.headers.get("Content-Encoding", "identity").strip().lower()
    if text is None or encoding not in ("", "identity") or not (text.isascii() and text.isdigit()):
        return None
    return int(text) if len(text) <= 18 else None
