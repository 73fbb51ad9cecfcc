"""Answers, and the client's settings."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
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
    FileServer,
    Pieces,
    failure,
    last,
    lookup,
    visit,
)
from ckanext.freshness.web.client import Client, run
from ckanext.freshness.web.connections import Names
from ckanext.freshness.web.errors import FailureReason
from ckanext.freshness.web.exchange import (
    ERROR_BYTES,
    Answer,
    Body,
    Enough,
    Limits,
    Request,
)
from ckanext.freshness.web.hosts import HostPolicy, Hosts

# Answers


def test_a_plain_get(server: FileServer) -> None:
    hosts = Hosts(UNHURRIED)
    answer = visit(f"{server.url}/x", hosts=hosts)
    assert (answer.status, answer.body, answer.complete) == (200, BODY, True)
    assert answer.url == answer.final_url == f"{server.url}/x"
    assert answer.headers["etag"] == ETAG
    assert answer.received == answer.on_wire == len(BODY)
    assert (answer.attempts, answer.insecure) == (1, False)
    assert 0 < answer.seconds < 1
    [asked] = server.requests
    assert asked.headers["User-Agent"] == SETTINGS.user_agent
    assert "Cookie" not in asked.headers
    [host] = hosts
    assert host.requests == 1


def test_head(server: FileServer) -> None:
    answer = visit(Request(f"{server.url}/x", method="HEAD"), max_bytes=10)
    assert (answer.status, answer.body, answer.complete) == (200, b"", True)
    assert answer.headers["Content-Length"] == str(len(BODY))
    assert server.count(method="HEAD") == 1


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


def test_the_accepted_types_and_other_headers_are_sent(server: FileServer) -> None:
    visit(Request(f"{server.url}/x", accept="text/turtle", headers={"X-Key": "geheim"}))
    assert server.requests[0].headers["Accept"] == "text/turtle"
    assert server.requests[0].headers["X-Key"] == "geheim"


def test_a_given_header_takes_the_place_of_our_own(server: FileServer) -> None:
    given = {"user-agent": "another", "Host": "data.example", "Accept-Encoding": "identity"}
    visit(Request(f"{server.url}/x", headers=given))
    [asked] = server.requests
    sent = [(name.lower(), value) for name, value in asked.headers.items()]
    assert sorted(sent) == [
        ("accept", "*/*"),
        ("accept-encoding", "identity"),
        ("host", "data.example"),
        ("user-agent", "another"),
    ]


BYTES = [
    "/%7Euser/%e4%C3",
    "/a/../b/./c//d",
    "/?q=a+b%20c&r=/?x",
    "/a;b=c,d!$&'()*+:@~",
    "/signed?X=%2B%2f",
]


@pytest.mark.parametrize("target", BYTES)
def test_a_url_is_sent_byte_by_byte(server: FileServer, target: str) -> None:
    visit(server.url + target)
    assert server.requests[0].target == target


def test_user_and_password_are_sent_as_a_header(server: FileServer) -> None:
    answer = visit(server.url.replace("//", "//user:password@") + "/x")
    assert server.requests[0].headers["Authorization"] == "Basic dXNlcjpwYXNzd29yZA=="
    assert "password" not in repr(answer)


def test_connections_are_kept(server: FileServer) -> None:
    async def main() -> None:
        async with Client(SETTINGS, Hosts(UNHURRIED), Names(lookup({}))) as client:
            for n in range(5):
                await client.fetch(Request(f"{server.url}/{n}"))

    asyncio.run(main())
    assert server.connections == 1


def test_a_connection_on_which_an_answer_is_still_to_come_is_not_used_again(
    server: FileServer,
) -> None:
    server.files["/slow"] = Served(200, b"of somebody else")

    async def main() -> Answer:
        async with Client(SETTINGS, Hosts(UNHURRIED), Names(lookup({}))) as client:
            await client.fetch(Request(f"{server.url}/first"))
            server.latency = 0.1
            slow = asyncio.create_task(client.fetch(Request(f"{server.url}/slow")))
            await asyncio.to_thread(server.wait_for, "/slow")
            slow.cancel()
            await asyncio.gather(slow, return_exceptions=True)
            return await client.fetch(Request(f"{server.url}/x"))

    assert run(main).body == BODY
    assert server.connections == 2


def test_the_last_connection_is_not_kept(server: FileServer) -> None:
    async def main() -> None:
        async with Client(SETTINGS, Hosts(UNHURRIED), Names(lookup({}))) as client:
            for _ in range(3):
                await last(client, f"{server.url}/x")

    asyncio.run(main())
    assert server.connections == 3
    assert server.requests[0].headers["Connection"] == "close"


def test_no_cookie_is_kept(server: FileServer) -> None:
    server.files["/x"] = Served(200, b"", {"Set-Cookie": "visitor=1; Path=/"})

    async def main() -> None:
        names = Names(lookup({"data.example": ["127.0.0.1"]}))
        async with Client(SETTINGS, Hosts(UNHURRIED), names) as client:
            for _ in range(2):
                await client.fetch(Request(f"http://data.example:{server.port}/x"))

    asyncio.run(main())
    assert "Cookie" not in server.requests[1].headers


# Bodies


def test_a_body_goes_into_a_sink(server: FileServer) -> None:
    sink, seen = Pieces(), []

    def choose(answer: Answer) -> Pieces:
        seen.append((answer.status, answer.headers["ETag"]))
        return sink

    answer = visit(f"{server.url}/x", choose)
    assert seen == [(200, ETAG)]
    assert bytes(sink.data) == BODY
    assert answer.body is None
    assert (answer.received, answer.complete) == (len(BODY), True)


def test_a_body_that_is_skipped_is_not_downloaded(server: FileServer) -> None:
    fault = server.faults["/x"] = faults.EndlessBody()
    answer = visit(f"{server.url}/x", lambda answer: Body.SKIP)
    assert (answer.status, answer.body, answer.complete) == (200, None, False)
    assert answer.received == 0
    server.wait_until_idle()
    assert fault.sent < 20 << 20


def test_a_big_body_is_never_held(server: FileServer) -> None:
    size = 64 << 20
    server.faults["/x"] = faults.BigBody(size=size)
    digest, count = hashlib.sha256(), 0

    class Hash:
        def write(self, data: bytes, /) -> None:
            nonlocal count
            digest.update(data)
            count += len(data)

        def restart(self) -> None:
            raise AssertionError

    tracemalloc.start()
    answer = visit(f"{server.url}/x", lambda answer: Hash(), max_bytes=size, total=60)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert answer.received == count == size
    assert peak < 8 << 20


def test_compressed_bodies_count_both_ways(server: FileServer) -> None:
    packed = gzip.compress(b"x" * 100_000)
    server.files["/x"] = Served(200, packed, {"Content-Encoding": "gzip"})
    answer = visit(f"{server.url}/x", max_bytes=100_000)
    assert (answer.received, answer.on_wire) == (100_000, len(packed))
    assert failure(f"{server.url}/x", max_bytes=99_999).reason is FailureReason.TOO_LARGE


def test_a_sink_starts_anew_with_each_attempt(server: FileServer) -> None:
    server.faults["/x"] = faults.Truncate(times=2)
    sink = Pieces()
    answer = visit(f"{server.url}/x", lambda answer: sink)
    assert (answer.status, answer.attempts) == (200, 3)
    assert bytes(sink.data) == BODY
    assert sink.restarts == 2


def test_a_sink_that_has_enough_ends_the_download(server: FileServer) -> None:
    fault = server.faults["/x"] = faults.EndlessBody()

    class Beginning(Pieces):
        def write(self, data: bytes, /) -> None:
            super().write(data)
            raise Enough

    sink = Beginning()
    answer = visit(f"{server.url}/x", lambda answer: sink)
    assert (answer.status, answer.complete, answer.attempts) == (200, False, 1)
    assert answer.received == len(sink.data) > 0 and sink.restarts == 0
    server.wait_until_idle()
    assert fault.sent < 20 << 20


def test_a_full_disk_is_not_the_urls_fault(server: FileServer) -> None:
    class Full(Pieces):
        def write(self, data: bytes, /) -> None:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        visit(f"{server.url}/x", lambda answer: Full())
    assert server.count("/x") == 1


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


def test_one_who_gives_up_leaves_the_host_to_the_others(server: FileServer) -> None:
    server.faults["/hang"] = faults.Hang()

    async def main() -> int:
        async with Client(SETTINGS, Hosts(HostPolicy(1, 1000.0)), Names(lookup({}))) as client:
            hanging = asyncio.create_task(client.fetch(Request(f"{server.url}/hang")))
            while server.count("/hang") == 0:
                await asyncio.sleep(0.005)
            hanging.cancel()
            return (await client.fetch(Request(f"{server.url}/x"))).status

    assert asyncio.run(main()) == 200


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


BAD_LIMITS: list[dict[str, object]] = [
    {"connect": 0},
    {"total": -1.0},
    {"attempts": 0},
    {"max_bytes": 0},
    {"redirects": -1},
    {"backoff": (-1.0,)},
]


@pytest.mark.parametrize("limits", BAD_LIMITS)
def test_unusable_limits(limits: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(limits))):
        Limits(**limits)  # type: ignore[arg-type]


def test_what_a_server_says_without_being_asked_answers_nobody() -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n%s"

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer % b"good")
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.write(answer % b"evil")
        await reader.read()

    async def main(url: str) -> list[bytes | None]:
        async with Client(SETTINGS, Hosts(UNHURRIED), Names(lookup({}))) as client:
            first = await client.fetch(Request(f"{url}/1"))
            await asyncio.sleep(0.2)
            second = await client.fetch(Request(f"{url}/2"))
            return [first.body, second.body]

    with RawServer(speak) as server:
        assert run(lambda: main(server.url)) == [b"good", b"good"]
