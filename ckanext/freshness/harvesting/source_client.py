"""The requests of a crawl: which hosts it may contact, which receives the source's headers, and failures."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import ckan.plugins.toolkit as tk

from .. import settings
from ..web.errors import FailureReason, FetchError
from ..web.exchange import Answer, Request
from ..web.urls import Target, display_url, host_of, normal_host, parse_url
from .messages import HarvestMessage, Message, MessageCode, about, no_answer
from .record import ReadOutcome
from .source_config import OPTION, Source, read_headers

if TYPE_CHECKING:
    from ..web.client import Client
    from ..web.hosts import Hosts


GIVE_UP_AFTER = 100
"""Failed documents in a row after which a host is given up. Because of the pauses between attempts, a
server that went away would otherwise keep a job busy for days."""

_OUTCOMES = {
    **dict.fromkeys((401, 403), ReadOutcome.FORBIDDEN),
    **dict.fromkeys((404, 410), ReadOutcome.GONE),
    **dict.fromkeys((408, 429, 502, 503, 504), ReadOutcome.UNAVAILABLE),
}

_ADVICE = {
    FailureReason.HOST_NOT_ALLOWED: (
        ' (to allow it, add it to "allowed_hosts" in the source\'s configuration)'
    ),
    FailureReason.INSIDE_ADDRESS: (
        " (an administrator of this portal can allow it by the option ckanext.freshness.allowed_networks)"
    ),
}
"""What to do about a request that was not sent, for people."""

log = logging.getLogger(__name__)


class SourceHosts:
    """The hosts that a crawl of one source may contact, and the origin that receives its headers.

    A source URL that cannot be used is no error here: the first request reports it.

    :ivar hosts: normalised host names: the source's own and the allowed ones
    """

    def __init__(
        self,
        source_url: str,
        allowed_hosts: Collection[str] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """
        :param allowed_hosts: hosts that may be contacted besides the source's own.
        :param headers: sent only to the source's own origin (scheme, host and port), because they may be
            secret and a document may name any URL.
        """
        self.hosts: set[str] = set()
        self._headers = headers or {}
        self._origin: tuple[str, str, int] | None = None
        for host in allowed_hosts:
            with contextlib.suppress(ValueError):
                self.hosts.add(normal_host(host))
        with contextlib.suppress(FetchError):
            source = parse_url(source_url)
            self._origin = source.origin
            self.hosts.add(source.host)

    def may_visit(self, url: str) -> bool:
        """Return whether a URL's host is the source's own or one that its configuration allows."""
        with contextlib.suppress(FetchError):
            return parse_url(url).host in self.hosts
        return False

    def sends_headers_to(self, url: str) -> bool:
        """Return whether requests for a URL carry the configured headers."""
        with contextlib.suppress(FetchError):
            return bool(self.headers_for(parse_url(url)))
        return False

    def headers_for(self, target: Target) -> Mapping[str, str]:
        """Return the configured headers for a URL: none outside the source's own origin."""
        return self._headers if target.origin == self._origin else {}


@dataclass(frozen=True, slots=True)
class SourceClient:
    """A client for one crawl of a source."""

    client: Client
    hosts: Hosts
    concurrency: int
    """How many requests may be under way at a time."""
    source_hosts: SourceHosts

    @property
    def requests(self) -> int:
        """The number of requests so far."""
        return sum(host.requests for host in self.hosts)


@contextlib.asynccontextmanager
async def source_client(
    source: Source, *, max_bytes: int | None = None
) -> AsyncIterator[SourceClient]:
    """Open a client by the configuration of a source and the options of the site.

    :param max_bytes: the longest answer, if it may be longer than usual.
    :raises ConfigError: the value of a header cannot be read.
    """
    # Web workers import this module, too, and need no HTTP library.
    from ..web.client import Client
    from ..web.hosts import Hosts

    config = source.config
    policy = settings.harvest_policy(config)
    host = host_of(source.url).rstrip(".")
    headers = read_headers(config.headers, host, tk.config.get(OPTION))
    hosts = Hosts(policy)
    limits = settings.harvest_limits(config)
    limits = replace(limits, max_bytes=max(limits.max_bytes, max_bytes or 0))
    async with Client(settings.web(limits, is_check=False), hosts) as client:
        source_hosts = SourceHosts(source.url, config.allowed_hosts, headers)
        yield SourceClient(client, hosts, policy.connections, source_hosts)


def unexpected(words: str, error: Exception) -> HarvestMessage:
    """Return the message of an error that the log explains, which the caller has written there.

    :param words: what failed.
    """
    words += f": {type(error).__name__}, which the log of the gather consumer explains"
    return HarvestMessage(MessageCode.UNEXPECTED, details=words)


