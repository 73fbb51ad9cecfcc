"""Answers that aiohttp refuses, and how browsers read them: the table is the test."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict

from ckanext.freshness.tests.servers.raw import RawServer, saying
from ckanext.freshness.tests.web.support import SETTINGS, failure, visit
from ckanext.freshness.web.address_guard import Guard, InsideAddress
from ckanext.freshness.web.errors import FailureReason, Fault
from ckanext.freshness.web.exchange import Hop, Request
from ckanext.freshness.web.second_look import (
    MAX_HEAD_BYTES,
    ask,
    read_body,
    read_head,
)
from ckanext.freshness.web.urls import parse_url

BODY = b"a,b\n1,2\n"
L = f"Content-Length: {len(BODY)}\r\n".encode()
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
CHUNKS = b"4\r\na,b\n\r\n4\r\n1,2\n\r\n0\r\n\r\n"


async def _read(sent: bytes, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
    stream = asyncio.StreamReader(limit=MAX_HEAD_BYTES)
    stream.feed_data(sent)
    stream.feed_eof()
    head = await read_head(stream)
    body = [piece async for piece in read_body(stream, head, method)]
    return head.status, dict(head.headers), b"".join(body)


def read(sent: bytes, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
    """Read an answer after which the connection is closed."""
    return asyncio.run(_read(sent, method))


READ = {
    "as it should be": OK + L + b"\r\n" + BODY,
    "empty lines before it": b"\r\n\n" + OK + L + b"\r\n" + BODY,
    "four bytes before it": b"1,2 " + OK + L + b"\r\n" + BODY,
    "a byte order mark": b"\xef\xbb\xbf" + OK + L + b"\r\n" + BODY,
    "no reason": b"HTTP/1.1 200\r\n" + L + b"\r\n" + BODY,
    "zeros before the status": b"HTTP/1.1 0200 OK\r\n" + L + b"\r\n" + BODY,
    "a word in place of the status": b"HTTP/1.1 OK\r\n" + L + b"\r\n" + BODY,
    "a sign before the status": b"HTTP/1.1 -200 OK\r\n" + L + b"\r\n" + BODY,
    "no status": b"HTTP/1.1\r\n" + L + b"\r\n" + BODY,
    "small letters": b"http/1.1 200 OK\r\n" + L + b"\r\n" + BODY,
    "many headers": OK + L + b"X-Policy: " + b"x" * 70_000 + b"\r\n\r\n" + BODY,
    "no version": b"HTTP 200 OK\r\n" + L + b"\r\n" + BODY,
    "a radio's server": b"ICY 200 OK\r\n\r\n" + BODY,
    "only line feeds": b"HTTP/1.0 200 OK\n" + L.replace(b"\r", b"") + b"\n" + BODY,
    "a continued line": OK + b"X-Long: a\r\n b\r\n" + L + b"\r\n" + BODY,
    "a line without a colon": OK + b"Powered by magic\r\n" + L + b"\r\n" + BODY,
    "a blank behind a name": OK + L.replace(b":", b" :") + b"\r\n" + BODY,
    "odd characters in a name": OK + b"X Frame(Options): deny\r\n" + L + b"\r\n" + BODY,
    "a carriage return alone": OK + b"X-A: b\rc\r\n" + L + b"\r\n" + BODY,
    "a line without a name": OK + b": x\r\n" + L + b"\r\n" + BODY,
    "two types": OK + b"Content-Type: a\r\nContent-Type: b\r\n" + L + b"\r\n" + BODY,
    "bytes that are no text": OK + b"X-A: \xff\xfe\r\n" + L + b"\r\n" + BODY,
    "the same length twice": OK + L + L + b"\r\n" + BODY,
    "the same length twice in a line": OK + b"Content-Length: 8, 8\r\n\r\n" + BODY,
    "an empty length": OK + b"Content-Length:\r\n\r\n" + BODY,
    "a length that is none": OK + b"Content-Length: -1\r\n\r\n" + BODY,
    "no length": OK + b"\r\n" + BODY,
    "bytes behind the body": OK + L + b"\r\n" + BODY + b"<!-- ad -->",
    "chunks": OK + CHUNKED + b"\r\n" + CHUNKS,
    "chunks and a length": OK + L + CHUNKED + b"\r\n" + CHUNKS,
    "chunks and a wrong length": OK + b"Content-Length: 3\r\n" + CHUNKED + b"\r\n" + CHUNKS,
    "chunks with blanks": OK + CHUNKED + b"\r\n" + b"8  ;x=y\r\n" + BODY + b"\r\n0\r\n\r\n",
    "chunks with line feeds": OK + CHUNKED + b"\r\n" + b"8\n" + BODY + b"\n0\n\n",
    "bytes behind the chunks": OK + CHUNKED + b"\r\n" + CHUNKS + b"more",
    "early hints": b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + OK + L + b"\r\n" + BODY,
}


@pytest.mark.parametrize("name", READ)
def test_what_browsers_save_is_read(name: str) -> None:
    status, _, body = read(READ[name])
    assert (status, body) == (200, BODY)


REFUSED = {
    "nothing": (b"", FailureReason.CONNECTION_RESET),
    "half a head": (OK + b"X-A: b\r\n", FailureReason.CONNECTION_RESET),
    "no HTTP": (b"SSH-2.0-OpenSSH\r\n\r\n", FailureReason.MALFORMED),
    "a file and no head": (BODY + b"\r\n\r\n", FailureReason.MALFORMED),
    "a status of four digits": (b"HTTP/1.1 2000 OK\r\n\r\n", FailureReason.MALFORMED),
    "a status of two digits": (b"HTTP/1.1 20 OK\r\n\r\n", FailureReason.MALFORMED),
    "a word that begins so": (b"HTTPS is required\r\n\r\n", FailureReason.MALFORMED),
    "another protocol": (b"HTTP/1.1 101 Go\r\n\r\n", FailureReason.MALFORMED),
    "a NUL": (OK + b"X-A: \0\r\n" + L + b"\r\n" + BODY, FailureReason.MALFORMED),
    "different lengths": (OK + L + b"Content-Length: 9\r\n\r\n" + BODY, FailureReason.MALFORMED),
    "a body that is cut off": (OK + L + b"\r\n" + BODY[:5], FailureReason.TRUNCATED),
    "chunks that are cut off": (OK + CHUNKED + b"\r\n" + CHUNKS[:9], FailureReason.TRUNCATED),
    "a chunk that is cut off": (OK + CHUNKED + b"\r\n" + CHUNKS[:5], FailureReason.TRUNCATED),
    "a chunk of no size": (OK + CHUNKED + b"\r\nx\r\n", FailureReason.MALFORMED),
    "a chunk longer than its size": (
        OK + CHUNKED + b"\r\n2\r\nabcd\r\n0\r\n\r\n",
        FailureReason.MALFORMED,
    ),
    "a size without an end": (OK + CHUNKED + b"\r\n" + b"1" * 300_000, FailureReason.MALFORMED),
    "a head without an end": (OK + b"X-A: b\r\n" * 40_000, FailureReason.MALFORMED),
    "a line without an end": (OK + b"X-A: " + b"b" * 300_000, FailureReason.MALFORMED),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_nobody_reads_has_its_reason(name: str) -> None:
    sent, reason = REFUSED[name]
    with pytest.raises(Fault) as raised:
        read(sent)
    assert raised.value.reason is reason


@given(st.binary(max_size=300), st.sampled_from(["GET", "HEAD"]))
def test_any_bytes_are_an_answer_or_a_fault(sent: bytes, method: str) -> None:
    for begin in (b"", OK, OK + CHUNKED + b"\r\n", OK + b"Content-Length:"):
        try:
            status, headers, body = read(begin + sent, method)
        except Fault:
            continue
        assert 200 <= status <= 999
        assert len(body) <= len(begin + sent)
        assert sum(map(len, headers)) <= MAX_HEAD_BYTES


@pytest.mark.parametrize(
    ("wait", "limits", "reason"),
    [
        (60.0, {"read": 2.0}, FailureReason.MALFORMED),
        (0.05, {"total": 2.0}, FailureReason.UNFINISHED),
    ],
)
def test_limits_of_time_hold_in_the_second_look(
    wait: float, limits: dict[str, Any], reason: FailureReason
) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"X-A: \rb\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"1,2\n")
            await writer.drain()
            await asyncio.sleep(wait)

    with RawServer(speak) as server:
        error = failure(f"{server.url}/data.csv", attempts=1, **limits)
    assert error.reason is reason
    assert error.seconds < 20


def test_the_second_look_asks_for_the_same_and_sends_no_more_secrets() -> None:
    heads = []

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode().lower().splitlines())
        writer.write(OK + b"X-A: b\rc\r\n" + L + b"\r\n" + BODY)
        await writer.drain()

    with RawServer(speak) as server:
        headers = {"X-Key": "secret"}
        url = server.url.replace("//", "//user:word@")
        visit(Request(f"{url}/a?b=c", etag='"1"', accept="text/csv", headers=headers))
    first, second = heads
    assert first[0] == second[0] == "get /a?b=c http/1.1"
    assert {line for line in second if line} - {"connection: close"} == {
        line for line in first if line
    } - {"connection: keep-alive"}


def test_the_guard_holds_in_the_second_look() -> None:
    async def main(port: int) -> None:
        target = parse_url(f"http://127.0.0.1:{port}/")
        hop = Hop("GET", target, CIMultiDict(), SETTINGS.limits, total=5.0)
        await ask(hop, ["127.0.0.1"], Guard(), tls=None)

    with RawServer(saying(READ["as it should be"])) as server:
        with pytest.raises(InsideAddress, match="this machine"):
            asyncio.run(main(server.port))
        assert server.connections == 0
