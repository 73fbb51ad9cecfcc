"""The circuit breaker of silent hosts, as a table of events and states."""

from __future__ import annotations

import asyncio
import math
import socket
from dataclasses import replace
from time import monotonic

import pytest

from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.web.support import SETTINGS, FileServer, lookup
from ckanext.freshness.web.client import Client
from ckanext.freshness.web.dns import Names
from ckanext.freshness.web.errors import FailureReason, FetchError
from ckanext.freshness.web.exchange import Request
from ckanext.freshness.web.hosts import Breaker, Circuit, Host, HostPolicy, Hosts

CLOSED, OPEN, HALF_OPEN, GIVEN_UP = Circuit
REFUSED = FailureReason.CONNECTION_REFUSED


def play(events: str, limit: int = 3) -> Breaker:
    """Apply events, one per second, to a breaker with a pause of 10 seconds.

    ``f`` a visit failed, ``r`` an attempt failed that was not its last, ``t`` one was too slow, which nobody
    tries again, ``a`` an answer came, ``m`` a malformed one did, ``o`` a fault of ours; capitals: of the
    request that decides. ``b`` a request begins. A dot is ten seconds, and ``|`` begins the last round.
    """
    breaker, now = Breaker(limit, 10.0), 100.0
    reasons = {
        **{"f": REFUSED, "r": REFUSED, "t": FailureReason.TOTAL_TIMEOUT},
        **{"a": None, "m": FailureReason.MALFORMED, "o": FailureReason.PROXY},
    }
    for event in events:
        now += 10 if event == "." else 1
        if event == "b":
            breaker.begin(now)
        elif event == "|":
            breaker.begin_last_round(now, 10.0)
        elif event != ".":
            kind = event.lower()
            breaker.ended(reasons[kind], now, is_last=kind == "f", decides=event.isupper())
    return breaker


@pytest.mark.parametrize(
    ("events", "circuit"),
    [
        ("", CLOSED),
        ("ff", CLOSED),
        ("fff", OPEN),
        ("fffff", OPEN),
        ("rrrrrr", CLOSED),
        ("tt", CLOSED),
        ("ttt", OPEN),
        ("ttatt", CLOSED),
        ("rrfrrfrr", CLOSED),
        ("rrfrrfrrf", OPEN),
        ("ffaff", CLOSED),
        ("ffmff", CLOSED),
        ("ffaf.ff", OPEN),
        ("ffof", OPEN),
        ("oooooo", CLOSED),
        # Requests that were on their way when it opened
        ("fffa", CLOSED),
        ("fff.f", OPEN),
        # The pause
        ("fffb", OPEN),
        ("fff.b", HALF_OPEN),
        ("fff.bb", HALF_OPEN),
        ("fff.bf", HALF_OPEN),
        ("fff.bA", CLOSED),
        ("fff.bM", CLOSED),
        ("fff.bAff", CLOSED),
        ("fff.bAfff", OPEN),
        ("fff.bF", GIVEN_UP),
        ("fff.bR", GIVEN_UP),
        ("fff.bT", GIVEN_UP),
        ("fff.bF..b", GIVEN_UP),
        ("fff.bFa", CLOSED),
        ("fff.bO", OPEN),
        ("fff.bOb", HALF_OPEN),
        ("fff.bObF", GIVEN_UP),
    ],
)
def test_how_it_stands(events: str, circuit: Circuit) -> None:
    assert play(events).circuit is circuit


@pytest.mark.parametrize(
    ("events", "circuit"),
    [
        ("", CLOSED),
        ("fffff", CLOSED),
        (".f", GIVEN_UP),
        (".a", CLOSED),
        (".afffff", CLOSED),
        (".a.f", GIVEN_UP),
        (".mf", CLOSED),
        (".o", CLOSED),
    ],
)
def test_in_the_last_round_time_without_an_answer_counts(events: str, circuit: Circuit) -> None:
    assert play(f"fff.bF|{events}").circuit is circuit


def test_without_a_limit_it_stays_closed() -> None:
    breaker = play("f" * 1000, limit=0)
    assert breaker.circuit is CLOSED
    assert breaker.begin(0.0)


@pytest.mark.parametrize(
    ("events", "after", "wait", "begins"),
    [
        ("ff", 0, 0, True),
        ("fff", 0, 10, False),
        ("fff", 4, 6, False),
        ("fff", 10, 0, True),
        ("fff.b", 0, 1, False),
        ("fff.bF", 0, 0, False),
    ],
)
def test_when_a_request_may_be_made(events: str, after: float, wait: float, begins: bool) -> None:
    breaker = play(events)
    now = 100.0 + sum(10 if event == "." else 1 for event in events) + after
    assert breaker.opens_in(now) == wait
    assert breaker.begin(now) is begins


def test_a_host_is_not_open_while_its_breaker_is() -> None:
    host = Host("a.example", HostPolicy(2, math.inf, failures=1, pause=10.0))
    assert host.open
    host.breaker.ended(REFUSED, monotonic(), is_last=True, decides=False)
    assert not host.open and 9 < host.opens_in <= 10


