"""Two runs over 2,000 resources: the cost of HDX's retrieval, our whole runs, our engine and the floor."""

from __future__ import annotations

import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import time
import venv
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._check_floor import Floor
from benchmarks._check_ours import RATE, REPEATS, Ours, addresses, by_host
from ckanext.freshness.checking.decisions import Outcome
from ckanext.freshness.tests.servers.bench_files import Behaviour, File, spawn
from ckanext.freshness.web.event_loop import run
from ckanext.freshness.web.exchange import Limits
from ckanext.freshness.web.hosts import HostPolicy

PEER = ("hdx-data-freshness==2.0.0", "hdx-python-database==1.2.3")
"""Later versions of the second give tables other names than the first expects."""
PEER_HOME = Path(__file__).parent.parent / ".dev" / "peers" / "hdx-data-freshness"
FILES, HOSTS = 2_000, 400
PATIENT = Limits(read=60, total=3600)
WARM_UP = {f"/warm-{number}.csv": File(1024) for number in range(100)}

Say = Callable[[str], None]


def retrieval(say: Say, *, peer: bool) -> dict[str, Any]:
    """Return CPU time and bytes of a first run and of a second one, after some files have changed."""
    runs: dict[str, list[list[dict[str, float]]]] = {}
    subjects: dict[str, Callable[[list[str]], Callable[[], Took]]] = {
        "engine": _engine,
        "floor": _floor,
    }
    if peer:
        subjects["peer"] = lambda urls: _peer(say, urls)
    with _whole_runs() as ask:
        subjects["ours"] = lambda urls: _whole(ask, urls)
        for repeat in range(REPEATS + 1):
            for subject, make in subjects.items():
                # The first repetition warms up the subjects that keep running.
                if repeat or subject != "peer":
                    say(f"retrieval: {subject}")
                    runs.setdefault(subject, []).append(_two_runs(make))
    result: dict[str, Any] = {}
    for number, name in enumerate(("first", "second")):

        def median(subject: str, figure: str, number: int = number) -> float:
            return statistics.median(two[number][figure] for two in runs[subject][-REPEATS:])

        figures = {f"{one}_cpu_ms": median(one, "cpu") / FILES * 1e3 for one in runs}
        figures["index_cpu_ms"] = median("ours", "apart") / FILES * 1e3
        if "peer" in runs:
            figures["ratio"] = figures["ours_cpu_ms"] / figures["peer_cpu_ms"]
            whole = figures["ours_cpu_ms"] + figures["index_cpu_ms"]
            figures["ratio_with_index"] = whole / figures["peer_cpu_ms"]
            figures["bytes_ratio"] = median("ours", "bytes") / median("peer", "bytes")
        result[name] = figures
    return result


def _whole(ask: Ask, urls: list[str]) -> Callable[[], Took]:
    """Do a run like the command: rows, rules, requests, writes and aging."""
    ask({"urls": urls})
    numbers = iter(range(2))

    def visit() -> Took:
        number = next(numbers)
        answer = ask({"run": 2 * number})
        _expect(number, answer["outcomes"])
        # Of 200 datasets with an API among their files 20 are fresh, by another that has changed.
        if answer["undetermined"] != 180 * number:
            raise SystemExit(f"Wrong of datasets with an API among their files: {answer}")
        return Took(answer["seconds"] - answer["indexing"], answer["indexing"])

    return visit


def _engine(urls: list[str]) -> Callable[[], Took]:
    """Do the requests alone, with our engine."""
    ours = Ours(HostPolicy(2, RATE), PATIENT)
    numbers = iter(range(2))

    def visit() -> Took:
        before = time.process_time()
        found = ours.visit(urls)
        seconds = time.process_time() - before
        _expect(next(numbers), Counter(finding.outcome.value for finding in found))
        return Took(seconds)

    return visit


def _floor(urls: list[str]) -> Callable[[], Took]:
    floor = Floor()

    def visit() -> Took:
        before = time.process_time()
        run(floor.visit(by_host(urls), PATIENT, per_host=1))
        return Took(time.process_time() - before)

    return visit


