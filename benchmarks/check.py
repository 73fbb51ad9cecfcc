"""Checks: ours, hdx-data-freshness 2.0.0, and the floor of bare aiohttp below both, in one run.

All three ask the project's own file server, which runs in a process of its own. HDX's retrieval is
called as its ``check_urls`` calls it, in an environment of its own; the floor has neither rules nor
database. Ratios count: they are of CPU time for ``first`` and ``second``, of speed elsewhere. All are
warm when they are measured, take turns, and the median of several times counts.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import time
import venv
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarks._check_floor import Floor
from ckanext.freshness.checking import engine
from ckanext.freshness.checking.decide import Memory, Outcome
from ckanext.freshness.checking.findings import Finding, Visit
from ckanext.freshness.checking.sandbox import Sandbox
from ckanext.freshness.tests.servers.bench_files import Behaviour, File, spawn
from ckanext.freshness.web.client import Client, Limits, Settings, run
from ckanext.freshness.web.guard import Guard
from ckanext.freshness.web.hosts import HostPolicy, Hosts

PEER = "hdx-data-freshness==2.0.0"
PEER_HOME = Path(__file__).parent.parent / ".dev" / "peers" / "hdx-data-freshness"
FILES, HOSTS = 2_000, 400
RATE = 50.0
"""Requests a second to a host: at work, but not what is measured."""
PATIENT = Limits(read=60, total=3600)
HURRIED = Limits(connect=2, read=1, total=5, attempts=2, backoff=(0.2,), jitter=0)
BIG = 2 << 30
WARM_UP = {f"/warm-{number}.csv": File(1024) for number in range(100)}
REPEATS = 3


def main() -> None:
    options = _parser().parse_args()
    bench = Bench(quiet=options.json)
    result = bench.run(options.parts or list(PARTS), peer=not options.no_peer)
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        _print(result)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./dev bench check", description=__doc__)
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; default: all"
    )
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    parser.add_argument("--no-peer", action="store_true", help="leave HDX's retrieval out")
    return parser


def addresses(number: int) -> list[str]:
    """So many addresses of this machine, each a host."""
    return [f"127.0.{10 + one // 200}.{one % 200 + 1}" for one in range(number)]


@dataclass(slots=True)
class Ours:
    """Our engine, and what it remembers from run to run."""

    policy: HostPolicy
    limits: Limits
    memories: dict[str, Memory] = field(default_factory=dict)
    runners: int = 200

    def visit(self, urls: Iterable[str]) -> list[Finding]:
        """One run over all."""
        return run(self._visit([self._of(url) for url in urls]))

    def _of(self, url: str) -> Visit:
        memory = self.memories.get(url) or Memory()
        return Visit(url, "bench", url, memory, format="CSV")

    async def _visit(self, visits: list[Visit]) -> list[Finding]:
        settings = Settings("bench", limits=self.limits, guard=Guard(["127.0.0.0/8"]))
        found: list[Finding] = []
        options = engine.Options(runners=self.runners, confirm_after=0.5)
        with Sandbox() as sandbox:
            async with Client(settings, Hosts(self.policy)) as client:
                await engine.check(visits, client, sandbox, options, found.append, now=_now)
        for finding in found:
            self.memories[finding.visit.url] = finding.memory
        return found


def _now() -> datetime:
    return datetime.now(timezone.utc)


class Bench:
    """The parts, each by the name of its key in the result."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._peer = True

    def say(self, words: str) -> None:
        print(words, file=sys.stderr if self._quiet else sys.stdout, flush=True)

    def run(self, parts: Sequence[str], *, peer: bool) -> dict[str, Any]:
        self._peer = peer
        result: dict[str, Any] = {}
        for name in parts:
            if name not in PARTS:
                raise SystemExit(f"There is no part {name!r}, only {', '.join(PARTS)}.")
            result |= PARTS[name](self)
        return result

    def retrieval(self) -> dict[str, Any]:
        """CPU time and bytes of a first run and of a second one, after some files have changed."""
        runs: dict[str, list[list[dict[str, float]]]] = {}
        subjects: dict[str, Callable[[list[str]], Callable[[], Any]]] = {
            "ours": self._ours_subject,
            "floor": self._floor_subject,
        }
        if self._peer:
            subjects["peer"] = self._peer_subject
        for repeat in range(REPEATS + 1):
            for subject, make in subjects.items():
                # The first time warms up those who live in this process.
                if repeat or subject != "peer":
                    self.say(f"retrieval: {subject}")
                    runs.setdefault(subject, []).append(_two_runs(make))
        result: dict[str, Any] = {}
        for number, name in enumerate(("first", "second")):

            def median(subject: str, figure: str, number: int = number) -> float:
                return statistics.median(two[number][figure] for two in runs[subject][-REPEATS:])

            figures = {f"{one}_cpu_ms": median(one, "cpu") / FILES * 1e3 for one in runs}
            if "peer" in runs:
                figures["ratio"] = figures["ours_cpu_ms"] / figures["peer_cpu_ms"]
                figures["bytes_ratio"] = median("ours", "bytes") / median("peer", "bytes")
            result[name] = figures
        return result

    def _ours_subject(self, urls: list[str]) -> Callable[[], float]:
        ours = Ours(HostPolicy(2, RATE), PATIENT)
        expected = [
            {Outcome.FIRST_HASH: FILES},
            {
                Outcome.NOT_MODIFIED: 980,
                Outcome.SAME_HASH: 780,
                Outcome.CHANGED: 40,
                Outcome.API: 200,
            },
        ]

        def visit() -> float:
            before = time.process_time()
            found = ours.visit(urls)
            seconds = time.process_time() - before
            outcomes = Counter(finding.outcome for finding in found)
            if outcomes != expected.pop(0):
                raise SystemExit(f"The check found what is not there: {outcomes}")
            return seconds

        return visit

    def _floor_subject(self, urls: list[str]) -> Callable[[], float]:
        floor = Floor()

        def visit() -> float:
            before = time.process_time()
            run(floor.visit(by_host(urls), PATIENT, per_host=1))
            return time.process_time() - before

        return visit

    def _peer_subject(self, urls: list[str]) -> Callable[[], float]:
        python = peer_python(self.say)
        hashes: dict[str, str] = {}

        def visit() -> float:
            # A host each, since HDX asks none more often than four times a second.
            warm_up = [
                url.rpartition("/")[0] + name for url, name in zip(urls, WARM_UP, strict=False)
            ]
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
            return answer["cpu_seconds"]

        return visit

    def clean(self) -> dict[str, Any]:
        """URLs a second of hosts that are all well."""
        return {"clean": self._speed("clean", lambda _: None)}

    def mixed(self) -> dict[str, Any]:
        """5 % hang, 5 % are missing, 10 % refuse conditional requests."""
        kinds = {
            7: Behaviour.HANG,
            11: Behaviour.MISSING,
            3: Behaviour.REFUSE,
            13: Behaviour.REFUSE,
        }
        return {"mixed": self._speed("mixed", kinds.get)}

    def _speed(self, name: str, behaviour: Callable[[int], Behaviour | None]) -> dict[str, float]:
        hosts, each = addresses(100), 20
        # Which of a host's files misbehave differs from host to host.
        paths = {(h, one): f"/{h}-{one}.csv" for one in range(each) for h in range(len(hosts))}
        behaviours = {
            path: kind for (h, one), path in paths.items() if (kind := behaviour((h + one) % each))
        }
        with spawn({path: File(1024) for path in paths.values()}, hosts, latency=0.05) as host:
            urls = [f"http://{hosts[h]}:{host.port}{path}" for (h, _), path in paths.items()]
            ours, floor = Ours(HostPolicy(2, RATE), HURRIED), Floor()
            ours.visit(urls)
            run(floor.visit(by_host(urls), HURRIED, per_host=2))
            host.ask("behave", behaviours)
            seconds: dict[str, list[float]] = {"ours": [], "floor": []}
            for _ in range(REPEATS):
                self.say(f"{name}: ours")
                before = time.perf_counter()
                found = ours.visit(urls)
                seconds["ours"].append(time.perf_counter() - before)
                self._judge(found, behaviours)
                self.say(f"{name}: floor")
                before = time.perf_counter()
                run(floor.visit(by_host(urls), HURRIED, per_host=2))
                seconds["floor"].append(time.perf_counter() - before)
        best = {subject: statistics.median(one) for subject, one in seconds.items()}
        return {
            "urls_per_s": len(urls) / best["ours"],
            "floor_urls_per_s": len(urls) / best["floor"],
            "floor_ratio": best["floor"] / best["ours"],
        }

    def _judge(self, found: Sequence[Finding], behaviours: dict[str, Behaviour]) -> None:
        """No healthy file may be said to be broken, and no other to be well."""
        for finding in found:
            path = "/" + finding.visit.url.partition("://")[2].partition("/")[2]
            kind = behaviours.get(path)
            bad = kind in (Behaviour.HANG, Behaviour.MISSING)
            if (finding.outcome is Outcome.ERROR) is not bad:
                raise SystemExit(f"Wrong of a file that is to {kind}: {finding}")

    def big_file(self) -> dict[str, Any]:
        """Seconds and memory of one file of 2 GiB, each subject in a process of its own."""
        found: dict[str, list[dict[str, Any]]] = {"ours": [], "floor": []}
        with spawn({"/big.csv": File(BIG)}, addresses(1)) as host:
            url = f"http://{addresses(1)[0]}:{host.port}/big.csv"
            for _ in range(REPEATS):
                for subject, runs in found.items():
                    self.say(f"big file: {subject}")
                    command = [sys.executable, "-m", "benchmarks._check_big", subject, url]
                    runs.append(json.loads(subprocess.check_output(command)))
        hashes = {one["hash"] for runs in found.values() for one in runs}
        if len(hashes) != 1:
            raise SystemExit(f"The hashes of one file differ: {hashes}")
        ours, floor = (
            statistics.median(one["seconds"] for one in found[subject]) for subject in found
        )
        return {
            "big_file": {
                "seconds": ours,
                "extra_mb": max(one["extra_mb"] for one in found["ours"]),
                "floor_extra_mb": max(one["extra_mb"] for one in found["floor"]),
                "floor_ratio": floor / ours,
            }
        }


