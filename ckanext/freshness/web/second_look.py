"""A second look at answers that aiohttp calls malformed, as browsers, curl and wget read them.

Servers in the field send header lines without a colon, names with blanks, a lone carriage return, a length
twice or beside chunks, a body where none may be. People get their files all the same. So an answer that
aiohttp refuses is asked for once more, and read here. The rules are those on which Chromium and Firefox agree:

============================================================  =============================================
The answer has                                                 It is read as
============================================================  =============================================
empty lines or up to four bytes before the status line         if they were not there
a status line without a version's number or a reason           its status
zeros before the status                                        the status
no number in place of the status                               200 (Chromium alone)
``http`` in small letters                                      ``HTTP``
a line that begins with a blank                                the rest of the line before (RFC 9112, 5.2)
a line without a colon                                         nothing
a name with blanks behind it, or with odd characters           its name
a carriage return alone                                        a blank
a NUL                                                          malformed: nobody takes it
the same length several times, ``135, 135``                    that length
different lengths                                              malformed: nobody knows where it ends
a length that is no number                                     no length
chunks and a length                                            chunks
a body behind 204, 304 or in answer to ``HEAD``                no body
bytes behind the body                                          nothing: the connection is closed
============================================================  =============================================
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Iterable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import TypeVar

import aiohttp
from multidict import CIMultiDict, CIMultiDictProxy

from .address_guard import Guard
from .errors import FailureReason, Fault
from .exchange import Hop, Limits
from .faults import BROKE_OFF, NETWORK_FAULTS, NO_ANSWER, TRUNCATED, fault_of
from .urls import Target

MAX_HEAD_BYTES = 256 * 1024
"""The most bytes of a status line with all header lines, as in Chromium."""

_CHUNK = 64 * 1024
_LONGEST_CHUNK_LINE = 4096
_STATUS_LINE = re.compile(
    rb"[^\r\n]{0,4}?(?:HTTP(?:/[0-9.]{0,8})?|ICY)(?:[ \t]+(?:0{0,9}([1-9][0-9]{2})(?![0-9])|(?![ \t0-9]))|\Z)",
    re.IGNORECASE,
)
_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,16})[ \t]*(?:;.*)?")
_LENGTH = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Head:
    """A status with its headers."""

    status: int
    headers: CIMultiDictProxy[str]


def parse_head(lines: Iterable[bytes]) -> Head:
    """Parse the lines of a head, without their line ends.

    :raises Fault: ``MALFORMED``: browsers do not read it either
    """
    given = iter(lines)
    status = _STATUS_LINE.match(next(given, b""))
    if status is None:
        raise Fault(FailureReason.MALFORMED, "did not answer in HTTP: there is no status line")
    fields: list[tuple[str, str]] = []
    for line in given:
        if b"\0" in line:
            raise Fault(FailureReason.MALFORMED, "did not answer in HTTP: a header holds a NUL")
        text = line.replace(b"\r", b" ").decode("utf-8", "surrogateescape")
        if text[:1] in (" ", "\t"):
            if fields:
                name, value = fields[-1]
                fields[-1] = name, f"{value} {text.strip()}".strip()
            continue
        name, colon, value = text.partition(":")
        if colon and (name := name.strip()):
            fields.append((name, value.strip()))
    return Head(int(status[1] or 200), CIMultiDictProxy(CIMultiDict(fields)))


def length_of(headers: CIMultiDictProxy[str]) -> int | None:
    """Return the length of a body by its ``Content-Length``; None if there is no usable one.

    :raises Fault: ``MALFORMED``: there are different lengths
    """
    given = ",".join(headers.getall("Content-Length", ())).split(",")
    lengths = {int(text) for text in map(str.strip, given) if _LENGTH.fullmatch(text)}
    if len(lengths) > 1:
        words = "did not answer in HTTP: it names different lengths of one body"
        raise Fault(FailureReason.MALFORMED, words)
    return lengths.pop() if lengths else None


def is_chunked(headers: CIMultiDictProxy[str]) -> bool:
    """Decide whether a body is sent in chunks."""
    codings = ",".join(headers.getall("Transfer-Encoding", ())).lower()
    return "chunked" in map(str.strip, codings.split(","))


async def read_head(stream: asyncio.StreamReader) -> Head:
    """Read the head of the final answer; interim answers (``1xx``) before it are left out.

    :raises Fault: ``MALFORMED``, or ``CONNECTION_RESET`` if the connection ends before the head does
    """
    left = MAX_HEAD_BYTES
    while True:
        lines: list[bytes] = []
        while True:
            line = await _line(stream, left)
            left -= len(line)
            line = line.rstrip(b"\r\n")
            if line:
                lines.append(line)
            elif lines:
                break
        head = parse_head(lines)
        if head.status >= 200:
            return head
        if head.status == 101:
            words = "answered 101, which ends nothing"
            raise Fault(FailureReason.MALFORMED, words)


def read_body(stream: asyncio.StreamReader, head: Head, method: str) -> AsyncIterator[bytes]:
    """Return the bytes of the body as they come, which raise a :class:`Fault` if it breaks off.

    :raises Fault: ``MALFORMED``: nobody can tell where the body ends
    """
    if method == "HEAD" or head.status in (204, 304):
        return _of_length(stream, 0)
    if is_chunked(head.headers):
        return _framed(stream)
    return _of_length(stream, length_of(head.headers))


async def _line(stream: asyncio.StreamReader, most: int) -> bytes:
    try:
        line = await stream.readuntil(b"\n")
    except asyncio.IncompleteReadError as error:
        words = BROKE_OFF if error.partial else NO_ANSWER
        raise Fault(FailureReason.CONNECTION_RESET, words) from error
    except asyncio.LimitOverrunError as error:
        raise Fault(FailureReason.MALFORMED, _LONG_HEAD) from error
    if len(line) > most:
        raise Fault(FailureReason.MALFORMED, _LONG_HEAD)
    return line


_LONG_HEAD = f"sent headers longer than {MAX_HEAD_BYTES} bytes"


async def _of_length(stream: asyncio.StreamReader, length: int | None) -> AsyncIterator[bytes]:
    """Yield ``length`` bytes, or all until the connection is closed."""
    while length != 0:
        chunk = await stream.read(_CHUNK if length is None else min(_CHUNK, length))
        if not chunk:
            if length is not None:
                raise Fault(FailureReason.TRUNCATED, TRUNCATED)
            return
        if length is not None:
            length -= len(chunk)
        yield chunk


async def _framed(stream: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Yield the contents of all chunks (RFC 9112, section 7.1). What follows the last one is left unread."""
    while True:
        size = await _chunk_size(stream)
        if size == 0:
            return
        async for chunk in _of_length(stream, size):
            yield chunk
        if (end := await _chunk_line(stream)).strip():
            words = f"sent a malformed body: {end[:20]!r} behind a chunk"
            raise Fault(FailureReason.MALFORMED, words)


