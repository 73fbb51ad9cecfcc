"""The commands and pages of a portal with a million resources: seconds, CPU time and memory.

The catalogue has 200,000 datasets of 300 organizations, and 1,000,000 resources on 5,000 hosts. The largest
host has 8 % of the resources. The catalogue is written by SQL and kept until another benchmark empties the
site: a second call measures at once. Each command runs as a process of its own, as from cron. ``--resources
100000 --datasets 20000`` measures a tenth of it; ``--before FILE`` compares memory with the JSON of such a run,
to find what does not grow in proportion.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchmarks import _ckan_pages, _large_catalogue, report
from benchmarks.refresh import write_ini

DATASETS, RESOURCES = 200_000, 1_000_000
RESULTS = 100_000
"""Checks whose results are written."""
SAMPLE = 50
"""Documents that are compared with those of CKAN's own rebuild."""

COMMANDS: dict[str, tuple[str, ...]] = {
    "choice (hdx)": ("freshness", "check", "--dry-run", "--json", "--policy", "hdx"),
    "choice (learned)": ("freshness", "check", "--dry-run", "--json", "--policy", "learned"),
    "estimate": ("freshness", "check", "--estimate", "--json"),
    "refresh, nothing due": ("freshness", "refresh"),
    "report": ("freshness", "report", "--json"),
    "notify --dry-run": ("freshness", "notify", "--dry-run", "--json"),
    "prune": ("freshness", "prune"),
}
"""The arguments of ``ckan``."""
LOADED = ("freshness", "check", "--help")
"""Shows what CKAN itself needs."""
FILES = {
    "datasets.csv": "/freshness/datasets.csv",
    "datasets.json": "/freshness/datasets.json",
    "broken.csv": "/freshness/broken.csv",
    "data.csv": "/freshness/data.csv?since=2000-01-01",
    "changes.csv": "/freshness/changes.csv?since=2000-01-01",
}
"""Files of everything, as a sysadmin."""
SEARCHES = {
    "package_search": "/api/3/action/package_search?q=district&rows=20"
    '&facet.field=["organization","groups","tags","res_format","license_id"]',
    "search page": "/dataset/?q=district",
}
SEARCH_PAIRS = 100
PAGES = {
    "largest organization": "/freshness/organization/bench-0",
    "its datasets": "/freshness/datasets?organization=bench-0",
    "its broken links": "/freshness/broken?organization=bench-0",
    "frequencies": "/freshness/frequencies",
    "mismatches": "/freshness/mismatches",
    "data": "/freshness/data",
    "data of 90 days": "/freshness/data?since=2000-01-01",
    "broken, page 20": "/freshness/broken?page=20",
    "found datasets": "/freshness/datasets?q=district+of+K",
}
"""Pages besides those of ``./dev bench report``."""

PARTS = ("commands", "due", "results", "pages", "files", "search")
GOALS = {"choice (hdx)": 10.0, "choice (learned)": 10.0, "results": 60.0}
"""Seconds at most, beyond the loading of CKAN."""
NOTHING_DUE = 0.3
"""Seconds at most that ``refresh`` takes longer than to load CKAN, if nothing is due."""
PAGE = 0.5
MEMORY = 200.0
"""MB at most beyond a process that has loaded CKAN."""
GROWTH = 1.2
"""How many times as much memory a catalogue of ten times the size may need."""
SEARCH = 1.03
"""How many times as long a search may take with our plugins, at the median."""

Figures = dict[str, float]


