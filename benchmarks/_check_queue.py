"""Two and four background workers against one: how much faster a queued run becomes, and what is busy.

``python -m benchmarks._check_queue WORKERS PORT`` measures a run of so many workers in a process of its
own, on the catalogue that :mod:`._check_full` has written. All files are visited, and are as they were.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarks import _check_full
from benchmarks._processes import cpu_seconds, start
from benchmarks.refresh import write_ini
from ckanext.freshness.tests.servers.bench_files import File, spawn

WORKERS = (1, 2, 4)
LATENCY = 0.02
PATIENCE = 300
_OPTIONS = {
    "ckanext.freshness.allowed_networks": "127.0.0.0/8",
    "ckanext.freshness.check.internal_hosts": "data.humdata.org",
    "ckanext.freshness.requests_per_second": "1000",
    "ckanext.freshness.check.confirm_after": "0.5",
}


def measure(say: Callable[[str], None], addresses: Sequence[str]) -> dict[str, Any]:
    """Return the seconds from the call to the run's end by the number of workers, and the gains.

    The processor seconds of the workers, PostgreSQL and Solr tell what becomes busy first.
    """
    now, count = datetime.now(timezone.utc), _check_full.SMALL
    files = {
        path: File(_check_full.SIZE)
        for one in _check_full.catalogue(count, now)
        for path in one.files
    }
    found: dict[int, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "CKAN_INI": str(write_ini(Path(folder), _OPTIONS))}
        with spawn(files, addresses, latency=LATENCY) as host:
            say(f"queue: writing a catalogue of {count} resources")
            _check_full.child("write", count, host.port)
            for workers in WORKERS:
                say(f"queue: {workers} of ckan jobs worker")
                command = [sys.executable, "-m", "benchmarks._check_queue", str(workers)]
                command.append(str(host.port))
                done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment)
                found[workers] = json.loads(done.stdout.splitlines()[-1])
    return {
        "workers": found,
        "gain": found[1]["seconds"] / found[2]["seconds"],
        "gain_of_four": found[1]["seconds"] / found[4]["seconds"],
    }


def main() -> None:
    """Do one run, and print its seconds and its number of checks as JSON."""
    number, port = int(sys.argv[1]), int(sys.argv[2])
    logging.disable(logging.WARNING)
    from benchmarks import _site

    site = _site.Site()
    _check_full.again(site, _check_full.SMALL, port)
    print(json.dumps(_run(number)), flush=True)


def _run(number: int) -> dict[str, Any]:
    import rq
    from ckan.lib import jobs

    from benchmarks._meter import Services
    from ckanext.freshness.ckan_adapter.core import model
    from ckanext.freshness.model.runs import CheckRun
    from ckanext.freshness.runs import queued_run
    from ckanext.freshness.runs.check_run import CheckScope

    queue = jobs.get_queue()
    queue.empty()
    connection = queue.connection
    known = {one.name for one in rq.Worker.all(connection=connection)}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        log = Path(folder) / "workers.log"
        workers = [
            stack.enter_context(start(["ckan", "jobs", "worker"], log)) for _ in range(number)
        ]

        def until(happened: Callable[[], bool], what: str) -> None:
            end = time.monotonic() + PATIENCE
            while not happened():
                if time.monotonic() > end or any(one.process.poll() is not None for one in workers):
                    raise SystemExit(f"{what}: {log.read_text()[-2000:]}")
                time.sleep(0.05)

        def begun() -> bool:
            names = {one.name for one in rq.Worker.all(connection=connection)}
            return len(names - known) >= number

        until(begun, "The workers have not begun")
        cpu = cpu_seconds(workers)
        with Services.of_site().measured() as figures:
            queued = queued_run.enqueue(CheckScope(everything=True), datetime.now(timezone.utc))

            def ended() -> bool:
                model.Session.rollback()
                return (
                    model.Session.get(CheckRun, queued.run_id, populate_existing=True).ended_at
                    is not None
                )

            until(ended, "The run has not ended")
        figures["workers_s"] = cpu_seconds(workers) - cpu
        # This process only waits.
        del figures["cpu_seconds"]
    run = model.Session.get(CheckRun, queued.run_id)
    if run.error or sum(run.resources.values()) != _check_full.SMALL:
        raise SystemExit(
            f"The run did not do what was to be measured: {run.error}, {run.resources}"
        )
    return {"visits": run.visited, **figures}


if __name__ == "__main__":
    main()