async def _chunk_size(stream: asyncio.StreamReader) -> int:
    line = (await _chunk_line(stream)).rstrip(b"\r\n")
    size = _CHUNK_SIZE.fullmatch(line)
    if size is None:
        words = f"sent a malformed body: {line[:20]!r} is no size of a chunk"
        raise Fault(FailureReason.MALFORMED, words)
    return int(size[1], 16)


async def _chunk_line(stream: asyncio.StreamReader) -> bytes:
    try:
        line = await stream.readuntil(b"\n")
    except asyncio.IncompleteReadError as error:
        raise Fault(FailureReason.TRUNCATED, TRUNCATED) from error
    except asyncio.LimitOverrunError:
        line = b"x" * (_LONGEST_CHUNK_LINE + 1)
    if len(line) > _LONGEST_CHUNK_LINE:
        raise Fault(
            FailureReason.MALFORMED, "sent a malformed body: the size of a chunk has no end"
        )
    return line


# The request

_Result = TypeVar("_Result")


async def ask(
    hop: Hop, addresses: Sequence[str], guard: Guard, tls: ssl.SSLContext | None
) -> TolerantExchange:
    """Send a request over a connection of its own, and return the response with its headers.

    :param hop: with all headers but ``Host``; whatever they say, the connection is closed afterwards
    :param addresses: of the target's host; the first that accepts a connection is asked
    :param tls: for ``https``
    :raises OSError: no connection could be made, also :class:`.address_guard.InsideAddress` and TLS's errors
    :raises asyncio.TimeoutError: the time is over; aiohttp's subclasses say which
    :raises Fault: the answer is malformed for browsers, too
    """
    clock = _Clock(hop.limits, monotonic() + hop.total)
    stream, writer = await clock.connecting(_connect(hop.target, addresses, guard, tls))
    try:
        lines = [f"{hop.method} {hop.target.path} HTTP/1.1", f"Host: {hop.target.authority}"]
        lines += [
            f"{name}: {value}"
            for name, value in hop.headers.items()
            if name.lower() != "connection"
        ]
        writer.write("\r\n".join([*lines, "Connection: close", "", ""]).encode())
        head = await clock.reading(read_head(stream))
        return TolerantExchange(head, read_body(stream, head, hop.method), writer, clock)
    except BaseException:
        writer.transport.abort()
        raise


