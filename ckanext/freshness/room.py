"""What a process may hold at the same time of all the answers that it reads.

An answer of a few bytes may need much memory: brotli looks back at up to 16 MiB. A file that is opened, or kept
as a copy, waits in a temporary file. Each of these takes its share before it grows. If no room is left, the
answer is given up, and the link is checked again later: nothing is known of it.
"""

from __future__ import annotations

import threading

MIB = 1024 * 1024


class Room:
    """Bytes that are shared by all answers of a process, from whichever thread.

    :param size: in bytes
    """

    def __init__(self, size: int) -> None:
        self._left = size
        self._lock = threading.Lock()

    def take(self, size: int) -> bool:
        """Take ``size`` bytes, or give them back if it is negative; return False if less is left."""
        with self._lock:
            if size > self._left:
                return False
            self._left -= size
            return True


class Share:
    """What one answer has taken of a room. It is given back at the latest when nothing refers to it."""

    _size = 0

    def __init__(self, room: Room) -> None:
        self._room = room

    def take(self, size: int) -> bool:
        """Take ``size`` more bytes; return False if there is no room for them."""
        if not self._room.take(size):
            return False
        self._size += size
        return True

    def give_back(self) -> None:
        """Give everything back."""
        if self._size:
            self._room.take(-self._size)
            self._size = 0

    __del__ = give_back


MEMORY = Room(256 * MIB)
"""Memory of decompressors."""
FILES = Room(4096 * MIB)
"""Temporary files, with their beginnings in memory."""
