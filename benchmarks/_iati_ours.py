"""Cycles of a source whose datasets are written by SQL, measured from inside, each round after a floor."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import urllib.request
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import ModuleType
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa
from ckan import model

from benchmarks._catalogue import settle
from benchmarks._site import Site

_SOURCE = """
INSERT INTO harvest_job (id, created, status, source_id)
VALUES ('iati-bench', :now, 'Finished', :source) ON CONFLICT DO NOTHING"""
_PACKAGES = """
INSERT INTO package (id, name, title, type, state, private, owner_org, metadata_created,
    metadata_modified)
SELECT md5('iati ' || n)::uuid::text, 'iati-' || n, 'Dataset ' || n, 'dataset', 'active', false,
    :organization, :now, :now FROM generate_series(0, :count - 1) n"""
_RESOURCES = """
INSERT INTO resource (id, package_id, url, format, position, state, extras, hash, created,
    metadata_modified)
SELECT md5('iati resource ' || n)::uuid::text, md5('iati ' || n)::uuid::text,
    :base || CASE WHEN n = :big THEN '/big/' ELSE '/files/' END || n || '.xml',
    'IATI-XML', 0, 'active', '{}', '', :now, :now FROM generate_series(0, :count - 1) n"""
_OBJECTS = """
INSERT INTO harvest_object (id, guid, current, state, harvest_source_id, harvest_job_id, package_id)
SELECT 'iati ' || n, 'iati ' || n, true, 'COMPLETE', :source, 'iati-bench',
    md5('iati ' || n)::uuid::text FROM generate_series(0, :count - 1) n"""


class Bench:
    """One source and its cycles."""

    def __init__(self, base: str, count: int, *, big: bool) -> None:
        self.site = Site()
        self.site.empty()
        self.base, self.count = base, count
        self.now = datetime.now(timezone.utc)
        # Outside a request, CKAN needs a user in the context.
        context = {"user": self.site.user, "ignore_auth": True}
        made = tk.get_action("harvest_source_create")(
            context,
            {
                "name": "iati-bench",
                "title": "Bench",
                "url": f"{base}/registry",
                "source_type": "iati_registry",
                "owner_org": self.site.organization,
            },
        )
        self.source_id = made["id"]
        values = {
            "now": self.now.replace(tzinfo=None),
            "source": self.source_id,
            "organization": self.site.organization,
            "count": count,
            "base": base,
            "big": count // 2 if big else -1,
        }
        for statement in (_SOURCE, _PACKAGES, _RESOURCES, _OBJECTS):
            model.Session.execute(sa.text(statement), values)
        model.Session.commit()
        model.Session.execute(sa.text("ANALYZE"))
        model.Session.commit()

    def forget(self) -> None:
        """Delete everything that cycles wrote."""
        for table in ("copy", "iati"):
            model.Session.execute(sa.text(f"TRUNCATE freshness_{table}"))
        model.Session.commit()
        copies = Path(tk.config["ckanext.freshness.copies.location"])
        if copies.exists():
            copies.rename(f"{copies}-{time.time_ns()}")
        settle()

    def cycle(self) -> dict[str, float]:
        """Do a cycle, an hour after the last one."""
        from ckanext.harvest import model as harvest_model

        from ckanext.freshness.iati.cycle import cycle, publication

        self.now += timedelta(hours=1)
        source = harvest_model.HarvestSource.get(self.source_id)
        clock = _Clock(self.now)
        # The floor has no index files and no bulk ZIPs.
        with _Measured() as measured, _Timed(publication, "publish") as published:
            report = cycle.run_cycle(source, clock)
        figures = report.figures
        if not report.complete or figures.failed or figures.visited != self.count:
            raise SystemExit(f"The cycle did not do what was to be measured: {report}")
        return {
            "datasets_per_s": self.count / measured.seconds,
            "seconds": measured.seconds,
            "cpu_s": measured.cpu - published.cpu,
            "publish_cpu_s": published.cpu,
            "peak_mb": measured.peak_mb,
            "downloaded": figures.downloaded,
        }

    def zips(self) -> dict[str, float]:
        """Return the CPU seconds of writing both bulk ZIPs, without and with index files."""
        from ckanext.freshness.iati.cycle import publication
        from ckanext.freshness.runs import copies

        store = copies.store()
        store.write_bytes(publication.published_key(self.source_id, "manifest.json"), b"{}")
        with _Measured() as measured, _Timed(publication, "build") as built:
            if not publication.publish(self.source_id, store, self.now):
                raise SystemExit("The bulk ZIPs were not made anew")
        return {"cpu_s": built.cpu, "with_indices_cpu_s": measured.cpu}


class _Clock:
    """A clock that starts at a given moment."""

    def __init__(self, start: datetime) -> None:
        self._start, self._began = start, time.monotonic()

    def __call__(self) -> datetime:
        return self._start + timedelta(seconds=time.monotonic() - self._began)


class _Timed:
    """The CPU seconds of all calls of a module's function."""

    cpu = 0.0

    def __init__(self, module: ModuleType, name: str) -> None:
        self._module, self._name, self._function = module, name, getattr(module, name)

    def __enter__(self) -> _Timed:
        setattr(self._module, self._name, self._measured)
        return self

    def _measured(self, *arguments: Any, **options: Any) -> Any:
        before = time.process_time()
        try:
            return self._function(*arguments, **options)
        finally:
            self.cpu += time.process_time() - before

    def __exit__(self, *_: object) -> None:
        setattr(self._module, self._name, self._function)


class _Measured:
    """CPU seconds of all threads, wall seconds, and additional memory."""

    seconds = cpu = peak_mb = 0.0

    def __enter__(self) -> _Measured:
        Path("/proc/self/clear_refs").write_text("5")
        self._memory = _status("VmRSS")
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu = time.process_time() - self._cpu
        self.seconds = time.perf_counter() - self._wall
        self.peak_mb = _status("VmHWM") - self._memory


def _status(field: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    return 0.0


def _floor(options: argparse.Namespace) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks._iati_floor", options.base]
    command += ["--folder", options.folder, "--count", str(options.count)]
    command += ["--connections", str(options.connections)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("base")
    parser.add_argument("folder", help="for the floor's files")
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--connections", type=int, required=True)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--big", action="store_true")
    options = parser.parse_args()
    bench = Bench(options.base, options.count, big=options.big)
    names = ("floor", "first", "unchanged", "changed", "zips")
    result: dict[str, Any] = {name: [] for name in names}
    for _ in range(options.rounds):
        bench.forget()
        floor = None if options.big else _floor(options)
        for name in ("first", "unchanged"):
            found = bench.cycle()
            if floor is not None:
                found["floor_ratio"] = found["cpu_s"] / floor[f"{name}_cpu_s"]
            result[name].append(found)
            settle()
        if floor is not None:
            result["floor"].append(floor)
            urllib.request.urlopen(f"{options.base}/change/10").read()
            result["changed"].append(bench.cycle())
            result["zips"].append(bench.zips())
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
