"""Retries: after which failures, and after how long."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.web.support import (
    SETTINGS,
    UNHURRIED,
    FileServer,
    lookup,
    visit,
)
from ckanext.freshness.web.client import Client
from ckanext.freshness.web.exchange import Request
from ckanext.freshness.web.hosts import Hosts

RETRIED = [408, 429, 503]


@pytest.mark.parametrize("status", RETRIED)
def test_these_are_asked_again(server: FileServer, status: int) -> None:
    hosts = Hosts(UNHURRIED)
    server.faults["/x"] = faults.Raw(
        b"HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n" % status, times=2
    )
    answer = visit(f"{server.url}/x", hosts=hosts)
    assert (answer.status, answer.attempts) == (200, 3)
    [host] = hosts
    assert host.requests == 3


@pytest.mark.parametrize("status", RETRIED)
def test_the_last_attempt_is_the_answer(server: FileServer, status: int) -> None:
    server.faults["/x"] = faults.Raw(b"HTTP/1.1 %d X\r\nContent-Length: 5\r\n\r\nsorry" % status)
    answer = visit(f"{server.url}/x")
    assert (answer.status, answer.attempts, answer.body) == (status, 3, b"sorry")
    assert server.count("/x") == 3


def times(server: FileServer) -> list[float]:
    """Return the seconds between the requests."""
    at = [asked.at for asked in server.requests]
    return [b - a for a, b in itertools.pairwise(at)]


def test_attempts_are_spaced(server: FileServer) -> None:
    server.faults["/x"] = faults.Status(code=500)
    visit(f"{server.url}/x", backoff=(0.03, 0.08), attempts=4)  # type: ignore[arg-type]
    first, second, third = times(server)
    assert first >= 0.028
    assert second >= 0.078
    assert third >= 0.078


def test_retry_after_is_honoured(server: FileServer) -> None:
    server.faults["/x"] = faults.Status(code=503, headers={"Retry-After": "0.1"}, times=1)
    assert visit(f"{server.url}/x").status == 200
    assert times(server)[0] >= 0.1


def test_retry_after_holds_for_the_whole_host_and_for_no_other(server: FileServer) -> None:
    server.faults["/busy"] = faults.Status(code=429, headers={"Retry-After": "1"}, times=1)
    other = server.url_at("127.0.0.3")

    async def main() -> bool:
        async with Client(SETTINGS, Hosts(UNHURRIED), lookup({})) as client:
            busy = asyncio.create_task(client.fetch(Request(f"{server.url}/busy")))
            while server.count("/busy") == 0:
                await asyncio.sleep(0.005)
            await client.fetch(Request(f"{other}/x"))
            is_waiting = not busy.done()
            await client.fetch(Request(f"{server.url}/y"))
            await busy
            return is_waiting

    assert asyncio.run(main())
    refused, *later = (asked.at for asked in server.requests if asked.path != "/x")
    assert len(later) == 2 and min(later) - refused >= 1
