"""Starts the processes that open untrusted content, and replaces those that are lost.

A file may take any time and memory, whatever it claims about itself. It is therefore opened in a fresh process
without CKAN. The system limits the process's memory, processor time and descriptors; this module limits its
time. A process opens one file after another, since starting it takes longer than opening most files.

``concurrent.futures`` cannot replace this: one lost process breaks its pool for all files, a process that hangs
cannot be ended, and each process imports the program's main module, which is CKAN.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, BinaryIO, TypeVar

from . import Exceeded, Unopened

log = logging.getLogger(__name__)

MIB = 1024 * 1024

_START = (
    "import sys; sys.path[:] = sys.argv[4:];"
    " from ckanext.freshness.sandbox.worker import main;"
    " main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))"
)

_LONGEST_HEADER = 64 * 1024

_TIME_TO_EXIT = 1.0
"""Seconds that a process gets to exit after it closed its socket: it may be writing a traceback."""

_OUT_OF_MEMORY = re.compile(rb"memory allocation of [0-9]+ bytes failed|MemoryError")
"""The last words of processes that Rust or Python ended because the memory limit was reached."""

_LAST_WORDS = 4096


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """The limits of one process.

    :ivar seconds: for one file
    :ivar cpu_seconds: for one file
    :ivar memory: bytes of address space
    :ivar answer: bytes of an answer
    """

    seconds: float = 60.0
    cpu_seconds: int = 40
    memory: int = 512 * MIB
    answer: int = MIB


_Sandbox = TypeVar("_Sandbox", bound="Sandbox")


class Sandbox:
    """A few processes that run one function, started when needed. Belongs to one event loop.

    Use it as a context manager, or call :meth:`close`.

    :param function: ``module:name`` of a function ``(request, file) -> answer`` on bytes. It may raise
        :class:`.Unopened`; any other exception becomes one, and costs the process
    :param workers: the largest number of processes
    """

    def __init__(self, function: str, limits: ProcessLimits, workers: int = 1) -> None:
        self._function = function
        self._limits = limits
        self._slots = asyncio.Semaphore(workers)
        self._idle: list[_Worker] = []

    def __enter__(self: _Sandbox) -> _Sandbox:
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

    async def run(
        self, request: bytes, file: BinaryIO | None = None, imports: Sequence[str] = ()
    ) -> bytes:
        """Return the function's answer.

        :param file: a real file, flushed; its position moves
        :param imports: modules that the function needs: it cannot import any while it runs
        :raises Exceeded: the content exceeds the limits
        :raises Unopened: the content cannot be opened, or crashes the process
        """
        header = {"size": len(request), "imports": list(imports)}
        descriptors = [] if file is None else [file.fileno()]
        async with self._slots:
            try:
                worker = self._worker_for(json.dumps(header).encode() + b"\n", descriptors)
            except OSError as error:
                words = f"cannot be opened: no process to do it: {error.strerror or error}"
                raise Unopened(words) from error
            try:
                reply, answer = await asyncio.wait_for(
                    worker.ask(request, self._limits.answer), self._limits.seconds
                )
            except asyncio.TimeoutError:
                worker.end()
                raise Exceeded(f"takes more than {self._limits.seconds:g} seconds") from None
            except (ConnectionError, LookupError, TypeError, ValueError) as error:
                raise self._lost(worker) from error
            except BaseException:
                worker.end()
                raise
            if reply.get("last"):
                worker.end()
            else:
                self._idle.append(worker)
        if "exceeded" in reply:
            raise Exceeded(reply["exceeded"])
        if "traceback" in reply:
            log.error("Content could not be opened\n%s", reply["traceback"])
        if "unopened" in reply:
            raise Unopened(reply["unopened"], reply.get("facts"))
        return answer

    def _worker_for(self, header: bytes, descriptors: list[int]) -> _Worker:
        """Send a request's header to an idle or new process, and return the process.

        :raises OSError: no process can be started
        """
        while self._idle:
            worker = self._idle.pop()
            try:
                worker.begin(header, descriptors)
            except OSError:
                # The process was lost while idle, which is not this file's fault.
                worker.end()
            else:
                return worker
        worker = _Worker(self._function, self._limits)
        try:
            worker.begin(header, descriptors)
        except OSError:
            worker.end()
            raise
        return worker

    def _lost(self, worker: _Worker) -> Unopened:
        """Return the error of the content during which a process was lost."""
        status, words = worker.last_words()
        if status == -signal.SIGXCPU:
            return Exceeded(f"takes more than {self._limits.cpu_seconds} seconds of processor time")
        if _OUT_OF_MEMORY.search(words):
            return Exceeded(f"needs more than {self._limits.memory} bytes of memory")
        log.error(
            "A process that opens content ended with status %s\n%s",
            status,
            words.decode(errors="replace"),
        )
        return Unopened(f"ends the process that opens it (status {status})")


class _Worker:
    """One process and the socket to it."""

    def __init__(self, function: str, limits: ProcessLimits) -> None:
        self._channel, theirs = socket.socketpair()
        self._channel.setblocking(False)
        with theirs:
            try:
                self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (closed in end())
                self._process = subprocess.Popen(
                    [
                        *(_interpreter(), "-I", "-c", _START, function),
                        *(str(limits.memory), str(limits.cpu_seconds), *sys.path),
                    ],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=self._stderr,
                    # Ctrl-C must only reach the caller's process.
                    start_new_session=True,
                )
            except OSError:
                self._channel.close()
                raise

    def begin(self, header: bytes, descriptors: list[int]) -> None:
        socket.send_fds(self._channel, [header], descriptors)

    async def ask(self, request: bytes, longest: int) -> tuple[dict[str, Any], bytes]:
        """Send the request; return the header of the answer, and the answer.

        :raises ConnectionError: the process has ended
        :raises LookupError, TypeError, ValueError: the answer is malformed
        """
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(self._channel, request)
        received = bytearray()
        while (end := received.find(b"\n")) < 0 and len(received) < _LONGEST_HEADER:
            received += await self._receive()
        reply = json.loads(received[:end])
        size = int(reply["size"])
        if not 0 <= size <= longest:
            return {"exceeded": f"gives more than {longest} bytes when opened", "last": True}, b""
        answer = received[end + 1 :]
        while len(answer) < size:
            answer += await self._receive()
        return reply, bytes(answer)

    async def _receive(self) -> bytes:
        piece = await asyncio.get_running_loop().sock_recv(self._channel, 1 << 18)
        if not piece:
            raise ConnectionResetError
        return piece

    def last_words(self) -> tuple[int, bytes]:
        """Return the exit status of a process that closed its socket, and the end of its standard error.

        The status is negative for a signal.
        """
        try:
            status = self._process.wait(_TIME_TO_EXIT)
        except subprocess.TimeoutExpired:
            status = -signal.SIGKILL
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, size - _LAST_WORDS))
        words = self._stderr.read()
        self.end()
        return status, words

    def end(self) -> None:
        self._channel.close()
        self._process.kill()
        self._process.wait()
        self._stderr.close()


def _interpreter() -> str:
    """Return the path of Python: in an embedded interpreter ``sys.executable`` is the web server."""
    if os.path.basename(sys.executable).startswith("python"):
        return sys.executable
    return os.path.join(sys.exec_prefix, "bin", "python3")