def _peer(say: Say, urls: list[str]) -> Callable[[], Took]:
    python = peer_python(say)
    hashes: dict[str, str] = {}

    def visit() -> Took:
        # A host each, since HDX asks none more often than four times a second.
        warm_up = [url.rpartition("/")[0] + name for url, name in zip(urls, WARM_UP, strict=False)]
        question = {
            "warm_up": [[url, url, "csv"] for url in warm_up],
            "resources": [[url, url, "csv"] for url in urls],
            "hashes": hashes,
        }
        script = Path(__file__).with_name("_check_peer.py")
        answer = json.loads(
            subprocess.run(
                [python, script], input=json.dumps(question).encode(), stdout=-1, check=True
            ).stdout
        )
        if answer["errors"]:
            raise SystemExit(f"HDX's retrieval failed: {answer['errors']}")
        hashes.update(answer["hashes"])
        return Took(answer["cpu_seconds"])

    return visit


@dataclass(frozen=True, slots=True)
class Took:
    """CPU seconds of a run.

    :ivar apart: of what no other subject does: updates of the index
    """

    cpu: float
    apart: float = 0.0


EXPECTED: tuple[dict[Outcome, int], ...] = (
    {Outcome.FIRST_HASH: FILES},
    {Outcome.NOT_MODIFIED: 980, Outcome.SAME_HASH: 780, Outcome.CHANGED: 40, Outcome.API: 200},
)
"""The expected outcomes of the first run, and of the second."""


def _expect(number: int, outcomes: Mapping[str, int]) -> None:
    if outcomes != {outcome.value: count for outcome, count in EXPECTED[number].items()}:
        raise SystemExit(f"The run had other outcomes than expected: {outcomes}")


Ask = Callable[[dict[str, Any]], dict[str, Any]]


@contextlib.contextmanager
def _whole_runs() -> Iterator[Ask]:
    """Start a process that makes whole runs on a site, so that this process does not load CKAN."""
    if "CKAN_INI" not in os.environ:
        raise SystemExit("CKAN_INI must name a site to measure on, as ./dev bench check has it.")
    command = [sys.executable, "-m", "benchmarks._check_whole"]
    with subprocess.Popen(command, stdin=-1, stdout=-1) as process:
        assert process.stdin is not None and process.stdout is not None
        questions, answers = process.stdin, process.stdout

        def ask(question: dict[str, Any]) -> dict[str, Any]:
            questions.write(json.dumps(question).encode() + b"\n")
            questions.flush()
            if not (line := answers.readline()):
                raise SystemExit("The process of whole runs has ended.")
            return json.loads(line)

        yield ask
        questions.close()


def _two_runs(subject: Callable[[list[str]], Callable[[], Took]]) -> list[dict[str, float]]:
    """Return CPU seconds, requests and bytes of a subject's first and second run."""
    size = random.Random(2026)
    names = [f"/{number}.csv" for number in range(FILES)]
    # Half with validators; of the others, 200 differ at each download.
    files = {
        name: File(
            size.randint(1024, 50 * 1024),
            validators=number % 2 == 0,
            behaviour=Behaviour.DIFFER if number % 10 == 1 else Behaviour.SERVE,
        )
        for number, name in enumerate(names)
    }
    changed = [name for number, name in enumerate(names) if number % 100 in (0, 3)]
    hosts = addresses(HOSTS)
    found: list[dict[str, float]] = []
    with spawn(files | WARM_UP, hosts) as host:
        visit = subject(
            [f"http://{hosts[n % HOSTS]}:{host.port}{name}" for n, name in enumerate(names)]
        )
        for _ in ("first", "second"):
            took = visit()
            requests, sent = host.ask("counts")
            one = {"cpu": took.cpu, "apart": took.apart, "requests": requests, "bytes": sent}
            found.append(one)
            host.ask("change", changed)
    return found


def peer_python(say: Callable[[str], None]) -> Path:
    """Return the Python of HDX's environment. Make the environment if it is missing."""
    python = PEER_HOME / "bin" / "python"
    done = PEER_HOME / "installed"
    if not done.exists() or done.read_text() != str(PEER):
        say(f"installing {' '.join(PEER)}")
        venv.create(PEER_HOME, clear=True, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PEER], check=True, stdout=2)
        done.write_text(str(PEER))
    return python
