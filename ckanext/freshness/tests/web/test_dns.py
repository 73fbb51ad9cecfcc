"""Name lookups with a real name server: cached, shared and concurrent."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace

import pytest

from ckanext.freshness.tests.servers.base import Answer
from ckanext.freshness.tests.servers.name_server import NameServer
from ckanext.freshness.tests.web.support import SETTINGS, UNHURRIED, FileServer, asking
from ckanext.freshness.web import resolver as resolver_module
from ckanext.freshness.web.address_guard import Guard, InsideAddress
from ckanext.freshness.web.client import Client
from ckanext.freshness.web.errors import FailureReason, FetchError
from ckanext.freshness.web.exchange import Request
from ckanext.freshness.web.faults import NameFault
from ckanext.freshness.web.hosts import Hosts
from ckanext.freshness.web.resolver import Resolver


@pytest.fixture
def server() -> Iterator[NameServer]:
    with NameServer(
        silent=lambda name: name.startswith("silent"),
        unknown=lambda name: name.startswith("dead"),
        failing=lambda name: name.startswith("failing"),
        address="8.8.8.8",
    ) as server:
        yield server


def look_up(
    server: NameServer,
    main: Callable[[Resolver], Awaitable[object]],
    **limits: float,
) -> None:
    """Run a function with names that only this server knows."""

    async def run() -> None:
        resolver = Resolver(Guard(), server.resolver, **limits)
        try:
            await main(resolver)
        finally:
            await resolver.close()

    asyncio.run(run())


async def fault(resolver: Resolver, host: str) -> NameFault:
    """Return the fault of a lookup, which must fail."""
    with pytest.raises(NameFault) as caught:
        await resolver.addresses(host)
    return caught.value


def test_a_living_name_is_looked_up_once(server: NameServer) -> None:
    async def main(resolver: Resolver) -> None:
        found = await asyncio.gather(*(resolver.addresses("living.example") for _ in range(50)))
        assert found == [["8.8.8.8"]] * 50
        assert await resolver.addresses("living.example") == ["8.8.8.8"]

    look_up(server, main)
    assert server.asked == {"living.example": 1}


def test_a_dead_name_is_dead_for_the_run(server: NameServer) -> None:
    async def main(resolver: Resolver) -> None:
        for _ in range(3):
            found = await fault(resolver, "dead.example")
            assert found.reason is FailureReason.NAME_NOT_FOUND
            assert found.words == "has a host name that does not exist"

    look_up(server, main)
    assert server.asked == {"dead.example": 1}


def test_a_failing_name_is_tried_again_after_a_pause(
    server: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolver_module, "_PAUSE", 0.0)

    async def main(resolver: Resolver) -> None:
        for _ in range(5):
            found = await fault(resolver, "failing.example")
            assert found.reason is FailureReason.NAME_LOOKUP_FAILED
            assert "could not be looked up: DNS server returned general failure" in found.words

    look_up(server, main)
    assert server.asked == {"failing.example": 5}


def test_a_silent_name_is_not_waited_for_any_longer(server: NameServer) -> None:
    async def main(resolver: Resolver) -> None:
        found = await fault(resolver, "silent.example")
        assert found.reason is FailureReason.NAME_LOOKUP_FAILED
        assert "within 0.05 s" in found.words

    look_up(server, main, timeout=0.05)


def test_the_connector_gets_only_what_may_be_connected_to() -> None:
    async def main() -> list[tuple[str, int, int]]:
        addresses = ["10.0.0.1", "8.8.8.8", "::1", "2606:4700::1111"]
        found = await Resolver(Guard(), asking(lambda host: addresses)).resolve("h.example", 80)
        return [(entry["host"], entry["port"], entry["family"]) for entry in found]

    assert asyncio.run(main()) == [
        ("8.8.8.8", 80, socket.AF_INET),
        ("2606:4700::1111", 80, socket.AF_INET6),
    ]


def test_a_name_that_leads_inside_is_refused() -> None:
    async def main() -> None:
        await Resolver(Guard(), asking(lambda host: ["10.0.0.1"])).resolve("h.example")

    with pytest.raises(InsideAddress):
        asyncio.run(main())


def test_a_name_that_changes_its_mind_leads_nowhere_inside() -> None:
    """Its first address may be contacted, the next one may not."""
    found = ["127.0.0.1"]
    settings = replace(SETTINGS, guard=Guard(["127.0.0.1/32"]))

    async def main(url: str) -> None:
        async with Client(settings, Hosts(UNHURRIED), asking(lambda host: found)) as client:
            await client.fetch(Request(url))
            found[0] = "127.0.0.2"
            client.begin_last_round("mind.example")
            with pytest.raises(FetchError) as caught:
                await client.fetch(Request(url))
            assert caught.value.reason is FailureReason.INSIDE_ADDRESS

    with FileServer() as server:
        server.files["/x"] = Answer(200, b"a", {"Connection": "close"})
        asyncio.run(main(f"http://mind.example:{server.port}/x"))
        assert len(server.requests) == 1
