"""robots.txt, if the policy obeys it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from time import monotonic, process_time

import pytest

from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Answer as Served
from ckanext.freshness.tests.web.support import (
    SETTINGS,
    UNHURRIED,
    FileServer,
    failure,
    lookup,
    visit,
)
from ckanext.freshness.web.client import Client
from ckanext.freshness.web.connections import Names
from ckanext.freshness.web.errors import FailureReason
from ckanext.freshness.web.exchange import Request
from ckanext.freshness.web.hosts import MAX_CRAWL_DELAY, Hosts, crawl_delay, rules_of

OBEDIENT = replace(UNHURRIED, robots=True)
RULES = b"""
User-agent: tests
Disallow: /private/
Allow: /

User-agent: *
Disallow: /
"""


@pytest.mark.parametrize(
    ("path", "allowed"), [("/x", True), ("/private/x", False), ("/private", True)]
)
def test_rules_are_obeyed(server: FileServer, path: str, allowed: bool) -> None:
    server.files["/robots.txt"] = Served(200, RULES)
    url = server.url + path
    if allowed:
        assert visit(url, hosts=Hosts(OBEDIENT)).status == 200
    else:
        error = failure(url, hosts=Hosts(OBEDIENT))
        assert error.reason is FailureReason.ROBOTS
        assert "robots.txt forbids it" in str(error)
        assert server.count(path) == 0


STATUSES = [(200, True), (404, True), (401, True), (503, False), (500, False)]


@pytest.mark.parametrize(("status", "allowed"), STATUSES)
def test_what_a_status_means(server: FileServer, status: int, allowed: bool) -> None:
    server.files["/robots.txt"] = Served(status, b"nothing of use")
    hosts = Hosts(OBEDIENT)
    if allowed:
        assert visit(f"{server.url}/x", hosts=hosts).status == 200
    else:
        assert failure(f"{server.url}/x", hosts=hosts).reason is FailureReason.ROBOTS


def test_rules_hold_after_a_redirect(server: FileServer) -> None:
    server.files["/robots.txt"] = Served(200, RULES)
    server.faults["/x"] = faults.Redirect(to="/private/x")
    error = failure(f"{server.url}/x", hosts=Hosts(OBEDIENT))
    assert error.reason is FailureReason.ROBOTS
    assert "redirects to" in str(error)


def test_a_crawl_delay_slows_down(server: FileServer) -> None:
    server.files["/robots.txt"] = Served(200, b"User-agent: *\nRequest-rate: 10/1\n")

    async def main() -> float:
        async with Client(SETTINGS, Hosts(OBEDIENT), Names(lookup({}))) as client:
            await client.fetch(Request(f"{server.url}/0"))
            begin = monotonic()
            for n in range(2):
                await client.fetch(Request(f"{server.url}/{n}"))
            return monotonic() - begin

    assert asyncio.run(main()) >= 0.19


DELAYS = [
    ("User-agent: *\nCrawl-delay: 2", 2.0),
    ("User-agent: tests\nCrawl-delay: 3\n\nUser-agent: *\nCrawl-delay: 9", 3.0),
    ("User-agent: *\nRequest-rate: 1/5", 5.0),
    ("User-agent: *\nCrawl-delay: 86400", MAX_CRAWL_DELAY),
    # Values that the parser must survive.
    (f"User-agent: *\nCrawl-delay: {'9' * 5000}\nCrawl-delay: 2", 2.0),
    (f"User-agent: *\nRequest-rate: 1/{'9' * 5000}\nCrawl-delay: 2", 2.0),
    ("User-agent: *\nCrawl-delay: \u00b2\nCrawl-delay: 2", 2.0),
    ("User-agent: *\nDisallow: //[\nCrawl-delay: 2", 2.0),
]


@pytest.mark.parametrize(("text", "seconds"), DELAYS)
def test_crawl_delays(server: FileServer, text: str, seconds: float) -> None:
    server.files["/robots.txt"] = Served(200, text.encode())
    rules = rules_of(visit(f"{server.url}/robots.txt"))
    assert crawl_delay(rules, SETTINGS.user_agent) == seconds


HOSTILE = [
    # Rules are copied to each user agent of their group.
    "".join(f"User-agent: {n}\n" for n in range(20_000)) + "Disallow: /x\n" * 20_000,
    "User-agent: *\nDisallow: /" + "*a" * 5_000 + "b$\n",
]


@pytest.mark.parametrize("text", HOSTILE, ids=["groups", "wildcards"])
def test_hostile_rules_take_no_time(server: FileServer, text: str) -> None:
    server.files["/robots.txt"] = Served(200, text.encode())
    begin = process_time()
    assert visit(f"{server.url}/{'a' * 2_000}", hosts=Hosts(OBEDIENT)).status == 200
    assert process_time() - begin < 2
