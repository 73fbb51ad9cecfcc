"""The limits of hosts: connections, rate and pauses. A host never waits for another one."""

from __future__ import annotations

import asyncio
import math
from time import monotonic

import pytest

from ckanext.freshness.web.hosts import CHECK, Host, HostPolicy, Hosts

CRAWL = HostPolicy(connections=8, per_second=50.0)
UNPACED = HostPolicy(connections=2, per_second=math.inf)


@pytest.mark.parametrize(("connections", "per_second"), [(0, 1.0), (-1, 1.0), (1, 0.0), (1, -1.0)])
def test_a_policy_that_lets_nothing_pass_is_an_error(connections: int, per_second: float) -> None:
    with pytest.raises(ValueError, match="must be"):
        HostPolicy(connections, per_second)


def test_the_callers_defaults() -> None:
    assert (CHECK.connections, CHECK.per_second) == (2, 4.0)


@pytest.mark.parametrize("name", ["münchen.example", "XN--mnchen-3ya.EXAMPLE."])
def test_one_name_is_one_host_in_every_spelling(name: str) -> None:
    hosts = Hosts(policies={name: CRAWL})
    host = hosts.of("xn--mnchen-3ya.example")
    assert host.policy is CRAWL
    assert hosts.of("xn--mnchen-3ya.example.") is host
    assert hosts.of("other.example").policy is CHECK
    assert {h.name for h in hosts} == {"xn--mnchen-3ya.example", "other.example"}


def test_a_policy_for_an_address() -> None:
    assert Hosts(policies={"[::1]": CRAWL, "127.1": CRAWL}).of("::1").policy is CRAWL


def test_a_policy_for_what_is_no_host_is_an_error() -> None:
    with pytest.raises(ValueError, match="'a host' is not the name of a host"):
        Hosts(policies={"a host": CRAWL})


def test_requests_start_evenly_spaced() -> None:
    async def main() -> list[float]:
        host, starts = Host("h", HostPolicy(connections=8, per_second=50.0)), []

        async def request() -> None:
            async with host:
                starts.append(monotonic())

        await asyncio.gather(*(request() for _ in range(6)))
        return starts

    starts = asyncio.run(main())
    # Each has its own moment, so that lateness of the timer does not add up.
    for number, start in enumerate(starts):
        assert start - starts[0] >= number * 0.02 - 0.002
    assert starts[-1] - starts[0] < 1


def test_an_idle_host_does_not_save_up_requests() -> None:
    async def main() -> float:
        host = Host("h", HostPolicy(connections=8, per_second=50.0))
        async with host:
            await asyncio.sleep(0.1)
        begin = monotonic()
        for _ in range(3):
            async with host:
                pass
        return monotonic() - begin

    assert asyncio.run(main()) >= 0.04 - 0.002


def test_a_pause_holds_for_those_that_come_and_those_that_wait() -> None:
    async def main() -> list[float]:
        host, begin, starts = (
            Host("h", HostPolicy(connections=2, per_second=100.0)),
            monotonic(),
            [],
        )

        async def request() -> None:
            async with host:
                starts.append(monotonic() - begin)

        async with host:
            waiting = asyncio.create_task(request())  # gets the moment 0.01
            await asyncio.sleep(0)
            host.defer(0.06)
        await asyncio.gather(waiting, request())
        return starts

    assert min(asyncio.run(main())) >= 0.06 - 0.002


def test_a_shorter_pause_does_not_end_a_longer_one() -> None:
    async def main() -> float:
        host, begin = Host("h", UNPACED), monotonic()
        host.defer(0.05)
        host.defer(0.0)
        async with host:
            return monotonic() - begin

    assert asyncio.run(main()) >= 0.05 - 0.002


def test_a_closed_host_says_for_how_long() -> None:
    host = Host("h", UNPACED)
    assert host.closed_for == 0
    host.close(100)
    host.close(50)
    assert 99 < host.closed_for <= 100


def test_one_who_gives_up_in_a_pause_leaves_the_place_to_the_next() -> None:
    async def main() -> None:
        host = Host("h", HostPolicy(connections=1, per_second=20.0))
        async with host:
            pass
        first = asyncio.create_task(host.__aenter__())
        await asyncio.sleep(0)
        first.cancel()
        async with host:
            pass

    asyncio.run(asyncio.wait_for(main(), 1))
