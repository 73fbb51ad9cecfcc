"""CKAN's own pages with our plugins and without them, requested in turn.

Two processes, one with each list of plugins, show datasets that differ in what the plugins store alone. Run as
``python -m benchmarks._ckan_pages``, it is one of them: it reads a line of JSON for each request and
answers with its seconds and bytes.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.refresh import plugins, write_ini

SIZES = {1: 0, 9: 2, 500: 2}
"""Numbers of resources of the datasets, and how many of them have a broken link."""
WARM_UP = 3
PAIRS = 60
LONG = 100
"""Resources from which on a dataset's page takes so long that a tenth of the pairs must do."""


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
    "search": Page("/dataset/?q=dataset", 2.0, sizes=(0,)),
}
NAMES = {"with": "bench-page-ours-{}", "without": "bench-page-bare-{}"}
"""Of equal length, as pages repeat them."""
WITHOUT = "harvest activity"
"""The plugins of the site without ours."""

Ask = Callable[[str, str | None], dict[str, float]]


def measure(site: Any, people: Mapping[str, str | None], now: datetime) -> dict[str, Any]:
    """Return what the plugins add to each page, by page, number of resources and reader.

    :param people: tokens by reader; None for a visitor
    """
    try:
        for number, broken in SIZES.items():
            _make(site, number, broken, now)
        with showing({}) as ours, showing({"ckan.plugins": WITHOUT}) as bare:
            return {
                name: {
                    f"{number} resources, {who}" if number else who: _compare(
                        (ours, bare), _paths(page, number), token, _pairs(number)
                    )
                    for number in page.sizes
                    for who, token in people.items()
                }
                for name, page in PAGES.items()
            }
    finally:
        _purge(site)


def _pairs(number: int) -> int:
    return PAIRS // 10 if number >= LONG else PAIRS


def _paths(page: Page, number: int) -> list[str]:
    """Return the page's paths on the site with our plugins and on the one without them."""
    from ckan import model

    paths = []
    for name in NAMES.values():
        package = model.Package.get(name.format(number))
        resource = package.resources[0].id if package is not None else ""
        paths.append(page.path.format(name=name.format(number), resource=resource))
    return paths


def _compare(
    sites: tuple[Ask, Ask], paths: Sequence[str], token: str | None, pairs: int
) -> dict[str, float]:
    found: list[list[dict[str, float]]] = [[], []]
    for pair in range(-WARM_UP, pairs):
        # Neither is always the first one.
        for which in (0, 1) if pair % 2 else (1, 0):
            took = sites[which](paths[which], token)
            if pair >= 0:
                found[which].append(took)
    ours, bare = (_fast([one["seconds"] for one in side]) * 1e3 for side in found)
    return {
        "with_ms": ours,
        "without_ms": bare,
        "added_ms": ours - bare,
        "added_bytes": found[0][-1]["bytes"] - found[1][-1]["bytes"],
    }


def _fast(seconds: Sequence[float]) -> float:
    """Return the time that a tenth of the requests stay below: other processes disturb these least."""
    return statistics.quantiles(seconds, n=10)[0]


def _make(site: Any, number: int, broken: int, now: datetime) -> None:
    import sqlalchemy as sa
    from ckan import model

    resources = [
        {"url": f"http://files.example.org/{one}.csv", "name": f"Part {one}", "format": "CSV"}
        for one in range(number)
    ]
    for which, name in NAMES.items():
        with plugins(loaded=which == "with"):
            site.call(
                "package_create",
                name=name.format(number),
                title="A dataset whose page is measured",
                notes="What was counted, by month.",
                owner_org=site.organization,
                resources=resources,
                extras=[{"key": "data_update_frequency", "value": "30"}],
            )
    values = {
        "name": NAMES["with"].format(number),
        "broken": broken,
        "now": now.replace(tzinfo=None),
    }
    for statement in (_CHECKS, _COPY):
        model.Session.execute(sa.text(statement), values)
    model.Session.commit()


def _purge(site: Any) -> None:
    from ckan import model

    for name in NAMES.values():
        for number in SIZES:
            if model.Package.get(name.format(number)) is not None:
                site.call("dataset_purge", id=name.format(number))


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


@contextlib.contextmanager
def showing(options: Mapping[str, str]) -> Iterator[Ask]:
    """Start a site in a process of its own, with options in addition to those of CKAN_INI."""
    with tempfile.TemporaryDirectory() as folder:
        ini = str(write_ini(Path(folder), options))
        command = [sys.executable, "-m", "benchmarks._ckan_pages"]
        environment = {**os.environ, "CKAN_INI": ini}
        with subprocess.Popen(command, stdin=-1, stdout=-1, env=environment) as process:
            assert process.stdin is not None and process.stdout is not None
            questions, answers = process.stdin, process.stdout

            def ask(path: str, token: str | None) -> dict[str, float]:
                questions.write(json.dumps({"path": path, "token": token}).encode() + b"\n")
                questions.flush()
                if not (line := answers.readline()):
                    raise SystemExit("A process that shows CKAN's pages has ended.")
                return dict(json.loads(line))

            try:
                yield ask
            finally:
                questions.close()


def main() -> None:
    """Answer requests until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    # What libraries print is no answer.
    os.dup2(2, 1)

    from benchmarks._site import Site

    client = Site().client()
    for line in sys.stdin:
        question = json.loads(line)
        headers = {"Authorization": question["token"]} if question["token"] else {}
        before = time.perf_counter()
        answer = client.get(question["path"], headers=headers)
        body = answer.get_data()
        found = {"seconds": time.perf_counter() - before, "bytes": len(body)}
        if answer.status_code != 200:
            raise SystemExit(f"{question['path']} answered {answer.status_code}: {body[-500:]!r}")
        print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    main()
