"""A server below HTTP: one function per connection reads and writes bytes, over TLS if asked to.

For what aiohttp's server cannot be made to do: bad certificates, proxies, endless headers.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import ssl
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

#: Speaks on one connection, which is closed when it returns.
Speak = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

_THREAD_TIMEOUT = 60.0


def answering(answers: Mapping[str, bytes]) -> Speak:
    """Return a function that answers a request with the bytes under its path, without the first slash."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(answers[head.split()[1].decode().strip("/")])
        await writer.drain()

    return speak


class RawServer:
    """Serves `speak` on 127.0.0.1 in a thread of its own; `with RawServer(...) as server`.

    `address` is another one of 127.0.0.0/8 to serve it on.

    Attributes:
        url: where it is, with https where there is a TLS context.
        connections: TCP connections accepted; those whose TLS handshake failed do not count.
    """

    def __init__(
        self,
        speak: Speak,
        tls: ssl.SSLContext | None = None,
        *,
        address: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self.connections = 0
        self.address = address
        self.port = port
        self._speak = speak
        self._tls = tls

    @property
    def url(self) -> str:
        """`SCHEME://ADDRESS:PORT`."""
        return f"{'https' if self._tls else 'http'}://{self.address}:{self.port}"

    def __enter__(self) -> Self:
        listening: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(listening)), daemon=True
        )
        self._thread.start()
        listening.result(_THREAD_TIMEOUT)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(_THREAD_TIMEOUT)

    async def _serve(self, listening: concurrent.futures.Future[None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._connected, self.address, self.port, ssl=self._tls)
        self.port = server.sockets[0].getsockname()[1]
        listening.set_result(None)
        await self._stopping.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.get_running_loop().create_task(self._converse(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            # A client that goes away is what many of these conversations are about.
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._speak(reader, writer)
        finally:
            writer.close()


def saying(answer: bytes) -> Speak:
    """Reads one request and gives this answer, whatever was asked."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()

    return speak


def repeating(begin: bytes, piece: bytes, interval: float = 0.0) -> Speak:
    """Reads one request and answers without an end: `begin`, then `piece` for ever."""

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(begin)
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(interval)

    return speak
