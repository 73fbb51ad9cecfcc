"""Kept connections, and bodies that are cut off or too long."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Sequence
from dataclasses import replace

import pytest

from ckanext.freshness.tests.servers.raw import RawServer, Speak
from ckanext.freshness.tests.web.support import SETTINGS, UNHURRIED, lookup
from ckanext.freshness.web.client import Client
from ckanext.freshness.web.event_loop import run
from ckanext.freshness.web.exchange import Answer, Request
from ckanext.freshness.web.hosts import Hosts

OK = b"HTTP/1.1 200 OK\r\n"
GOOD = OK + b"Content-Length: 4\r\n\r\ngood"


def saying(*parts: bytes | float, end: str = "close") -> Speak:
    """Send these bytes in answer to each request; a number is a pause in seconds."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            for part in (GOOD,) if b" /good " in head else parts:
                if isinstance(part, float):
                    await asyncio.sleep(part)
                else:
                    writer.write(part)
                    await writer.drain()
            if end == "reset":
                linger = struct.pack("ii", 1, 0)
                found = writer.get_extra_info("socket")
                found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            if end != "keep":
                return

    return speak


def fetch(urls: Sequence[str], attempts: int = 1) -> list[Answer]:
    """Fetch URLs with one client."""
    limits = replace(SETTINGS.limits, attempts=attempts, backoff=())
    settings = replace(SETTINGS, limits=limits)

    async def main() -> list[Answer]:
        async with Client(settings, Hosts(UNHURRIED), lookup({})) as client:
            asked = map(Request, urls)
            return [await client.fetch(one) for one in asked]

    return run(main)


def test_a_connection_that_was_closed_meanwhile_costs_no_attempt() -> None:
    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(GOOD)
        await writer.drain()
        # It is closed when the next request is on its way.
        await reader.readuntil(b"\r\n\r\n")

    async def main(url: str) -> list[int]:
        settings = replace(SETTINGS, limits=replace(SETTINGS.limits, attempts=1))
        async with Client(settings, Hosts(UNHURRIED), lookup({})) as client:
            return [(await client.fetch(Request(f"{url}/{n}"))).status for n in range(3)]

    with RawServer(once) as server:
        assert run(lambda: main(server.url)) == [200, 200, 200]


LATE = {
    "a body after 304": (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 0.05, b"hello"),
    "an empty chunk after 304": (
        b"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n",
        0.05,
        b"0\r\n\r\n",
    ),
    "the rest of another answer": (GOOD + GOOD[:20], 0.05, GOOD[20:]),
}


@pytest.mark.parametrize("name", LATE)
def test_what_is_left_of_an_answer_is_not_the_next_ones(name: str) -> None:
    with RawServer(saying(*LATE[name], end="keep")) as server:
        urls = [f"{server.url}/x", f"{server.url}/good", f"{server.url}/good"]
        answers = fetch(urls, attempts=1)
    assert [answer.body for answer in answers[1:]] == [b"good", b"good"]
