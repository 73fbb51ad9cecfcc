"""CKAN's own pages and actions with our plugins and without them, requested in turn.

Two web workers, one with each list of plugins, show datasets that differ in what the plugins store alone. What
counts is processor time, of the worker and of its connection to PostgreSQL: other processes of a busy machine
hardly change it. Solr's time is not in it. Run as ``python -m benchmarks._ckan_pages``, this module is one of
the workers: it reads a line of JSON for each request and answers with what the request took.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.refresh import write_ini

TYPICAL = 9
SIZES = {1: 0, TYPICAL: 2, 100: 2}
"""Numbers of resources of the datasets, and how many of them have a broken link."""
FOUND = 20
"""Datasets on a search page, as many as CKAN shows."""
WARM_UP = 3
PAIRS = 60


@dataclass(frozen=True, slots=True)
class Page:
    """A page of CKAN, or one of its actions.

    :ivar path: with the placeholders ``name`` of the dataset and ``resource``, the id of its first resource
    :ivar ms: the most milliseconds that our plugins may add
    :ivar bytes: the most bytes that they may add; None if it does not matter
    :ivar sizes: of :data:`SIZES`; empty if the page is about no single dataset
    """

    path: str
    ms: float
    bytes: int | None = None
    sizes: tuple[int, ...] = tuple(SIZES)


PAGES = {
    "dataset": Page("/dataset/{name}", 1.0, 4_000),
    "resource": Page("/dataset/{name}/resource/{resource}", 1.0, 4_000),
    "package_show": Page("/api/action/package_show?id={name}", 0.3),
    "search": Page("/dataset/?q=measurable", 2.0, sizes=(0,)),
}
CREATE = "package_create"
PARTS = (*PAGES, CREATE)
CREATE_RATIO = 1.05
"""The most that ``package_create`` may take with our plugins, as a multiple of its time without them."""
WORKER_MB = 12.0
"""The most megabytes that our plugins may add to a web worker."""
NAMES = {"with": "bench-page-ours-{}", "without": "bench-page-bare-{}"}
"""Of equal length, as pages repeat them."""
WITHOUT = "harvest activity"
"""The plugins of the site without ours."""

Answer = dict[str, float]
Figures = dict[str, dict[str, float]]


@dataclass(slots=True)
class Worker:
    """A process that answers requests."""

    process: subprocess.Popen[bytes]

    def ask(
        self, path: str, token: str | None = None, data: Mapping[str, Any] | None = None
    ) -> Answer:
        """Send a request; return its processor seconds, seconds, SQL statements and bytes.

        :param data: to post as JSON; None for a GET request
        """
        return self._ask({"path": path, "token": token, "data": data})

    def megabytes(self) -> float:
        """Return the memory that this process shares with no other."""
        return self._ask({})["megabytes"]

    def _ask(self, question: Mapping[str, Any]) -> dict[str, float]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(question).encode() + b"\n")
        self.process.stdin.flush()
        if not (line := self.process.stdout.readline()):
            raise SystemExit("A process that shows CKAN's pages has ended.")
        return dict(json.loads(line))


Workers = tuple[Worker, Worker]
"""With our plugins, and without them."""


class Bench:
    """One comparison of both workers."""

    def __init__(
        self,
        site: Any,
        editor: str,
        now: datetime,
        say: Callable[[str], None],
        *,
        pairs: int = PAIRS,
        pages: Collection[str] = PARTS,
    ) -> None:
        """
        :param editor: the token of somebody who may edit the site's datasets
        :param pairs: requests of each page to each worker
        :param pages: what to measure, of :data:`PARTS`
        """
        self._pages = pages
        self._site = site
        self._readers = {"visitor": None, "editor": editor}
        self._editor = editor
        self._now = now
        self._pairs = pairs
        self._say = say

    def run(self) -> dict[str, Figures]:
        """Return what the plugins add to each page, by page, number of resources and reader."""
        # An earlier run that was killed has left them.
        self._purge()
        try:
            with worker({}) as ours, worker({"ckan.plugins": WITHOUT}) as bare:
                workers = ours, bare
                self._prepare(workers)
                found = {
                    name: self._page(workers, name, page)
                    for name, page in PAGES.items()
                    if name in self._pages
                }
                # Before datasets are created: most web workers show pages only.
                found["worker"] = {"after these pages": _memory(workers)}
                if CREATE in self._pages:
                    self._say(CREATE)
                    found[CREATE] = {"2 resources, editor": self._create(workers)}
                return found
        finally:
            self._say("deleting the datasets")
            self._purge()

    def _purge(self) -> None:
        import sqlalchemy as sa
        from ckan import model

        names = model.Session.execute(
            sa.text("SELECT name FROM package WHERE name LIKE 'bench-page-%'")
        )
        for name in names.scalars().all():
            self._site.call("dataset_purge", id=name)

    def _prepare(self, workers: Workers) -> None:
        import sqlalchemy as sa
        from ckan import model

        for number, broken in SIZES.items():
            self._say(f"creating datasets of {number} resources")
            for worker, name in zip(workers, NAMES.values(), strict=True):
                self._make(worker, name.format(number), "A dataset", number)
            values = {
                "name": NAMES["with"].format(number),
                "broken": broken,
                "now": self._now.replace(tzinfo=None),
            }
            for statement in (_CHECKS, _COPY):
                model.Session.execute(sa.text(statement), values)
            model.Session.commit()
        self._say("creating datasets to search for")
        for number in range(FOUND):
            self._make(workers[0], f"bench-page-found-{number}", "A measurable dataset", 2)

    def _make(self, worker: Worker, name: str, title: str, resources: int) -> Answer:
        data = {
            "name": name,
            "title": title,
            "notes": "What was counted, by month.",
            "owner_org": self._site.organization,
            "resources": [
                {
                    "url": f"http://files.example.org/{one}.csv",
                    "name": f"Part {one}",
                    "format": "CSV",
                }
                for one in range(resources)
            ],
            "extras": [{"key": "data_update_frequency", "value": "30"}],
        }
        return worker.ask("/api/action/package_create", self._editor, data)

    def _page(self, workers: Workers, name: str, page: Page) -> Figures:
        found = {}
        for number in page.sizes:
            paths = _paths(page, number)
            for who, token in self._readers.items():
                # Who reads matters as much with more resources or fewer.
                if number not in (0, TYPICAL) and token is not None:
                    continue
                case = f"{number} resources, {who}" if number else who
                self._say(f"{name}: {case}")
                found[case] = self._case(workers, paths, token)
        return found

    def _case(self, workers: Workers, paths: Sequence[str], token: str | None) -> dict[str, float]:
        def ask(which: int, _pair: int) -> Answer:
            return workers[which].ask(paths[which], token)

        return _compare(_in_turn(self._pairs, ask))

    def _create(self, workers: Workers) -> dict[str, float]:
        def create(which: int, pair: int) -> Answer:
            name = f"bench-page-made-{which}-{pair}"
            answer = self._make(workers[which], name, "A dataset", 2)
            self._site.call("dataset_purge", id=name)
            return answer

        found = _compare(_in_turn(self._pairs, create))
        return {**found, "ratio": found["with_ms"] / found["without_ms"]}


def _in_turn(pairs: int, ask: Callable[[int, int], Answer]) -> list[tuple[Answer, Answer]]:
    """Return the answers of both workers. Neither is always the first one.

    :param ask: gets the number of a worker and that of the pair
    """
    found = []
    for pair in range(pairs + WARM_UP):
        if pair % 2:
            second = ask(1, pair)
            found.append((ask(0, pair), second))
        else:
            found.append((ask(0, pair), ask(1, pair)))
    return found[WARM_UP:]


def _compare(found: Sequence[tuple[Answer, Answer]]) -> dict[str, float]:
    """Return the medians of what both workers took, and of what one took more than the other."""
    ours, bare = zip(*found, strict=True)
    added = [(one["cpu"] - other["cpu"]) * 1e3 for one, other in found]
    return {
        "with_ms": statistics.median(one["cpu"] for one in ours) * 1e3,
        "without_ms": statistics.median(one["cpu"] for one in bare) * 1e3,
        "added_ms": statistics.median(added),
        "added_statements": ours[-1]["statements"] - bare[-1]["statements"],
        "added_bytes": ours[-1]["bytes"] - bare[-1]["bytes"],
    }


def _memory(workers: Workers) -> dict[str, float]:
    ours, bare = (worker.megabytes() for worker in workers)
    return {"with_mb": ours, "without_mb": bare, "added_mb": ours - bare}


def _paths(page: Page, number: int) -> list[str]:
    """Return the page's paths on the site with our plugins and on the one without them."""
    from ckan import model

    paths = []
    for name in NAMES.values():
        package = model.Package.get(name.format(number))
        resource = package.resources[0].id if package is not None else ""
        paths.append(page.path.format(name=name.format(number), resource=resource))
    return paths


