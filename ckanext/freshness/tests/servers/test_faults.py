"""The servers misbehave as they are told to, seen by a client that repairs nothing."""

from __future__ import annotations

import http.client
import threading
import time
import zlib
from collections.abc import Callable, Iterator

import pytest

from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Answer, LoopbackServer, Request
from ckanext.freshness.tests.servers.client import Reply, exchange, fetch
from ckanext.freshness.tests.servers.redirect import RedirectServer

BODY = b"<http://example.org/a> <http://example.org/b> <http://example.org/c> .\n" * 20


class _Healthy(LoopbackServer):
    """Always the same Turtle."""

    def answer(self, request: Request) -> Answer:
        return Answer(200, BODY, {"Content-Type": "text/turtle"})


@pytest.fixture(scope="module")
def shared() -> Iterator[_Healthy]:
    with _Healthy() as server:
        yield server


@pytest.fixture
def server(shared: _Healthy) -> Iterator[_Healthy]:
    shared.reset()
    yield shared
    shared.faults.clear()
    shared.latency = 0.0


def _name(value: object) -> str | None:
    return type(value).__name__ if isinstance(value, faults.Fault) else None


def label(reply: Reply) -> str | None:
    return reply.headers["Content-Type"]


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        (faults.Status(500), lambda r: r.status == 500 and r.body == b"Internal Server Error"),
        (
            faults.Status(503, b"later", {"Retry-After": "7"}),
            lambda r: (r.status, r.body, r.headers["Retry-After"]) == (503, b"later", "7"),
        ),
        (faults.Body(b"\xff"), lambda r: (r.body, label(r)) == (b"\xff", "text/turtle")),
        (faults.empty(), lambda r: r.status == 200 and r.headers["Content-Length"] == "0"),
        (faults.html(), lambda r: r.status == 200 and "text/html" in (label(r) or "")),
        (faults.html("text/turtle"), lambda r: b"<h1>" in r.body and label(r) == "text/turtle"),
        (faults.ContentType("image/png"), lambda r: (r.body, label(r)) == (BODY, "image/png")),
        (faults.ContentType(None), lambda r: (r.body, label(r)) == (BODY, None)),
        (
            faults.Cut(0.5),
            lambda r: (
                r.body == BODY[: len(BODY) // 2] and len(r.body) == int(r.headers["Content-Length"])
            ),
        ),
        (faults.Redirect("/b", 301), lambda r: (r.status, r.headers["Location"]) == (301, "/b")),
        (faults.Redirect(), lambda r: (r.status, r.headers["Location"]) == (302, "/x?y=1")),
        (
            faults.Redirect(lambda request: request.target + "0"),
            lambda r: r.headers["Location"] == "/x?y=10",
        ),
        (faults.Delay(0.01), lambda r: r.body == BODY),
        (faults.Drip(0.0), lambda r: r.body == BODY and label(r) == "text/turtle"),
        (faults.Drip(0.0, headers=True), lambda r: r.body == BODY),
        (
            faults.BigBody(size=1_000_000),
            lambda r: (
                len(r.body) == 1_000_000
                and r.body.startswith(BODY)
                and "Content-Length" not in r.headers
            ),
        ),
        (faults.BigBody(size=10), lambda r: r.body == BODY[:10]),
        (
            faults.GzipBomb(size=3_000_000),
            lambda r: (
                r.headers["Content-Encoding"] == "gzip"
                and len(r.body) < 30_000
                and zlib.decompress(r.body, wbits=31) == b" " * 3_000_000
            ),
        ),
        (faults.WrongLength(-10), lambda r: r.body == BODY[:-10]),
    ],
    ids=_name,
)
def test_what_a_client_gets(
    server: _Healthy, fault: faults.Fault, seen: Callable[[Reply], bool]
) -> None:
    server.faults["/x"] = fault
    assert seen(fetch(f"{server.url}/x?y=1"))
    assert fetch(f"{server.url}/elsewhere").body == BODY


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (faults.Truncate(0.5), http.client.IncompleteRead),
        (faults.WrongLength(+10), http.client.IncompleteRead),
        (faults.Raw(), http.client.RemoteDisconnected),
        (faults.Raw(b"SSH-2.0-OpenSSH_9.2\r\n"), http.client.BadStatusLine),
        (faults.huge_headers(), http.client.LineTooLong),
        (faults.Hang(), TimeoutError),
        (faults.Hang(keep=0.5), TimeoutError),
    ],
    ids=_name,
)
def test_what_breaks_a_client(
    server: _Healthy, fault: faults.Fault, error: type[Exception]
) -> None:
    server.faults["/x"] = fault
    with pytest.raises(error):
        fetch(f"{server.url}/x", timeout=0.1)


