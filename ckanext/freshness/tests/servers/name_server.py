"""A real name server on the loopback interface that never answers for some names."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

_REPLY = b"\x81\x80"
_NO_SUCH_NAME = b"\x81\x83"
_ADDRESS = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04"
"""An answer record: the name that was asked for, type A, class IN, a minute, four bytes."""


class NameServer:
    """Answers over UDP with one address for every name (RFC 1035), from a thread of its own.

    :param silent: names for which it says nothing
    :param unknown: names that it says there are not
    """

    def __init__(
        self,
        silent: Callable[[str], bool] = lambda name: False,
        unknown: Callable[[str], bool] = lambda name: False,
        address: str = "127.0.0.1",
    ) -> None:
        self.silent = silent
        self.unknown = unknown
        self.asked: Counter[str] = Counter()
        self._answer = socket.inet_aton(address)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * 1024 * 1024)
        self._socket.bind(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, name="name server", daemon=True)

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        host, port = self._socket.getsockname()
        return host, port

    def lookup(self, name: str, *, timeout: float = 5.0, tries: int = 2) -> list[str]:
        """The addresses of a name, asked for as the C library does: blocking, and patient.

        :raises socket.gaierror: there is none, or no answer
        """
        labels = b"".join(bytes([len(one)]) + one for one in name.encode().split(b"."))
        question = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" + labels
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            asking.settimeout(timeout)
            for _ in range(tries):
                asking.sendto(question + b"\x00\x00\x01\x00\x01", self.address)
                with contextlib.suppress(TimeoutError):
                    packet = asking.recv(512)
                    if packet[2:4] == _NO_SUCH_NAME:
                        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
                    return [socket.inet_ntoa(packet[-4:])]
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    def _serve(self) -> None:
        while True:
            packet, sender = self._socket.recvfrom(512)
            if not packet:
                return
            name = _name(packet)
            self.asked[name] += 1
            if self.silent(name):
                continue
            if self.unknown(name) or not name:
                reply = packet[:2] + _NO_SUCH_NAME + packet[4:]
            else:
                reply = packet[:2] + _REPLY + b"\x00\x01\x00\x01" + packet[8:]
                reply += _ADDRESS + self._answer
            self._socket.sendto(reply, sender)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as farewell:
            farewell.sendto(b"", self.address)
        self._thread.join(10)
        self._socket.close()


def _name(packet: bytes) -> str:
    labels, at = [], 12
    while length := packet[at]:
        labels.append(packet[at + 1 : at + 1 + length].decode("ascii"))
        at += 1 + length
    return ".".join(labels)
