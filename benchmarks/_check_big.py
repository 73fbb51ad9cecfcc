"""One big file in a process of its own: ``python -m benchmarks._check_big ours|floor URL``."""

from __future__ import annotations

import json
import resource
import sys
import time

from benchmarks._check_floor import Floor
from benchmarks._check_ours import Ours, by_host
from ckanext.freshness.web.event_loop import run
from ckanext.freshness.web.exchange import Limits
from ckanext.freshness.web.hosts import HostPolicy

LIMITS = Limits(read=60, total=3600, max_bytes=4 << 30)


def main() -> None:
    """Print the seconds, the additional MB of the process, and the hash."""
    subject, url = sys.argv[1:]
    before = _peak_mb()
    start = time.perf_counter()
    if subject == "ours":
        digest = Ours(HostPolicy(), LIMITS).visit([url])[0].memory.hash or ""
    else:
        floor = Floor()
        run(floor.visit(by_host([url]), LIMITS, per_host=1))
        digest = floor.hashes[url]
    seconds = time.perf_counter() - start
    answer = {
        "seconds": seconds,
        "extra_mb": _peak_mb() - before,
        "hash": digest.removeprefix("sha256:"),
    }
    json.dump(answer, sys.stdout)


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
