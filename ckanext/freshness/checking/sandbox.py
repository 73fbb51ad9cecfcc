"""Opens files of strangers at a safe distance: in processes with limits, which may be lost.

A container can cost any time and memory, whatever it claims about itself. Here each is opened in a process
of its own right: fresh, without CKAN, with its memory and processor time limited by the system and its
time by ours. One that is lost takes nothing with it, and the next file gets another.

``concurrent.futures`` has no such thing: there one lost process breaks the pool with everybody's files,
one that hangs cannot be ended, and each child imports the program's main module, which is CKAN.
"""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any, BinaryIO

from .detectors import ContainerLimits, Detector

_START = (
    "import sys; sys.path[:] = sys.argv[2:];"
    " from ckanext.freshness.checking.sandbox_worker import main; main(int(sys.argv[1]))"
)

_LAST_BREATH = 1.0
"""Seconds a process that closed its side may take to write its traceback and be gone."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """What came of opening a file.

    :ivar hash: None if no detector could say
    :ivar reason: why not, in words, if it is of a detector's kind
    """

    hash: str | None = None
    reason: str | None = None


class _Lost(Exception):
    """The process ended without an answer."""


class Sandbox:
    """A few processes, started when there is something to open. Belongs to one event loop.

    Use it as a context manager, or call :meth:`close`.

    :param workers: processes at most
    """

    def __init__(self, workers: int = 2, limits: ContainerLimits | None = None) -> None:
        self.limits = limits or ContainerLimits()
        self._slots = asyncio.Semaphore(workers)
        self._idle: list[_Worker] = []

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the processes."""
        while self._idle:
            self._idle.pop().end()

    async def parse(self, file: BinaryIO, detectors: Sequence[type[Detector]]) -> Parsed:
        """The hash of a file by the first detector whose kind it is. Never raises for a file.

        :param file: a real file, flushed; its position is moved
        """
        request = {
            "detectors": [f"{it.__module__}:{it.__qualname__}" for it in detectors],
            "limits": asdict(self.limits),
        }
        async with self._slots:
            try:
                worker = self._send(json.dumps(request).encode(), file.fileno())
            except OSError as error:
                return Parsed(reason=f"no process to open it in: {error.strerror or error}")
            try:
                answer = await asyncio.wait_for(worker.answer(), self.limits.seconds)
            except asyncio.TimeoutError:
                worker.end()
                return Parsed(reason=f"takes more than {self.limits.seconds:g} seconds")
            except (_Lost, ConnectionError):
                return Parsed(reason=self._last_words(worker.status()))
            except BaseException:
                worker.end()
                raise
            if answer.pop("last", False):
                worker.end()
            else:
                self._idle.append(worker)
        return Parsed(**answer)

    def _send(self, request: bytes, descriptor: int) -> _Worker:
        while self._idle:
            worker = self._idle.pop()
            try:
                worker.send(request, descriptor)
            except OSError:
                # It was lost while idle, which is not this file's fault.
                worker.end()
            else:
                return worker
        worker = _Worker()
        try:
            worker.send(request, descriptor)
        except OSError:
            worker.end()
            raise
        return worker

    def _last_words(self, status: int) -> str:
        if status == -signal.SIGXCPU:
            return f"takes more than {self.limits.cpu_seconds} seconds of processor time"
        return f"the process that opened it ended with status {status}"


class _Worker:
    """One process and the socket to it."""

    def __init__(self) -> None:
        self._channel, theirs = socket.socketpair()
        self._channel.setblocking(False)
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-c", _START, str(theirs.fileno()), *sys.path],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    # Ctrl-C is for us alone.
                    start_new_session=True,
                )
            except OSError:
                self._channel.close()
                raise

    def send(self, request: bytes, descriptor: int) -> None:
        socket.send_fds(self._channel, [request], [descriptor])

    async def answer(self) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        line = b""
        while not line.endswith(b"\n"):
            piece = await loop.sock_recv(self._channel, 65536)
            if not piece:
                raise _Lost
            line += piece
        return json.loads(line)

    def status(self) -> int:
        """How it ended, negative for a signal; for one that closed its side."""
        try:
            return self._process.wait(_LAST_BREATH)
        except subprocess.TimeoutExpired:
            return -signal.SIGKILL
        finally:
            self.end()

    def end(self) -> None:
        self._channel.close()
        self._process.kill()
        self._process.wait()
