"""The commands and pages of a portal with a million resources: seconds, CPU time and memory.

The catalogue has 200,000 datasets of 300 organizations, and 1,000,000 resources on 5,000 hosts. The largest
host has 8 % of the resources. The catalogue is written by SQL and kept between runs unless another benchmark
has emptied the site. Each command runs as a process of its own, as from cron. ``--resources 100000 --datasets
20000`` measures a tenth of it: compare both to find what does not grow in proportion.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchmarks import report
from benchmarks.refresh import write_ini
from ckanext.freshness.field_names import NAMES

DATASETS, RESOURCES = 200_000, 1_000_000
HOSTS = 5_000
RESULTS = 100_000
"""Checks whose results are written."""

COMMANDS: dict[str, tuple[str, ...]] = {
    "loaded": ("freshness", "check", "--help"),
    "choice (hdx)": ("freshness", "check", "--dry-run", "--json", "--policy", "hdx"),
    "choice (learned)": ("freshness", "check", "--dry-run", "--json", "--policy", "learned"),
    "estimate": ("freshness", "check", "--estimate", "--json"),
    "refresh, nothing due": ("freshness", "refresh"),
    "report": ("freshness", "report", "--json"),
    "notify --dry-run": ("freshness", "notify", "--dry-run", "--json"),
    "prune": ("freshness", "prune"),
}
"""The arguments of ``ckan``. The first one shows what CKAN itself needs."""

GOALS = {"choice (hdx)": 10.0, "choice (learned)": 10.0, "results": 60.0}
"""Seconds at most."""
NOTHING_DUE = 0.3
"""Seconds at most that ``refresh`` takes longer than to load CKAN, if nothing is due."""
PAGE = 0.5
MEMORY = 200.0
"""MB at most beyond a process that has loaded CKAN."""


def main() -> None:
    options = _parser().parse_args()
    if options.step:
        logging.disable(logging.WARNING)
        print(json.dumps(_write_results()), flush=True)
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CKAN_INI"] = str(write_ini(Path(folder)))
        result = Bench(options.datasets, options.resources, quiet=options.json).measure()
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        _print(result)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./dev bench scale", description=__doc__)
    parser.add_argument("--datasets", type=int, default=DATASETS, help="default: %(default)s")
    parser.add_argument("--resources", type=int, default=RESOURCES, help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    parser.add_argument("--step", action="store_true", help=argparse.SUPPRESS)
    return parser


class Bench(report.Bench):
    """One run of everything."""

    more_statements = (
        """
    UPDATE resource r SET url = 'http://files-' || n.host || '.example.org/' || r.id || '.csv'
    FROM (
        SELECT id,
            CASE WHEN share < 0.08 THEN 0
                ELSE 1 + floor(4999 * power((share - 0.08) / 0.92, 3)) END AS host
        FROM (
            SELECT id, (row_number() OVER (ORDER BY id) * 0.6180339887498949) % 1 AS share FROM resource
        ) numbered
    ) n WHERE n.id = r.id""",
    )

    def measure(self) -> dict[str, Any]:
        """Return the figures of all commands, of writing results, and of the pages."""
        self.prepare()
        commands = {}
        for name, arguments in COMMANDS.items():
            self.say(" ".join(arguments))
            commands[name] = _figures(["ckan", "-c", os.environ["CKAN_INI"], *arguments])
        self.say("refresh, 1 % due")
        self._pass_boundaries(self.datasets // 100)
        due = ["ckan", "-c", os.environ["CKAN_INI"], "freshness", "refresh"]
        commands["refresh, 1 % due"] = _figures(due)
        self.say(f"writing the results of {RESULTS} checks")
        step = [sys.executable, "-m", "benchmarks.scale", "--step"]
        commands["results"] = _figures(step)
        # Afterwards: the pages read what the run has written.
        pages = self.pages(self._people())
        return {
            "datasets": self.datasets,
            "resources": self.resources,
            "commands": commands,
            "pages": pages,
            "goals": goals(commands, pages),
        }

    def prepare(self) -> None:
        """Write the catalogue with its extras, as many nights have left it."""
        from ckanext.freshness.ckan_adapter.ckan_core import model
        from ckanext.freshness.ckan_adapter.extras import write_extras

        super().prepare()
        self.say("writing extras")
        keys = list(NAMES.extras)
        rows = model.Session.execute(sa.text(_EXTRAS)).all()
        for start in range(0, len(rows), 1000):
            values = {
                row.package_id: {
                    key: value
                    for key, value in zip(_OF_ROW, row[1:], strict=True)
                    if value is not None
                }
                for row in rows[start : start + 1000]
            }
            write_extras(values, keys)
        model.Session.commit()
        self.catalogue.settle()

    def _pass_boundaries(self, count: int) -> None:
        from ckan import model

        # A minute ago, so that each dataset is judged and found to have the same status.
        model.Session.execute(
            sa.text(_PASS), {"count": count, "now": self.now.replace(tzinfo=None)}
        )
        model.Session.commit()


_OF_ROW = (
    *(NAMES.status, NAMES.last_modified, NAMES.evidence, NAMES.frequency),
    *(NAMES.due, NAMES.overdue, NAMES.delinquent),
)
_EXTRAS = """
SELECT package_id, status, to_char(last_modified, f.iso), evidence, CAST(frequency_days AS text),
    to_char(due, f.iso), to_char(overdue, f.iso), to_char(delinquent, f.iso)
