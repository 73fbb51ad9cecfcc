"""What must not be found: a listener inside the machine, which counts its visitors."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self


class Canary:
    """A listener on 127.0.0.1 and, where there is IPv6, on ::1, that nobody may connect to.

    Nobody accepts: the kernel completes connections by itself and keeps them until they are counted.
    """

    def __init__(self) -> None:
        self._sockets = [socket.create_server(("127.0.0.1", 0), backlog=128)]
        self.port: int = self._sockets[0].getsockname()[1]
        # Without IPv6 there is no ::1 to connect to either.
        with contextlib.suppress(OSError):
            self._sockets.append(
                socket.create_server(("::1", self.port), family=socket.AF_INET6, backlog=128)
            )
        for listener in self._sockets:
            listener.setblocking(False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for listener in self._sockets:
            listener.close()

    def visitors(self) -> int:
        """How many connections were made since the last call."""
        count = 0
        for listener in self._sockets:
            with contextlib.suppress(BlockingIOError):
                while True:
                    listener.accept()[0].close()
                    count += 1
        return count
