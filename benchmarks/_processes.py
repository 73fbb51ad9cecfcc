"""Child processes of a benchmark, with the CPU time and memory that the system accounts to them."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Child:
    """A process that is stopped when the block ends."""

    process: subprocess.Popen[bytes]

    @property
    def cpu_seconds(self) -> float:
        """Return the user and system time so far, with that of its own processes that have ended."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / _TICK

    @property
    def peak_mb(self) -> float:
        """Return the peak memory (VmHWM) in MB."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
        return 0.0

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def cpu_seconds(children: Iterable[Child]) -> float:
    """Return the user and system time of several processes so far."""
    return sum(child.cpu_seconds for child in children)


def start(command: Sequence[str], log: Path, **environment: str) -> Child:
    """Start a command with its output in a log file."""
    with log.open("ab") as out:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
        )
    return Child(process)


@contextlib.contextmanager
def stopwatch() -> Iterator[list[float]]:
    """Yield a list that gets the seconds of the block when it ends."""
    result: list[float] = []
    before = time.perf_counter()
    yield result
    result.append(time.perf_counter() - before)
