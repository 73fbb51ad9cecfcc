"""Harvests: ours, ckanext-dcat's ``dcat_rdf``, and the floor below both, in one run.

All three write the same datasets into the same CKAN, Solr and PostgreSQL with the same plugins. The
floor is the same package dicts through a bare ``package_create`` with ``ckan.search.solr_commit`` off
and one Solr commit per 50. Rate limits are raised so far that they do not slow the measurement down.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks._processes import Child, cpu_seconds, start, stopwatch

PLUGINS = "freshness fdp_harvester harvest activity dcat dcat_rdf_harvester"
POLITE = {"concurrency": 32, "requests_per_second": 10_000}
PAGE_SIZE = 50
MEMORY_SIZES = (500, 5000)
CONSUMERS = (2, 4)
"""Numbers of fetch consumers that are compared with one."""


def main() -> None:
    options = _parser().parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ini = _write_ini(Path(folder))
        os.environ["CKAN_INI"] = str(ini)
        bench = Bench(options.datasets, Path(folder), quiet=options.json)
        result = (
            bench.unchanged() if options.unchanged_only else bench.run(peer=not options.no_peer)
        )
    if options.json:
        print(json.dumps(result, indent=2))
    elif options.unchanged_only:
        _print_unchanged(result)
    else:
        _print(result, options.datasets)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./dev bench harvest", description=__doc__)
    parser.add_argument("--datasets", type=int, default=500, help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    parser.add_argument("--no-peer", action="store_true", help="leave ckanext-dcat's harvester out")
    parser.add_argument(
        "--unchanged-only",
        action="store_true",
        help="only gather an unchanged source, for sizes whose first harvest takes hours",
    )
    return parser


def _write_ini(folder: Path) -> Path:
    """Write an ini file with the peer's plugins and quiet logs."""
    ini = folder / "bench.ini"
    ini.write_text(
        f"[app:main]\nuse = config:{Path(os.environ['CKAN_INI']).resolve()}\n"
        f"ckan.plugins = {PLUGINS}\n"
        "ckanext.freshness.allowed_networks = 127.0.0.0/8\n"
        "ckanext.dcat.max_file_size = 500\n"
        "[loggers]\nkeys = root\n[handlers]\nkeys = console\n[formatters]\nkeys = generic\n"
        "[logger_root]\nlevel = WARNING\nhandlers = console\n"
        "[handler_console]\nclass = StreamHandler\nargs = (sys.stderr,)\nformatter = generic\n"
        "[formatter_generic]\nformat = %(asctime)s %(levelname)s %(name)s %(message)s\n"
    )
    return ini


class Server:
    """The FAIR Data Point in a process of its own, so that its work does not count as CPU time of a subject."""

    def __init__(self, datasets: int, latency: float = 0.0) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, datasets, latency), daemon=True
        )
        self._process.start()
        self.url: str = self._pipe.recv()

    def ask(self, *question: Any) -> Any:
        self._pipe.send(question)
        return self._pipe.recv()

    def stop(self) -> None:
        self.ask("stop")
        self._process.join(10)


def _serve(pipe: Connection, datasets: int, latency: float) -> None:
    from ckanext.freshness.tests.servers.fdp import FdpServer
    from ckanext.freshness.tests.servers.fdp_bench import bench_catalogue

    with FdpServer(latency=latency) as server:
        records = bench_catalogue(server, datasets)
        pipe.send(server.source_url)
        while True:
            question, *arguments = pipe.recv()
            if question == "change":
                every, words = arguments
                for number, record in enumerate(records[::every]):
                    server.change(record, title=f"{words} {number}")
            elif question == "requests":
                pipe.send(server.count())
                continue
            elif question == "reset":
                server.reset()
            pipe.send(None)
            if question == "stop":
                return


