"""Many files on many hosts, made for speed: little stands between the socket and the answer.

For benchmarks, where the server's own work must not be what is measured. It runs in a process
of its own (:func:`spawn`) or in the loop of whoever awaits :meth:`BenchHost.listen`. What it cannot do,
:mod:`.base` and :mod:`.faults` can.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import enum
import multiprocessing
import socket
from collections.abc import Iterator, Sequence
from email.utils import formatdate
from multiprocessing.connection import Connection
from typing import Any

#: Seconds since 1970 of the first version of each file; each later version is a day younger.
FIRST_MODIFIED = 1_700_000_000
_DAY = 86_400
_LINE = b"2026-01-01,some place,123.45,67.89\n"
_FILLER = _LINE * 2048
_PIECE = _FILLER[: 64 * 1024]


class Behaviour(enum.Enum):
    """What a file's URL does."""

    SERVE = "serve"
    DIFFER = "differ"
    """Other bytes at each download, and no validators."""
    HANG = "hang"
    """No answer."""
    MISSING = "missing"
    """404."""
    REFUSE = "refuse"
    """412 to each conditional request."""


@dataclasses.dataclass(slots=True)
class File:
    """A file of the host; the version is in its bytes, its ETag and its Last-Modified."""

    size: int
    validators: bool = True
    behaviour: Behaviour = Behaviour.SERVE
    version: int = 1
    downloads: int = 0

    @property
    def etag(self) -> str:
        """As it is sent."""
        return f'"v{self.version}"'

    @property
    def last_modified(self) -> str:
        """As it is sent."""
        return formatdate(FIRST_MODIFIED + self.version * _DAY, usegmt=True)


class BenchHost:
    """Files by path, the same on each address.

    Attributes:
        files: by request target.
        latency: seconds before each answer.
        requests: how many came; `sent` are the bytes of bodies that went out.
    """

    def __init__(self, files: dict[str, File], latency: float = 0.0) -> None:
        self.files = files
        self.latency = latency
        self.requests = 0
        self.sent = 0

    @contextlib.asynccontextmanager
    async def listen(self, addresses: Sequence[str]) -> Any:
        """Serve on these addresses of 127.0.0.0/8, all at one port, which is given."""
        loop = asyncio.get_running_loop()
        servers = []
        port = 0
        try:
            for address in addresses:
                sock = socket.socket()
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                sock.bind((address, port))
                port = sock.getsockname()[1]
                servers.append(
                    await loop.create_server(lambda: _Connection(self), sock=sock, backlog=1024)
                )
            yield port
        finally:
            for server in servers:
                server.close()

    def answer(self, head: bytes) -> tuple[bytes, int] | None:
        """What is sent for a request, and how many more bytes of filler; None for nothing at all."""
        self.requests += 1
        target = head.split(b" ", 2)[1].decode("ascii", "replace")
        file = self.files.get(target)
        if file is None or file.behaviour is Behaviour.MISSING:
            return _head(404, 0), 0
        if file.behaviour is Behaviour.HANG:
            return None
        lower = head.lower()
        match, since = (
            _value(head, lower, b"if-none-match"),
            _value(head, lower, b"if-modified-since"),
        )
        if match is not None or since is not None:
            if file.behaviour is Behaviour.REFUSE:
                return _head(412, 0), 0
            if file.validators and (
                match == file.etag if match is not None else since == file.last_modified
            ):
                return _head(304, None, file), 0
        file.downloads += 1
        number = file.downloads if file.behaviour is Behaviour.DIFFER else 0
        first = b"%s,version %d,%d\n" % (target.encode(), file.version, number)
        size = max(file.size, len(first))
        self.sent += size
        begin = _head(200, size, file) + first
        rest = size - len(first)
        if rest <= len(_FILLER):
            return begin + _FILLER[:rest], 0
        return begin, rest


class _Connection(asyncio.Protocol):
    """One connection; requests are answered one after another."""

    def __init__(self, host: BenchHost) -> None:
        self._host = host
        self._buffer = b""
        self._transport: asyncio.Transport
        self._left = 0
        self._pouring = False
        self._close = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head, self._buffer = self._buffer[: end + 2], self._buffer[end + 4 :]
            if self._host.latency:
                asyncio.get_running_loop().call_later(self._host.latency, self._answer, head)
            else:
                self._answer(head)

    def _answer(self, head: bytes) -> None:
        answer = self._host.answer(head)
        if answer is None or self._transport.is_closing():
            return
        begin, self._left = answer
        self._close = b"connection: close" in head.lower()
        self._transport.write(begin)
        if self._left:
            self._pour()
        elif self._close:
            self._transport.close()

    def _pour(self) -> None:
        """Write until the client has had enough for now."""
        self._pouring = True
        while self._left and self._pouring:
            piece = _PIECE[: self._left]
            self._left -= len(piece)
            self._transport.write(piece)
        if not self._left and self._close:
            # Not at once: a transport that is just resuming would end twice.
            asyncio.get_running_loop().call_soon(self._transport.close)

    def pause_writing(self) -> None:
        self._pouring = False

    def resume_writing(self) -> None:
        if self._left:
            self._pour()


def _value(head: bytes, lower: bytes, name: bytes) -> str | None:
    """The value of a header, whose name is given in lower case."""
    start = lower.find(b"\r\n" + name + b":")
    if start < 0:
        return None
    start += len(name) + 3
    return head[start : head.find(b"\r\n", start)].decode("latin-1").strip()


def _head(status: int, length: int | None, file: File | None = None) -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever", "Date: " + formatdate(usegmt=True)]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    if file is not None:
        lines.append("Content-Type: text/csv")
        if file.validators:
            lines += [f"ETag: {file.etag}", f"Last-Modified: {file.last_modified}"]
    return "\r\n".join((*lines, "", "")).encode()


@dataclasses.dataclass(slots=True)
class Spawned:
    """A host in a process of its own."""

    port: int
    _pipe: Connection

    def ask(self, *question: Any) -> Any:
        """`("change", targets)` makes new versions, `("behave", behaviours)` sets behaviours by
        target; `("counts",)` gives requests and bytes since the
        last time."""
        self._pipe.send(question)
        return self._pipe.recv()


@contextlib.contextmanager
def spawn(
    files: dict[str, File], addresses: Sequence[str], latency: float = 0.0
) -> Iterator[Spawned]:
    """A host in a process of its own, whose work is not counted as the caller's."""
    context = multiprocessing.get_context("spawn")
    pipe, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, files, addresses, latency), daemon=True)
    process.start()
    try:
        yield Spawned(pipe.recv(), pipe)
    finally:
        pipe.close()
        process.join(10)
        if process.is_alive():
            process.kill()


def _serve(
    pipe: Connection, files: dict[str, File], addresses: Sequence[str], latency: float
) -> None:
    asyncio.run(_until_closed(pipe, BenchHost(files, latency), addresses))


async def _until_closed(pipe: Connection, host: BenchHost, addresses: Sequence[str]) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def obey() -> None:
        try:
            question, *arguments = pipe.recv()
        except EOFError:
            loop.remove_reader(pipe.fileno())
            ended.set()
            return
        answer: Any = None
        if question == "change":
            for target in arguments[0]:
                host.files[target].version += 1
        elif question == "behave":
            for target, behaviour in arguments[0].items():
                host.files[target].behaviour = behaviour
        elif question == "counts":
            answer = (host.requests, host.sent)
            host.requests = host.sent = 0
        pipe.send(answer)

    async with host.listen(addresses) as port:
        loop.add_reader(pipe.fileno(), obey)
        pipe.send(port)
        await ended.wait()