class TolerantExchange:
    """See :class:`.exchange.Exchange`."""

    def __init__(
        self,
        head: Head,
        chunks: AsyncIterator[bytes],
        writer: asyncio.StreamWriter,
        clock: _Clock,
    ) -> None:
        self.status = head.status
        self.headers = head.headers
        self.is_whole = False
        self.received = 0
        self._chunks = chunks
        self._writer = writer
        self._clock = clock

    async def read(self) -> bytes:
        try:
            chunk = await self._clock.reading(self._next())
        except NETWORK_FAULTS as error:
            raise fault_of(error, self._clock.limits, answered=True) from error
        self.received += len(chunk)
        self.is_whole = not chunk
        return chunk

    async def skip(self) -> None:
        """Read nothing: the connection is not kept."""

    def end(self) -> None:
        self._writer.transport.abort()

    async def _next(self) -> bytes:
        try:
            return await anext(self._chunks, b"")
        except ConnectionError as error:
            raise Fault(FailureReason.TRUNCATED, TRUNCATED) from error


class _Clock:
    """The time limits of one request."""

    def __init__(self, limits: Limits, until: float) -> None:
        self.limits = limits
        self._until = until

    async def connecting(self, work: Awaitable[_Result]) -> _Result:
        return await self._within(self.limits.connect, work, aiohttp.ConnectionTimeoutError)

    async def reading(self, work: Awaitable[_Result]) -> _Result:
        return await self._within(self.limits.read, work, aiohttp.SocketTimeoutError)

    async def _within(
        self, seconds: float, work: Awaitable[_Result], late: type[asyncio.TimeoutError]
    ) -> _Result:
        left = self._until - monotonic()
        try:
            return await asyncio.wait_for(work, min(seconds, left))
        except asyncio.TimeoutError:
            raise (late if seconds < left else asyncio.TimeoutError)() from None


async def _connect(
    target: Target, addresses: Sequence[str], guard: Guard, tls: ssl.SSLContext | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to the first address that accepts it."""
    loop = asyncio.get_running_loop()
    refused: OSError | None = None
    for address in addresses:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        where = (address, target.port, 0, 0) if ":" in address else (address, target.port)
        connection: socket.socket | None = None
        try:
            connection = guard.socket((family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", where))
            connection.setblocking(False)
            await loop.sock_connect(connection, where)
            return await asyncio.open_connection(
                limit=MAX_HEAD_BYTES,
                sock=connection,
                ssl=tls,
                server_hostname=target.host.rstrip(".") if tls is not None else None,
            )
        except BaseException as error:
            if connection is not None:
                connection.close()
            if not isinstance(error, OSError):
                raise
            refused = error
    raise refused or OSError(None, "no address")
