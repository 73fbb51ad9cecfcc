"""An exception that nobody foresaw, at each function that checks run: it costs one check, and no other."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import itertools
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import ckanext.freshness.checking as checking
from ckanext.freshness.checking.decisions import CheckResult, KnownContent, Outcome, ResourceToCheck
from ckanext.freshness.checking.hasher import ContentSandbox
from ckanext.freshness.checking.hdx_check import HdxTools, check_resources
from ckanext.freshness.tests.servers.raw import RawServer, answering
from ckanext.freshness.tests.web.support import SETTINGS, UNHURRIED, lookup
from ckanext.freshness.web.client import Client
from ckanext.freshness.web.hosts import Hosts

# What is interrupted cannot tidy up.
pytestmark = pytest.mark.filterwarnings("ignore")

NOW = datetime(2026, 11, 21, 12, tzinfo=timezone.utc)
ERRORS: Sequence[type[Exception]] = (
    *(RecursionError, MemoryError, KeyError, AssertionError, UnicodeError, OverflowError),
)
PACKAGES = str(Path(checking.__file__ or "").parents[2])
OF_ALL = (
    # Functions of all checks together
    *("freshness/checking/engine.py", "freshness/sandbox/processes.py"),
    *("freshness/checking/hdx_check.py:begin", "freshness/checking/hdx_check.py:check_resources"),
    "freshness/checking/own_network.py",
    # Without it, a reader waits until its time is over
    "freshness/web/connections.py:_Watch.connection_lost",
)
CSV = b"id,name\n1,Ada\n"
ANSWERS: Mapping[str, bytes] = {
    "first": b'HTTP/1.1 200 OK\r\nETag: "1"\r\nContent-Length: 14\r\n\r\n' + CSV,
    "odd": b"HTTP/1.1 200 OK\r\nX Odd(1) : \r2\r\nContent-Length: 14\r\n\r\n" + CSV,
    "changed": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(CSV),
    "packed": b"HTTP/1.1 200 OK\r\n\r\n" + gzip.compress(CSV),
    "gone": b"HTTP/1.1 302 X\r\nLocation: /none\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n",
    "none": b"HTTP/1.1 404 X\r\nLast-Modified: Tue, 01 Sep 2026 10:00:00 GMT\r\n\r\n",
    "last": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\ne\r\n" + CSV + b"\r\n0\r\n\r\n",
}
EXPECTED = {
    "first": Outcome.FIRST_HASH,
    "odd": Outcome.FIRST_HASH,
    "changed": Outcome.CHANGED,
    "packed": Outcome.FIRST_HASH,
    "gone": Outcome.ERROR,
    "no url": Outcome.ERROR,
    "last": Outcome.FIRST_HASH,
}


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    with RawServer(answering(ANSWERS)) as running:
        yield running


def place_of(frame: FrameType, of_all: tuple[str, ...]) -> str | None:
    """Return the place of a function of this package that belongs to one check; None of any other."""
    code = frame.f_code
    file = code.co_filename.removeprefix(f"{PACKAGES}/")
    # What an expression raises within a function, the function does, too.
    if file == code.co_filename or "/tests/" in file or code.co_name.startswith("<"):
        return None
    owner = f"{type(frame.f_locals['self']).__name__}." if "self" in frame.f_locals else ""
    place = f"{file}:{owner}{code.co_name}"
    return None if place.startswith(of_all) else place


@contextlib.contextmanager
def traced(called: Callable[[str], None], of_all: tuple[str, ...] = OF_ALL) -> Iterator[None]:
    """Tell the place of each function that is called within the block. What this raises, its caller gets."""

    def trace(frame: FrameType, event: str, argument: Any) -> None:
        if (place := place_of(frame, of_all)) is not None:
            called(place)

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


Check = Callable[[Callable[[str], None]], Awaitable[dict[str, Any]]]
"""Checks all links, traced by a function, and returns the outcomes of those that got one."""


async def harmed(check: Check, expected: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Throw an exception at the last call of each place; return the places at which several links suffer."""
    calls: list[str] = []
    assert await check(calls.append) == expected
    assert len(set(calls)) > 50
    lost = {}
    for place, error in zip(sorted(set(calls)), itertools.cycle(ERRORS), strict=False):
        before = iter(range(calls.count(place) - 1))

        def throw(
            called: str,
            place: str = place,
            before: Iterator[int] = before,
            error: type[Exception] = error,
        ) -> None:
            if called == place and next(before, None) is None:
                raise error

        found: dict[str, Any] = {}
        with contextlib.suppress(error):
            found = await asyncio.wait_for(check(throw), 30)
        others = {name: it for name, it in expected.items() if found.get(name) is not it}
        if len(others) > 1:
            lost[place] = found
    return lost


def url_of(server: RawServer, name: str) -> str:
    return name if name == "no url" else f"http://{name}.example:{server.port}/{name}"


def make_client(answers: Mapping[str, bytes] = ANSWERS) -> Client:
    names = lookup({f"{name}.example": ["127.0.0.1"] for name in answers})
    return Client(SETTINGS, Hosts(UNHURRIED), names)


def test_of_the_policy_hdx(server: RawServer) -> None:
    async def main() -> dict[str, dict[str, Any]]:
        with ContentSandbox() as sandbox:

            async def check(called: Callable[[str], None]) -> dict[str, Any]:
                resources = [
                    ResourceToCheck(
                        name,
                        "package",
                        url_of(server, name),
                        KnownContent(hash="sha256:x" if name == "changed" else None),
                        format="" if name == "packed" else "CSV",
                        keep_copy=name == "first",
                    )
                    for name in EXPECTED
                ]
                found: list[CheckResult] = []
                async with make_client() as client:
                    tools = HdxTools(client, sandbox, lambda: NOW)
                    with traced(called):
                        await check_resources(resources, tools, found.append, confirm_after=0)
                return {result.resource.resource_id: result.outcome for result in found}

            return await harmed(check, EXPECTED)

    assert asyncio.run(main()) == {}
