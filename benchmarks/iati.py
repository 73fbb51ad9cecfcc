"""IATI's update cycle against the least that it can cost: bare aiohttp with the same files, in one run.

1,000 generated files of 5 to 100 KB (54 MB in all, not all of it ASCII) on a loopback server; copies in a
directory, rows in PostgreSQL. ``floor_ratio`` is CPU seconds against those of the floor, both without what
index files and bulk ZIPs cost (``publish_cpu_s``), since the floor makes none.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.refresh import write_ini

CONNECTIONS = 32


def main() -> None:
    options = _parser().parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ini = write_ini(
            Path(folder),
            {
                "ckanext.freshness.allowed_networks": "127.0.0.0/8",
                "ckanext.freshness.check.host_limits": f"127.0.0.1={CONNECTIONS},1000000",
                "ckanext.freshness.copies.location": str(Path(folder) / "copies"),
            },
        )
        os.environ["CKAN_INI"] = str(ini)
        with _server(options.datasets) as base:
            result = _run(base, options)
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        _print(result)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./dev bench iati", description=__doc__)
    parser.add_argument("--datasets", type=int, default=1000, help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--big", action="store_true", help="one of the files has 1 GB")
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    return parser


@contextlib.contextmanager
def _server(count: int) -> Iterator[str]:
    command = [sys.executable, "-m", "benchmarks._iati_server", "--count", str(count)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.terminate()


def _run(base: str, options: argparse.Namespace) -> dict[str, Any]:
    common = [base, "--count", str(options.datasets)]
    floors = []
    if not options.big:
        floor = ["_iati_floor", *common, "--connections", str(CONNECTIONS)]
        floors = [_child(floor) for _ in range(options.rounds)]
    big = ["--big"] if options.big else []
    ours = _child(["_iati_ours", *common, "--rounds", str(options.rounds), *big])
    result: dict[str, Any] = {"datasets": options.datasets, "floor": _median(floors)}
    for name in ("first", "unchanged", "changed"):
        if ours[name]:
            result[name] = _median(ours[name])
    for name in ("first", "unchanged"):
        if floors:
            result[name]["floor_ratio"] = result[name]["cpu_s"] / result["floor"][f"{name}_cpu_s"]
    if ours["zips_cpu_s"]:
        result["zips"] = {"cpu_s": statistics.median(ours["zips_cpu_s"])}
    return result


def _child(arguments: Sequence[str]) -> Any:
    module, *rest = arguments
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{module}", *rest],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout[done.stdout.index("{") :])


def _median(found: Sequence[Mapping[str, float]]) -> dict[str, float]:
    if not found:
        return {}
    return {key: statistics.median(one[key] for one in found) for key in found[0]}


def _print(result: Mapping[str, Any]) -> None:
    for name, figures in result.items():
        if isinstance(figures, dict):
            words = ", ".join(f"{key} {value:.2f}" for key, value in figures.items())
            print(f"{name}: {words}")
        else:
            print(f"{name}: {figures}")


if __name__ == "__main__":
    main()
