"""Checks by the policy ``hdx``: the requests to one URL, and what their answers mean for each resource.

The rules are in :mod:`.decisions`; here they meet real answers. :mod:`.engine` decides when a request is sent.

Resources that have the same URL share one check if their requests are the same. The URL is then asked once, and
each resource gets a result of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from ..web.errors import FetchError
from ..web.exchange import Answer, Body, RequestAttempts, Sink
from ..web.urls import Target
from . import decisions, outcomes
from .answers import AnswerHeaders, may_be_of_store, read_headers
from .decisions import OUTCOMES, CheckResult, Decision, Outcome, ResourceToCheck
from .engine import NextStep, check_all
from .formats import kind_of_text
from .hasher import ContentSandbox, FirstBytes, Hasher
from .hdx_requests import HdxRequests, share_requests
from .outcomes import Link, Received, promise_of
from .own_network import OwnNetwork
from .shapes import Tables

if TYPE_CHECKING:
    from ..web.client import Client

_Sink = Callable[[CheckResult], None]


@dataclass(frozen=True, slots=True)
class HdxTools:
    """The tools that all checks of a run share.

    :ivar now: returns the time, aware
    """

    client: Client
    sandbox: ContentSandbox
    now: Callable[[], datetime]


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


@dataclass(slots=True)
class _Incoming:
    """An answer whose headers have arrived, and what receives its body.

    :ivar hasher: of the whole body; None if it is not read whole
    :ivar beginning: of its first bytes, if only these are read
    """

    headers: AnswerHeaders
    hasher: Hasher | None = None
    beginning: FirstBytes | None = None


class _Found(NamedTuple):
    """What an answer means for a resource."""

    resource: ResourceToCheck
    step: Decision
    received: Received


class HdxCheck:
    """A check of one URL; see :class:`.engine.Check`."""

    def __init__(
        self, tools: HdxTools, resource: ResourceToCheck, host: str, target: Target | None
    ) -> None:
        self._tools = tools
        self._resources = [resource]
        self._link = Link(host, None if target is None else target.url)
        self._requests = HdxRequests(tools.client, resource, target)
        self._before: dict[str, _Found] = {}
        """By resource, what counts if the requests that follow bring no file."""
        self._incoming: _Incoming | None = None
        self._steps: list[Decision] = []
        """The decision for each resource, by the latest headers or hash."""
        self._first: Received | None = None
        """The download with a new hash, which a second one is to confirm."""

    # What is asked

    def takes(self, resource: ResourceToCheck) -> bool:
        is_same = share_requests(resource, self._resources[0])
        if is_same:
            self._resources.append(resource)
        return is_same

    def begin(self) -> RequestAttempts:
        return self._requests.begin(self._choose_sink)

    def _ask_again(self, page: Answer | None = None) -> NextStep:
        is_second = self._first is not None
        self._requests.again(self._choose_sink, page, is_second=is_second)
        return NextStep.ASK_NOW

    def _asks_once_more(self, received: Received, found: Sequence[_Found]) -> bool:
        """Ask where a page sends browsers, or in another manner, if that may bring the file.

        Only the file counts: without it, the answer so far does.
        """
        is_page = any(one.step.reason in outcomes.NO_FILE for one in found)
        is_wall = any(one.step.reason == outcomes.WALL for one in found)
        is_error = any(one.step.outcome is Outcome.ERROR for one in found)
        target = None
        if (is_page or is_error) and self._requests.may_follow_page:
            target = outcomes.refresh_target(
                self._requests.answering,
                received,
                is_page=is_page,
                is_data_promised=not any(promise_of(one).takes_pages for one in self._resources),
            )
        if target is not None:
            self._requests.follow_page(target)
            # Any other page is no more than a redirect.
            counting = [
                one for one in found if one.step.reason in (None, outcomes.WALL, "leads on")
            ]
        elif self._requests.ask_otherwise(received.answer.status, is_page=is_page, is_wall=is_wall):
            counting = [one for one in found if one.step.outcome is not None]
        else:
            return False
        for one in counting:
            self._before.setdefault(one.resource.resource_id, one)
        self._ask_again(received.answer)
        return True

    # What comes

    def _choose_sink(self, answer: Answer) -> Sink | Body:
        """Decide what to do with the body of an answer whose headers have arrived."""
        self.close()
        headers = read_headers(answer)
        if self._requests.is_other:
            # The next check's conditions would reach the page, which is older and does not change.
            headers = headers._replace(etag=None, last_modified_text=None, last_modified=None)
        self._incoming = incoming = _Incoming(headers)
        if self._first is not None:
            wanted = decisions.has_file(headers)
        else:
            now, conditional = self._tools.now(), self._requests.is_conditional
            self._steps = [
                decisions.after_headers(resource, headers, now, conditional=conditional)
                for resource in self._resources
            ]
            wanted = any(step.outcome is None for step in self._steps)
        if wanted:
            incoming.hasher = Hasher(
                self._tools.sandbox,
                keeps_copy=self._resources[0].keep_copy,
                text=_text_with_shape(self._resources, is_second=self._first is not None),
            )
            return incoming.hasher
        is_dated = any(step.outcome is Outcome.HEADER for step in self._steps)
        may_tell = answer.status >= 400 and (
            may_be_of_store(answer) or any(step.outcome is Outcome.ERROR for step in self._steps)
        )
        if is_dated or (self._first is None and may_tell):
            # A newer date counts only if the body does not begin like an error text, and a refusal may be for
            # everybody.
            incoming.beginning = FirstBytes()
            return incoming.beginning
        return Body.SKIP

    def close(self) -> None:
        if self._incoming is not None and self._incoming.hasher is not None:
            self._incoming.hasher.close()

    # What it means

    async def answered(self, answer: Answer, sink: _Sink) -> NextStep:
        incoming = self._incoming
        assert incoming is not None
        hashed = None if incoming.hasher is None else await incoming.hasher.result()
        received = Received(
            *(answer, incoming.headers, hashed, incoming.beginning),
            at=self._tools.now(),
            is_led_to=self._requests.is_led_to,
        )
        if self._requests.is_conditional:
            is_empty = received.body is not None and not received.body.size
            known = self._resources[0].known
            if decisions.distrusts(known, incoming.headers, is_empty=is_empty):
                # One more request is enough for both.
                self._requests.ask_otherwise(answer.status, is_page=False, is_wall=False)
                return self._ask_again()
        found = [
            self._found(resource, step, received)
            for resource, step in zip(self._resources, self._steps, strict=True)
        ]
        if self._asks_once_more(received, found):
            return NextStep.ASK_NOW
        tables = await self._tables(found)
        unconfirmed = [one for one in found if one.step.outcome is None]
        for one in found:
            if one.step.outcome is not None:
                result = outcomes.result_of(self._link, *one, self._first)
                sink(_with_body(result, tables, incoming.hasher))
        self.close()
        if not unconfirmed:
            return NextStep.END
        self._resources = [one.resource for one in unconfirmed]
        self._steps = [one.step for one in unconfirmed]
        self._first = received
        self._ask_again(answer)
        return NextStep.CONFIRM

    def _found(self, resource: ResourceToCheck, step: Decision, received: Received) -> _Found:
        if self._first is not None:
            step = outcomes.after_second(resource, step, received, self._first)
            return _Found(resource, step, received)
        step = outcomes.after_first(resource, step, received)
        is_useful = step.outcome is None or OUTCOMES[step.outcome].is_useful
        found = _Found(resource, step, received)
        return found if is_useful else self._before.get(resource.resource_id, found)

    async def _tables(self, found: Iterable[_Found]) -> Tables | None:
        """Return what is read of the body's tables if it is to be stored with a hash that is certain."""
        is_wanted = any(
            step.has_hash
            and (
                step.outcome is Outcome.CHANGED or (self._first is None and _lacks_shape(resource))
            )
            for resource, step, _ in found
        )
        hasher = None if self._incoming is None else self._incoming.hasher
        if not is_wanted or hasher is None:
            return None
        return await hasher.tables(self._tools.now().date())

    def failed(self, error: FetchError, sink: _Sink) -> NextStep:
        self.close()
        if self._requests.is_conditional and error.reason in decisions.PERHAPS_BY_CONDITIONS:
            return self._ask_again()
        at = self._tools.now()
        headers = None if self._incoming is None else self._incoming.headers
        for number, resource in enumerate(self._resources):
            before = None if self._first is not None else self._before.get(resource.resource_id)
            if before is not None:
                sink(outcomes.result_of(self._link, *before, None))
                continue
            if self._first is not None:
                step = outcomes.without_second(resource, self._steps[number], self._first)
            else:
                modified = self._steps[number].modified if self._steps else None
                step = decisions.after_failure(resource.known, error.reason, headers, modified)
            answered = headers if step.modified is not None and self._first is None else None
            step = step._replace(reason=error.reason.value, words=error.words)
            attempt = outcomes.attempt_of(
                *(self._link, step, at, answered), url=error.target, seconds=error.seconds
            )
            sink(outcomes.concluded(self._link, resource, step, attempt, self._first))
        return NextStep.END


def _text_with_shape(resources: Iterable[ResourceToCheck], *, is_second: bool) -> str | None:
    """Return how to read the shape of a text; None if that is not needed, or there is none to be read."""
    formats = (promise_of(one).formats for one in resources if is_second or _lacks_shape(one))
    return next(filter(None, map(kind_of_text, formats)), None)


def _lacks_shape(resource: ResourceToCheck) -> bool:
    """Decide whether the shape of the content at a URL is unknown, or perhaps that of earlier content."""
    known = resource.known
    return not resource.has_shape or known.outdated or known.waits_since is not None


def _with_body(result: CheckResult, tables: Tables | None, hasher: Hasher | None) -> CheckResult:
    """Return a result with the file's tables and the file itself, if the result has its size."""
    if result.size is None or hasher is None:
        return result
    has_file = OUTCOMES[result.outcome].tells
    if result.outcome is Outcome.PAGE:
        # Perhaps it stands in place of a file for a while.
        has_file = result.known.hash is None
    if tables is not None:
        result = decisions.with_tables(result, *tables)
    return result._replace(staged=hasher.take_staged() if has_file else None)
