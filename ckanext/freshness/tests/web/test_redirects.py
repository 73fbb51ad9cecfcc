"""Redirects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic

import pytest

from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Answer as Served
from ckanext.freshness.tests.web.support import (
    ETAG,
    SETTINGS,
    UNHURRIED,
    FileServer,
    lookup,
    visit,
)
from ckanext.freshness.web.client import Client
from ckanext.freshness.web.exchange import Request
from ckanext.freshness.web.hosts import HostPolicy, Hosts


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_redirects_are_followed(server: FileServer, status: int, method: str) -> None:
    server.faults["/old"] = faults.Redirect(to="/new?x=1", code=status)
    answer = visit(Request(f"{server.url}/old", method=method))
    assert answer.status == 200
    assert answer.url == f"{server.url}/old"
    assert answer.final_url == f"{server.url}/new?x=1"
    assert server.count(method=method) == 2


@pytest.mark.parametrize(
    ("codes", "moved_to"),
    [
        ((301,), "/1"),
        ((308, 301), "/2"),
        # Such as to an address that is valid for a minute only.
        ((301, 302), "/1"),
        ((301, 307, 301), "/1"),
        ((302, 301), None),
        ((), None),
    ],
)
def test_where_a_file_has_moved_for_good(
    server: FileServer, codes: tuple[int, ...], moved_to: str | None
) -> None:
    for number, code in enumerate(codes):
        server.faults[f"/{number}"] = faults.Redirect(to=f"/{number + 1}", code=code)
    answer = visit(f"{server.url}/0")
    assert answer.moved_to == (moved_to and f"{server.url}{moved_to}")


SECRETS: list[tuple[Callable[[FileServer], str], bool]] = [
    (lambda server: "/new", True),
    (lambda server: f"{server.url}/new", True),
    (lambda server: f"{server.url_at('127.0.0.2')}/new", False),
    (lambda server: f"http://localhost.example:{server.port}/new", False),
]


@pytest.mark.parametrize(("to", "sent"), SECRETS)
def test_secrets_stay_with_their_origin(
    server: FileServer, to: Callable[[FileServer], str], sent: bool
) -> None:
    server.faults["/old"] = faults.Redirect(to=to(server))
    url = server.url.replace("//", "//user:password@") + "/old"
    request = Request(url, headers={"X-Key": "geheim"}, accept="text/csv", etag=ETAG)
    visit(request, names={"localhost.example": ["127.0.0.1"]})
    asked = server.requests[-1]
    assert asked.path == "/new"
    assert ("X-Key" in asked.headers) is sent
    assert ("Authorization" in asked.headers) is sent
    assert asked.headers["Accept"] == "text/csv"
    assert asked.headers["If-None-Match"] == ETAG


def test_each_hop_is_held_to_its_hosts_limits(server: FileServer) -> None:
    other = server.url_at("127.0.0.2")
    server.faults["/old"] = faults.Redirect(to=f"{other}/new")
    hosts = Hosts(UNHURRIED)
    begin = monotonic()
    hosts.of("127.0.0.2").defer(0.3)
    visit(f"{server.url}/old", hosts=hosts)
    assert monotonic() - begin > 0.29
    assert {host.name: host.requests for host in hosts} == {
        "127.0.0.1": 1,
        "127.0.0.2": 1,
    }


def test_two_hosts_that_redirect_to_each_other_do_not_block_each_other(server: FileServer) -> None:
    other = server.url_at("127.0.0.2")
    server.faults["/a"] = faults.Redirect(to=f"{other}/x")
    server.faults["/b"] = faults.Redirect(to=f"{server.url}/x")

    async def main() -> None:
        async with Client(SETTINGS, Hosts(HostPolicy(1, 1000.0)), lookup({})) as client:
            pairs = [Request(f"{server.url}/a"), Request(f"{other}/b")] * 10
            await asyncio.gather(*map(client.fetch, pairs))

    asyncio.run(asyncio.wait_for(main(), 60))


def test_cookies_go_to_no_other_host(server: FileServer) -> None:
    server.files["/old"] = Served(
        302, b"", {"Location": f"http://other.example:{server.port}/x", "Set-Cookie": "a=1"}
    )
    visit(f"{server.url}/old", names={"other.example": ["127.0.0.1"]})
    assert "Cookie" not in server.requests[-1].headers