@contextlib.contextmanager
def worker(options: Mapping[str, str]) -> Iterator[Worker]:
    """Start a worker, with options in addition to those of CKAN_INI."""
    with tempfile.TemporaryDirectory() as folder:
        ini = str(write_ini(Path(folder), options))
        command = [sys.executable, "-m", "benchmarks._ckan_pages"]
        environment = {**os.environ, "CKAN_INI": ini}
        with subprocess.Popen(command, stdin=-1, stdout=-1, env=environment) as process:
            assert process.stdin is not None
            try:
                yield Worker(process)
            finally:
                process.stdin.close()


_CHECKS = """
INSERT INTO freshness_check (resource_id, package_id, url, host, first_seen, earlier, outdated, tabular,
    unconfirmed, failures, attempts, strip, wrote, tried_at, visited_at, failed_at, failing_since)
SELECT r.id, r.package_id, r.url, 'files.example.org', :now, '{}', false, false, false,
    CASE WHEN r.position < :broken THEN 5 ELSE 0 END,
    CASE WHEN r.position < :broken
        THEN '[{"at": "2026-01-01T00:00:00Z", "outcome": "error", "status": 404, "words": "answered 404"}]'
        ELSE '[{"at": "2026-01-01T00:00:00Z", "outcome": "same hash", "status": 200}]' END::jsonb,
    '', '{}', :now, :now, CASE WHEN r.position < :broken THEN CAST(:now AS timestamp) END,
    CASE WHEN r.position < :broken THEN CAST(:now AS timestamp) - interval '30 days' END
FROM resource r JOIN package p ON p.id = r.package_id
WHERE p.name = :name"""
_COPY = """
INSERT INTO freshness_copy (resource_id, package_id, key, size, sha256, filename, source_url, stored_at,
    verified_at)
SELECT r.id, r.package_id, r.id, 100000, repeat('0', 64), 'file.csv', r.url, :now, :now
FROM resource r JOIN package p ON p.id = r.package_id
WHERE p.name = :name AND r.position = 0"""


