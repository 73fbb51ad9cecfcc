"""The pages of the report over a catalogue of HDX's size: the server's seconds for each, and their goals.

The catalogue (22,160 datasets of 300 organizations with 149,308 resources) is written by SQL and kept between
runs unless another benchmark has emptied the site. Each page is asked for several times, as somebody who has
not logged in, as an editor of one organization and as a sysadmin; the median counts.
``--datasets 200000`` measures a catalogue of that size. ``--only-added`` measures only what the plugins add to
CKAN's own pages, on a small site. The command fails if a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from importlib.resources import files
from pathlib import Path
from typing import Any

from benchmarks import _ckan_pages
from benchmarks.refresh import write_ini

DATASETS, RESOURCES, ORGANIZATIONS = 22_160, 149_308, 300
"""HDX's first production run."""
NAME = "bench-report"
TIMES = 5
PAGES = {
    "dashboard": "/freshness",
    "organization": "/freshness/organization/bench-7",
    "datasets": "/freshness/datasets",
    "datasets of a status": "/freshness/datasets?status=due&sort=-due",
    "datasets, page 100": "/freshness/datasets?page=100",
    "due": "/freshness/due",
    "changes": "/freshness/changes",
    "broken": "/freshness/broken?sort=-failures",
    "unclear": "/freshness/unclear",
    "organizations": "/freshness/organizations",
    "hosts": "/freshness/hosts",
    "history": "/freshness/history",
    "feed": "/freshness/changes.atom",
    "dataset": f"/dataset/{NAME}-7/freshness",
}
FOR_SYSADMINS = {"runs": "/freshness/runs", "run": "/freshness/run/bench-run"}
FOR_USERS = {"my datasets": "/freshness/mine"}
OF_HDX, ANY_SIZE = 0.4, 0.5
"""Seconds in which the dashboard answers: over a catalogue of HDX's size, and over one of 200,000 datasets."""
PAGE = 0.5
"""Seconds in which every other page answers over a catalogue of HDX's size."""
ASSETS = {"css": 12_000, "js": 4_000}
"""The greatest sizes of our style sheets and scripts, in bytes."""


def main() -> None:
    options = _parser().parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CKAN_INI"] = str(write_ini(Path(folder)))
        bench = Bench(options.datasets, quiet=options.json, pairs=options.pairs)
        only = options.only_added
        result = bench.run() if only is None else bench.only_added(only or _ckan_pages.PARTS)
    if options.json:
        print(json.dumps(result, indent=2))
        return
    for name, seconds in result.get("pages", {}).items():
        print(f"{name:<32} {seconds:7.3f} s")
    if "csv_s" in result:
        print(f"{'all datasets as CSV':<32} {result['csv_s']:7.3f} s, {result['csv_rows']} rows")
    for page, rows in result["ckan_pages"].items():
        for name, figures in rows.items():
            shown = ", ".join(f"{key} {value:.2f}" for key, value in figures.items())
            print(f"{page}, {name}: {shown}")
    for name, goal in result["goals"].items():
        verdict = "met" if goal["met"] else "missed"
        print(f"{name:<32} {round(goal['found'], 3):>10} (goal {goal['goal']}): {verdict}")
    if not all(goal["met"] for goal in result["goals"].values()):
        raise SystemExit("A goal was missed.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./dev bench report", description=__doc__)
    parser.add_argument("--datasets", type=int, default=DATASETS, help="default: %(default)s")
    parser.add_argument(
        "--only-added",
        nargs="*",
        choices=_ckan_pages.PARTS,
        metavar="PAGE",
        help="only what the plugins add to CKAN: to all of its pages, or to "
        + ", ".join(_ckan_pages.PARTS),
    )
    parser.add_argument(
        "--pairs",
        type=int,
        default=_ckan_pages.PAIRS,
        help="requests of each of CKAN's pages, with the plugins and without; default: %(default)s",
    )
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    return parser


