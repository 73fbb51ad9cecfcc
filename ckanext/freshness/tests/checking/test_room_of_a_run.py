"""What a run holds of many large files at once: memory, and temporary files."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import socketserver
import stat
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ckanext.freshness.checking.decisions import ResourceToCheck
from ckanext.freshness.checking.shapes import SMALL
from ckanext.freshness.room import FILES, MIB
from ckanext.freshness.settings import CONCURRENCY
from ckanext.freshness.tests.checking.test_hdx_check import run_check
from ckanext.freshness.web.hosts import HostPolicy

SIZE = MIB
ROOM = 16 * MIB
"""What is left of the room for temporary files in the test."""


@contextlib.contextmanager
def holding(body: bytes, count: int) -> Iterator[str]:
    """Serve a body, whose last byte comes when all answers are open; yield its URL."""
    are_open = threading.Barrier(count)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while self.rfile.readline().strip():
                pass
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}"
            # Clients that have no room hang up.
            with contextlib.suppress(OSError):
                self.wfile.write(f"{head}\r\n\r\n".encode() + body[:-1])
            are_open.wait(60)
            # What was sent is read meanwhile.
            time.sleep(1)
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


def kept() -> int:
    """Return the bytes of the temporary files of this process."""
    total = 0
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            found = os.stat(f"/proc/self/fd/{descriptor}")
        except OSError:
            continue
        total += found.st_size if stat.S_ISREG(found.st_mode) and not found.st_nlink else 0
    return total


def check_all(url: str, room: int) -> None:
    """Check the file at many URLs at once, and print what came of it."""
    assert FILES.take(4096 * MIB - room)
    most, is_done = 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not is_done.wait(0.02):
            most = max(most, kept())

    watching = threading.Thread(target=watch)
    watching.start()
    before = bytes_of("VmRSS")
    resources = [ResourceToCheck(str(one), "p", f"{url}{one}") for one in range(CONCURRENCY)]
    hosts = {"127.0.0.1": HostPolicy(CONCURRENCY, math.inf)}
    results = run_check(resources, policies=hosts, attempts=1, max_bytes=1024 * MIB)
    is_done.set()
    watching.join()
    reasons = Counter(result.attempt.reason or result.outcome.value for result in results)
    growth = bytes_of("VmHWM") - before
    left = not FILES.take(room + 1) and FILES.take(room)
    print(json.dumps({"reasons": reasons, "growth": growth, "kept": most, "is_given_back": left}))


def test_many_large_files_at_once() -> None:
    body = b"PK\x03\x04" + os.urandom(16) * (SIZE // 16)
    with holding(body, CONCURRENCY) as url:
        code = f"from {__name__} import check_all; check_all({url!r}, {ROOM})"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, stdout=subprocess.PIPE, timeout=120, check=True)
    found = json.loads(done.stdout)
    assert sum(found["reasons"].values()) == CONCURRENCY
    assert found["reasons"].keys() == {"first hash", "no room"}
    assert found["growth"] < 64 * MIB
    # The beginning of each file, which is small, takes no room.
    assert ROOM / 2 < found["kept"] <= ROOM + CONCURRENCY * SMALL
    assert found["is_given_back"]
