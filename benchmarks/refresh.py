"""``ckan freshness refresh`` beside CKAN's own index updates of as many datasets, in one run.

The catalogue (22,160 datasets with two resources each) is written by SQL and kept between runs, unless
another benchmark has emptied the site. Time passes by the clock that is handed to the refresh.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarks._processes import stopwatch

DATASETS = 22_160
"""HDX's catalogue, whose method it is."""
CALLS = 60
"""Calls of each action, with the plugin and without it."""
ROUNDS = 20
"""In so many parts, in turn: what Solr still does with what was sent to it before takes longer than calls."""
NAME = "bench-refresh"


def main() -> None:
    options = _parser().parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CKAN_INI"] = str(write_ini(Path(folder)))
        result = Bench(options.datasets, quiet=options.json).run()
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        _print(result)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./dev bench refresh", description=__doc__)
    parser.add_argument("--datasets", type=int, default=DATASETS, help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    return parser


def write_ini(folder: Path, options: Mapping[str, str] | None = None) -> Path:
    """Write an ini file with quiet logs and more options."""
    ini = folder / "bench.ini"
    more = "".join(f"{key} = {value}\n" for key, value in (options or {}).items())
    ini.write_text(
        f"[app:main]\nuse = config:{Path(os.environ['CKAN_INI']).resolve()}\n{more}"
        "[loggers]\nkeys = root\n[handlers]\nkeys = console\n[formatters]\nkeys = generic\n"
        "[logger_root]\nlevel = WARNING\nhandlers = console\n"
        "[handler_console]\nclass = StreamHandler\nargs = (sys.stderr,)\nformatter = generic\n"
        "[formatter_generic]\nformat = %(asctime)s %(levelname)s %(name)s %(message)s\n"
    )
    return ini


class Bench:
    """One run of everything."""

    def __init__(self, datasets: int, *, quiet: bool) -> None:
        self.datasets = datasets
        self._quiet = quiet
        from benchmarks import _catalogue, _site

        self.site = _site.Site()
        self.catalogue = _catalogue
        self.now = datetime.now(timezone.utc)

    def say(self, words: str) -> None:
        print(words, file=sys.stderr if self._quiet else sys.stdout, flush=True)

    def run(self) -> dict[str, Any]:
        from ckanext.freshness.status.refresh import refresh

        if self.catalogue.is_there(NAME, self.datasets):
            self.site.take()
        else:
            self.say(f"writing {self.datasets} datasets")
            self.site.empty()
            self.catalogue.write(NAME, self.datasets, self.site.organization, self.now)
        result: dict[str, Any] = {"datasets": self.datasets, **self._all()}
        refresh(self.now)
        with stopwatch() as none:
            assert refresh(self.now).datasets == 0
        result["none_s"] = none[0]
        for name, part in {"one_percent": 0.01, "ten_percent": 0.1}.items():
            self.say(f"boundaries passed: {name.replace('_', ' ')}")
            result[name] = self._passed(round(self.datasets * part))
        self.say("package_create and resource_create, with the plugin and without it")
        result["hooks"] = self._hooks()
        result["hooks_ratio"] = max(one["ratio"] for one in result["hooks"].values())
        return result

    def _all(self) -> dict[str, Any]:
        """Refresh the whole catalogue as if the extension were new, against a rebuild of the index."""
        from ckan.lib import search

        self.say("ckan search-index rebuild")
        self.catalogue.forget()
        self.catalogue.settle()
        with stopwatch() as rebuild:
            search.rebuild(defer_commit=True, quiet=True)
            search.commit()
        self.say("refresh --all")
        one = self._filled()
        return {
            "rebuild_s": rebuild[0],
            "all_s": one,
            "all_ratio": rebuild[0] / one,
        }

    def _filled(self) -> float:
        from ckanext.freshness.status.refresh import refresh

        self.catalogue.forget()
        self.catalogue.settle()
        with stopwatch() as taken:
            done = refresh(self.now, everything=True)
        if done.changed != self.datasets or done.failures:
            raise SystemExit(f"The refresh did not do what was to be measured: {done}")
        return taken[0]

    def _passed(self, count: int) -> dict[str, float]:
        """Refresh after ``count`` boundaries have passed, against a rebuild of the same datasets."""
        from ckan.lib import search

        from ckanext.freshness.status.refresh import refresh

        ids, moment = self.catalogue.next_to_change(count)
        with stopwatch() as ours:
            done = refresh(moment)
        if done.changed != count or done.failures:
            raise SystemExit(f"The refresh did not do what was to be measured: {done}")
        with stopwatch() as theirs:
            search.rebuild(package_ids=ids)
            search.commit()
        self.catalogue.turn_back(ids, self.now)
        return {"seconds": ours[0], "rebuild_s": theirs[0], "ratio": ours[0] / theirs[0]}

    def _hooks(self) -> dict[str, dict[str, float]]:
        taken: dict[str, dict[bool, list[float]]] = {
            "package_create": {True: [], False: []},
            "resource_create": {True: [], False: []},
        }
        for round_ in range(ROUNDS):
            for plugin in (True, False) if round_ % 2 else (False, True):
                with plugins(loaded=plugin):
                    self._calls(taken, plugin, CALLS // ROUNDS)
        return {
            action: {
                "with_ms": statistics.median(times[True]) * 1e3,
                "without_ms": statistics.median(times[False]) * 1e3,
                "ratio": statistics.median(times[True]) / statistics.median(times[False]),
            }
            for action, times in taken.items()
        }

    def _calls(self, taken: dict[str, dict[bool, list[float]]], plugin: bool, count: int) -> None:
        resources = [{"url": f"http://example.org/{one}.csv", "format": "CSV"} for one in "ab"]
        extras = [{"key": "data_update_frequency", "value": "30"}]
        made = []

        def timed(action: str, **data: Any) -> Any:
            before = time.perf_counter()
            answer = self.site.call(action, **data)
            taken[action][plugin].append(time.perf_counter() - before)
            return answer

        # The first calls after plugins were loaded fill caches.
        warm_up = {"name": f"made-{time.time_ns()}", "owner_org": self.site.organization}
        self._purge(self.site.call("package_create", **warm_up)["id"])
        for _ in range(count):
            name = f"made-{time.time_ns()}"
            made.append(
                timed(
                    "package_create",
                    name=name,
                    title=name,
                    owner_org=self.site.organization,
                    resources=resources,
                    extras=extras,
                )["id"]
            )
        for package_id in made:
            timed("resource_create", package_id=package_id, url="http://example.org/c.csv")
        for package_id in made:
            self._purge(package_id)

    def _purge(self, package_id: str) -> None:
        self.site.call("dataset_purge", id=package_id)


@contextmanager
def plugins(*, loaded: bool) -> Iterator[None]:
    """Load our plugins, or unload them until the block ends."""
    import ckan.plugins as p

    if not loaded:
        # The harvesters first: both need it.
        p.unload("iati_harvester", "fdp_harvester", "freshness")
    try:
        yield
    finally:
        if not loaded:
            p.load("freshness", "fdp_harvester", "iati_harvester")


def _print(result: dict[str, Any]) -> None:
    line: Callable[[str, str], None] = lambda name, words: print(f"{name:26} {words}")  # noqa: E731
    line("nothing to do", f"{result['none_s']:.3f} s")
    for name in ("one_percent", "ten_percent"):
        one = result[name]
        line(
            name.replace("_", " "),
            f"{one['seconds']:.2f} s; {one['ratio']:.2f} times a rebuild of the same datasets",
        )
    line(
        "refresh --all",
        f"{result['all_s']:.1f} s; {result['all_ratio']:.2f} times as fast as a rebuild "
        f"({result['rebuild_s']:.1f} s)",
    )
    for action, times in result["hooks"].items():
        line(
            action,
            f"{times['with_ms']:.1f} ms with the plugin, {times['without_ms']:.1f} without: "
            f"{times['ratio']:.2f} times",
        )


if __name__ == "__main__":
    main()
