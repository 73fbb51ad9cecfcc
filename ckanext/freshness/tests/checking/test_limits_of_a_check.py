"""Limits that hold for a check as a whole, whatever its server does."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from time import monotonic
from typing import Any

import pytest

from ckanext.freshness.checking.decisions import CheckResult, KnownContent, Outcome
from ckanext.freshness.tests.checking.answers import BODY, COOKIE, META, redirect, say
from ckanext.freshness.tests.checking.test_hdx_check import run_check, visit
from ckanext.freshness.tests.servers.raw import RawServer
from ckanext.freshness.tests.web.support import asking

SECONDS = 2.5
"""How long each answer takes: less than a check may take, but several of them take longer."""
LIMIT = 4.0

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
FILE = "a file that has changed"
"""The only one that is downloaded twice."""
ALL = SAYS | {FILE: lambda _: say(200, BODY)}


@pytest.fixture(scope="module")
def checked() -> dict[str, tuple[CheckResult, float, int]]:
    """Check links of a slow server at once. Return each one's result, seconds and number of requests."""
    requests, seconds = Counter[str](), dict[str, float]()
    names = list(ALL)

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        target = head.split()[1].decode()
        name = names[int(target.strip("/x"))]
        requests[name] += 1
        await asyncio.sleep(SECONDS)
        writer.write(ALL[name](target))
        await writer.drain()

    def note(found: CheckResult) -> None:
        seconds[found.resource.resource_id] = monotonic() - begin

    limits: dict[str, Any] = {"total": LIMIT, "all_attempts": LIMIT, "backoff": (0.01,)}
    with RawServer(speak) as server:
        links = [
            visit(
                f"http://host-{number}.example:{server.port}/{number}",
                KnownContent(etag=None if name == FILE else '"1"', hash="sha256:0"),
                resource_id=name,
                format="CSV",
            )
            for number, name in enumerate(names)
        ]
        begin = monotonic()
        results = run_check(links, names=asking(lambda _: ["127.0.0.1"]), sink=note, **limits)
    by_name = {found.resource.resource_id: found for found in results}
    return {name: (by_name[name], seconds[name], requests[name]) for name in names}


@pytest.mark.parametrize("name", SAYS)
def test_all_requests_of_a_check_share_one_limit_of_time(
    checked: dict[str, tuple[CheckResult, float, int]], name: str
) -> None:
    found, seconds, requests = checked[name]
    assert SECONDS < seconds < SECONDS + LIMIT
    assert found.outcome in (Outcome.ERROR, Outcome.CANNOT_TELL)
    assert requests == 2


def test_a_second_download_has_a_limit_of_its_own(
    checked: dict[str, tuple[CheckResult, float, int]],
) -> None:
    found, _, requests = checked[FILE]
    assert (found.outcome, requests) == (Outcome.CHANGED, 2)