class UnreadableDocument(Exception):
    """An answer of a source that was not received or not understood, or a list that was not read completely.

    :ivar message: a line for people, with the URL
    :ivar reason: the same without the URL
    :ivar status: the answer's status, if it is the reason
    :ivar body: the beginning of the answer's body, if its status is the reason
    """

    def __init__(
        self,
        url: str,
        reason: Message,
        outcome: ReadOutcome = ReadOutcome.FAILED,
        *,
        status: int | None = None,
        body: bytes = b"",
        reported: bool = False,
    ) -> None:
        """
        :param reported: another error of this crawl reports the cause already.
        """
        self.message = about(display_url(url), reason)
        super().__init__(str(self.message))
        self.url = url
        self.outcome = outcome
        self.reason = reason
        self.status = status
        self.body = body
        self.reported = reported


class SourceReader:
    """The requests of one crawl, with the words for each failure.

    If a whole host fails, ``errors`` has one line for the host and not one for each document.
    """

    def __init__(self, opened: SourceClient) -> None:
        self._client = opened.client
        self.source_hosts = opened.source_hosts
        self.concurrency = opened.concurrency
        self._in_a_row: Counter[str] = Counter()
        self._skipped: Counter[str] = Counter()
        self._deferred: Counter[str] = Counter()

    @property
    def errors(self) -> list[Message]:
        """One line for people for each host whose documents were not all requested."""
        given_up = [
            HarvestMessage(
                MessageCode.HOST_GIVEN_UP, {"host": host, "failed": GIVE_UP_AFTER, "count": count}
            )
            for host, count in sorted(self._skipped.items())
        ]
        return [
            *given_up,
            *(
                f"{host} asks for a pause longer than a job waits; documents not requested: {count}"
                for host, count in sorted(self._deferred.items())
            ),
        ]

    async def fetch(self, url: str, accept: str) -> Answer:
        """Fetch any answer with status 200.

        :raises UnreadableDocument: no answer, or a status other than 200.
        """
        try:
            target = parse_url(url)
        except FetchError as error:
            raise UnreadableDocument(url, no_answer(error)) from error
        if self._in_a_row[target.host] >= GIVE_UP_AFTER:
            self._skipped[target.host] += 1
            words = "was not requested: its host was given up"
            raise UnreadableDocument(url, words, ReadOutcome.UNAVAILABLE, reported=True)
        request = Request(
            url,
            accept=accept,
            # A page that a cache kept says nothing of what is on the other pages now.
            cached=False,
            headers=self.source_hosts.headers_for(target),
            host_allowed=self.source_hosts.hosts.__contains__,
        )
        try:
            answer = await self._client.fetch(request)
        except FetchError as error:
            if error.reason.theirs:
                self._in_a_row[target.host] += 1
            raise self._unanswered(url, error) from error
        except Exception as error:
            # One answer that a library cannot read costs its own document.
            log.exception("The answer of %s could not be read", display_url(url))
            raise UnreadableDocument(url, unexpected("its answer cannot be read", error)) from error
        outcome = _OUTCOMES.get(answer.status, ReadOutcome.FAILED)
        if outcome is ReadOutcome.UNAVAILABLE:
            self._in_a_row[target.host] += 1
        else:
            del self._in_a_row[target.host]
        if answer.status == 200:
            return answer
        values = {"status": answer.status}
        reason = HarvestMessage(MessageCode.ANSWERED, values, _tried(answer.attempts))
        raise UnreadableDocument(
            url, reason, outcome, status=answer.status, body=answer.body or b""
        )

    def _unanswered(self, url: str, error: FetchError) -> UnreadableDocument:
        is_deferred = error.reason is FailureReason.HOST_DEFERRED
        outcome = ReadOutcome.UNAVAILABLE if is_deferred else ReadOutcome.FAILED
        if is_deferred:
            self._deferred[parse_url(error.target or url).host] += 1
        tried = _tried(error.attempts)
        reason = no_answer(error, (tried and f" ({tried})") + _ADVICE.get(error.reason, ""))
        return UnreadableDocument(url, reason, outcome, reported=is_deferred)


def _tried(attempts: int) -> str:
    return f"tried {attempts} times" if attempts > 1 else ""


Item = TypeVar("Item")


async def for_each(
    limit: int, work: Callable[[Item], Awaitable[None]], items: Iterable[Item]
) -> None:
    """Call a function with each item, a limited number of calls at a time, and wait for all.

    :raises Exception: the first exception of a call; the other calls are cancelled.
    """
    waiting = iter(items)

    async def take() -> None:
        for item in waiting:
            await work(item)

    tasks = [asyncio.create_task(take()) for _ in range(limit)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
