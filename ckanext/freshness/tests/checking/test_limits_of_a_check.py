"""Limits that hold for a check as a whole, whatever its server does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Any

import pytest

from ckanext.freshness.checking.decisions import CheckResult, KnownContent, Outcome
from ckanext.freshness.tests.checking.answers import BODY, COOKIE, META, redirect, say
from ckanext.freshness.tests.checking.test_hdx_check import run_check, visit
from ckanext.freshness.tests.servers.raw import RawServer

SECONDS = 0.7
"""How long each answer takes: less than a check may take, but several of them take longer."""
LIMIT = 1.0

SAYS: dict[str, Callable[[str], bytes]] = {
    "a page that leads on": lambda target: say(200, META % f"0;{target}x".encode()),
    "a redirect": lambda target: redirect(f"{target}x"),
    "a redirect with a cookie": lambda target: redirect(f"{target}x", COOKIE),
    "no HTTP": lambda _: b"no HTTP\r\n\r\n",
    "half a file": lambda _: say(200, BODY)[:-3],
    "busy": lambda _: say(503),
    "nothing, perhaps because of conditions": lambda _: say(500),
    "nothing, perhaps of this type": lambda _: say(406),
}


def checked(says: Callable[[str], bytes], known: KnownContent) -> tuple[CheckResult, float, int]:
    """Check a link of a slow server. Return the result, the seconds and the number of requests."""
    requests = 0

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        requests += 1
        head = await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(SECONDS)
        writer.write(says(head.split()[1].decode()))
        await writer.drain()

    limits: dict[str, Any] = {"total": LIMIT, "all_attempts": LIMIT, "backoff": (0.01,)}
    with RawServer(speak) as server:
        begin = monotonic()
        (found,) = run_check([visit(f"{server.url}/a", known, format="CSV")], **limits)
        return found, monotonic() - begin, requests


@pytest.mark.parametrize("name", SAYS)
def test_all_requests_of_a_check_share_one_limit_of_time(name: str) -> None:
    known = KnownContent(etag='"1"', hash="sha256:0")
    found, seconds, requests = checked(SAYS[name], known)
    assert SECONDS < seconds < LIMIT + 0.4
    assert found.outcome in (Outcome.ERROR, Outcome.CANNOT_TELL)
    assert requests == 2


def test_a_second_download_has_a_limit_of_its_own() -> None:
    found, _, requests = checked(lambda _: say(200, BODY), KnownContent(hash="sha256:0"))
    assert (found.outcome, requests) == (Outcome.CHANGED, 2)
