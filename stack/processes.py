"""Starts and stops processes, and never touches one that it did not start.

A process is known by its id *and* the moment it started, so that an id that the system has given to
somebody else in the meantime is left alone.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from stack.files import write_private

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
POLL = 0.05


@dataclass(frozen=True, slots=True)
class Identity:
    """A process that lives, or lived, at one time on one boot of this machine."""

    pid: int
    started: int
    """Clock ticks since boot, field 22 of /proc/<pid>/stat (proc_pid_stat(5))."""
    boot: str
    leader: bool = True
    """Whether it leads a process group of its own, which is then signalled as a whole."""

    @classmethod
    def of(cls, pid: int, *, leader: bool = True) -> Identity | None:
        """Return the identity of a running process; None if no process has this id."""
        started = _start_time(pid)
        if started is None:
            return None
        return cls(pid, started, BOOT_ID.read_text().strip(), leader)

    def alive(self) -> bool:
        """Return whether this process still runs, and not a later one with its id."""
        return _start_time(self.pid) == self.started and BOOT_ID.read_text().strip() == self.boot

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process or its group, unless it has ended."""
        if not self.alive():
            return
        try:
            if self.leader:
                os.killpg(self.pid, number)
            else:
                os.kill(self.pid, number)
        except ProcessLookupError:
            return


def _start_time(pid: int) -> int | None:
    """Return the start time of a process; None if it is a zombie or has ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command's name, in parentheses, may hold blanks and parentheses itself.
    fields = text[text.rindex(")") + 2 :].split()
    return None if fields[0] in "ZX" else int(fields[19])


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


@dataclass(frozen=True, slots=True)
class Account:
    """A system account that a process is run by."""

    uid: int
    gid: int


def stop(
    identity: Identity,
    *,
    how: signal.Signals = signal.SIGTERM,
    patience: float = 20.0,
    child: subprocess.Popen[bytes] | None = None,
) -> None:
    """Ask a process to end and wait for it. Kill it after ``patience`` seconds."""
    for number, seconds in ((how, patience), (signal.SIGKILL, 5.0)):
        identity.send(number)
        deadline = time.monotonic() + seconds
        while identity.alive() and time.monotonic() < deadline:
            time.sleep(POLL)
        if not identity.alive():
            break
    if child is not None:
        child.wait()


class Ledger:
    """The processes that a running ``./dev`` has started. If it is killed, the next ``./dev`` ends them."""

    def __init__(self, folder: Path, owner: Identity) -> None:
        self.folder = folder
        self.owner = owner

    def add(self, identity: Identity) -> None:
        """Remember a process."""
        record = {"owner": asdict(self.owner), "process": asdict(identity)}
        write_private(self._path(identity), json.dumps(record))

    def remove(self, identity: Identity) -> None:
        """Forget a process that has ended."""
        self._path(identity).unlink(missing_ok=True)

    def sweep(self) -> int:
        """End every process whose owner has ended, and return their number."""
        ended = 0
        for path in self.folder.glob("*.json"):
            try:
                record = json.loads(path.read_text())
            except FileNotFoundError:
                # Its owner is ending, too: it has ended the process and removed the file.
                continue
            if Identity(**record["owner"]).alive():
                continue
            left = Identity(**record["process"])
            if left.alive():
                stop(left)
                ended += 1
            path.unlink(missing_ok=True)
        return ended

    def _path(self, identity: Identity) -> Path:
        return self.folder / f"{identity.pid}-{identity.started}.json"