@pytest.mark.parametrize("reason", FailureReason)
def test_which_faults_count(reason: FailureReason) -> None:
    breaker = Breaker(1, 10.0, failures=0)
    breaker.ended(reason, 0.0, is_last=True, decides=False)
    assert (breaker.circuit is OPEN) is (
        reason
        in {
            *(FailureReason.NAME_NOT_FOUND, FailureReason.NAME_LOOKUP_FAILED),
            *(REFUSED, FailureReason.CONNECTION_RESET, FailureReason.UNREACHABLE),
            *(
                FailureReason.TLS_EXPIRED,
                FailureReason.TLS_SELF_SIGNED,
                FailureReason.TLS_WRONG_NAME,
            ),
            *(FailureReason.TLS_UNTRUSTED, FailureReason.TLS_FAILED),
            *(
                FailureReason.CONNECT_TIMEOUT,
                FailureReason.READ_TIMEOUT,
                FailureReason.TOTAL_TIMEOUT,
            ),
        }
    )


@pytest.mark.parametrize(("failures", "pause"), [(-1, 1.0), (1, -1.0), (1, math.nan)])
def test_limits_that_are_none(failures: int, pause: float) -> None:
    with pytest.raises(ValueError, match="cannot be negative"):
        HostPolicy(failures=failures, pause=pause)


def reasons(url: str, count: int, hosts: Hosts) -> list[FailureReason | None]:
    """Return the reasons for which consecutive requests failed."""

    async def main() -> list[FailureReason | None]:
        found: list[FailureReason | None] = []
        async with Client(SETTINGS, hosts, Names(lookup({}))) as client:
            for _ in range(count):
                try:
                    await client.fetch(Request(url))
                except FetchError as error:
                    found.append(error.reason)
                else:
                    found.append(None)
        return found

    return asyncio.run(main())


def test_a_host_that_refuses_is_left_alone() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/"
        policy = HostPolicy(50, math.inf, failures=2, pause=0.0)
        hosts = Hosts(policy)
        assert reasons(url, 5, hosts) == [REFUSED] * 2 + [FailureReason.HOST_SILENT] * 3
        # Three attempts each, and one that decides.
        assert hosts.of("127.0.0.1").statistics.requests == 7
        assert hosts.of("127.0.0.1").breaker.circuit is GIVEN_UP


def test_a_request_that_was_to_decide_and_is_given_up_decides_nothing() -> None:
    hosts = Hosts(HostPolicy(2, math.inf, failures=1, pause=0.0))

    async def main(server: FileServer) -> None:
        request = Request(f"{server.url}/x")
        quick = replace(SETTINGS, limits=replace(SETTINGS.limits, read=0.1, attempts=1))
        async with Client(quick, hosts, Names(lookup({}))) as client:
            with pytest.raises(FetchError):
                await client.fetch(request)
        async with Client(SETTINGS, hosts, Names(lookup({}))) as client:
            deciding = asyncio.create_task(client.fetch(request))
            while len(server.requests) < 2:
                await asyncio.sleep(0.01)
            assert hosts.of("127.0.0.1").breaker.circuit is HALF_OPEN
            deciding.cancel()
            await asyncio.wait({deciding})

    with FileServer() as server:
        server.faults[lambda request: True] = faults.Hang()
        asyncio.run(main(server))
    assert hosts.of("127.0.0.1").breaker.circuit is OPEN


def test_who_waits_for_a_host_that_wants_to_be_left_alone_does_not_ask() -> None:
    async def main(server: FileServer) -> list[object]:
        hosts = Hosts(HostPolicy(1, math.inf))
        async with Client(SETTINGS, hosts, Names(lookup({}))) as client:
            asked = (client.fetch(Request(f"{server.url}/{number}")) for number in range(5))
            return list(await asyncio.gather(*asked, return_exceptions=True))

    with FileServer() as server:
        server.faults[lambda request: True] = faults.Status(429, headers={"Retry-After": "86400"})
        found = asyncio.run(main(server))
        assert len(server.requests) == 1
    errors = [one.reason for one in found if isinstance(one, FetchError)]
    assert errors == [FailureReason.HOST_DEFERRED] * 4


@pytest.mark.parametrize(
    "fault",
    [
        faults.Status(404),
        faults.Status(503),
        faults.Redirect(),
        faults.Truncate(),
        faults.Raw(b"x"),
    ],
)
def test_a_host_that_speaks_is_asked_on(fault: faults.Fault) -> None:
    with FileServer() as server:
        server.faults[lambda request: True] = fault
        hosts = Hosts(HostPolicy(50, math.inf, failures=1, pause=0.0))
        assert FailureReason.HOST_SILENT not in reasons(f"{server.url}/x", 4, hosts)
        assert hosts.of("127.0.0.1").breaker.circuit is CLOSED


def test_a_host_that_wants_to_be_left_alone_says_so_at_once() -> None:
    with FileServer() as server:
        server.faults[lambda request: True] = faults.Status(429, headers={"Retry-After": "86400"})
        begin = monotonic()
        found = reasons(f"{server.url}/x", 40, Hosts(HostPolicy(2, 2.0)))
        assert found[1:] == [FailureReason.HOST_DEFERRED] * 39
        # Two requests a second would be twenty.
        assert monotonic() - begin < 5
