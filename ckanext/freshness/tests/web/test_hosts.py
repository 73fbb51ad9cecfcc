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


@pytest.mark.parametrize("name", ["münchen.example", "XN--mnchen-3ya.EXAMPLE."])
def test_one_name_is_one_host_in_every_spelling(name: str) -> None:
    hosts = Hosts(policies={name: CRAWL})
    host = hosts.of("xn--mnchen-3ya.example")
    assert host.policy is CRAWL
    assert hosts.of("xn--mnchen-3ya.example.") is host
    assert hosts.of("other.example").policy is CHECK
    assert {h.name for h in hosts} == {"xn--mnchen-3ya.example", "other.example"}


def test_requests_start_evenly_spaced() -> None:
    async def main() -> list[float]:
        host, starts = Host("h", HostPolicy(connections=8, per_second=50.0)), []
        begin = monotonic()

        async def request() -> None:
            async with host:
                starts.append(monotonic() - begin)

        await asyncio.gather(*(request() for _ in range(6)))
        return starts

    starts = asyncio.run(main())
    # Each has its own moment, so that lateness of the timer does not add up.
    for number, start in enumerate(starts):
        assert start >= number * 0.02 - 0.002
    assert starts[-1] < 5


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
