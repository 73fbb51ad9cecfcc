"""Asks name servers whether they answer for a name at all: thousands of names at a time.

What the system's resolver does (hosts files, search domains, caches) nobody else does as it does, so its
word counts. But it takes a thread and a socket for each name, and keeps them for many seconds where a
name's own servers are silent: thousands of such names would hold up all others. One question in a UDP
packet (RFC 1035, section 4.2.1) costs next to nothing, and any reply to it, whatever it says, means that
the resolver will not hang.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

Address = tuple[str, int]
"""An IP address and a port."""

RESOLV_CONF = Path("/etc/resolv.conf")

WAITS = (1.0, 2.0)
"""Seconds that a reply is waited for, for each time that a question is sent."""

_SERVERS = 3
"""The system's own resolver asks no more, either (resolv.conf(5))."""

_HEADER = b"\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
"""After the number: a question to be answered in full, and nothing else."""
_ADDRESS_OF = b"\x00\x01\x00\x01"
# Whoever looks names up for others knows the root's servers by heart.
_ROOT = b"\x00\x00\x02\x00\x01"
_IS_REPLY = 0x80
_HEADER_SIZE = 12

_AT_ONCE = 16_384
"""Questions without a reply: far fewer than there are numbers for them."""
_BUFFER = 4 * 1024 * 1024
_PACKET = 4096
"""Longer than any reply that nobody has asked to be long."""


def system_servers(path: Path = RESOLV_CONF) -> list[Address]:
    """The name servers that the system asks; none where it does not say which."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    words = (line.split() for line in lines)
    named = [found[1] for found in words if len(found) > 1 and found[0] == "nameserver"]
    return [(address, 53) for address in named[:_SERVERS]]


class NameServers:
    """The name servers of a run, each asked over one socket. To be closed at its end.

    :param waits: see :data:`WAITS`
    """

    def __init__(self, addresses: Sequence[Address], waits: Sequence[float] = WAITS) -> None:
        self._addresses = addresses
        self._waits = waits
        self._sockets: list[socket.socket] | None = None
        self._asked: dict[int, tuple[bytes, asyncio.Future[None]]] = {}
        self._heard_at = 0.0
        self._greeted_at = 0.0

    async def answer_for(self, host: str) -> bool | None:
        """Whether anybody answers for a name, if only to say that there is none.

        :returns: False if nobody does while the name servers answer for others; None if that cannot be
            told, because they answer nobody.
        """
        question = _question(host)
        if question is None or len(self._asked) >= _AT_ONCE:
            return None
        if self._sockets is None:
            self._sockets = [one for one in map(self._connected, self._addresses) if one]
        if not self._sockets:
            return None
        began = monotonic()
        number = self._number()
        replied = asyncio.get_running_loop().create_future()
        self._asked[number] = (question, replied)
        try:
            for wait in self._waits:
                self._greet()
                self._send(number, question)
                await asyncio.wait({replied}, timeout=wait)
                if replied.done():
                    return True
        finally:
            del self._asked[number]
        return False if self._heard_at > began else None

    def close(self) -> None:
        """Give the sockets back; to be called in the loop in which questions were asked."""
        for one in self._sockets or ():
            asyncio.get_running_loop().remove_reader(one)
            one.close()
        self._sockets = []

    def heard(self, packet: bytes) -> None:
        """Take a packet that one of the name servers has sent."""
        if len(packet) < _HEADER_SIZE or not packet[2] & _IS_REPLY:
            return
        self._heard_at = monotonic()
        question, replied = self._asked.get(int.from_bytes(packet[:2], "big"), (None, None))
        if question is None or replied is None or replied.done():
            return
        if packet[_HEADER_SIZE : _HEADER_SIZE + len(question)].lower() == question:
            replied.set_result(None)

    def _connected(self, address: Address) -> socket.socket | None:
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        one = socket.socket(family, socket.SOCK_DGRAM)
        try:
            one.setblocking(False)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
            # Connected, so that nobody else's packets come in.
            one.connect(address)
        except OSError:
            one.close()
            return None
        asyncio.get_running_loop().add_reader(one, self._read, one)
        return one

    def _read(self, one: socket.socket) -> None:
        """All that has come: a packet each time round would let thousands of them wait."""
        with contextlib.suppress(OSError):
            while True:
                self.heard(one.recv(_PACKET))

    def _number(self) -> int:
        while (number := secrets.randbelow(0x10000)) in self._asked:
            pass
        return number

    def _send(self, number: int, question: bytes) -> None:
        for one in self._sockets or ():
            # A packet that cannot be sent is one that got lost.
            with contextlib.suppress(OSError):
                one.send(number.to_bytes(2, "big") + _HEADER + question)

    def _greet(self) -> None:
        """Ask what any name server answers at once, to see whether anything comes back at all."""
        now = monotonic()
        if now - self._greeted_at >= min(self._waits) / 4:
            self._greeted_at = now
            self._send(self._number(), _ROOT)


def _question(host: str) -> bytes | None:
    """The question for a name's addresses; None if no packet can ask for it (RFC 1035, 2.3.4)."""
    labels = [label.encode("ascii", "replace").lower() for label in host.rstrip(".").split(".")]
    if not all(0 < len(label) < 64 for label in labels) or not host.isascii():
        return None
    name = b"".join(bytes([len(label)]) + label for label in labels)
    return name + _ADDRESS_OF if len(name) < 255 else None
