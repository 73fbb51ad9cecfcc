"""A TCP proxy in front of a real service, which can be taken away and given back.

So a test needs not stop a service that others use too: for whoever goes through the proxy it refuses
connections, or has broken them off.
"""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

_CHUNK = 65_536


def reserved_port() -> socket.socket:
    """Return a socket with a free port of 127.0.0.1, which refuses connections until a server listens."""
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", 0))
    return reserved


class TcpProxy:
    """Listens on a loopback port of its own and hands every connection on to one address."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._lock = threading.Lock()
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._listener: socket.socket | None = None
        self._signals: list[bytes] = []
        # Keeps the port while nothing listens at it: others would get it for a connection of theirs.
        self._reserved = reserved_port()
        self.port: int = self._reserved.getsockname()[1]

    @property
    def address(self) -> str:
        """Host and port, as URLs have them."""
        return f"127.0.0.1:{self.port}"

    def open(self) -> None:
        """Accept connections, on the same port as before."""
        if self._listener is not None:
            return
        self._signals = []
        self._listener = listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def refuse(self) -> None:
        """Accept no more connections; those that are open stay."""
        with self._lock:
            listener, self._listener = self._listener, None
        if listener is not None:
            # Closing alone leaves the port open for as long as another thread waits in accept().
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def cut(self) -> None:
        """Break every open connection off."""
        with self._lock:
            pairs = list(self._pairs)
        for pair in pairs:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def away(self) -> None:
        """What a service is that was stopped: nothing is accepted, nothing stays open."""
        self.refuse()
        self.cut()

    def leave_at(self, *words: bytes) -> None:
        """Go away as soon as clients have sent all of these, in order; the last is not handed on."""
        self._signals = list(words)

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.away()
        self._reserved.close()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._target)
            except OSError:
                client.close()
                continue
            with self._lock:
                if self._listener is not listener:
                    client.close()
                    server.close()
                    return
                self._pairs.add((client, server))
            threading.Thread(target=self._hand_on, args=(client, server), daemon=True).start()

    def _hand_on(self, client: socket.socket, server: socket.socket) -> None:
        with client, server:
            for end, chunk in _chunks(client, server):
                if end is client and self._is_last_signal(chunk):
                    self.away()
                    break
                try:
                    (server if end is client else client).sendall(chunk)
                except OSError:
                    break
            with self._lock:
                self._pairs.discard((client, server))

    def _is_last_signal(self, chunk: bytes) -> bool:
        heard = False
        with self._lock:
            while self._signals and self._signals[0] in chunk:
                chunk = chunk.partition(self._signals.pop(0))[2]
                heard = not self._signals
        return heard


def _chunks(*ends: socket.socket) -> Iterator[tuple[socket.socket, bytes]]:
    """What comes in at either end, until one of them is closed."""
    while True:
        readable, _, _ = select.select(ends, [], [])
        for end in readable:
            try:
                chunk = end.recv(_CHUNK)
            except OSError:
                return
            if not chunk:
                return
            yield end, chunk
