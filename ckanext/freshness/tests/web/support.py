"""Helpers of the client's tests: a file server, invented names, and requests in one line."""

from __future__ import annotations

import math
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import NoReturn

from aiodns.error import ARES_ENOTFOUND, DNSError
from aiohttp.abc import AbstractResolver, ResolveResult

from ckanext.freshness.tests.servers.base import Answer as Served
from ckanext.freshness.tests.servers.base import LoopbackServer
from ckanext.freshness.tests.servers.base import Request as Asked
from ckanext.freshness.web.address_guard import Guard
from ckanext.freshness.web.client import Client
from ckanext.freshness.web.errors import FetchError
from ckanext.freshness.web.event_loop import run
from ckanext.freshness.web.exchange import Answer, Choose, ClientSettings, Limits, Request
from ckanext.freshness.web.hosts import HostPolicy, Hosts

BODY = b"a,b\n1,2\n" * 100
ETAG = '"v1"'
MODIFIED = "Tue, 01 Sep 2026 10:00:00 GMT"

FAST = Limits(connect=10, read=10, total=30, backoff=(0.01, 0.02), jitter=0)
UNHURRIED = HostPolicy(connections=50, per_second=math.inf)
INSIDE = Guard(["127.0.0.0/8"])
"""Lets the tests' own servers be visited."""
SETTINGS = ClientSettings("tests (https://example.org/contact)", limits=FAST, guard=INSIDE)


class FileServer(LoopbackServer):
    """A server of one small file with validators at every path; `files` has other answers by path."""

    def __init__(self, *, address: str = "127.0.0.1") -> None:
        super().__init__(address=address)
        self.files: dict[str, Served] = {}

    def answer(self, request: Asked) -> Served:
        """304 to whom has the file already."""
        if request.path in self.files:
            return self.files[request.path]
        headers = {"Content-Type": "text/csv", "ETag": ETAG, "Last-Modified": MODIFIED}
        known = request.headers.get("If-None-Match"), request.headers.get("If-Modified-Since")
        if known[0] == ETAG or (known[0] is None and known[1] == MODIFIED):
            return Served(304, b"", headers)
        return Served(200, BODY, headers)


Find = Callable[[str], "Sequence[str] | Awaitable[Sequence[str]]"]


class _Asking(AbstractResolver):
    def __init__(self, find: Find) -> None:
        self._find = find

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return addresses; only these matter here."""
        found = self._find(host)
        return [
            ResolveResult(hostname=host, host=one, port=port, family=family, proto=0, flags=0)
            for one in (await found if isinstance(found, Awaitable) else found)
        ]

    async def close(self) -> None:
        """Nothing is open."""


def asking(find: Find) -> Callable[[], AbstractResolver]:
    """Create resolvers that call a function and answer as aiohttp's resolver does."""
    return lambda: _Asking(find)


def lookup(names: Mapping[str, Sequence[str]]) -> Callable[[], AbstractResolver]:
    """Create resolvers that know only these names."""

    def find(host: str) -> Sequence[str]:
        if host not in names:
            no_such_name()
        return names[host]

    return asking(find)


def no_such_name() -> NoReturn:
    """Fail as aiohttp's resolver does if a name does not exist."""
    raise OSError(None, "Domain name not found") from DNSError(ARES_ENOTFOUND)


def visit(
    request: Request | str,
    choose: Choose | None = None,
    *,
    settings: ClientSettings = SETTINGS,
    hosts: Hosts | None = None,
    names: Mapping[str, Sequence[str]] | None = None,
    **limits: float,
) -> Answer:
    """Fetch a URL with a new client."""

    async def main() -> Answer:
        resolver = lookup(names or {})
        async with Client(settings, hosts or Hosts(UNHURRIED), resolver) as client:
            return await client.fetch(asked, choose)

    asked = Request(request) if isinstance(request, str) else request
    if limits:
        settings = replace(settings, limits=replace(settings.limits, **limits))  # type: ignore[arg-type]
    return run(main)


def failure(request: Request | str, choose: Choose | None = None, **options: object) -> FetchError:
    """Return the error of a fetch, which must fail."""
    try:
        answer = visit(request, choose, **options)  # type: ignore[arg-type]
    except FetchError as error:
        return error
    raise AssertionError(f"there was an answer: {answer.status} from {answer.final_url}")


@dataclass(slots=True)
class Chunks:
    """A sink that records the calls of its methods."""

    data: bytearray = field(default_factory=bytearray)
    restarts: int = 0

    def write(self, data: bytes, /) -> None:
        """The next chunk."""
        self.data += data

    def restart(self) -> None:
        """Forget them."""
        self.data.clear()
        self.restarts += 1


@contextmanager
def deaf_port() -> Iterator[int]:
    """A port whose queue of connections is full, so that the next one gets no answer."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]