class Bench:
    """One run of everything."""

    more_statements: tuple[str, ...] = ()
    """SQL that changes the catalogue before its links are written, after :data:`MORE`."""

    def __init__(
        self,
        datasets: int,
        resources: int | None = None,
        *,
        quiet: bool,
        pairs: int = _ckan_pages.PAIRS,
    ) -> None:
        from benchmarks import _catalogue, _site

        self.datasets = datasets
        self.resources = resources or round(RESOURCES * datasets / DATASETS)
        self.now = datetime.now(timezone.utc)
        self._quiet = quiet
        self._pairs = pairs
        self.site = _site.Site()
        self.catalogue = _catalogue

    def say(self, words: str) -> None:
        print(words, file=sys.stderr if self._quiet else sys.stdout, flush=True)

    def run(self) -> dict[str, Any]:
        self.prepare()
        people = self._people(("bench", "bench-7"))
        pages = self.pages(people)
        client = self.site.client()
        before = time.perf_counter()
        answer = client.get("/freshness/datasets.csv")
        rows = answer.get_data(as_text=True).count("\r\n") - 1
        csv = {"csv_s": time.perf_counter() - before, "csv_rows": rows}
        added = self._added(people)
        return {
            "datasets": self.datasets,
            "pages": pages,
            "ckan_pages": added,
            "goals": _beside(_page_goals(self.datasets, pages) | _added_goals(added)),
            "max_s": max(pages.values()),
            **csv,
        }

    def only_added(self, pages: Sequence[str]) -> dict[str, Any]:
        """Measure some of CKAN's own pages alone, on the site as it is."""
        import ckan.plugins.toolkit as tk

        try:
            self.site.take()
        except tk.ObjectNotFound:
            self.site.empty()
        added = self._added(self._people(("bench",)), pages)
        return {"ckan_pages": added, "goals": _beside(_added_goals(added))}

    def _added(
        self, people: dict[str, str | None], pages: Sequence[str] = _ckan_pages.PARTS
    ) -> dict[str, _ckan_pages.Figures]:
        self.say("CKAN's own pages, with the plugins and without them")
        editor = people["editor"]
        assert editor is not None
        return _ckan_pages.Bench(
            self.site, editor, self.now, self.say, pairs=self._pairs, pages=pages
        ).run()

    def prepare(self) -> None:
        """Write the catalogue, unless it is there."""
        if self.catalogue.is_there(NAME, self.datasets) and self._is_complete():
            self.site.take()
        else:
            self._write()

    def pages(self, people: dict[str, str | None]) -> dict[str, float]:
        """Return the seconds of each page for each person, given their tokens."""
        client = self.site.client()
        pages = {}
        for who, token in people.items():
            headers = {"Authorization": token} if token else {}
            every = PAGES | (FOR_SYSADMINS if who == "sysadmin" else {})
            every |= FOR_USERS if token else {}
            for name, path in every.items():
                self.say(f"{who}: {name}")
                pages[f"{name} ({who})"] = self._seconds(client, path, headers)
        return pages

    def _seconds(self, client: Any, path: str, headers: dict[str, str]) -> float:
        found = []
        for _ in range(TIMES + 1):
            before = time.perf_counter()
            answer = client.get(path, headers=headers)
            body = answer.get_data()
            found.append(time.perf_counter() - before)
            if answer.status_code != 200:
                raise SystemExit(f"{path} answered {answer.status_code}: {body[-500:]!r}")
        # The first time templates are compiled.
        return statistics.median(found[1:])

    def _people(self, organizations: Sequence[str] = ("bench-7",)) -> dict[str, str | None]:
        """Return the tokens of people, of whom the editor edits the datasets of some organizations."""
        import ckan.plugins.toolkit as tk

        tokens: dict[str, str | None] = {"nobody": None}
        for name in ("editor", "sysadmin"):
            user = f"{NAME}-{name}"
            try:
                self.site.call("user_show", id=user)
            except tk.ObjectNotFound:
                self.site.call(
                    "user_create", name=user, email=f"{user}@example.org", password="x" * 12
                )
            made = self.site.call("api_token_create", user=user, name=str(time.time_ns()))
            tokens[name] = made["token"]
        self.site.call("user_patch", id=f"{NAME}-sysadmin", sysadmin=True)
        for each in organizations:
            self.site.call(
                "organization_member_create", id=each, username=f"{NAME}-editor", role="editor"
            )
        return tokens

    def _write(self) -> None:
        import sqlalchemy as sa
        from ckan import model
        from ckan.lib import search

        from ckanext.freshness.reporting import counts

        self.say(f"writing {self.datasets} datasets")
        self.site.empty()
        self.catalogue.write(NAME, self.datasets, self.site.organization, self.now)
        values = {
            "more": self.resources - 2 * self.datasets,
            "datasets": self.datasets,
            "organizations": ORGANIZATIONS,
            "now": self.now.replace(tzinfo=None),
        }
        for statement in (*MORE, *self.more_statements):
            model.Session.execute(sa.text(statement), values)
        model.Session.commit()
        self.catalogue.judge(self.now)
        for statement in _KNOWN:
            model.Session.execute(sa.text(statement), values)
        model.Session.commit()
        self.say("indexing them")
        self.catalogue.index()
        search.rebuild(f"{NAME}-7")
        model.Session.execute(sa.text("ANALYZE"))
        model.Session.commit()
        self.say("counting for the history")
        for days in range(400, -1, -100):
            counts.record(self.now - timedelta(days=days))
        model.Session.execute(sa.text(_RUN), values)
        model.Session.commit()

    def _is_complete(self) -> bool:
        import sqlalchemy as sa
        from ckan import model

        # Written last.
        statement = "SELECT EXISTS (SELECT FROM freshness_run WHERE id = 'bench-run')"
        return bool(model.Session.execute(sa.text(statement)).scalar())


