"""The demo's processes: the consumers, the jobs worker and the web server."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stack.commands import last_lines, undisturbed
from stack.messages import StackError
from stack.processes import Identity, spawn, stop


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


class Children:
    """The started processes, which can be stopped together."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._children: list[Child] = []

    def start(self, name: str, command: Sequence[str]) -> None:
        """Start a process; its output goes to a new log."""
        log = self.folder / f"{name.replace(' ', '-')}.log"
        log.unlink(missing_ok=True)
        with undisturbed():
            process, identity = spawn(command, log, environment=os.environ, folder=Path.cwd())
            child = Child(name, process, identity, log)
            self._children.append(child)

    def check(self) -> None:
        """Raise StackError if any of them has ended."""
        for child in self._children:
            child.check()

    def stop_all(self) -> None:
        """Stop all of them, the last started first."""
        with undisturbed():
            for child in reversed(self._children):
                stop(child.identity)
                child.process.wait()
