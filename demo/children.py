"""The demo's processes: the FAIR Data Point, the consumers, the web server."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stack.commands import last_lines, undisturbed
from stack.errors import StackError
from stack.processes import Identity, Ledger, spawn, stop

NO_PROXY = {"http": ""}
"""For requests to the demo's own servers: a proxy of the environment cannot reach them."""


def log_name(name: str) -> str:
    """Return the file name of a process's log."""
    return f"{name.replace(' ', '-')}.log"


@dataclass(frozen=True, slots=True)
class Child:
    """A process with a name for messages."""

    name: str
    process: subprocess.Popen[bytes]
    identity: Identity
    log: Path

    def check(self) -> None:
        """Raise StackError if it has ended by itself."""
        code = self.process.poll()
        if code is not None:
            raise StackError(
                f"{self.name} ended with code {code}. The end of {self.log}:\n{last_lines(self.log)}"
            )


def address_of(child: Child) -> str:
    """Wait until one of our own servers listens, and return its address.

    :raises StackError: it has ended.
    """
    while not (found := re.search(r"^listening on (\S+)$", child.log.read_text(), re.MULTILINE)):
        child.check()
        time.sleep(0.1)
    return found[1]


class Children:
    """The started processes, which can be stopped together."""

    def __init__(self, folder: Path, ledger_folder: Path) -> None:
        self.folder = folder
        myself = Identity.of(os.getpid(), leader=False)
        assert myself is not None
        self._ledger = Ledger(ledger_folder, myself)
        self._children: list[Child] = []

    def start(self, name: str, command: Sequence[str]) -> Child:
        """Start a process; its output goes to a new log."""
        log = self.folder / log_name(name)
        log.unlink(missing_ok=True)
        with undisturbed():
            process, identity = spawn(command, log, environment=os.environ, folder=Path.cwd())
            self._ledger.add(identity)
            child = Child(name, process, identity, log)
            self._children.append(child)
        return child

    def check(self) -> None:
        """Raise StackError if any of them has ended."""
        for child in self._children:
            child.check()

    def stop(self, child: Child) -> None:
        """Stop one of them."""
        stop(child.identity, child=child.process)
        self._ledger.remove(child.identity)
        self._children.remove(child)

    def stop_all(self) -> None:
        """Stop all of them, the last started first."""
        with undisturbed():
            for child in reversed(self._children.copy()):
                self.stop(child)