@pytest.mark.parametrize("moment", faults.Reset.Moment)
def test_a_reset_is_no_orderly_end(server: _Healthy, moment: faults.Reset.Moment) -> None:
    server.faults["/x"] = faults.Reset(moment)
    with pytest.raises(ConnectionResetError):
        exchange(f"{server.url}/x")


def test_malformed_headers_reach_the_client_as_they_are(server: _Healthy) -> None:
    server.faults["/x"] = faults.malformed_headers()
    assert b"\r\nthis is no header\r\n" in exchange(f"{server.url}/x")


def test_an_interrupted_answer_has_the_part_that_was_asked_for(server: _Healthy) -> None:
    server.faults["/x"] = faults.Truncate(0.25)
    head, _, body = exchange(f"{server.url}/x").partition(b"\r\n\r\n")
    assert body == BODY[: len(BODY) // 4]
    assert f"Content-Length: {len(BODY)}".encode() in head


def test_an_endless_body_ends_when_the_client_goes(server: _Healthy) -> None:
    endless = server.faults["/x"] = faults.EndlessBody()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    connection.request("GET", "/x")
    response = connection.getresponse()
    assert response.headers["Transfer-Encoding"] == "chunked"
    assert len(response.read(1_000_000)) == 1_000_000
    assert fetch(f"{server.url}/other").body == BODY
    response.close()
    connection.close()
    server.wait_until_idle()
    assert isinstance(endless, faults.EndlessBody) and endless.sent >= 1_000_000


@pytest.mark.parametrize(
    "fault",
    [faults.EndlessBody(), faults.BigBody(), faults.GzipBomb(), faults.Truncate(), faults.Drip(9)],
    ids=_name,
)
def test_head_has_no_body(server: _Healthy, fault: faults.Fault) -> None:
    server.faults["/x"] = fault
    head, _, body = exchange(f"{server.url}/x", "HEAD").partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK") and body == b""


def test_faults_count_their_requests(server: _Healthy) -> None:
    server.faults["/x"] = faults.Status(503, after=1, times=2)
    assert [fetch(f"{server.url}/x").status for _ in range(5)] == [200, 503, 503, 200, 200]


@pytest.mark.parametrize(
    ("key", "struck"),
    [
        ("/x", ["/x", "/x?a=1", "/x?a=2"]),
        ("/x?a=1", ["/x?a=1"]),
        (lambda request: request.query == "a=2", ["/x?a=2"]),
        (lambda request: request.method == "HEAD", []),
    ],
)
def test_faults_by_path_by_target_and_by_predicate(
    server: _Healthy, key: faults.FaultKey, struck: list[str]
) -> None:
    server.faults[key] = faults.Status(500)
    targets = ["/x", "/x?a=1", "/x?a=2", "/xy"]
    assert [t for t in targets if fetch(server.url + t).status == 500] == struck


def test_a_fault_that_is_spent_leaves_the_word_to_the_next(server: _Healthy) -> None:
    server.faults["/x?a=1"] = faults.Status(500, times=1)
    server.faults["/x"] = faults.Status(502, times=1)
    server.faults[lambda request: True] = faults.Status(504, times=1)
    assert [fetch(f"{server.url}/x?a=1").status for _ in range(4)] == [500, 502, 504, 200]


def test_held_requests_go_on_when_released(server: _Healthy) -> None:
    hold = faults.Hold()
    server.faults["/x"] = hold
    replies: list[Reply] = []
    threads = [
        threading.Thread(target=lambda: replies.append(fetch(f"{server.url}/x"))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    server.wait_for("/x", times=3)
    assert not replies and fetch(f"{server.url}/y").status == 200
    hold.release()
    for thread in threads:
        thread.join(5)
    assert [reply.status for reply in replies] == [200, 200, 200]
    assert server.peak == 4
    assert fetch(f"{server.url}/x").status == 200


def test_the_log_has_what_was_on_the_wire(server: _Healthy) -> None:
    fetch(f"{server.url}/a%3Fb;c=%7E?q=%20", headers={"X-Test": "1"})
    (request,) = server.requests
    assert (request.method, request.target) == ("GET", "/a%3Fb;c=%7E?q=%20")
    assert (request.path, request.query) == ("/a%3Fb;c=%7E", "q=%20")
    assert request.headers["x-test"] == "1" and request.host == f"127.0.0.1:{server.port}"
    assert abs(request.at - time.monotonic()) < 60
    assert (server.count(), server.count("/a"), server.count("/b")) == (1, 1, 0)
    assert (server.count(method="GET"), server.count(method="HEAD")) == (1, 0)
    assert server.connections == 1
    server.reset()
    assert server.count() == server.connections == server.peak == 0


def test_waiting_for_a_request_that_never_comes(server: _Healthy) -> None:
    with pytest.raises(TimeoutError, match="got 0 of 2 requests for /never"):
        server.wait_for("/never", times=2, timeout=0.01)


def test_waiting_for_a_server_that_is_busy(server: _Healthy) -> None:
    hold = server.faults["/x"] = faults.Hold()
    waiting = threading.Thread(target=lambda: fetch(f"{server.url}/x"))
    waiting.start()
    server.wait_for("/x")
    with pytest.raises(TimeoutError, match="still works on 1 requests"):
        server.wait_until_idle(timeout=0.01)
    assert isinstance(hold, faults.Hold)
    hold.release()
    waiting.join(5)
    server.wait_until_idle()


def test_latency(server: _Healthy) -> None:
    server.latency = 0.05
    start = time.monotonic()
    fetch(server.url)
    assert time.monotonic() - start >= 0.05


def test_other_hosts_on_the_same_port(server: _Healthy) -> None:
    other = server.url_at("127.0.0.2")
    assert other == f"http://127.0.0.2:{server.port}" == server.url_at("127.0.0.2")
    server.faults[lambda request: request.host.startswith("127.0.0.2")] = faults.Status(503)
    assert fetch(other).status == 503
    assert fetch(server.url).status == 200


def test_a_stopped_server_comes_back_where_it_was() -> None:
    server = _Healthy()
    other = server.url_at("127.0.0.3")
    with pytest.raises(ConnectionRefusedError):
        fetch(server.url)
    for _ in range(2):
        server.faults["/hang"] = faults.Hang()
        with server:
            assert fetch(server.url).status == fetch(other).status == 200
            hanging = threading.Thread(target=lambda: _ignore(f"{server.url}/hang"))
            hanging.start()
            server.wait_for("/hang")
        hanging.join(5)
        assert not hanging.is_alive()
        server.reset()
        with pytest.raises(ConnectionRefusedError):
            fetch(server.url)


def test_a_port_that_is_taken_is_said_at_once(server: _Healthy) -> None:
    with pytest.raises(OSError, match="Address already in use"):
        _Healthy(port=server.port)


def test_a_server_that_fails_itself_fails_the_test() -> None:
    class Faulty(LoopbackServer):
        def answer(self, request: Request) -> Answer:
            raise KeyError("nothing here")

    with pytest.raises(RuntimeError, match="failed to answer") as raised, Faulty() as server:
        assert fetch(server.url).status == 500
    assert isinstance(raised.value.__cause__, KeyError)


def test_redirect_server_keeps_path_and_query(server: _Healthy) -> None:
    with RedirectServer() as purl:
        assert fetch(f"{purl.url}/a").status == 404
        purl.to = server.url
        reply = fetch(f"{purl.url}/a%20b?c=d")
    assert (reply.status, reply.headers["Location"]) == (302, f"{server.url}/a%20b?c=d")


def _ignore(url: str) -> None:
    try:
        fetch(url)
    except (ConnectionError, http.client.HTTPException):
        return
