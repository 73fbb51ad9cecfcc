"""What comes back, what is asked again, and where it leads."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import itertools
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path
from time import monotonic

import pytest

from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Answer as Served
from ckanext.freshness.tests.servers.raw import RawServer, Speak, saying
from ckanext.freshness.tests.web.support import (
    BODY,
    ETAG,
    FAST,
    MODIFIED,
    SETTINGS,
    UNHURRIED,
    FileServer,
    Pieces,
    failure,
    lookup,
    visit,
)
from ckanext.freshness.web.client import (
    Answer,
    Body,
    Client,
    Enough,
    FetchError,
    Limits,
    Reason,
    Request,
    Settings,
    run,
)
from ckanext.freshness.web.exchange import ERROR_BYTES
from ckanext.freshness.web.hosts import HostPolicy, Hosts
from ckanext.freshness.web.names import Names

# Answers


def test_a_plain_get(server: FileServer) -> None:
    hosts = Hosts(UNHURRIED)
    answer = visit(f"{server.url}/x", hosts=hosts)
    assert (answer.status, answer.body, answer.complete) == (200, BODY, True)
    assert answer.url == answer.final_url == f"{server.url}/x"
    assert answer.headers["etag"] == ETAG
    assert answer.received == answer.on_wire == len(BODY)
    assert (answer.attempts, answer.hops, answer.insecure) == (1, (), False)
    assert 0 < answer.seconds < 1
    [asked] = server.requests
    assert asked.headers["User-Agent"] == SETTINGS.user_agent
    assert "Cookie" not in asked.headers
    [host] = hosts
    statistics = host.statistics
    assert (statistics.requests, statistics.received) == (1, len(BODY))
    assert (statistics.last_status, statistics.statuses[200]) == (200, 1)
    assert statistics.seconds > 0
    assert not statistics.errors


@pytest.mark.parametrize("status", [200, 204, 206, 300, 400, 401, 403, 404, 406, 410, 451, 501])
def test_a_status_is_an_answer(server: FileServer, status: int) -> None:
    server.files["/x"] = Served(status, b"" if status == 204 else b"so it is")
    answer = visit(f"{server.url}/x")
    assert (answer.status, answer.attempts) == (status, 1)
    assert answer.body == server.files["/x"].body


@pytest.mark.parametrize("status", [600, 999])
def test_an_unheard_of_status_is_an_answer(status: int) -> None:
    speak = saying(b"HTTP/1.1 %d Denied\r\nContent-Length: 2\r\n\r\nno" % status)
    with RawServer(speak) as server:
        answer = visit(f"{server.url}/x")
    assert (answer.status, answer.body) == (status, b"no")


ODD = [
    (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", b"until the end"),
    (b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", b"ok"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Latin: \xe4\r\n\r\nok", b"ok"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nLast-Modified: yesterday\r\n\r\nok", b"ok"),
    (
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: a\r\nContent-Type: b\r\n\r\nok",
        b"ok",
    ),
    (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", b"ok"),
]


@pytest.mark.parametrize(("sent", "body"), ODD)
def test_odd_but_understandable(sent: bytes, body: bytes) -> None:
    with RawServer(saying(sent)) as server:
        answer = visit(f"{server.url}/x")
    assert (answer.status, answer.body, answer.complete) == (200, body, True)


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
    assert [host.statistics.statuses[304] for host in hosts] == [status == 304]


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


def test_what_a_url_may_not_have_is_escaped(server: FileServer) -> None:
    visit(f'{server.url}/a b/"ä"?q=é|')
    assert server.requests[0].target == "/a%20b/%22%C3%A4%22?q=%C3%A9%7C"


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

    assert run(main()).body == BODY
    assert server.connections == 2


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
        assert run(main(server.url)) == [b"good", b"good"]


def test_the_last_connection_is_not_kept(server: FileServer) -> None:
    async def main() -> None:
        async with Client(SETTINGS, Hosts(UNHURRIED), Names(lookup({}))) as client:
            for _ in range(3):
                await client.fetch(Request(f"{server.url}/x", last=True))

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


def test_a_body_of_just_the_limit_is_not_too_large(server: FileServer) -> None:
    assert visit(f"{server.url}/x", max_bytes=len(BODY)).body == BODY
    error = failure(f"{server.url}/x", max_bytes=len(BODY) - 1)
    assert error.reason is Reason.TOO_LARGE


def test_compressed_bodies_count_both_ways(server: FileServer) -> None:
    packed = gzip.compress(b"x" * 100_000)
    server.files["/x"] = Served(200, packed, {"Content-Encoding": "gzip"})
    answer = visit(f"{server.url}/x", max_bytes=100_000)
    assert (answer.received, answer.on_wire) == (100_000, len(packed))
    assert failure(f"{server.url}/x", max_bytes=99_999).reason is Reason.TOO_LARGE


def test_a_gzip_bomb_is_not_unpacked(server: FileServer) -> None:
    server.faults["/x"] = faults.GzipBomb(size=128 << 20)
    sink = Pieces()
    tracemalloc.start()
    error = failure(f"{server.url}/x", lambda answer: sink, max_bytes=1 << 20)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert error.reason is Reason.TOO_LARGE
    assert sink.restarts == 1
    assert peak < 16 << 20


def test_a_sink_starts_anew_with_each_attempt(server: FileServer) -> None:
    server.faults["/x"] = faults.Truncate(times=2)
    sink = Pieces()
    answer = visit(f"{server.url}/x", lambda answer: sink)
    assert (answer.status, answer.attempts) == (200, 3)
    assert bytes(sink.data) == BODY
    assert sink.restarts == 2


def test_a_sink_forgets_what_broke_off_for_good(server: FileServer) -> None:
    server.faults["/x"] = faults.Truncate()
    sink = Pieces()
    assert failure(f"{server.url}/x", lambda answer: sink).reason is Reason.TRUNCATED
    assert sink.data == b""


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


# Attempts


RETRIED = [408, 429, 500, 502, 503, 504, 507, 520]


@pytest.mark.parametrize("status", RETRIED)
def test_these_are_asked_again(server: FileServer, status: int) -> None:
    hosts = Hosts(UNHURRIED)
    server.faults["/x"] = faults.Raw(
        b"HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n" % status, times=2
    )
    answer = visit(f"{server.url}/x", hosts=hosts)
    assert (answer.status, answer.attempts) == (200, 3)
    [host] = hosts
    assert host.statistics.statuses == {status: 2, 200: 1}


@pytest.mark.parametrize("status", RETRIED)
def test_the_last_attempt_is_the_answer(server: FileServer, status: int) -> None:
    server.faults["/x"] = faults.Raw(b"HTTP/1.1 %d X\r\nContent-Length: 5\r\n\r\nsorry" % status)
    answer = visit(f"{server.url}/x")
    assert (answer.status, answer.attempts, answer.body) == (status, 3, b"sorry")
    assert server.count("/x") == 3


def test_the_choice_is_not_asked_before_the_last_attempt(server: FileServer) -> None:
    server.faults["/x"] = faults.Status(code=503)
    seen = []

    def choose(answer: Answer) -> Body:
        seen.append(answer.attempts)
        return Body.SKIP

    visit(f"{server.url}/x", choose)
    assert seen == [3]


def test_a_connection_fault_heals(server: FileServer) -> None:
    # aiohttp asks once more at once by itself, so two of these make one attempt.
    server.faults["/x"] = faults.Reset(moment=faults.Reset.Moment.BEFORE, times=4)
    answer = visit(f"{server.url}/x")
    assert (answer.status, answer.attempts) == (200, 3)


def times(server: FileServer) -> list[float]:
    """Seconds between the requests."""
    at = [asked.at for asked in server.requests]
    return [b - a for a, b in itertools.pairwise(at)]


def test_attempts_are_spaced(server: FileServer) -> None:
    server.faults["/x"] = faults.Status(code=500)
    visit(f"{server.url}/x", backoff=(0.03, 0.08), attempts=4)  # type: ignore[arg-type]
    first, second, third = times(server)
    assert first >= 0.028
    assert second >= 0.078
    assert third >= 0.078


def test_retry_after_is_honoured(server: FileServer) -> None:
    server.faults["/x"] = faults.Status(code=503, headers={"Retry-After": "0.1"}, times=1)
    assert visit(f"{server.url}/x").status == 200
    assert times(server)[0] >= 0.1


def test_retry_after_may_be_sooner_than_we_would(server: FileServer) -> None:
    server.faults["/x"] = faults.Status(code=503, headers={"Retry-After": "0"}, times=1)
    assert visit(f"{server.url}/x", backoff=(20.0,)).attempts == 2  # type: ignore[arg-type]
    assert times(server)[0] < 5


def test_retry_after_as_a_date_by_the_servers_clock(server: FileServer) -> None:
    ahead = datetime.now(timezone.utc) + timedelta(hours=5)
    headers = {
        "Date": format_datetime(ahead, usegmt=True),
        "Retry-After": format_datetime(ahead + timedelta(seconds=1), usegmt=True),
    }
    server.faults["/x"] = faults.Status(code=429, headers=headers, times=1)
    assert visit(f"{server.url}/x").status == 200
    assert times(server)[0] >= 0.99


def test_retry_after_holds_for_the_whole_host_and_for_no_other(server: FileServer) -> None:
    server.faults["/busy"] = faults.Status(code=429, headers={"Retry-After": "0.5"}, times=1)
    other = server.url_at("127.0.0.3")

    async def main() -> tuple[float, float]:
        async with Client(SETTINGS, Hosts(UNHURRIED), Names(lookup({}))) as client:
            busy = asyncio.create_task(client.fetch(Request(f"{server.url}/busy")))
            while server.count("/busy") == 0:
                await asyncio.sleep(0.005)
            await asyncio.sleep(0.02)
            begin = monotonic()
            await client.fetch(Request(f"{other}/x"))
            elsewhere = monotonic() - begin
            await client.fetch(Request(f"{server.url}/y"))
            await busy
            return elsewhere, monotonic() - begin

    elsewhere, here = asyncio.run(main())
    assert elsewhere < 0.4
    assert here > 0.4


def test_a_host_that_wants_a_long_pause_is_left_alone(server: FileServer) -> None:
    server.faults["/x"] = faults.Status(code=503, headers={"Retry-After": "601"}, times=1)

    async def main() -> tuple[Answer, FetchError]:
        async with Client(SETTINGS, Hosts(UNHURRIED), Names(lookup({}))) as client:
            answer = await client.fetch(Request(f"{server.url}/x"))
            with pytest.raises(FetchError) as caught:
                await client.fetch(Request(f"{server.url}/y"))
            return answer, caught.value

    answer, error = asyncio.run(main())
    assert (answer.status, answer.attempts) == (503, 1)
    assert error.reason is Reason.HOST_DEFERRED
    assert error.retry_after is not None
    assert 599 < error.retry_after <= 601
    assert len(server.requests) == 1


def test_the_pause_of_a_429_without_retry_after_holds_for_the_host(server: FileServer) -> None:
    server.faults["/x"] = faults.Status(code=429)

    async def main() -> float:
        hosts = Hosts(UNHURRIED)
        limits = replace(FAST, attempts=1, backoff=(0.1,))
        settings = replace(SETTINGS, limits=limits)
        async with Client(settings, hosts, Names(lookup({}))) as client:
            await client.fetch(Request(f"{server.url}/x"))
            return (await client.fetch(Request(f"{server.url}/y"))).waited

    assert asyncio.run(main()) > 0.08


def test_the_length_of_headers_is_a_limit_of_the_request(server: FileServer) -> None:
    server.files["/x"] = Served(200, b"", {"X-Long": "x" * 40_000})
    assert failure(f"{server.url}/x").reason is Reason.MALFORMED
    wide = replace(FAST, max_header_bytes=50_000)
    assert visit(Request(f"{server.url}/x", limits=wide)).status == 200


def test_a_request_may_have_its_own_limits(server: FileServer) -> None:
    server.faults["/x"] = faults.Status(code=500)
    answer = visit(Request(f"{server.url}/x", limits=replace(FAST, attempts=2)))
    assert answer.attempts == 2


def test_waiting_between_attempts_holds_no_place(server: FileServer) -> None:
    server.faults["/x"] = faults.Status(code=500)

    async def main() -> float:
        settings = replace(SETTINGS, limits=replace(FAST, backoff=(5.0,)))
        async with Client(settings, Hosts(HostPolicy(1, 1000.0)), Names(lookup({}))) as client:
            waiting = asyncio.create_task(client.fetch(Request(f"{server.url}/x")))
            while server.count("/x") == 0:
                await asyncio.sleep(0.005)
            begin = monotonic()
            await client.fetch(Request(f"{server.url}/y"))
            waiting.cancel()
            return monotonic() - begin

    assert asyncio.run(main()) < 1


# Redirects


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_redirects_are_followed(server: FileServer, status: int, method: str) -> None:
    server.faults["/old"] = faults.Redirect(to="/new?x=1", code=status)
    answer = visit(Request(f"{server.url}/old", method=method))
    assert answer.status == 200
    assert answer.url == f"{server.url}/old"
    assert answer.final_url == f"{server.url}/new?x=1"
    assert [(hop.url, hop.status) for hop in answer.hops] == [(f"{server.url}/old", status)]
    assert server.count(method=method) == 2


def test_redirects_on_one_host_use_one_connection(server: FileServer) -> None:
    server.files["/old"] = Served(302, b"x" * 3000, {"Location": "/new"})
    visit(f"{server.url}/old")
    assert server.connections == 1


def redirecting(sent: bytes) -> Speak:
    """Redirects /old with this body, which comes later than the headers; /new is there."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            asked = await reader.readuntil(b"\r\n\r\n")
            if asked.startswith(b"GET /new"):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                continue
            writer.write(b"HTTP/1.1 302 Found\r\nLocation: /new\r\nContent-Length: 5\r\n\r\n")
            await writer.drain()
            await asyncio.sleep(0.02)
            writer.write(sent)

    return speak


