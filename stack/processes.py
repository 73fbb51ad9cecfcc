"""Starts and stops processes, and never touches one that it did not start.

A process is known by its id *and* the moment it started, so that an id that the system has given to
somebody else in the meantime is left alone.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
POLL = 0.05
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Identity:
    """A process that lives, or lived, at one time on one boot of this machine. It leads a process group."""

    pid: int
    started: int
    """Clock ticks since boot, field 22 of /proc/<pid>/stat (proc_pid_stat(5))."""
    boot: str

    @classmethod
    def of(cls, pid: int) -> Identity | None:
        """Return the identity of a running process; None if no process has this id."""
        started = _start_time(pid)
        return None if started is None else cls(pid, started, BOOT_ID.read_text().strip())

    def alive(self) -> bool:
        """Return whether this process still runs, and not a later one with its id."""
        return _start_time(self.pid) == self.started and BOOT_ID.read_text().strip() == self.boot


def _start_time(pid: int) -> int | None:
    """Return the start time of a process; None if it is a zombie or has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command's name, in parentheses, may hold blanks and parentheses itself.
    fields = text[text.rindex(")") + 2 :].split()
    return None if fields[0] in "ZX" else int(fields[19])


@dataclass(frozen=True, slots=True)
class Account:
    """A system account that a process is run by."""

    uid: int
    gid: int


def spawn(
    command: Sequence[str | Path],
    log: Path,
    *,
    environment: Mapping[str, str],
    folder: Path,
    account: Account | None = None,
) -> tuple[subprocess.Popen[bytes], Identity]:
    """Start a process in a session of its own, its output appended to ``log``."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as out:
        child = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            cwd=folder,
            start_new_session=True,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )
    identity = Identity.of(child.pid)
    # A child that ended at once is a zombie until it is waited for; its start no longer matters.
    return child, identity or Identity(child.pid, -1, "")


def stop(
    identity: Identity, *, how: signal.Signals = signal.SIGTERM, patience: float = 20.0
) -> None:
    """Ask a process and its group to end and wait for it. Kill them after ``patience`` seconds."""
    for number, seconds in ((how, patience), (signal.SIGKILL, 5.0)):
        deadline = time.monotonic() + seconds
        if identity.alive():
            os.killpg(identity.pid, number)
        while identity.alive() and time.monotonic() < deadline:
            time.sleep(POLL)


def end_with_parent() -> None:
    """Have the kernel send SIGTERM to this process if its parent is killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
