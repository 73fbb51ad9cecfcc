"""Answers that a generator makes up, and what must hold for each of them.

1. What a browser would save is never called broken.
2. No link works without a byte of data, or a 304.
3. Nothing inside the network is contacted.
4. Each check ends in time, and reads no more than it may.
"""

from __future__ import annotations

import asyncio
import gzip
import ssl
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import brotli
import pytest
import trustme
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ckanext.freshness.checking.decisions import CheckResult, KnownContent, Outcome, ResourceToCheck
from ckanext.freshness.tests.checking.answers import BODY
from ckanext.freshness.tests.checking.test_formats import PAGE
from ckanext.freshness.tests.checking.test_hdx_check import run_check
from ckanext.freshness.tests.servers.raw import RawServer
from ckanext.freshness.tests.web.support import SETTINGS, asking
from ckanext.freshness.web.address_guard import Guard

ADDRESS = "127.0.0.1"
MOST = 64 * 1024
LIMITS: dict[str, Any] = {"attempts": 2, "read": 3.0, "total": 10.0, "retry_after_max": 0.0}
USELESS = (Outcome.ERROR, Outcome.CANNOT_TELL)

# What is connected to.

_watchers: list[set[str]] = []


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect" and _watchers and isinstance(arguments[1], tuple):
        _watchers[-1].add(arguments[1][0])


@pytest.fixture(scope="module")
def watch() -> None:
    """Note the addresses that this process connects to, while a test wants it. Hooks cannot be removed."""
    sys.addaudithook(_watch)


@contextmanager
def connections() -> Iterator[set[str]]:
    """Collect the addresses that are connected to within the block."""
    _watchers.append(set())
    try:
        yield _watchers[-1]
    finally:
        _watchers.pop()


# Parts of answers. The first of each is as it should be.

STARTS = (
    b"HTTP/1.1 200 OK",
    b"HTTP/1.0 200 OK",
    b"HTTP/1.1 200",
    b"HTTP/1.1 203 Other",
    b"ICY 200 OK",
)
ODD_LINES = (
    *(b"X-A: b", b"Powered by magic", b"X Frame(Options): deny", b"Name : v", b"X-A: b\rc", b": x"),
    *(b"X-A: \xff\xfe", b"X-A: a\r\n b", b'ETag: "1"', b"ETag: W/x", b"Content-Type: text/html"),
    *(b"Last-Modified: yesterday", b"Last-Modified: Tue, 01 Sep 2026 10:00:00 GMT", b"Age: x"),
    *(b"Set-Cookie: a=b; Path=/", b"Set-Cookie: \x01", b"Date: never", b"Retry-After: 86400"),
)
CODINGS: dict[bytes, Any] = {
    b"": bytes,
    b"gzip": gzip.compress,
    b"deflate": zlib.compress,
    b"br": brotli.compress,
    b"gzip, br": lambda body: brotli.compress(gzip.compress(body)),
    b"gzip,aws-chunked": gzip.compress,
    b"utf-8": bytes,
}


