"""A catalogue of HDX's size: a whole run without the requests and the index, beside HDX's own state machine.

Most datasets are fresh, some are internal, and some 8,000 files are checked: files of due datasets, and those
of the rotation. Memory is also measured with a tenth of the resources and as many checks.

``python -m benchmarks._check_full write|again|time|memory COUNT PORT`` does one step in a process of its
own, in the environment of ``./dev bench``. For ``time``, results are made up and documents are not sent;
for ``memory``, the run makes requests and updates the index.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import resource
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from ckanext.freshness.tests.servers.bench_files import FIRST_MODIFIED, File, spawn

DATASETS, RESOURCES = 22_160, 149_308
"""HDX's first production run."""
SMALL = 15_000
SAMPLE = 2_000
"""Datasets that HDX's state machine is given: it reads each resource by a query of its own."""
HOSTS = 500
SIZE = 1024
BURST, PAUSE = 1_000, 0.2
"""Results that are handed over at once, and the seconds until the next ones."""
_DAY = timedelta(days=1)
_HOUR = timedelta(hours=1)
_SPECIAL = {0: 1248, -1: 3978, -2: 2163}
"""Live, never, as needed, as in its second run."""
_FREQUENCIES = (7, 14, 30, 90, 180, 365, 365, 365)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset of the catalogue. ``files`` are paths below its host."""

    number: int
    frequency: int
    modified: datetime
    internal: bool
    files: tuple[str, ...]

    @property
    def host(self) -> int:
        return self.number % HOSTS


def catalogue(resources: int, now: datetime) -> Iterator[Dataset]:
    """Yield datasets with ``resources`` files together, as many in a dataset as in HDX."""
    datasets = round(resources * DATASETS / RESOURCES)
    least, more = divmod(resources, datasets)
    for number in range(datasets):
        # In one order that mixes everything with everything.
        place = number * 7919 % datasets
        frequency = _frequency(place / datasets, number)
        # Most have time; in a small catalogue most are due, so that as many are visited.
        due = number % 28 == 0 if resources > SMALL else number % 4 < 3
        age = 3 * frequency if due else frequency / 3
        count = least + (number < more)
        files = tuple(f"/{number}-{one}.csv" for one in range(count))
        modified = now - max(age, 0.1) * _DAY
        yield Dataset(number, frequency, modified, number % 20 == 10, files)


def _frequency(share: float, number: int) -> int:
    for frequency, count in _SPECIAL.items():
        share -= count / DATASETS
        if share < 0:
            return frequency
    return _FREQUENCIES[number % len(_FREQUENCIES)]


def changes(number: int) -> bool:
    """Return whether a dataset's files have changed since the previous run."""
    return number % 1400 == 0


# In the parent, which loads no CKAN.


def measure(
    say: Callable[[str], None], addresses: Sequence[str], peer: Callable[[], Path] | None
) -> dict[str, float]:
    """Return all figures of ``full_size``.

    :param peer: gives the Python of HDX's environment.
    """
    now = datetime.now(timezone.utc)
    result: dict[str, float] = {}
    for count, suffix in ((SMALL, "_15000"), (RESOURCES, "")):
        files = {path: File(SIZE) for one in catalogue(count, now) for path in one.files}
        changed = [
            path for one in catalogue(count, now) if changes(one.number) for path in one.files
        ]
        with spawn(files, addresses) as host:
            say(f"full size: writing a catalogue of {count} resources")
            child("write", count, host.port)
            if count == RESOURCES:
                say("full size: ours, the whole run but visits and index")
                timed = child("time", count, host.port)
                result |= {name: timed[name] for name in ("seconds", "cpu_seconds", "visits")}
                result["ms_per_dataset"] = timed["seconds"] / DATASETS * 1e3
                child("again", count, host.port)
            host.ask("change", changed)
            say(f"full size: memory of a run over {count} resources, all of it")
            whole = child("memory", count, host.port)
            result[f"extra_mb{suffix}"] = whole["extra_mb"]
            result[f"whole_seconds{suffix}"] = whole["seconds"]
            result[f"visits{suffix}"] = whole["visits"]
            result[f"children_mb{suffix}"] = whole["children_mb"]
    if peer is not None:
        share = SAMPLE / DATASETS
        say(f"full size: HDX's state machine, {SAMPLE} datasets of {DATASETS}")
        theirs = _peer(peer(), now, round(result["visits"] * share))
        result["peer_seconds"] = theirs["cpu_seconds"] / share
        result["peer_ms_per_dataset"] = theirs["cpu_seconds"] / SAMPLE * 1e3
        result["peer_visits"] = theirs["visits"] / share
        # Theirs is CPU time alone, ours by the clock, with all that PostgreSQL does.
        result["ratio"] = result["seconds"] / result["peer_seconds"]
    return result


def child(step: str, count: int, port: int) -> dict[str, Any]:
    """Run a step in a process of its own, and return its result."""
    command = [sys.executable, "-m", "benchmarks._check_full", step, str(count), str(port)]
    answer = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    # Libraries may have said something before.
    found: dict[str, Any] = json.loads(answer.splitlines()[-1])
    return found