class Bench:
    """One run of everything."""

    def __init__(self, datasets: int, folder: Path, *, quiet: bool) -> None:
        self.datasets = datasets
        self.folder = folder
        self.quiet = quiet
        from benchmarks import _site

        self.site = _site.Site()

    def say(self, words: str) -> None:
        print(words, file=sys.stderr if self.quiet else sys.stdout, flush=True)

    def run(self, *, peer: bool) -> dict[str, Any]:
        server = Server(self.datasets)
        result: dict[str, Any] = {"datasets": self.datasets}
        try:
            self.site.empty()
            self.say(f"ours, {self.datasets} datasets, one fetch consumer")
            ours = self._series(server, "fdp", server.url, {**POLITE}, consumers=1)
            packages = self.site.packages()
            result["requests"] = ours.pop("requests")
            self.site.empty()
            self.say("the floor: bare package_create, one Solr commit per 50")
            floor = self.site.floor(packages)
            several = {}
            for consumers in CONSUMERS:
                self.site.empty()
                self.say(f"ours, {consumers} fetch consumers")
                several[consumers] = self._first(server, consumers)
            theirs = None
            if peer:
                self.site.empty()
                self.say("ckanext-dcat's dcat_rdf")
                config = {"rdf_format": "text/turtle"}
                theirs = self._series(
                    server, "dcat_rdf", server.url + "/all.ttl", config, consumers=1
                )
        finally:
            server.stop()
        for name in ("first", "unchanged", "one_percent"):
            figures = {
                "ours_s": ours[name],
                "ours_ms_per_dataset": ours[name] / self.datasets * 1e3,
            }
            if theirs:
                figures |= {"peer_s": theirs[name], "ratio": theirs[name] / ours[name]}
            result[name] = figures
        result["floor_s"] = floor
        result["floor_ratio"] = ours["first"] / floor
        result["gather_s"] = ours["gather"]
        result["consumer_cpu_s"] = ours["cpu"]
        result["two_consumers_gain"] = ours["first"] / several[2]["seconds"]
        result["four_consumers_gain"] = ours["first"] / several[4]["seconds"]
        result["consumers"] = several
        self.say("latency: gather against one request after another")
        result["latency_ratio"] = self._latency()
        self.say("memory: gathers of 500 and 5,000 datasets")
        result["peak_mb"] = self._memory()
        self.site.empty()
        return result

    def unchanged(self) -> dict[str, Any]:
        """Return the figures of gathers of a source that has not changed."""
        from benchmarks._harvest_unchanged import Unchanged

        server = Server(self.datasets)
        try:
            bench = Unchanged(self.site, server, self.folder, self.say)
            return bench.measure(self.datasets, {**POLITE})
        finally:
            server.stop()

    def _consumers(self, fetch: int) -> list[Child]:
        log = self.folder / "consumers.log"
        kinds = ["gather-consumer"] + ["fetch-consumer"] * fetch
        children = [start(["ckan", "harvester", kind], log) for kind in kinds]
        self.site.wait_for_consumers(len(children), children, log)
        return children

    def _series(
        self, server: Server, source_type: str, url: str, config: dict[str, Any], consumers: int
    ) -> dict[str, Any]:
        """Return the seconds of a first harvest, an unchanged one, and one after 1 % has changed."""
        source = self.site.add_source(source_type, url, config)
        children = self._consumers(consumers)
        seconds: dict[str, Any] = {}
        try:
            server.ask("reset")
            cpu = children[1].cpu_seconds
            seconds["first"] = self.site.harvest(source, added=self.datasets)
            seconds["gather"] = self.site.gather_seconds(source)
            seconds["cpu"] = children[1].cpu_seconds - cpu
            pages = -(-self.datasets // PAGE_SIZE)
            asked = server.ask("requests")
            seconds["requests"] = {"asked": asked, "ratio": asked / (pages + self.datasets)}
            seconds["unchanged"] = self.site.harvest(source)
            changed = len(range(0, self.datasets, 100))
            server.ask("change", 100, "Changed")
            seconds["one_percent"] = self.site.harvest(source, updated=changed)
        finally:
            for child in children:
                child.__exit__(None, None, None)
        return seconds

    def _first(self, server: Server, consumers: int) -> dict[str, float]:
        """Return the seconds of a first harvest, and the processor seconds of everything that works for it."""
        from benchmarks._meter import Services

        source = self.site.add_source("fdp", server.url, {**POLITE})
        children = self._consumers(consumers)
        try:
            cpu = cpu_seconds(children)
            with Services.of_site().measured() as figures:
                seconds = self.site.harvest(source, added=self.datasets)
            # This process only waits.
            del figures["cpu_seconds"]
            return figures | {"seconds": seconds, "consumers_s": cpu_seconds(children) - cpu}
        finally:
            for child in children:
                child.__exit__(None, None, None)

    def _latency(self) -> float:
        """Return how much faster a crawl is than sequential requests of 50 ms each."""
        server = Server(200, latency=0.05)
        seconds = {}
        try:
            for concurrency in (1, 64):
                with stopwatch() as taken:
                    self.site.survey(server.url, {**POLITE, "concurrency": concurrency})
                seconds[concurrency] = taken[0]
        finally:
            server.stop()
        return seconds[1] / seconds[64]

    def _memory(self) -> dict[str, float]:
        """Return the peak memory of a gathering process in MB, at two sizes."""
        peaks = {}
        for datasets in MEMORY_SIZES:
            server = Server(datasets)
            source = self.site.add_source("fdp", server.url, {**POLITE})
            log = self.folder / "gather.log"
            child = start(["ckan", "harvester", "gather-consumer"], log)
            try:
                self.site.wait_for_consumers(1, [child], log)
                before = child.peak_mb
                self.site.gather(source)
                peaks[str(datasets)] = child.peak_mb
                peaks[f"{datasets} more than at start"] = child.peak_mb - before
            finally:
                child.__exit__(None, None, None)
                server.stop()
            self.site.empty()
        small, large = (peaks[str(datasets)] for datasets in MEMORY_SIZES)
        peaks["growth"] = large - small
        return peaks


def _print(result: dict[str, Any], datasets: int) -> None:
    for name in ("first", "unchanged", "one_percent"):
        figures = result[name]
        line = f"{name:12} ours {figures['ours_s']:8.2f} s, {figures['ours_ms_per_dataset']:7.2f} ms each"
        if "peer_s" in figures:
            line += f"; dcat_rdf {figures['peer_s']:8.2f} s; {figures['ratio']:.1f} times as fast"
        print(line)
    print(
        f"floor        {result['floor_s']:.2f} s; ours takes {result['floor_ratio']:.2f} times that"
    )
    print(
        f"fetch consumers: two are {result['two_consumers_gain']:.2f} times as fast as one, four "
        f"{result['four_consumers_gain']:.2f} times"
    )
    print(f"requests: {result['requests']['ratio']:.3f} for each page and dataset")
    print(f"50 ms latency: {result['latency_ratio']:.1f} times as fast as one after another")
    print(f"memory: {result['peak_mb']['growth']:.0f} MB more for 5,000 datasets than for 500")


def _print_unchanged(result: dict[str, Any]) -> None:
    for name in ("first", "unchanged"):
        each = result[name]
        print(
            f"{name:12} {each['seconds']:8.1f} s, {each['cpu_seconds']:8.1f} s CPU, PostgreSQL "
            f"{each['postgres_s']:8.1f} s, {each['extra_mb']:6.0f} MB more than a waiting consumer"
        )
    print(f"unchanged    {result['unchanged']['per_second']:8.0f} records a second")
    killed = result["killed"]
    print(f"killed after {killed['written']} records; resumed in {killed['resumed_s']:.1f} s")


if __name__ == "__main__":
    main()