def by_length(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def by_lengths(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n" % len(body) + by_length(body)


def by_length_twice(body: bytes) -> bytes:
    return b"Content-Length: %d, %d\r\n\r\n" % (len(body), len(body)) + body


def by_end(body: bytes) -> bytes:
    return b"\r\n" + body


def by_no_number(body: bytes) -> bytes:
    return b"Content-Length: x\r\n\r\n" + body


def chunked(body: bytes) -> bytes:
    chunks = b"".join(
        b"%x\r\n%b\r\n" % (len(chunk), chunk)
        for chunk in (body[at : at + 7] for at in range(0, len(body), 7))
    )
    return b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"


def chunked_with_length(body: bytes) -> bytes:
    return b"Content-Length: 3\r\n" + chunked(body)


FRAMES = (
    *(by_length, by_lengths, by_length_twice, by_end, by_no_number, chunked, chunked_with_length),
)
BEHIND = (b"", b"\r\n", b"<!-- ad -->")
INSIDE = (
    *("127.0.0.2", "10.0.0.1", "[::1]", "localhost", "0.0.0.0", "169.254.169.254", "2130706434"),
    *("0x7f.2", "0177.0.0.2", "[::ffff:127.0.0.2]", "user:word@127.0.0.2", "%31%32%37.0.0.2"),
)


@st.composite
def saved(draw: st.DrawFn) -> bytes:
    """Answers that browsers save as :data:`BODY`."""
    lines = draw(st.lists(st.sampled_from(ODD_LINES), max_size=3))
    coding = draw(st.sampled_from(sorted(CODINGS)))
    if coding:
        lines.append(b"Content-Encoding: " + coding)
    frame = draw(st.sampled_from(FRAMES))
    # What follows a body without an end would be a part of it.
    behind = b"" if frame in (by_end, by_no_number) else draw(st.sampled_from(BEHIND))
    head = b"\r\n".join([draw(st.sampled_from(STARTS)), *lines]) + b"\r\n"
    return head + frame(CODINGS[coding](BODY)) + behind


@st.composite
def others(draw: st.DrawFn) -> bytes:
    """Answers of any kind: other statuses, redirects into the network, pages, too much, noise, damage."""
    kind = draw(st.sampled_from(["status", "inside", "page", "large", "noise", "empty", "damage"]))
    frame = draw(st.sampled_from(FRAMES))
    if kind == "status":
        status = draw(st.integers(100, 999))
        return b"HTTP/1.1 %d X\r\n" % status + frame(draw(st.sampled_from((b"", BODY, PAGE))))
    if kind == "inside":
        host = draw(st.sampled_from(INSIDE))
        return f"HTTP/1.1 302 X\r\nLocation: http://{host}:{{port}}/\r\n".encode() + frame(b"")
    if kind == "page":
        return b"HTTP/1.1 200 OK\r\n" + frame(PAGE)
    if kind == "large":
        packed = gzip.compress(bytes(2 * MOST))
        line, body = draw(
            st.sampled_from([(b"", b"a,b\n" * MOST), (b"Content-Encoding: gzip\r\n", packed)])
        )
        return b"HTTP/1.1 200 OK\r\n" + line + frame(body)
    if kind == "noise":
        return draw(st.binary(max_size=200))
    if kind == "empty":
        return b"HTTP/1.1 200 OK\r\n" + frame(b"")
    answer = bytearray(draw(saved()))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(answer)))
        answer[at : at + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
    return bytes(answer)


class Server:
    """Gives the answers of one example, each under its number; conditions make 304 if ``knows_conditions``."""

    def __init__(self, bundle: Path) -> None:
        self.answers: list[bytes] = []
        self.sent: list[set[bytes]] = []
        self.knows_conditions = False
        self.port = 0
        self.encrypted_port = 0
        self.bundle = bundle

    def begin(self, answers: list[bytes], knows_conditions: bool) -> None:
        self.answers, self.knows_conditions = answers, knows_conditions
        self.sent = [set() for _ in answers]

    async def speak(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        number = int(head.split()[1][1:])
        answer = self.answers[number].replace(b"{port}", b"%d" % self.port)
        if self.knows_conditions and b"if-none-match:" in head.lower():
            answer = b'HTTP/1.1 304 X\r\nETag: "1"\r\n\r\n'
        self.sent[number].add(answer)
        writer.write(answer)
        await writer.drain()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    authority = trustme.CA()
    server = Server(tmp_path_factory.mktemp("tls") / "ca.pem")
    authority.cert_pem.write_to_path(str(server.bundle))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("*.files.example").configure_cert(tls)
    with (
        RawServer(server.speak, address=ADDRESS) as plain,
        RawServer(server.speak, tls, address=ADDRESS) as encrypted,
    ):
        server.port, server.encrypted_port = plain.port, encrypted.port
        yield server


def _night(server: Server, memories: list[KnownContent], is_encrypted: bool) -> list[CheckResult]:
    scheme, port = ("https", server.encrypted_port) if is_encrypted else ("http", server.port)
    resources = [
        ResourceToCheck(
            f"{number}",
            "package",
            f"{scheme}://host-{number}.files.example:{port}/{number}",
            known,
            format="CSV",
        )
        for number, known in enumerate(memories)
    ]
    found = run_check(
        resources,
        confirm_after=0.0,
        names=asking(lambda host: ["127.0.0.1" if host != "localhost" else "127.0.0.2"]),
        settings=replace(SETTINGS, guard=Guard([f"{ADDRESS}/32"]), ca_bundle=server.bundle),
        # Each attempt has a second look.
        patience=4 * LIMITS["attempts"] * LIMITS["total"],
        max_bytes=MOST,
        **LIMITS,
    )
    return sorted(found, key=lambda result: int(result.resource.resource_id))


def nights(
    server: Server, answers: list[bytes], knows_conditions: bool, is_encrypted: bool
) -> list[list[CheckResult]]:
    """Return the results of three nights, in the order of the answers."""
    server.begin(answers, knows_conditions)
    memories = [KnownContent() for _ in answers]
    results = []
    with connections() as connected:
        for _ in range(3):
            results.append(_night(server, memories, is_encrypted))
            memories = [result.known for result in results[-1]]
    assert connected <= {ADDRESS}
    return results


HEALTH = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]


SERVERS = {"knows_conditions": st.booleans(), "is_encrypted": st.booleans()}


@settings(max_examples=15, suppress_health_check=HEALTH)
@given(answers=st.lists(saved(), min_size=1, max_size=6), **SERVERS)
def test_what_a_browser_would_save_works(
    watch: None,
    server: Server,
    answers: list[bytes],
    knows_conditions: bool,
    is_encrypted: bool,
) -> None:
    for night, results in enumerate(nights(server, answers, knows_conditions, is_encrypted)):
        for answer, result in zip(answers, results, strict=True):
            first = (Outcome.FIRST_HASH,)
            later = Outcome.SAME_HASH, Outcome.NOT_MODIFIED
            assert result.outcome in (later if night else first), (answer, result.attempt.words)
            assert result.size in (None, len(BODY)), answer


@settings(max_examples=15, suppress_health_check=HEALTH)
@given(answers=st.lists(others(), min_size=1, max_size=6), **SERVERS)
def test_what_holds_for_any_answer(
    watch: None,
    server: Server,
    answers: list[bytes],
    knows_conditions: bool,
    is_encrypted: bool,
) -> None:
    for results in nights(server, answers, knows_conditions, is_encrypted):
        for number, result in enumerate(results):
            attempt = result.attempt
            assert attempt.received <= MOST + len(answers[number])
            if result.outcome in USELESS:
                assert attempt.words, attempt
            elif result.outcome is Outcome.NOT_MODIFIED:
                assert any(b" 304" in sent[:20] for sent in server.sent[number])
            else:
                assert result.size is None or result.size > 0, attempt
                assert attempt.received or attempt.reason, attempt
