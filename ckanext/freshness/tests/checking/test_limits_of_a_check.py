"""Limits that hold for a check as a whole, whatever its server does."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from time import monotonic

import pytest

from ckanext.freshness.checking.decisions import KnownContent, Outcome
from ckanext.freshness.tests.checking.answers import COOKIE, META
from ckanext.freshness.tests.checking.test_hdx_check import run_check, visit
from ckanext.freshness.tests.servers.raw import RawServer

SECONDS = 0.7
"""How long each answer takes: less than a check may take, but several of them take longer."""
LIMIT = 1.0

Send = Callable[[bytes], Awaitable[None]]
Head = Callable[[int, str], bytes]


def page(_: int, target: str) -> bytes:
    body = META % f"0;{target}x".encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


def redirect(_: int, target: str) -> bytes:
    return b"HTTP/1.1 302 Found\r\nLocation: %bx\r\nContent-Length: 0\r\n\r\n" % target.encode()


def cookies(number: int, target: str) -> bytes:
    return redirect(number, target).replace(b"Content-Length", COOKIE + b"Content-Length")


def malformed(_: int, target: str) -> bytes:
    return b"no HTTP\r\n\r\n"


def cut_off(_: int, target: str) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\na,b\n"


def busy(_: int, target: str) -> bytes:
    return b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"


def not_for_conditions(_: int, target: str) -> bytes:
    return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


def not_acceptable(_: int, target: str) -> bytes:
    return b"HTTP/1.1 406 Not Acceptable\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize(
    "answer",
    [page, redirect, cookies, malformed, cut_off, busy, not_for_conditions, not_acceptable],
)
def test_all_requests_of_a_check_share_one_limit_of_time(answer: Head) -> None:
    numbers = itertools.count()

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(SECONDS)
        writer.write(answer(next(numbers), head.split()[1].decode()))
        await writer.drain()

    known = KnownContent(etag='"1"', hash="sha256:0")
    with RawServer(speak) as server:
        begin = monotonic()
        (found,) = run_check(
            [visit(f"{server.url}/a", known, format="CSV")],
            total=LIMIT,
            all_attempts=LIMIT,
            backoff=(0.01,),
        )
    assert SECONDS < monotonic() - begin < LIMIT + 0.4
    assert found.outcome in (Outcome.ERROR, Outcome.CANNOT_TELL)
    assert next(numbers) <= 2


def test_a_second_download_has_a_limit_of_its_own() -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(SECONDS)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\na,b\n")
        await writer.drain()

    known = KnownContent(hash="sha256:0")
    with RawServer(speak) as server:
        (found,) = run_check(
            [visit(f"{server.url}/a", known, format="CSV")], total=LIMIT, all_attempts=LIMIT
        )
    assert found.outcome is Outcome.CHANGED
