"""Processor time of a process and of the services that work for it, and results beside their peers.

On a machine with other work, processor time says more than the clock.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from stack.layout import Layout

ROOT = Path(__file__).parent.parent
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Taken:
    """The cost of a call.

    :ivar cpu: processor seconds of the process, without its child processes
    :ivar postgres: processor seconds of PostgreSQL
    :ivar solr: processor seconds of Solr
    :ivar seconds: by the clock
    :ivar extra_mb: peak memory, minus the memory before
    """

    cpu: float = 0.0
    postgres: float = 0.0
    solr: float = 0.0
    seconds: float = 0.0
    extra_mb: float = 0.0

    @property
    def total(self) -> float:
        """All processor seconds."""
        return self.cpu + self.postgres + self.solr


@dataclass(frozen=True, slots=True)
class Result:
    """What was measured, beside its peer in the same run.

    :ivar goal: the most that ours may be, as a multiple of the peer's; the most itself without a peer
    """

    what: str
    ours: float
    peer: str | None = None
    theirs: float = 1.0
    goal: float | None = None
    unit: str = "CPU s"

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs

    def in_words(self) -> str:
        """Return a line of the table of results."""
        words = f"{self.what:44} {self.ours:10.3f} {self.unit:6}"
        if self.peer is not None:
            words += f" {self.peer} {self.theirs:.3f}, ratio {self.ratio:.3f}"
        if self.goal is not None:
            met = "met" if self.ratio <= self.goal else "missed"
            words += f" (at most {self.goal:.3g}: {met})"
        return words


def cpu_seconds(roots: Iterable[int]) -> float:
    """Return the processor time of processes and of all that they have started, also of ended processes."""
    parents, spent = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            pid = int(path.parent.name)
            parents[pid], spent[pid] = int(fields[1]), sum(map(int, fields[11:15])) / _TICK
    wanted = set(roots)
    while more := {pid for pid, parent in parents.items() if parent in wanted} - wanted:
        wanted |= more
    return sum(spent.get(pid, 0.0) for pid in wanted)


def _services() -> tuple[float, float]:
    folder = Layout(ROOT).services
    records = [json.loads((folder / f"{name}.json").read_text()) for name in ("postgresql", "solr")]
    postgres, solr = (cpu_seconds([record["process"]["pid"]]) for record in records)
    return postgres, solr


@contextlib.contextmanager
def measured(cpu: Callable[[], float] = time.process_time) -> Iterator[Taken]:
    """Yield what gets the cost of the block.

    :param cpu: the processor seconds of the processes that work; by default those of this process
    """
    taken = Taken()
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    memory = status_mb("VmRSS")
    services, before, start = _services(), cpu(), time.perf_counter()
    yield taken
    taken.seconds, taken.cpu = time.perf_counter() - start, cpu() - before
    taken.postgres, taken.solr = (
        after - earlier for after, earlier in zip(_services(), services, strict=True)
    )
    taken.extra_mb = status_mb("VmHWM") - memory


def status_mb(name: str) -> float:
    """Return a line of this process's status in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


@contextlib.contextmanager
def timed(module: ModuleType, name: str) -> Iterator[Taken]:
    """Yield what gets the processor time of all calls of a function of ours, to subtract it."""
    taken, function = Taken(), getattr(module, name)

    def call(*arguments: Any, **options: Any) -> Any:
        before = time.thread_time()
        try:
            return function(*arguments, **options)
        finally:
            taken.cpu += time.thread_time() - before

    setattr(module, name, call)
    try:
        yield taken
    finally:
        setattr(module, name, function)


class Remote:
    """An object that lives in a process of its own, in which its methods are called.

    :param make: creates it there
    :param options: added to the site's
    """

    def __init__(
        self, make: Callable[..., Any], *arguments: Any, options: Mapping[str, str] | None = None
    ) -> None:
        self._folder = TemporaryDirectory()
        ini = write_ini(Path(self._folder.name), options or {})
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, str(ini), make, arguments))
        self._process.start()
        theirs.close()
        self._answer()

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method and return its result."""
        return self.measure(method, *arguments)[0]

    def measure(self, method: str, *arguments: Any) -> tuple[Any, Taken]:
        """Call a method and return its result and cost."""
        self._pipe.send((method, arguments))
        return self._answer()

    def _answer(self) -> Any:
        try:
            return self._pipe.recv()
        except EOFError:
            raise SystemExit("A process of the benchmark has ended; see above.") from None

    def __enter__(self) -> Remote:
        return self

    def __exit__(self, *_: object) -> None:
        self._pipe.close()
        self._process.join(20)
        self._process.kill()
        self._folder.cleanup()


def _serve(
    pipe: Connection, ini: str, make: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    os.environ["CKAN_INI"] = ini
    made = make(*arguments)
    pipe.send(None)
    while True:
        try:
            method, given = pipe.recv()
        except EOFError:
            return
        with measured() as taken:
            result = getattr(made, method)(*given)
        pipe.send((result, taken))


def write_ini(folder: Path, options: Mapping[str, str]) -> Path:
    """Write the benchmark's ini file with quiet logs and more options."""
    ini = folder / "bench.ini"
    more = "".join(f"{key} = {value}\n" for key, value in options.items())
    ini.write_text(
        f"[app:main]\nuse = config:{Path(os.environ['CKAN_INI']).resolve()}\n{more}"
        "[loggers]\nkeys = root\n[handlers]\nkeys = console\n[formatters]\nkeys = generic\n"
        "[logger_root]\nlevel = WARNING\nhandlers = console\n"
        "[handler_console]\nclass = StreamHandler\nargs = (sys.stderr,)\nformatter = generic\n"
        "[formatter_generic]\nformat = %(asctime)s %(levelname)s %(name)s %(message)s\n"
    )
    return ini
