"""A real name server on the loopback interface: it answers, denies, fails or stays silent."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from aiohttp import AsyncResolver

if TYPE_CHECKING:
    from typing_extensions import Self

_HEADER_SIZE = 12
_FOUND, _FAILURE, _NO_SUCH_NAME = b"\x81\x80", b"\x81\x82", b"\x81\x83"
_IPV4 = b"\x00\x01"
_RECORD = b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x00\x00\x04"
"""The start of an answer: the name of the question, type A, class IN, not to be cached, four bytes."""


def _none(name: str) -> bool:
    return False


class NameServer:
    """A server that gives one IPv4 address for every name (RFC 1035), over UDP, in a thread of its own.

    :param silent: names for which it sends no answer
    :param unknown: names that do not exist
    :param failing: names for which it reports a failure
    :ivar asked: how often it was asked for the IPv4 address of each name
    """

    def __init__(
        self,
        silent: Callable[[str], bool] = _none,
        unknown: Callable[[str], bool] = _none,
        failing: Callable[[str], bool] = _none,
        address: str = "127.0.0.1",
    ) -> None:
        self.silent = silent
        self.unknown = unknown
        self.failing = failing
        self.asked: Counter[str] = Counter()
        self._answer = socket.inet_aton(address)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 * 1024 * 1024)
        self._socket.bind(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, name="name server", daemon=True)

    def resolver(self) -> AsyncResolver:
        """Return a resolver that asks this server alone; to be called in a running loop."""
        host, port = self._socket.getsockname()
        return AsyncResolver(nameservers=[f"{host}:{port}"], timeout=5, tries=1)

    def _serve(self) -> None:
        while True:
            packet, sender = self._socket.recvfrom(512)
            if not packet:
                return
            name, end = _name(packet)
            question = packet[_HEADER_SIZE : end + 4]
            is_ipv4 = packet[end : end + 2] == _IPV4
            self.asked[name] += is_ipv4
            if self.silent(name):
                continue
            code, answer = _FOUND, b""
            if self.failing(name):
                code = _FAILURE
            elif self.unknown(name):
                code = _NO_SUCH_NAME
            elif is_ipv4:
                answer = _RECORD + self._answer
            counts = b"\x00\x01" + (b"\x00\x01" if answer else b"\x00\x00") + b"\x00" * 4
            self._socket.sendto(packet[:2] + code + counts + question + answer, sender)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as farewell:
            farewell.sendto(b"", self._socket.getsockname())
        self._thread.join(60)
        self._socket.close()


def _name(packet: bytes) -> tuple[str, int]:
    """Return the name of a question, in lower case, and the position after it."""
    labels, at = [], _HEADER_SIZE
    while length := packet[at]:
        labels.append(packet[at + 1 : at + 1 + length].decode("ascii").lower())
        at += 1 + length
    return ".".join(labels), at + 1
