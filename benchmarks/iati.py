"""IATI's update cycle against its floor: bare aiohttp with the same files, in one run.

1,000 generated files of 5 to 100 KB (54 MB in all, not all of it ASCII) on a loopback server; copies in a
directory, rows in PostgreSQL. ``floor_ratio`` is CPU seconds against those of the floor, both without what
index files and bulk ZIPs cost (``publish_cpu_s``), since the floor makes none. Each round has a floor of its
own, just before it, and the ratio is the median of theirs. No file is deleted before the end: ext4 searches
for each new file beyond all that were deleted within minutes, which may cost more than everything else.
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
            result = _run(base, folder, options)
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        _print(result)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./dev bench iati", description=__doc__)
    parser.add_argument("--datasets", type=int, default=1000, help="default: %(default)s")
    parser.add_argument("--rounds", type=int, default=5, help="default: %(default)s")
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


def _run(base: str, folder: str, options: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks._iati_ours", base, folder]
    command += ["--count", str(options.datasets), "--rounds", str(options.rounds)]
    command += ["--connections", str(CONNECTIONS), *(["--big"] if options.big else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout[done.stdout.index("{") :])
    result: dict[str, Any] = {"datasets": options.datasets, "floor": _median(found["floor"])}
    for name in ("first", "unchanged", "changed", "zips"):
        if found[name]:
            result[name] = _median(found[name])
    return result


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