def _two_runs(
    subject: Callable[[list[str]], Callable[[], float]],
) -> list[dict[str, float]]:
    """CPU seconds, requests and bytes of a subject's first run and of its second."""
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
            cpu = visit()
            requests, sent = host.ask("counts")
            found.append({"cpu": cpu, "requests": requests, "bytes": sent})
            host.ask("change", changed)
    return found


PARTS: dict[str, Callable[[Bench], dict[str, Any]]] = {
    "retrieval": Bench.retrieval,
    "clean": Bench.clean,
    "mixed": Bench.mixed,
    "big_file": Bench.big_file,
}
"""Each gives one key of the result or more. A part that needs a site (``full_size``, two workers)
joins here, and loads CKAN in its own function: the others are to be measured without it."""


def by_host(urls: Iterable[str]) -> dict[str, list[str]]:
    """The URLs of each host, in their order."""
    found: dict[str, list[str]] = {}
    for url in urls:
        found.setdefault(url.split("/", 3)[2], []).append(url)
    return found


def peer_python(say: Callable[[str], None]) -> Path:
    """The Python of HDX's environment, which is made if it is not there."""
    python = PEER_HOME / "bin" / "python"
    done = PEER_HOME / "installed"
    if not done.exists():
        say(f"installing {PEER}")
        venv.create(PEER_HOME, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", PEER], check=True, stdout=2)
        done.touch()
    return python


def _print(result: dict[str, Any]) -> None:
    for name, figures in result.items():
        shown = ", ".join(f"{key} {value:.3f}" for key, value in figures.items())
        print(f"{name:10} {shown}")


if __name__ == "__main__":
    main()
