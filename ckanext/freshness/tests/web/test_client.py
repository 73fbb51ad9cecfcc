"""The client: answers, attempts, bodies and settings."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Answer as Served
from ckanext.freshness.tests.servers.raw import RawServer, saying
from ckanext.freshness.tests.web.support import (
    BODY,
    ETAG,
    MODIFIED,
    SETTINGS,
    UNHURRIED,
    Chunks,
    FileServer,
    failure,
    lookup,
    visit,
)
from ckanext.freshness.web.client import Client
from ckanext.freshness.web.errors import FailureReason
from ckanext.freshness.web.event_loop import run
from ckanext.freshness.web.exchange import (
    ERROR_BYTES,
    Answer,
    Body,
    Request,
)
from ckanext.freshness.web.hosts import Hosts

# Answers


def test_a_plain_get(server: FileServer) -> None:
    hosts = Hosts(UNHURRIED)
    answer = visit(f"{server.url}/x", hosts=hosts)
    assert (answer.status, answer.body, answer.complete) == (200, BODY, True)
    assert answer.url == answer.final_url == f"{server.url}/x"
    assert answer.headers["etag"] == ETAG
    assert answer.received == answer.on_wire == len(BODY)
    assert (answer.attempts, answer.insecure) == (1, False)
    assert 0 < answer.seconds < 10
    [asked] = server.requests
    assert asked.headers["User-Agent"] == SETTINGS.user_agent
    assert "Cookie" not in asked.headers
    [host] = hosts
    assert host.requests == 1


def test_languages_are_asked_for(server: FileServer) -> None:
    visit(f"{server.url}/x", settings=replace(SETTINGS, languages="de, *;q=0.5"))
    visit(f"{server.url}/x")
    spoken, unspoken = (asked.headers.get("Accept-Language") for asked in server.requests)
    assert (spoken, unspoken) == ("de, *;q=0.5", None)


CONDITIONS = [
    (ETAG, None, 304),
    (None, MODIFIED, 304),
    (ETAG, MODIFIED, 304),
    ('"other"', MODIFIED, 200),
    (None, None, 200),
    ("", "", 200),
    ("illegal\r\nX-Evil: 1", None, 200),  # as a server may have sent it, and nobody can send it
    ("\udcff", None, 200),
]


@pytest.mark.parametrize(("etag", "last_modified", "status"), CONDITIONS)
def test_conditional(
    server: FileServer, etag: str | None, last_modified: str | None, status: int
) -> None:
    hosts = Hosts(UNHURRIED)
    request = Request(f"{server.url}/x", etag=etag, last_modified=last_modified)
    answer = visit(request, hosts=hosts)
    assert answer.status == status
    assert (answer.body == b"") is (status == 304)


def test_a_connection_on_which_an_answer_is_still_to_come_is_not_used_again(
    server: FileServer,
) -> None:
    server.faults["/slow"] = faults.Hang()

    async def main() -> Answer:
        async with Client(SETTINGS, Hosts(UNHURRIED), lookup({})) as client:
            await client.fetch(Request(f"{server.url}/first"))
            slow = asyncio.create_task(client.fetch(Request(f"{server.url}/slow")))
            await asyncio.to_thread(server.wait_for, "/slow")
            slow.cancel()
            await asyncio.gather(slow, return_exceptions=True)
            return await client.fetch(Request(f"{server.url}/x"))

    assert run(main).body == BODY
    assert server.connections == 2


def test_no_cookie_is_kept(server: FileServer) -> None:
    server.files["/x"] = Served(200, b"", {"Set-Cookie": "visitor=1; Path=/"})

    async def main() -> None:
        names = lookup({"data.example": ["127.0.0.1"]})
        async with Client(SETTINGS, Hosts(UNHURRIED), names) as client:
            for _ in range(2):
                await client.fetch(Request(f"http://data.example:{server.port}/x"))

    asyncio.run(main())
    assert "Cookie" not in server.requests[1].headers


# Bodies


def test_a_body_that_is_skipped_is_not_downloaded(server: FileServer) -> None:
    fault = server.faults["/x"] = faults.EndlessBody()
    answer = visit(f"{server.url}/x", lambda answer: Body.SKIP)
    assert (answer.status, answer.body, answer.complete) == (200, None, False)
    assert answer.received == 0
    server.wait_until_idle()
    assert fault.sent < 20 << 20


def test_compressed_bodies_count_both_ways(server: FileServer) -> None:
    packed = gzip.compress(b"x" * 100_000)
    server.files["/x"] = Served(200, packed, {"Content-Encoding": "gzip"})
    answer = visit(f"{server.url}/x", max_bytes=100_000)
    assert (answer.received, answer.on_wire) == (100_000, len(packed))
    assert failure(f"{server.url}/x", max_bytes=99_999).reason is FailureReason.TOO_LARGE


class Nothing(Chunks):
    """Keeps no data."""

    def write(self, data: bytes, /) -> None:
        """Forget them."""


def test_a_bomb_takes_no_memory(server: FileServer) -> None:
    size = 64 << 20
    server.files["/x"] = Served(200, gzip.compress(bytes(size)), {"Content-Encoding": "gzip"})
    tracemalloc.start()
    try:
        answer = visit(f"{server.url}/x", lambda answer: Nothing(), max_bytes=size)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert answer.received == size and peak < 8 << 20


def test_a_sink_starts_anew_with_each_attempt(server: FileServer) -> None:
    server.faults["/x"] = faults.Truncate(times=2)
    sink = Chunks()
    answer = visit(f"{server.url}/x", lambda answer: sink)
    assert (answer.status, answer.attempts) == (200, 3)
    assert bytes(sink.data) == BODY
    assert sink.restarts == 2


ERROR_PAGE = b"HTTP/1.1 404 Not Found\r\nContent-Length: %d\r\n\r\n"
ERROR_PAGES = [
    (ERROR_PAGE % 10 + b"short", b"short"),
    (ERROR_PAGE % 1_000_000 + b"x" * 1_000_000, b"x" * ERROR_BYTES),
]


@pytest.mark.parametrize(("sent", "body"), ERROR_PAGES, ids=["broken off", "long"])
def test_an_error_is_an_error_whatever_its_page(sent: bytes, body: bytes) -> None:
    with RawServer(saying(sent)) as server:
        answer = visit(f"{server.url}/x")
    assert (answer.status, answer.body, answer.complete) == (404, body, False)


# The client itself


BAD_SETTINGS: list[tuple[dict[str, object], str]] = [
    ({"user_agent": "a\nb"}, "user agent"),
    ({"proxy": "ftp://user:geheim@proxy.example/"}, r"proxy ftp://\*\*\*@proxy.example/ is not"),
    ({"proxy": "proxy.example:3128"}, "is not an http"),
    ({"insecure_hosts": frozenset({"a host"})}, "'a host' is not the name of a host"),
]


@pytest.mark.parametrize(("setting", "words"), BAD_SETTINGS)
def test_unusable_settings(setting: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        Client(replace(SETTINGS, **setting), Hosts())  # type: ignore[arg-type]
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize("content", [None, b"no certificate"])
def test_an_unusable_ca_bundle(tmp_path: Path, content: bytes | None) -> None:
    bundle = tmp_path / "ca.pem"
    if content is not None:
        bundle.write_bytes(content)
    with pytest.raises(ValueError, match=r"the CA bundle .*ca\.pem cannot be read"):
        visit("http://example.org/", settings=replace(SETTINGS, ca_bundle=bundle))


@pytest.mark.parametrize("status", [408, 429, 503])
@pytest.mark.parametrize("fails", [2, None])
def test_these_are_asked_again(server: FileServer, status: int, fails: int | None) -> None:
    """The last attempt is the answer, whatever it is."""
    sorry = b"HTTP/1.1 %d X\r\nContent-Length: 5\r\n\r\nsorry" % status
    server.faults["/x"] = faults.Raw(sorry, times=fails)
    hosts = Hosts(UNHURRIED)
    answer = visit(f"{server.url}/x", hosts=hosts)
    assert (answer.status, answer.body) == ((200, BODY) if fails else (status, b"sorry"))
    [host] = hosts
    assert answer.attempts == host.requests == server.count("/x") == 3


def test_retry_after_holds_for_the_whole_host_and_for_no_other(server: FileServer) -> None:
    server.faults["/busy"] = faults.Status(code=429, headers={"Retry-After": "2"}, times=1)
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
    assert len(later) == 2 and min(later) - refused >= 2
