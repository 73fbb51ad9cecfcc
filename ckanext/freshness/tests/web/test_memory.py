"""The memory of a process that reads many answers at once, each the worst of its encoding."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import re
import socketserver
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import brotli
import pytest

from ckanext.freshness.room import MIB
from ckanext.freshness.tests.web.support import SETTINGS, UNHURRIED
from ckanext.freshness.web.client import Client
from ckanext.freshness.web.errors import FailureReason, FetchError
from ckanext.freshness.web.exchange import Limits, Request
from ckanext.freshness.web.hosts import Hosts


def by_brotli(data: bytes) -> bytes:
    packer = brotli.Compressor(lgwin=24)
    return packer.process(data) + packer.finish()


ZEROS = 64 * MIB
WORST: dict[str, tuple[str, Callable[[], bytes], int, int]] = {
    "gzip": ("gzip", lambda: gzip.compress(bytes(ZEROS)), 10, 48),
    "gzip of many members": ("gzip", lambda: gzip.compress(b"") * 10_000, 10, 48),
    "brotli": ("br", lambda: by_brotli(bytes(20 * MIB)), 40, 400),
}
"""By form: the header, the body, how many are read at once, and by how many MiB the memory may grow."""


@contextlib.contextmanager
def holding(encoding: str, body: bytes, count: int) -> Iterator[str]:
    """Serve a body, whose last byte comes when all answers are open; yield its URL."""
    are_open = threading.Barrier(count)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while self.rfile.readline().strip():
                pass
            head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nContent-Length: {len(body)}"
            # Clients that have no room hang up.
            with contextlib.suppress(OSError):
                self.wfile.write(f"{head}\r\n\r\n".encode() + body[:-1])
            are_open.wait(60)
            time.sleep(0.2)
            with contextlib.suppress(OSError):
                self.wfile.write(body[-1:])

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        request_queue_size = count

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def bytes_of(name: str) -> int:
    """Return a value of this process in bytes: ``VmRSS`` is its memory, ``VmHWM`` the most that it had."""
    (kilobytes,) = re.findall(rf"{name}:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(kilobytes) * 1024


def read_all(url: str, count: int) -> None:
    """Read all answers at once, and print what came of them."""

    class Discard:
        def write(self, data: bytes, /) -> None:
            pass

        def restart(self) -> None:
            pass

    async def fetch(client: Client) -> str:
        limits = Limits(total=60, max_bytes=1024 * MIB, attempts=1)
        try:
            await client.fetch(Request(url, limits=limits), lambda answer: Discard())
        except FetchError as error:
            return error.reason.value
        return "read"

    async def main() -> list[str]:
        async with Client(SETTINGS, Hosts(UNHURRIED)) as client:
            return await asyncio.gather(*(fetch(client) for _ in range(count)))

    memory, seconds = bytes_of("VmRSS"), time.process_time()
    results = asyncio.run(main())
    found = {
        "results": Counter(results),
        "growth": (bytes_of("VmHWM") - memory) / MIB,
        "seconds": time.process_time() - seconds,
    }
    print(json.dumps(found))


@pytest.mark.parametrize("form", WORST)
def test_the_worst_answers_at_once(form: str) -> None:
    header, body, count, most = WORST[form]
    with holding(header, body(), count) as url:
        code = f"from {__name__} import read_all; read_all({url!r}, {count})"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, stdout=subprocess.PIPE, timeout=120, check=True)
    found = json.loads(done.stdout)
    assert found["growth"] < most
    assert found["seconds"] < 10
    # Each answer of brotli looks back at 16 MiB. On a busy machine some end before others begin.
    has_room = 256 // 16 if form == "brotli" else count
    assert found["results"].get("read", 0) >= has_room
    assert sum(found["results"].values()) == count
    assert found["results"].keys() <= {"read", FailureReason.NO_ROOM.value}
