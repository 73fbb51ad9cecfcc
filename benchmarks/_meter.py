"""The processor time of commands and pages, with that of the PostgreSQL and Solr that work for them.

On a machine with other work, processor time says more than the clock. Only the benchmark may use the services.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import ckan.plugins.toolkit as tk
import sqlalchemy as sa
from ckan import model

_TICK = os.sysconf("SC_CLK_TCK")
_PAUSE = 0.05
"""Seconds between two looks at a process's memory."""

Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Services:
    """The servers that a site uses: process ids on this machine."""

    postgres: int
    solr: int

    @classmethod
    def of_site(cls) -> Services:
        """Return the servers of the loaded site."""
        backend = model.Session.execute(sa.text("SELECT pg_backend_pid()")).scalar_one()
        model.Session.commit()
        port = re.search(r":(\d+)/", tk.config["solr_url"])
        wanted = f"-Dsolr.port={port[1] if port else ''}".encode()
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if wanted in path.read_bytes().split(b"\0"):
                    return cls(_parent(backend), int(path.parent.name))
        raise SystemExit("Solr does not run on this machine.")

    def cpu_seconds(self) -> Figures:
        """Return the processor time that each server has used so far, with that of its ended processes."""
        children = Path(f"/proc/{self.postgres}/task/{self.postgres}/children").read_text().split()
        return {
            "postgres_s": _cpu(self.postgres, ended=True) + sum(map(_cpu, map(int, children))),
            "solr_s": _cpu(self.solr),
        }

    @contextlib.contextmanager
    def measured(self) -> Iterator[Figures]:
        """Yield figures that get the seconds, and the processor time of this process and the servers."""
        figures: Figures = {}
        servers, cpu, before = self.cpu_seconds(), time.process_time(), time.perf_counter()
        yield figures
        figures["seconds"] = time.perf_counter() - before
        figures["cpu_seconds"] = time.process_time() - cpu
        for name, seconds in self.cpu_seconds().items():
            figures[name] = seconds - servers[name]

    def run(self, command: Sequence[str]) -> tuple[Figures, str]:
        """Run a command; return its figures with its peak memory in MB, and its output.

        The memory is read while the process lives: what the system accounts to it after its end includes the
        memory of the process that started it.

        :raises SystemExit: the command failed
        """
        servers, before = self.cpu_seconds(), time.perf_counter()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(command, stdout=out, stderr=errors)
            peak = 0.0
            while True:
                peak = max(peak, _peak_mb(process.pid))
                ended, status, usage = os.wait4(process.pid, os.WNOHANG)
                if ended:
                    break
                time.sleep(_PAUSE)
            seconds = time.perf_counter() - before
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            printed = out.read().decode()
            if process.returncode:
                errors.seek(0)
                said = (printed + errors.read().decode())[-2000:]
                raise SystemExit(f"{' '.join(command)} failed: {said}")
        figures = {
            "seconds": seconds,
            "cpu_seconds": usage.ru_utime + usage.ru_stime,
            "peak_mb": peak,
        }
        for name, cpu in self.cpu_seconds().items():
            figures[name] = cpu - servers[name]
        return figures, printed


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _parent(pid: int) -> int:
    return int(_stat(pid)[1])


def _cpu(pid: int, *, ended: bool = False) -> float:
    """Return the processor time of a process; 0 if it has ended.

    :param ended: with that of its processes that have ended
    """
    try:
        fields = _stat(pid)
    except OSError:
        return 0.0
    return sum(map(int, fields[11 : 15 if ended else 13])) / _TICK


def _peak_mb(pid: int) -> float:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    return 0.0