Limits = dict[str, tuple[float, float]]
"""What was measured, and the most that it may be, by name."""


def _page_goals(datasets: int, pages: dict[str, float]) -> Limits:
    """Return the goals of our pages, and of the assets."""
    dashboards = [seconds for name, seconds in pages.items() if name.startswith("dashboard (")]
    rows = {"dashboard_s": (max(dashboards), OF_HDX if datasets <= DATASETS else ANY_SIZE)}
    if datasets <= DATASETS:
        rows["slowest_page_s"] = max(pages.values()), PAGE
    folder = Path(str(files("ckanext.freshness"))) / "public"
    for kind, most in ASSETS.items():
        rows[f"{kind}_bytes"] = sum(path.stat().st_size for path in folder.rglob(f"*.{kind}")), most
    return rows


def _added_goals(added: dict[str, _ckan_pages.Figures]) -> Limits:
    """Return the goals of what the plugins add to CKAN."""
    rows = {}
    for name, page in _ckan_pages.PAGES.items():
        figures = added.get(name, {}).values()
        if not figures:
            continue
        rows[f"{name}_added_ms"] = max(one["added_ms"] for one in figures), page.ms
        if page.bytes is not None:
            rows[f"{name}_added_bytes"] = max(one["added_bytes"] for one in figures), page.bytes
    for one in added.get(_ckan_pages.CREATE, {}).values():
        rows["package_create_ratio"] = one["ratio"], _ckan_pages.CREATE_RATIO
    for one in added["worker"].values():
        rows["worker_added_mb"] = one["added_mb"], _ckan_pages.WORKER_MB
    return rows


def _beside(rows: Limits) -> dict[str, dict[str, Any]]:
    """Return the measured values beside their goals."""
    return {
        name: {"found": found, "goal": most, "met": found <= most}
        for name, (found, most) in rows.items()
    }