def main() -> None:
    """Answer requests until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    # What libraries print is no answer.
    os.dup2(2, 1)
    # By this name PostgreSQL lists the connections of this process.
    os.environ["PGAPPNAME"] = f"bench-{os.getpid()}"

    import sqlalchemy as sa
    from ckan import model

    from benchmarks._site import Site

    client = Site().client()
    statements = 0

    def count(*_arguments: Any) -> None:
        nonlocal statements
        statements += 1

    sa.event.listen(model.meta.engine, "before_cursor_execute", count)
    for line in sys.stdin:
        question = json.loads(line)
        if not question:
            print(json.dumps({"megabytes": _own_megabytes()}), file=answers, flush=True)
            continue
        headers = {"Authorization": question["token"]} if question["token"] else {}
        backends = _backends()
        statements, before = 0, _spent(backends)
        start = time.perf_counter()
        if question["data"] is None:
            answer = client.get(question["path"], headers=headers)
        else:
            answer = client.post(question["path"], headers=headers, json=question["data"])
        body = answer.get_data()
        found = {
            "cpu": _spent(backends) - before,
            "seconds": time.perf_counter() - start,
            "statements": statements,
            "bytes": len(body),
        }
        if answer.status_code != 200:
            raise SystemExit(f"{question['path']} answered {answer.status_code}: {body[-500:]!r}")
        print(json.dumps(found), file=answers, flush=True)


def _backends() -> list[Path]:
    """Return the scheduler's figures of PostgreSQL's processes for this one, if they are on this machine."""
    import sqlalchemy as sa
    from ckan import model

    name = os.environ["PGAPPNAME"]
    rows = model.Session.execute(
        sa.text("SELECT pid FROM pg_stat_activity WHERE application_name = :name"), {"name": name}
    )
    files = [Path(f"/proc/{pid}/schedstat") for pid in rows.scalars()]
    model.Session.remove()
    return [file for file in files if file.exists()]


def _spent(backends: Sequence[Path]) -> float:
    """Return the processor seconds of this process and of PostgreSQL's processes for it."""
    nanoseconds = sum(int(file.read_text().split()[0]) for file in backends)
    return time.process_time() + nanoseconds / 1e9


def _own_megabytes() -> float:
    gc.collect()
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


if __name__ == "__main__":
    main()
