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
from dataclasses import dataclass
from typing import IO, Any, BinaryIO, TypeVar

from . import Exceeded, Unopened

log = logging.getLogger(__name__)

MIB = 1024 * 1024

_START = (
    "import sys; sys.path[:] = sys.argv[3:];"
    " from ckanext.freshness.sandbox.worker import main;"
    " main(int(sys.argv[1]), int(sys.argv[2]))"
)

_CHUNK = 256 * 1024

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
    """A few processes that open content, started when needed. Belongs to one event loop.

    Use it as a context manager, or call :meth:`close`.

    :param workers: the largest number of processes
    """

    def __init__(self, limits: ProcessLimits | None = None, workers: int = 1) -> None:
        self._limits = limits or ProcessLimits()
        self._slots = asyncio.Semaphore(workers)
        self._idle: list[_Worker] = []

    def __enter__(self: _Sandbox) -> _Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the processes."""
        while self._idle:
            self._idle.pop().end()

    async def run(self, function: str, request: bytes, file: IO[bytes] | None = None) -> bytes:
        """Return the answer of a function that runs in a process.

        :param function: ``module:name`` of a function ``(request, file) -> answer`` on bytes and a file in
            memory. It may raise :class:`.Unopened`; any other exception becomes one, and costs the process. It
            can import nothing while it runs.
        :param file: its whole content is passed on; its position changes
        :raises Exceeded: the content exceeds the limits
        :raises Unopened: the content cannot be opened, or crashes the process
        """
        async with self._slots:
            try:
                worker = await self._worker()
            except OSError as error:
                words = f"cannot be opened: no process to do it: {error.strerror or error}"
                raise Unopened(words) from error
            try:
                reply, answer = await asyncio.wait_for(
                    worker.ask(function, request, file, self._limits.answer), self._limits.seconds
                )
            except asyncio.TimeoutError:
                worker.end()
                raise Exceeded(f"takes more than {self._limits.seconds:g} seconds") from None
            except (EOFError, OSError, LookupError, TypeError, ValueError) as error:
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

    async def _worker(self) -> _Worker:
        """Return an idle or new process.

        :raises OSError: no process can be started
        """
        while self._idle:
            worker = self._idle.pop()
            if worker.process.poll() is None:
                return worker
            # The process was lost while idle, which is not this file's fault.
            worker.end()
        return await _Worker.start(self._limits)

    def _lost(self, worker: _Worker) -> Unopened:
        """Return the error of the content during which a process was lost."""
        status, words = worker.last_words()
        if status == -signal.SIGXCPU:
            return Exceeded(f"takes more than {self._limits.cpu_seconds} seconds of processor time")
        if _OUT_OF_MEMORY.search(words):
            return Exceeded(f"needs more than {self._limits.memory // MIB:,} MiB of memory")
        log.error(
            "A process that opens content ended with status %s\n%s",
            status,
            words.decode(errors="replace"),
        )
        return Unopened(f"ends the process that opens it (status {status})")


@dataclass(frozen=True, slots=True)
class _Worker:
    """One process and the streams to it.

    :ivar stderr: the file of its standard error
    """

    process: subprocess.Popen[bytes]
    stderr: BinaryIO
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def start(cls, limits: ProcessLimits) -> _Worker:
        ours, theirs = socket.socketpair()
        with theirs:
            reader, writer = await asyncio.open_unix_connection(sock=ours)
            stderr = tempfile.TemporaryFile()  # noqa: SIM115 (closed in end())
            try:
                process = subprocess.Popen(
                    [
                        *(_interpreter(), "-I", "-c", _START),
                        *(str(limits.memory), str(limits.cpu_seconds), *sys.path),
                    ],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=stderr,
                    # Ctrl-C must only reach the caller's process.
                    start_new_session=True,
                )
            except OSError:
                writer.close()
                stderr.close()
                raise
        return cls(process, stderr, reader, writer)

    async def ask(
        self, function: str, request: bytes, file: IO[bytes] | None, longest: int
    ) -> tuple[dict[str, Any], bytes]:
        """Send a request; return the header of the answer, and the answer.

        :raises EOFError, OSError: the process has ended
        :raises LookupError, TypeError, ValueError: the answer is malformed
        """
        size = 0 if file is None else file.seek(0, os.SEEK_END)
        header = {"function": function, "sizes": [len(request), size]}
        self.writer.writelines([json.dumps(header).encode(), b"\n", request])
        if file is not None:
            file.seek(0)
            while chunk := file.read(_CHUNK):
                self.writer.write(chunk)
                await self.writer.drain()
        await self.writer.drain()
        reply = json.loads(await self.reader.readline())
        size = int(reply["size"])
        if not 0 <= size <= longest:
            return {
                "exceeded": f"gives more than {longest // MIB:,} MiB when opened",
                "last": True,
            }, b""
        return reply, await self.reader.readexactly(size)

    def last_words(self) -> tuple[int, bytes]:
        """Return the exit status of a process that closed its socket, and the end of its standard error.

        The status is negative for a signal.
        """
        try:
            status = self.process.wait(_TIME_TO_EXIT)
        except subprocess.TimeoutExpired:
            status = -signal.SIGKILL
        size = self.stderr.seek(0, os.SEEK_END)
        self.stderr.seek(max(0, size - _LAST_WORDS))
        words = self.stderr.read()
        self.end()
        return status, words

    def end(self) -> None:
        self.writer.close()
        self.process.kill()
        self.process.wait()
        self.stderr.close()


def _interpreter() -> str:
    """Return the path of Python: in an embedded interpreter ``sys.executable`` is the web server."""
    if os.path.basename(sys.executable).startswith("python"):
        return sys.executable
    return os.path.join(sys.exec_prefix, "bin", "python3")