def test_the_body_of_a_redirect_is_waited_for(server: FileServer) -> None:
    with RawServer(redirecting(b"moved")) as moved:
        assert visit(f"{moved.url}/old").status == 200
        assert moved.connections == 1


def test_but_not_for_long(server: FileServer) -> None:
    with RawServer(redirecting(b"")) as moved:
        answer = visit(f"{moved.url}/old")
        assert (answer.status, answer.attempts) == (200, 1)
        assert moved.connections == 2
        # Time that is used up before a hop begins is used up all the same.
        error = failure(f"{moved.url}/old", total=0.15)
        assert error.reason is Reason.TOTAL_TIMEOUT


LOCATIONS: list[tuple[str, str]] = [
    ("new", "/dir/new"),
    ("../new", "/new"),
    ("?y", "/dir/old?y"),
    (" /a b ", "/a%20b"),
    ("//127.0.0.1:{port}/new", "/new"),
    ("HTTP://127.1:{port}/new#part", "/new"),
    ("/%7e", "/%7e"),
]


@pytest.mark.parametrize(("location", "target"), LOCATIONS)
def test_odd_locations(server: FileServer, location: str, target: str) -> None:
    server.faults["/dir/old"] = faults.Redirect(to=location.format(port=server.port), times=1)
    answer = visit(f"{server.url}/dir/old")
    assert (answer.status, server.requests[-1].target) == (200, target)


