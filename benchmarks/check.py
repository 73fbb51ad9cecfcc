"""Checks: ours, hdx-data-freshness 2.0.0, and the floor of bare aiohttp below both, in one run.

All three ask the project's own file server, which runs in a process of its own. HDX's retrieval is
called as its ``check_urls`` calls it, in an environment of its own; the floor has neither rules nor
database. Ratios count: they are of CPU time for ``first`` and ``second``, of speed elsewhere. All are
warm when they are measured, take turns, and the median of several times counts.

``first`` and ``second`` hold whole runs of ours, on a site with its database, against HDX's retrieval
alone: ``ours_cpu_ms`` is all but the updates of the index, which are ``index_cpu_ms``; ``engine_cpu_ms``
is what the visits alone take.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks._check_floor import Floor
from benchmarks._check_ours import RATE, REPEATS, Ours, addresses, by_host
from benchmarks._check_retrieval import peer_python, retrieval
from ckanext.freshness.checking.decisions import CheckResult, Outcome
from ckanext.freshness.tests.servers.bench_files import Behaviour, File, spawn
from ckanext.freshness.web.event_loop import run
from ckanext.freshness.web.exchange import Limits
from ckanext.freshness.web.hosts import HostPolicy

HURRIED = Limits(connect=2, read=1, total=5, attempts=2, backoff=(0.2,), jitter=0)
BIG = 2 << 30


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


class Bench:
    """The parts; see :data:`PARTS`."""

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
        """Return CPU time and bytes of a first run and of a second one, after some files have changed."""
        return retrieval(self.say, peer=self._peer)

    def clean(self) -> dict[str, Any]:
        """Return the URLs a second of healthy hosts."""
        return {"clean": self._speed("clean", lambda _: None)}

    def mixed(self) -> dict[str, Any]:
        """Return the URLs a second if 5 % hang, 5 % are missing, and 10 % refuse conditional requests."""
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

    def _judge(self, found: Sequence[CheckResult], behaviours: dict[str, Behaviour]) -> None:
        """Raise SystemExit if a healthy file is reported as broken, or a broken one as healthy."""
        for finding in found:
            path = "/" + finding.resource.url.partition("://")[2].partition("/")[2]
            kind = behaviours.get(path)
            bad = kind in (Behaviour.HANG, Behaviour.MISSING)
            if (finding.outcome is Outcome.ERROR) is not bad:
                raise SystemExit(f"Wrong of a file that is to {kind}: {finding}")

    def big_file(self) -> dict[str, Any]:
        """Return seconds and memory for one file of 2 GiB, each subject in a process of its own."""
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

    def full_size(self) -> dict[str, Any]:
        """Return the figures of a catalogue of HDX's size, without requests and index."""
        from benchmarks import _check_full

        peer = (lambda: peer_python(self.say)) if self._peer else None
        return {"full_size": _check_full.measure(self.say, addresses(_check_full.HOSTS), peer)}

    def queue(self) -> dict[str, Any]:
        """Compare two and four background workers with one."""
        from benchmarks import _check_full, _check_queue

        return {"queue": _check_queue.measure(self.say, addresses(_check_full.HOSTS))}


PARTS: dict[str, Callable[[Bench], dict[str, Any]]] = {
    "retrieval": Bench.retrieval,
    "clean": Bench.clean,
    "mixed": Bench.mixed,
    "big_file": Bench.big_file,
    "full_size": Bench.full_size,
    "queue": Bench.queue,
}
"""Each gives one key of the result or more. A part that needs a site (``full_size``, two workers)
joins here, and loads CKAN in its own function: the others are to be measured without it."""


def _print(result: dict[str, Any]) -> None:
    for name, figures in result.items():
        shown = ", ".join(f"{key} {value:.3f}" for key, value in figures.items())
        print(f"{name:10} {shown}")


if __name__ == "__main__":
    main()
