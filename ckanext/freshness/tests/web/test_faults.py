"""Every reason of a failed request, each caused by a real server."""

from __future__ import annotations

import asyncio
import errno
import os
import traceback
from dataclasses import replace
from time import monotonic

import pytest

from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.raw import RawServer, repeating
from ckanext.freshness.tests.servers.tcp import reserved_port
from ckanext.freshness.tests.web.support import (
    FAST,
    SETTINGS,
    UNHURRIED,
    FileServer,
    deaf_port,
    failure,
    lookup,
    visit,
)
from ckanext.freshness.web.client import Client
from ckanext.freshness.web.errors import FailureReason
from ckanext.freshness.web.exchange import Limits, Request
from ckanext.freshness.web.faults import fault_of
from ckanext.freshness.web.hosts import Hosts

IMPATIENT = {"read": 0.1, "attempts": 2}

# What a server can do, what that is, what is said of it, and how often it was tried. The table of answers
# (checking/answers.py) has more.
SERVED: list[tuple[faults.Fault, dict[str, float], FailureReason, str, int]] = [
    (
        faults.Hang(),
        IMPATIENT,
        FailureReason.READ_TIMEOUT,
        "did not answer within 0.2 s (read timeout), tried 2 times",
        2,
    ),
    (
        faults.Drip(interval=0.02, headers=True),
        {"total": 0.2},
        FailureReason.TOTAL_TIMEOUT,
        "did not answer within 0.2 s (total timeout)",
        1,
    ),
    # It still sends bytes, so that people get the file.
    (
        faults.Drip(interval=0.02),
        {"total": 2.0},
        FailureReason.UNFINISHED,
        "was not finished within 2 s",
        1,
    ),
    (
        faults.EndlessBody(),
        {"max_bytes": 1 << 20},
        FailureReason.TOO_LARGE,
        "is larger than 1 MiB",
        1,
    ),
    (faults.Redirect(), {}, FailureReason.REDIRECT_LOOP, "redirects in a circle", 1),
    (
        faults.Redirect(to=lambda asked: asked.target + "x"),
        {"redirects": 4},
        FailureReason.TOO_MANY_REDIRECTS,
        "redirects more than 4 times",
        1,
    ),
    (
        faults.Redirect(to="http://a..b/"),
        {},
        FailureReason.INVALID_URL,
        "redirects to http://a..b/, which cannot be requested",
        1,
    ),
    (
        faults.Redirect(to="http://eve:secret@gone.example/"),
        {},
        FailureReason.NAME_NOT_FOUND,
        "redirects to http://gone.example/, which has a host name that does not exist",
        1,
    ),
]


@pytest.mark.parametrize(("fault", "limits", "reason", "words", "attempts"), SERVED)
def test_what_servers_do(
    server: FileServer,
    fault: faults.Fault,
    limits: dict[str, float],
    reason: FailureReason,
    words: str,
    attempts: int,
) -> None:
    server.faults["/x"] = fault
    server.faults[lambda asked: asked.path.startswith("/xx")] = fault
    hosts = Hosts(UNHURRIED)
    settings = replace(SETTINGS, limits=replace(FAST, **limits))  # type: ignore[arg-type]
    error = failure(f"{server.url}/x", settings=settings, hosts=hosts)
    assert error.reason is reason
    assert str(error).startswith(f"{server.url}/x ")
    assert words in str(error)
    assert error.attempts == attempts
    assert 0 < error.seconds < 10
    assert "secret" not in str(error)


OK = b"HTTP/1.1 200 OK\r\n"
BEFORE_A_HEAD: dict[str, tuple[bytes, bytes, float]] = {
    "empty lines": (b"", b"\r\n" * 1000, 0.001),
    "100 Continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.001),
    "103 Early Hints": (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 0.001),
    "a status line that drips": (b"HTTP/1.1 200 ", b"O", 0.05),
    "a header that drips": (OK + b"X-A: ", b"a", 0.05),
}
"""What a server sends for ever: the beginning, the rest, and the seconds between two pieces of it."""


@pytest.mark.parametrize("name", BEFORE_A_HEAD)
def test_a_head_has_a_limit_of_time(name: str) -> None:
    with RawServer(repeating(*BEFORE_A_HEAD[name])) as server:
        begin = monotonic()
        error = failure(f"{server.url}/x", head=0.4, read=1.0)
    assert monotonic() - begin < 20
    # What cannot become an answer is malformed at once.
    assert error.reason in (FailureReason.TOTAL_TIMEOUT, FailureReason.MALFORMED)
    assert error.attempts == 1
    if error.reason is FailureReason.TOTAL_TIMEOUT:
        assert str(error) == f"{server.url}/x did not answer within 0.4 s (total timeout)"