def main() -> None:
    options = _parser().parse_args()
    if options.step:
        logging.disable(logging.WARNING)
        print(json.dumps(STEPS[options.step](options)), flush=True)
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CKAN_INI"] = str(write_ini(Path(folder)))
        result = Bench(options.datasets, options.resources, quiet=options.json).measure(
            options.parts or PARTS
        )
    result["goals"] = goals(
        result, json.loads(options.before.read_text()) if options.before else {}
    )
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        _print(result)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./dev bench scale", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all by default")
    parser.add_argument("--datasets", type=int, default=DATASETS, help="default: %(default)s")
    parser.add_argument("--resources", type=int, default=RESOURCES, help="default: %(default)s")
    parser.add_argument(
        "--before", type=Path, help="JSON of a smaller catalogue, to compare memory"
    )
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    parser.add_argument("--step", choices=list(STEPS), help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    parser.add_argument("--token", help=argparse.SUPPRESS)
    return parser


class Bench(report.Bench):
    """One run of everything."""

    def __init__(self, datasets: int, resources: int, *, quiet: bool) -> None:
        from benchmarks._meter import Services

        super().__init__(datasets, resources, quiet=quiet)
        self.services = Services.of_site()

    def measure(self, parts: Iterable[str]) -> dict[str, Any]:
        """Return the figures of the parts."""
        result: dict[str, Any] = {"datasets": self.datasets, "resources": self.resources}
        result |= self.take_catalogue()
        people = self._people() | {"editor of the largest": self._editor("bench-0")}
        loaded = self._command(LOADED)
        result["commands"] = {"loaded": loaded}
        measures: dict[str, Callable[[], None]] = {
            "commands": lambda: self._commands(result["commands"]),
            "due": lambda: self._due(result["commands"]),
            "results": lambda: self._step(result["commands"], "results"),
            "files": lambda: self._files(result, people["sysadmin"]),
            "search": lambda: self._search(result),
            # After the results: pages read what the run has written.
            "pages": lambda: self._pages(result, people),
        }
        for part, measure in measures.items():
            if part in parts:
                measure()
        return result

    def take_catalogue(self) -> dict[str, Any]:
        """Write the catalogue, unless it is there. Return how many documents differ from CKAN's."""
        if _large_catalogue.is_there(self.datasets, self.resources):
            self.site.take()
            return {}
        self.say(f"writing {self.datasets} datasets")
        before = time.perf_counter()
        self.site.empty()
        now = self.now.replace(microsecond=0)
        _large_catalogue.write(self.site, self.datasets, self.resources, now, self.say)
        seconds = time.perf_counter() - before
        judged = _large_catalogue.judged_anew(SAMPLE, now)
        differing = _large_catalogue.differing(SAMPLE)
        self.say(f"{judged} of {SAMPLE} datasets are judged differently by the extension")
        self.say(f"{len(differing)} of {SAMPLE} documents differ from CKAN's own: {differing}")
        return {
            "written_s": seconds,
            "judged_differently": judged,
            "documents_differing": len(differing),
        }

    def _commands(self, commands: dict[str, Figures]) -> None:
        # What is due since the catalogue was written.
        self._command(("freshness", "refresh"))
        for name, arguments in COMMANDS.items():
            self.say(f"ckan {' '.join(arguments)}")
            commands[name] = self._command(arguments)

    def _due(self, commands: dict[str, Figures]) -> None:
        for step in ("refresh, 1 % due", "refresh, a boundary due"):
            self._step(commands, step)

    def _step(self, commands: dict[str, Figures], name: str) -> None:
        self.say(name)
        commands[name] = self._in_process(name)

    def _files(self, result: dict[str, Any], token: str | None) -> None:
        result["files"] = {}
        for name, path in FILES.items():
            self.say(path)
            result["files"][name] = self._in_process("file", f"--path={path}", f"--token={token}")
        loaded = self._in_process("file", "--path=/freshness/statuses.csv", f"--token={token}")
        result["files"]["loaded"] = loaded

    def _search(self, result: dict[str, Any]) -> None:
        result["searches"] = {}
        without = {"ckan.plugins": _ckan_pages.WITHOUT}
        with _ckan_pages.worker({}) as ours, _ckan_pages.worker(without) as bare:
            for name, path in SEARCHES.items():
                self.say(path)
                taken: tuple[list[float], list[float]] = ([], [])
                for pair in range(-_ckan_pages.WARM_UP, SEARCH_PAIRS):
                    for which in (0, 1) if pair % 2 else (1, 0):
                        seconds = (ours, bare)[which].ask(path)["seconds"]
                        if pair >= 0:
                            taken[which].append(seconds * 1e3)
                with_ms, without_ms = map(statistics.median, taken)
                result["searches"][name] = {
                    "with_ms": with_ms,
                    "without_ms": without_ms,
                    "ratio": statistics.median(a / b for a, b in zip(*taken, strict=True)),
                }

    def _pages(self, result: dict[str, Any], people: dict[str, str | None]) -> None:
        """Request each page several times; of each figure the median counts."""
        client = self.site.client()
        result["pages"] = {}
        for who, token in people.items():
            headers = {"Authorization": token} if token else {}
            every = report.PAGES | PAGES | (report.FOR_USERS if token else {})
            every |= report.FOR_SYSADMINS if who == "sysadmin" else {}
            for name, path in every.items():
                self.say(f"{who}: {name}")
                found = [self._page(client, path, headers) for _ in range(report.TIMES + 1)][1:]
                result["pages"][f"{name} ({who})"] = {
                    key: statistics.median(one[key] for one in found) for key in found[0]
                }

    def _page(self, client: Any, path: str, headers: dict[str, str]) -> Figures:
        with self.services.measured() as figures:
            answer = client.get(path, headers=headers)
            body = answer.get_data()
        if answer.status_code != 200:
            raise SystemExit(f"{path} answered {answer.status_code}: {body[-500:]!r}")
        return figures

    def _command(self, arguments: Iterable[str]) -> Figures:
        """Run ``ckan`` with arguments."""
        return self.services.run(["ckan", "-c", os.environ["CKAN_INI"], *arguments])[0]

    def _in_process(self, step: str, *arguments: str) -> Figures:
        """Do a step in a process of its own; return its figures and those that it prints."""
        command = [sys.executable, "-m", "benchmarks.scale", f"--step={step}", *arguments]
        figures, printed = self.services.run(command)
        return figures | json.loads(printed.splitlines()[-1])

    def _editor(self, organization: str) -> str:
        user = f"{report.NAME}-{organization}"
        try:
            self.site.call("user_show", id=user)
        except Exception:
            self.site.call("user_create", name=user, email=f"{user}@example.org", password="x" * 12)
            self.site.call(
                "organization_member_create", id=organization, username=user, role="editor"
            )
        return str(self.site.call("api_token_create", user=user, name=str(time.time_ns()))["token"])


# Steps, each in a process of its own.


def _results(options: argparse.Namespace) -> dict[str, Any]:
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


def _one_percent(options: argparse.Namespace) -> dict[str, Any]:
    return _refreshed("SELECT count(*) / 100 FROM freshness_dataset", {})


def _boundary(options: argparse.Namespace) -> dict[str, Any]:
    """Let a tenth of the catalogue pass its next boundary."""
    return _refreshed("SELECT count(*) / 10 FROM freshness_dataset", {})


def _refreshed(number: str, values: dict[str, Any]) -> dict[str, Any]:
    """Refresh at the time when a number of datasets have passed a boundary, and turn them back."""
    from ckan import model

    from benchmarks import _catalogue, _site
    from ckanext.freshness.search import unindexed
    from ckanext.freshness.status.assessment import update_packages
    from ckanext.freshness.status.refresh import refresh
    from ckanext.freshness.status.transitions import TransitionCause

    _site.Site()
    now = datetime.now(timezone.utc)
    count = int(model.Session.execute(sa.text(number), values).scalar() or 0)
    ids, moment = _catalogue.next_to_change(count)
    before, cpu = time.perf_counter(), time.process_time()
    done = refresh(moment)
    figures = {
        "seconds": time.perf_counter() - before,
        "cpu_seconds": time.process_time() - cpu,
        "changed": done.changed,
    }
    for start in range(0, len(ids), unindexed.BATCH):
        batch = ids[start : start + unindexed.BATCH]
        changed = update_packages(batch, now, cause=TransitionCause.RECOMPUTE)
        marks = unindexed.mark([one.package_id for one in changed])
        model.Session.commit()
        unindexed.index(marks)
    return figures


def _file(options: argparse.Namespace) -> dict[str, Any]:
    """Read a file of the site piece by piece, and keep nothing."""
    from benchmarks import _site

    client = _site.Site().client()
    before = time.perf_counter()
    answer = client.get(options.path, headers={"Authorization": options.token}, buffered=False)
    first, size, lines = None, 0, 0
    for piece in answer.iter_encoded():
        first = first or time.perf_counter() - before
        size += len(piece)
        lines += piece.count(b"\n")
    if answer.status_code != 200:
        raise SystemExit(f"{options.path} answered {answer.status_code}")
    seconds = time.perf_counter() - before
    return {"seconds": seconds, "first_s": first, "bytes": size, "lines": lines}


STEPS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "results": _results,
    "refresh, 1 % due": _one_percent,
    "refresh, a boundary due": _boundary,
    "file": _file,
}