def test_a_location_in_latin_1_keeps_its_bytes(server: FileServer) -> None:
    server.faults["/old"] = faults.Raw(
        b"HTTP/1.1 302 Found\r\nLocation: /\xe4\r\nContent-Length: 0\r\n\r\n"
    )
    visit(f"{server.url}/old")
    assert server.requests[-1].target == "/%E4"


@pytest.mark.parametrize("status", [301, 302])
def test_a_redirect_to_nowhere_is_an_answer(server: FileServer, status: int) -> None:
    server.files["/x"] = Served(status, b"lost")
    answer = visit(f"{server.url}/x")
    assert (answer.status, answer.body) == (status, b"lost")


def test_a_loop_over_two_hosts(server: FileServer) -> None:
    other = server.url_at("127.0.0.2")
    server.faults["/a"] = faults.Redirect(to=f"{other}/b")
    server.faults["/b"] = faults.Redirect(to=f"{server.url}/a")
    error = failure(f"{server.url}/a")
    assert error.reason is Reason.REDIRECT_LOOP
    assert len(server.requests) == 2


def test_as_many_redirects_as_allowed(server: FileServer) -> None:
    for n in range(3):
        server.faults[f"/{n}"] = faults.Redirect(to=f"/{n + 1}")
    assert visit(f"{server.url}/0", redirects=3).final_url == f"{server.url}/3"
    assert failure(f"{server.url}/0", redirects=2).reason is Reason.TOO_MANY_REDIRECTS
    assert failure(f"{server.url}/2", redirects=0).reason is Reason.TOO_MANY_REDIRECTS


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