def test_a_body_may_take_longer_than_its_head(server: FileServer) -> None:
    server.faults["/x"] = faults.Drip(interval=0.002)
    answer = visit(f"{server.url}/x", head=1.5)
    assert answer.complete and answer.seconds > 1.5


def test_host_not_allowed_after_a_redirect(server: FileServer) -> None:
    elsewhere = f"{server.url_at('127.0.0.2')}/y"
    server.faults["/x"] = faults.Redirect(to=elsewhere)
    error = failure(Request(f"{server.url}/x", host_allowed=lambda host: host == "127.0.0.1"))
    assert error.reason is FailureReason.HOST_NOT_ALLOWED
    # Whoever may visit that host is told where to go on.
    assert error.target == elsewhere
    assert server.count("/y") == 0


def test_connection_refused() -> None:
    with reserved_port() as unused:
        port = unused.getsockname()[1]
        error = failure(f"http://127.0.0.1:{port}/x")
    assert error.reason is FailureReason.CONNECTION_REFUSED
    assert str(error) == f"http://127.0.0.1:{port}/x refused the connection, tried 3 times"


def test_connect_timeout() -> None:
    with deaf_port() as port:
        error = failure(f"http://127.0.0.1:{port}/x", connect=0.1, attempts=1)
    assert error.reason is FailureReason.CONNECT_TIMEOUT
    assert "did not accept a connection within 0.1 s (connect timeout)" in str(error)


INVALID = [
    Request("http://example.org/", headers={"Authorization": "Bearer geheim\nX-Evil: 1"}),
    Request("http://example.org/", headers={"X Y": "geheim"}),
    Request("http://example.org/", accept="geheim\x00"),
]


@pytest.mark.parametrize("request_", INVALID)
def test_invalid_requests_are_not_sent(request_: Request) -> None:
    error = failure(request_)
    assert error.reason is FailureReason.INVALID_REQUEST
    assert "geheim" not in str(error)


CODES = [
    (errno.ENETUNREACH, FailureReason.NO_ROUTE),
    (errno.EHOSTUNREACH, FailureReason.UNREACHABLE),
    (errno.EADDRNOTAVAIL, FailureReason.NO_ROUTE),
    (errno.ECONNABORTED, FailureReason.CONNECTION_RESET),
    (errno.EPIPE, FailureReason.CONNECTION_RESET),
    (errno.ETIMEDOUT, FailureReason.CONNECT_TIMEOUT),
    (errno.EMFILE, FailureReason.OUT_OF_SOCKETS),
    (errno.ENFILE, FailureReason.OUT_OF_SOCKETS),
    (errno.EINVAL, FailureReason.CONNECTION_RESET),
]


@pytest.mark.parametrize(("code", "reason"), CODES)
def test_what_the_system_says(code: int, reason: FailureReason) -> None:
    # What no loopback interface can be brought to say.
    assert fault_of(OSError(code, os.strerror(code)), Limits()).reason is reason


def test_a_password_in_the_url_is_never_shown(server: FileServer) -> None:
    server.faults["/x"] = faults.Raw(b"nonsense")
    error = failure(server.url.replace("http://", "http://user:geheim@") + "/x")
    shown = "".join(traceback.format_exception(error)) + f"{error!r} {error.url} {error.target}"
    assert "geheim" not in shown
    assert str(error).startswith(f"http://***@127.0.0.1:{server.port}/x ")


def test_waiting_in_our_queues_is_no_timeout(server: FileServer) -> None:
    async def main() -> list[int]:
        hosts = Hosts(replace(UNHURRIED, connections=1, per_second=3.0))
        limits = replace(FAST, connect=2.0, read=2.0, total=2.0)
        settings = replace(SETTINGS, limits=limits)
        async with Client(settings, hosts, lookup({})) as client:
            answers = await asyncio.gather(
                *(client.fetch(Request(f"{server.url}/{n}")) for n in range(8))
            )
        return [answer.status for answer in answers]

    begin = monotonic()
    assert asyncio.run(main()) == [200] * 8
    assert monotonic() - begin > 2.3
