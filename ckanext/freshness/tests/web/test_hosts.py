"""Hosts: their pace, their pauses, and when they are given up."""

from __future__ import annotations

import asyncio
import math
from time import monotonic

import pytest

from ckanext.freshness.web.errors import FailureReason
from ckanext.freshness.web.hosts import CHECK, Host, HostPolicy, Hosts

CRAWL = HostPolicy(connections=8, per_second=50.0)
UNPACED = HostPolicy(connections=2, per_second=math.inf)


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


REFUSED = FailureReason.CONNECTION_REFUSED


def play(events: str, *, failures: int = 3, last_round: float = 600.0) -> Host:
    """Apply events to a host.

    ``f`` a check failed, ``r`` an attempt failed that was not its last, ``t`` one was too slow, which nobody
    tries again, ``a`` an answer came, ``m`` a malformed one did, ``o`` a fault of ours. ``|`` begins the last
    round.
    """
    host = Host("a.example", HostPolicy(failures=failures, last_round=last_round))
    reasons = {
        **{"f": REFUSED, "r": REFUSED, "t": FailureReason.TOTAL_TIMEOUT},
        **{"a": None, "m": FailureReason.MALFORMED, "o": FailureReason.PROXY},
    }
    for event in events:
        if event == "|":
            host.begin_last_round()
        else:
            host.ended(reasons[event], is_last=event == "f")
    return host


@pytest.mark.parametrize(
    ("events", "is_given_up"),
    [
        ("", False),
        ("ff", False),
        ("fff", True),
        ("fffff", True),
        ("rrrrrr", False),
        ("tt", False),
        ("ttt", True),
        ("ttatt", False),
        ("rrfrrfrr", False),
        ("rrfrrfrrf", True),
        ("ffaff", False),
        ("ffmff", False),
        ("ffof", True),
        ("oooooo", False),
        # A request that was on its way
        ("fffa", False),
        ("fffaff", False),
        ("fffm", False),
    ],
)
def test_when_a_host_is_given_up(events: str, is_given_up: bool) -> None:
    assert play(events).is_given_up is is_given_up


@pytest.mark.parametrize(
    ("events", "seconds", "is_given_up"),
    [
        ("", 600.0, False),
        ("fffff", 600.0, False),
        ("f", 0.0, True),
        ("a", 0.0, False),
        ("m", 0.0, False),
        ("af", 600.0, False),
        ("af", 0.0, True),
    ],
)
def test_in_the_last_round_time_without_an_answer_counts(
    events: str, seconds: float, is_given_up: bool
) -> None:
    assert play(f"fff|{events}", last_round=seconds).is_given_up is is_given_up