MORE = (
    """
    INSERT INTO "group" (id, name, title, description, type, is_organization, approval_status, state,
        image_url, created)
    SELECT md5('organization ' || n)::uuid::text, 'bench-' || n, 'Office ' || n, '', 'organization', true,
        'approved', 'active', '', :now
    FROM generate_series(0, :organizations - 1) n""",
    """
    UPDATE package p SET owner_org = g.id, private = n.number % 50 = 0
    FROM (SELECT id, row_number() OVER (ORDER BY id) AS number FROM package WHERE type = 'dataset') n,
        "group" g
    WHERE p.id = n.id AND g.name = 'bench-' || n.number % :organizations""",
    """
    INSERT INTO resource (id, package_id, url, format, name, description, position, state, extras, hash,
        created, metadata_modified)
    SELECT md5('more ' || n)::uuid::text, p.id,
        'http://files-' || n % 500 || '.example.org/' || n || '.csv', 'CSV', 'Part ' || n, '',
        2 + n / :datasets, 'active', '{}', '', CAST(:now AS timestamp) - n * interval '5 minutes', :now
    FROM generate_series(1, :more) n
    JOIN (SELECT id, row_number() OVER (ORDER BY id) - 1 AS number FROM package WHERE type = 'dataset') p
        ON p.number = n % :datasets""",
)
_KNOWN = (
    """
    INSERT INTO freshness_check (resource_id, package_id, url, host, first_seen, earlier, outdated,
        unconfirmed, failures, attempts, wrote, tried_at, visited_at, failed_at, failing_since, undetermined)
    SELECT r.id, r.package_id, r.url, split_part(r.url, '/', 3), :now, '{}', false, false,
        CASE WHEN n % 20 = 0 THEN 5 ELSE 0 END,
        '[{"at": "2026-01-01T00:00:00Z", "outcome": "error", "status": 404, "words": "answered 404"}]',
        '{}', :now, :now, CASE WHEN n % 20 = 0 THEN CAST(:now AS timestamp) END,
        CASE WHEN n % 20 = 0 THEN CAST(:now AS timestamp) - n % 300 * interval '1 day' END,
        CASE WHEN n % 50 = 1 THEN 'blocked' END
    FROM (SELECT *, row_number() OVER (ORDER BY id) AS n FROM resource WHERE state = 'active') r
    ON CONFLICT DO NOTHING""",
    """
    INSERT INTO freshness_transition (package_id, from_status, to_status, changed_at, evidence, cause)
    SELECT p.id, 'fresh', 'due',
        CAST(:now AS timestamp) - n * interval '1 hour' - p.number * interval '1 second',
        'created', 'time'
    FROM (SELECT id, row_number() OVER (ORDER BY id) - 1 AS number FROM package WHERE type = 'dataset') p
    CROSS JOIN generate_series(0, 180, 20) n""",
)
_RUN = """
    INSERT INTO freshness_run (id, kind, started_at, ended_at, options, resources, datasets, frequencies,
        hosts, visited, version)
    SELECT 'bench-run', 'check', CAST(:now AS timestamp) - interval '1 hour', :now, '{}',
        '{"nothing": 149308}', '{"0: Fresh, Updated nothing": 22160}', '{}',
        jsonb_object_agg('files-' || n || '.example.org', '{"visits": 300, "errors": 3, "blocked": 0,
            "etag": 200, "last_modified": 250, "either": 260, "answered": 290, "agreed": 5, "missed": 0,
            "moved": 1, "bytes": 100000, "seconds": 12, "datasets": 200, "datasets_either": 190}'::jsonb)
            || '{"*": {"visits": 8000, "errors": 30, "blocked": 0, "etag": 200, "last_modified": 250,
            "either": 260, "answered": 290, "agreed": 5, "missed": 0, "moved": 1, "bytes": 100000,
            "seconds": 12, "datasets": 200, "datasets_either": 190}}'::jsonb,
        8000, 'bench'
    FROM generate_series(1, 500) n"""


if __name__ == "__main__":
    main()
