"""The demo's processes: the consumers, the jobs worker and the web server."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from stack.commands import last_lines, undisturbed
from stack.messages import StackError
from stack.processes import Identity, spawn, stop


class Children:
    """The started processes, which can be stopped together."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._children: dict[str, tuple[subprocess.Popen[bytes], Identity]] = {}

    def _log(self, name: str) -> Path:
        return self.folder / f"{name.replace(' ', '-')}.log"

    def start(self, name: str, command: Sequence[str]) -> None:
        """Start a process; its output goes to a new log."""
        log = self._log(name)
        log.unlink(missing_ok=True)
        with undisturbed():
            self._children[name] = spawn(command, log, environment=os.environ, folder=Path.cwd())

    def check(self) -> None:
        """Raise StackError if any of them has ended by itself."""
        for name, (process, _) in self._children.items():
            if (code := process.poll()) is not None:
                end = f"The end of {self._log(name)}:\n{last_lines(self._log(name))}"
                raise StackError(f"{name} ended with code {code}. {end}")

    def stop_all(self) -> None:
        """Stop all of them, the last started first."""
        with undisturbed():
            for process, identity in reversed(self._children.values()):
                stop(identity)
                process.wait()