def goals(result: dict[str, Any], before: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the measured values beside their goals. Seconds of commands exclude the loading of CKAN.

    :param before: the figures of a smaller catalogue, to compare memory with
    """
    commands = result["commands"]
    loaded = commands["loaded"]
    rows = {
        f"{name}_s": (commands[name]["seconds"] - loaded["seconds"], most)
        for name, most in GOALS.items()
        if name in commands
    }
    if nothing := commands.get("refresh, nothing due"):
        rows["refresh, nothing due_s"] = nothing["seconds"] - loaded["seconds"], NOTHING_DUE
    if pages := result.get("pages"):
        rows["slowest_page_s"] = max(each["seconds"] for each in pages.values()), PAGE
    rows |= {
        f"{name}_ratio": (each["ratio"], SEARCH)
        for name, each in result.get("searches", {}).items()
    }
    for name, (found, smaller) in _memory(result, before).items():
        rows[f"{name}_mb"] = found, MEMORY
        if smaller:
            rows[f"{name}_growth"] = found / smaller, GROWTH
    return {
        name: {"found": found, "goal": most, "met": found <= most}
        for name, (found, most) in rows.items()
    }


def _memory(
    result: dict[str, Any], before: dict[str, Any]
) -> dict[str, tuple[float, float | None]]:
    """Return the memory beyond that of CKAN by command and file, now and with the smaller catalogue."""
    found = {}
    for part in ("commands", "files"):
        for name, each in result.get(part, {}).items():
            if name != "loaded":
                smaller = before.get(part, {}).get(name)
                found[name] = (
                    each["peak_mb"] - result[part]["loaded"]["peak_mb"],
                    smaller and smaller["peak_mb"] - before[part]["loaded"]["peak_mb"],
                )
    return found


def _cpu(figures: Figures) -> float:
    return figures["cpu_seconds"] + figures["postgres_s"] + figures["solr_s"]


def _print(result: dict[str, Any]) -> None:
    for name, each in (result["commands"] | result.get("files", {})).items():
        print(
            f"{name:<24} {each['seconds']:8.1f} s, {_cpu(each):8.1f} s CPU with PostgreSQL and Solr, "
            f"{each['peak_mb']:6.0f} MB"
        )
    for name, each in result.get("searches", {}).items():
        print(
            f"{name:<24} {each['with_ms']:8.1f} ms, {each['without_ms']:8.1f} ms without our plugins"
        )
    for name, each in result.get("pages", {}).items():
        print(f"{name:<46} {each['seconds']:7.3f} s, {_cpu(each):7.3f} s CPU")
    for name, goal in result["goals"].items():
        print(
            f"{name:<32} {goal['found']:8.2f} (goal {goal['goal']}): {'met' if goal['met'] else 'missed'}"
        )


if __name__ == "__main__":
    main()