FROM freshness_dataset, (SELECT 'YYYY-MM-DD"T"HH24:MI:SS"Z"' AS iso) f"""
_PASS = """
UPDATE freshness_dataset SET next_boundary = CAST(:now AS timestamp) - interval '1 minute'
WHERE package_id IN (
    SELECT package_id FROM freshness_dataset WHERE next_boundary IS NOT NULL ORDER BY package_id LIMIT :count
)"""


def _figures(command: list[str]) -> dict[str, float]:
    """Run a command; return its seconds, CPU seconds, and peak memory in MB.

    :raises SystemExit: the command failed
    """
    before = time.perf_counter()
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            out.seek(0)
            raise SystemExit(f"{' '.join(command)} failed: {out.read()[-2000:].decode()}")
    return {
        "seconds": time.perf_counter() - before,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss / 1024,
    }


def _write_results() -> dict[str, Any]:
    """Make a run whose checks cost nothing and whose documents are not sent."""
    import ckan.plugins.toolkit as tk

    from benchmarks import _check_full, _site
    from ckanext.freshness.runs import check_run
    from ckanext.freshness.search import unindexed

    _site.Site()
    unindexed.index = lambda marks: []
    check_run._checks_of = _check_full.found  # type: ignore[assignment]
    now = datetime.now(timezone.utc)
    tk.config["ckanext.freshness.check.checks_per_run"] = str(RESULTS)
    scope = check_run.CheckScope(policy="learned")
    _, done = check_run.check(scope, lambda: now)
    return {"checks": done.counts.checks}


def goals(
    commands: dict[str, dict[str, float]], pages: dict[str, float]
) -> dict[str, dict[str, Any]]:
    """Return the measured values beside their goals. Seconds exclude the loading of CKAN."""
    loaded = commands["loaded"]
    rows = {
        f"{name}_s": (commands[name]["seconds"] - loaded["seconds"], most)
        for name, most in GOALS.items()
    }
    nothing = commands["refresh, nothing due"]["seconds"] - loaded["seconds"]
    rows["refresh, nothing due_s"] = nothing, NOTHING_DUE
    rows["slowest_page_s"] = max(pages.values()), PAGE
    peaks = [each["peak_mb"] for each in commands.values()]
    rows["memory_mb"] = max(peaks) - loaded["peak_mb"], MEMORY
    return {
        name: {"found": found, "goal": most, "met": found <= most}
        for name, (found, most) in rows.items()
    }


def _print(result: dict[str, Any]) -> None:
    for name, each in result["commands"].items():
        print(
            f"{name:<24} {each['seconds']:8.1f} s, {each['cpu_seconds']:8.1f} s CPU, {each['peak_mb']:6.0f} MB"
        )
    for name, seconds in result["pages"].items():
        print(f"{name:<32} {seconds:7.3f} s")
    for name, goal in result["goals"].items():
        print(
            f"{name:<32} {goal['found']:8.2f} (goal {goal['goal']}): {'met' if goal['met'] else 'missed'}"
        )


if __name__ == "__main__":
    main()
