"""Ports of loopback, files that only their owner reads, and locks between ``./dev`` processes."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stack.messages import StackError, say

HOST = "127.0.0.1"


def choose_port(preferred: int | None) -> int:
    """Return the port of the last time if it is free, otherwise any free port."""
    for port in (preferred or 0, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise StackError("This machine has no free port.")


def write_private(path: Path, text: str) -> None:
    """Replace the file by ``text`` in one step, readable only by its owner."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    partial.unlink(missing_ok=True)
    partial.touch(mode=0o600)
    partial.write_text(text)
    partial.rename(path)


class Lock:
    """An advisory lock on a file, exclusive or shared. The kernel frees it when its holder ends."""

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


@contextmanager
def alone(path: Path, what: str) -> Iterator[None]:
    """Hold the lock until the block ends.

    :raises StackError: another process holds it
    """
    lock = Lock(path)
    if not lock.take(wait=False):
        raise StackError(f"{what} of this checkout is already running; wait for its end.")
    try:
        yield
    finally:
        lock.free()