def test_another_port_is_another_origin(server: FileServer) -> None:
    with FileServer() as other:
        server.faults["/old"] = faults.Redirect(to=f"{other.url}/new")
        visit(Request(f"{server.url}/old", headers={"X-Key": "geheim"}))
        assert "X-Key" not in other.requests[0].headers


def test_each_hop_is_held_to_its_hosts_limits(server: FileServer) -> None:
    other = server.url_at("127.0.0.2")
    server.faults["/old"] = faults.Redirect(to=f"{other}/new")
    hosts = Hosts(UNHURRIED)
    hosts.of("127.0.0.2").defer(0.1)
    answer = visit(f"{server.url}/old", hosts=hosts)
    assert answer.waited > 0.08
    assert {host.name: host.statistics.requests for host in hosts} == {
        "127.0.0.1": 1,
        "127.0.0.2": 1,
    }


def test_two_hosts_that_redirect_to_each_other_do_not_block_each_other(server: FileServer) -> None:
    other = server.url_at("127.0.0.2")
    server.faults["/a"] = faults.Redirect(to=f"{other}/x")
    server.faults["/b"] = faults.Redirect(to=f"{server.url}/x")

    async def main() -> None:
        async with Client(SETTINGS, Hosts(HostPolicy(1, 1000.0)), Names(lookup({}))) as client:
            pairs = [Request(f"{server.url}/a"), Request(f"{other}/b")] * 10
            await asyncio.gather(*map(client.fetch, pairs))

    asyncio.run(asyncio.wait_for(main(), 5))


def test_the_total_time_is_of_all_hops(server: FileServer) -> None:
    for n in range(5):
        server.faults[f"/{n}"] = faults.Redirect(to=f"/{n + 1}")
    server.latency = 0.1
    error = failure(f"{server.url}/0", total=0.25)
    assert error.reason is Reason.TOTAL_TIMEOUT
    assert error.attempts == 1


# The client itself


def test_many_hosts_at_once(server: FileServer) -> None:
    urls = [server.url_at(f"127.0.1.{n}") for n in range(1, 21)]
    server.latency = 0.05

    async def main() -> float:
        begin = monotonic()
        async with Client(SETTINGS, Hosts(HostPolicy(2, 1000.0)), Names(lookup({}))) as client:
            requests = [Request(f"{url}/{n}") for n in range(4) for url in urls]
            await asyncio.gather(*map(client.fetch, requests))
        return monotonic() - begin

    # 80 requests of 50 ms, two at a time on each of twenty hosts.
    assert asyncio.run(main()) < 1.5
    assert server.peak <= 40


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


def test_run() -> None:
    async def main() -> int:
        await asyncio.sleep(0)
        return 7

    assert run(main()) == 7
    assert Settings("x").limits == Limits()
