"""Locks between ``./dev`` processes. The kernel frees a lock when its holder ends or is killed."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stack.progress import say


class Lock:
    """An advisory lock on a file, exclusive or shared."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd: int | None = None

    def take(self, *, shared: bool = False, wait: bool = True) -> bool:
        """Take the lock, or turn a held one into the other kind, and return whether that worked.

        With ``wait`` it always works, sooner or later. Where turning fails, nothing is held any more.
        """
        if self._fd is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(self._fd, how if wait else how | fcntl.LOCK_NB)
        except BlockingIOError:
            self.free()
            return False
        return True

    def free(self) -> None:
        """Release the lock, if it is held."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


@contextmanager
def exclusive(path: Path, reason: str) -> Iterator[None]:
    """Hold the lock until the block ends. Show ``reason`` while another process holds it."""
    lock = Lock(path)
    if not lock.take(wait=False):
        say(f"Waiting for another ./dev: {reason}")
        lock.take()
    try:
        yield
    finally:
        lock.free()