def _peer(python: Path, now: datetime, visits: int) -> dict[str, Any]:
    """Return the seconds of HDX's own code for the first datasets of the catalogue."""
    datasets = [
        {
            "id": f"dataset-{one.number}",
            "frequency": one.frequency,
            "modified": one.modified.replace(tzinfo=None).isoformat(),
            "changes": changes(one.number),
            "urls": [f"http://{_peer_host(one)}{path}" for path in one.files],
        }
        for one, _ in zip(catalogue(RESOURCES, now), range(SAMPLE), strict=False)
    ]
    question = {"now": now.isoformat(), "visits": visits, "datasets": datasets}
    script = Path(__file__).with_name("_check_full_peer.py")
    done = subprocess.run(
        [python, script], input=json.dumps(question).encode(), stdout=subprocess.PIPE, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _peer_host(dataset: Dataset) -> str:
    return "data.humdata.org" if dataset.internal else f"host-{dataset.host}.example.org"


# In a process with CKAN.


def main() -> None:
    """Do one step, and print its result as JSON."""
    step, count, port = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    logging.disable(logging.WARNING)
    from benchmarks import _site

    site = _site.Site()
    import ckan.plugins.toolkit as tk

    tk.config["ckanext.freshness.allowed_networks"] = ["127.0.0.0/8"]
    tk.config["ckanext.freshness.check.internal_hosts"] = ["data.humdata.org"]
    tk.config["ckanext.freshness.requests_per_second"] = "1000"
    tk.config["ckanext.freshness.check.confirm_after"] = "0.5"
    steps = {"write": _write, "again": again, "time": _time, "memory": _memory}
    print(json.dumps(steps[step](site, count, port)), flush=True)


def _write(site: Any, count: int, port: int) -> dict[str, Any]:
    """Write the catalogue into an empty site, in its state after many runs."""
    import sqlalchemy as sa

    from benchmarks import _check_ours
    from ckanext.freshness.ckan_adapter.core import model
    from ckanext.freshness.ckan_adapter.packages import write_extras
    from ckanext.freshness.runs import check_run
    from ckanext.freshness.status import indexing

    site.empty()
    now = datetime.now(timezone.utc)
    hosts = _check_ours.addresses(HOSTS)
    rows, files = [], []
    for one in catalogue(count, now):
        package_id = f"package-{one.number}"
        rows.append({"id": package_id, "modified": one.modified.isoformat()})
        host = "data.humdata.org" if one.internal else f"{hosts[one.host]}:{port}"
        files += [
            {"id": path[1:-4], "package_id": package_id, "url": f"http://{host}{path}", "number": k}
            for k, path in enumerate(one.files)
        ]
    values = {"rows": json.dumps(rows), "organization": site.organization}
    model.Session.execute(sa.text(_PACKAGES), values)
    for start in range(0, len(files), 20_000):
        part = {"files": json.dumps(files[start : start + 20_000])}
        model.Session.execute(sa.text(_RESOURCES), part)
    extras = {
        f"package-{one.number}": {"data_update_frequency": str(one.frequency)}
        for one in catalogue(count, now)
    }
    write_extras(extras, ["data_update_frequency"])
    model.Session.commit()
    model.Session.execute(sa.text("ANALYZE"))
    model.Session.commit()
    indexing.index = lambda marks: []
    before = now - timedelta(minutes=1)
    run = check_run.begin(check_run.CheckScope(), before)
    check_run.finish(run, [], lambda: before)
    return again(site, count, port)


def again(site: Any, count: int, port: int) -> dict[str, Any]:
    """Restore the state of all URLs before a run."""
    import sqlalchemy as sa

    from benchmarks import _catalogue
    from ckanext.freshness.ckan_adapter.core import model

    now = datetime.now(timezone.utc)
    known = [
        {"id": path[1:-4], "hash": f"sha256:{_hash(path)}", "days": one.number % 31}
        for one in catalogue(count, now)
        if not one.internal
        for path in one.files
    ]
    modified = datetime.fromtimestamp(FIRST_MODIFIED + 86_400, timezone.utc)
    text = modified.strftime("%a, %d %b %Y %H:%M:%S GMT")
    for start in range(0, len(known), 20_000):
        model.Session.execute(
            sa.text(_KNOWN),
            {
                "known": json.dumps(known[start : start + 20_000]),
                "now": now.replace(tzinfo=None),
                "modified": text,
            },
        )
    model.Session.execute(sa.text("TRUNCATE freshness_unindexed"))
    model.Session.commit()
    _catalogue.settle()
    return {}


def _hash(path: str) -> str:
    """Return the hash of the first version of a file of the benchmark's server."""
    first = b"%s,version 1,0\n" % path.encode()
    filler = b"2026-01-01,some place,123.45,67.89\n" * (SIZE // 35 + 1)
    return hashlib.sha256(first + filler[: SIZE - len(first)]).hexdigest()


def _time(site: Any, count: int, port: int) -> dict[str, Any]:
    """Return the seconds of a run without requests, which sends no documents."""
    from ckanext.freshness.runs import check_run
    from ckanext.freshness.status import indexing

    indexing.index = lambda marks: []
    check_run._checks_of = found  # type: ignore[assignment]
    now = datetime.now(timezone.utc)
    before, cpu = time.perf_counter(), time.process_time()
    _, done = check_run.check(check_run.CheckScope(), lambda: now)
    seconds, cpu = time.perf_counter() - before, time.process_time() - cpu
    _judge(done, count)
    return {"seconds": seconds, "cpu_seconds": cpu, "visits": done.counts.checks}


def found(visits: Any, held: Any, clock: Callable[[], datetime]) -> Callable[[Any], Any]:
    """Return a function that makes up results: some files have changed, some fail, all others are unchanged."""

    from ckanext.freshness.checking.decisions import Attempt, CheckResult, Outcome

    now = clock()

    def result(visit: Any) -> Any:
        digits = visit.package_id.partition("-")[2]
        number = int(digits) if digits.isdecimal() else zlib.crc32(digits.encode())
        outcome, memory, changed_at = Outcome.SAME_HASH, visit.memory, None
        if changes(number):
            earlier = (memory.hash, *memory.earlier)
            memory = memory._replace(hash=f"sha256:{'0' * 64}", earlier=earlier)
            outcome, changed_at = Outcome.CHANGED, now
        elif number % 100 == 1:
            outcome = Outcome.ERROR
        attempt = Attempt(now, "GET", outcome, 200, received=SIZE, seconds=0.05, etag='"v1"')
        return CheckResult(
            visit,
            visit.url.split("/", 3)[2].partition(":")[0],
            outcome,
            memory,
            attempt,
            changed_at=changed_at,
            hashed=outcome is not Outcome.ERROR,
            counts_as_failure=outcome is Outcome.ERROR,
            size=SIZE,
            mimetype="text/csv",
            has_etag=True,
        )

    async def make(hand_over: Callable[[Any], None]) -> None:
        for number, visit in enumerate(visits, 1):
            hand_over(result(visit))
            if number % BURST == 0:
                # No network hands over all results before the first of them are written.
                await asyncio.sleep(PAUSE)

    return make


def _memory(site: Any, count: int, port: int) -> dict[str, Any]:
    """Return the peak memory of a whole run, minus the memory of the process with CKAN loaded."""
    from ckanext.freshness.runs import check_run

    Path("/proc/self/clear_refs").write_text("5")
    loaded = _status("VmRSS")
    before = time.perf_counter()
    _, done = check_run.check(check_run.CheckScope(), lambda: datetime.now(timezone.utc))
    seconds = time.perf_counter() - before
    _judge(done, count)
    errors = done.counts.errors
    if errors or done.index_failures or done.solr_away:
        raise SystemExit(f"{errors} errors, {done.index_failures}, {done.solr_away}")
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {
        "seconds": seconds,
        "extra_mb": _status("VmHWM") - loaded,
        "loaded_mb": loaded,
        "children_mb": children,
        "visits": done.counts.checks,
    }


def _judge(done: Any, count: int) -> None:
    """Raise SystemExit if the run left out a resource, since its figures would be too small."""
    counted = sum(done.counts.resources().values())
    if counted != count or done.refused:
        raise SystemExit(f"{counted} resources were counted")


def _status(name: str) -> float:
    """Return a line of this process's status, in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / 1024
    raise LookupError(name)


_PACKAGES = """
INSERT INTO package (id, name, title, notes, url, license_id, type, state, private, owner_org,
    creator_user_id, metadata_created, metadata_modified)
SELECT r.id, r.id, 'Dataset ' || r.id, 'What was counted, by month.', 'http://example.org/', 'cc-by',
    'dataset', 'active', false, :organization, NULL, r.modified, r.modified
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (id text, modified timestamp)"""
_RESOURCES = """
INSERT INTO resource (id, package_id, url, format, name, description, position, state, extras, hash,
    size, mimetype, created, metadata_modified)
SELECT r.id, r.package_id, r.url, 'CSV', 'Part ' || r.number, '', r.number, 'active', '{}', '', 1024,
    'text/csv', p.metadata_modified, p.metadata_modified
FROM jsonb_to_recordset(CAST(:files AS jsonb)) AS r (id text, package_id text, url text, number int)
JOIN package p ON p.id = r.package_id"""
_KNOWN = """
UPDATE freshness_check c SET etag = '"v1"', last_modified = :modified, hash = k.hash, earlier = '{}',
    hashed_at = :now - k.days * interval '1 day', visited_at = :now - interval '8 days',
    tried_at = :now - interval '8 days', succeeded_at = :now - interval '8 days', failures = 0,
    failing_since = NULL, failed_at = NULL
FROM jsonb_to_recordset(CAST(:known AS jsonb)) AS k (id text, hash text, days int)
WHERE c.resource_id = k.id"""


if __name__ == "__main__":
    main()
