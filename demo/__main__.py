"""What ./dev demo does: harvests, adds datasets of each freshness, checks URLs, serves the result."""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests

from demo import checks, history, iati
from demo import datasets as hand_made
from demo.children import NO_PROXY, Child, Children, address_of, log_name
from demo.site import ADMIN, ORGANIZATION, Progress, Report, Site, Source
from stack import ports
from stack.commands import Interrupted, end_on_signals, last_lines
from stack.errors import StackError
from stack.layout import Layout
from stack.progress import let_go, say, step

SOURCE_TYPE = "fdp"
LOCAL_SOURCE = "demo-fair-data-point"
GATHER, FETCH = "gather-consumer", "fetch-consumer"
"""The consumers, as ``ckan harvester`` calls them."""
POLL = 0.3
STALLED = 180.0
"""Seconds without any record done after which a job is given up."""
RUN_EVERY = 15.0
"""Seconds between two looks for jobs that somebody started in the browser; a site uses cron."""


def main() -> int:
    """Return the exit code: 0 if datasets were harvested, none failed, and all statuses are there."""
    options = _options()
    end_on_signals()
    try:
        return _main(options)
    except Interrupted as signalled:
        return 128 + signalled.number
    except KeyboardInterrupt:
        return 130
    finally:
        let_go()


def _main(options: argparse.Namespace) -> int:
    layout = Layout(Path(__file__).resolve().parent.parent)
    children = Children(options.state.parent / "logs", layout.processes)
    try:
        return demonstrate(options, children)
    except StackError as error:
        say(f"\n{error}")
        return 1
    finally:
        children.stop_all()


def demonstrate(options: argparse.Namespace, children: Children) -> int:
    """Everything from the start of the servers to the end of the serving."""
    state = json.loads(options.state.read_text())
    for consumer in (GATHER, FETCH):
        children.start(consumer, ["ckan", "harvester", consumer])
    if options.source:
        url = options.source
    else:
        # The day stays the one of the first start, so that the datasets do grow old.
        state.setdefault("today", datetime.date.today().isoformat())
        with step("Starting a FAIR Data Point"):
            url, state["fdp_port"] = start_fair_data_point(children, state)
    state.setdefault("password", secrets.token_urlsafe(9))
    options.state.write_text(json.dumps(state))

    with step("Opening CKAN"):
        site = Site(os.environ["CKAN_INI"])
        site.ensure_admin(state["password"])
        site.ensure_organization()
    source = ensure_source(site, url, own=not options.source)
    report = harvest(site, source, children)
    datasets = site.datasets(source)
    with step("Adding datasets of each status of freshness"):
        site.ensure_organization(hand_made.ORGANIZATION, hand_made.TITLE)
        site.ensure_datasets(hand_made.HAND_MADE)
    # Without our own source, the site may visit no address of this machine.
    checked = None if options.source else check_files(site, children, state, options.state)
    cycle = None if options.source else update_registry(site, children, state, options.state)
    with step("ckan freshness refresh"):
        ckan("freshness", "refresh", "--all")
    with step("ckan freshness report, and the days before"):
        ckan("freshness", "report")
        history.remember(datetime.datetime.now(datetime.timezone.utc))
    statuses = site.statuses()
    say("\n" + summary(url, report, len(datasets)) + "\n" + freshness(statuses))
    if checked is not None:
        say(checks_summary(checked))
    if cycle is not None:
        say(iati.summary(cycle, f"http://localhost:{options.port}"))
    all_shown = all(statuses.get(one.status) for one in hand_made.HAND_MADE)
    all_found = checked is None or checked.complete
    code = 0 if datasets and not report.counts["errored"] and all_shown and all_found else 1
    if not options.no_serve:
        serve(site, source, options.port, state["password"], datasets, children)
    return code


def start_fair_data_point(children: Children, state: dict[str, Any]) -> tuple[str, int]:
    """Start our own FAIR Data Point, on the port of last time if that is free; its URL and port."""
    last = state.get("fdp_port")
    port = ports.choose(last if isinstance(last, int) else None)
    module = "ckanext.freshness.tests.servers.fdp"
    child = children.start(
        "fair data point",
        [sys.executable, "-m", module, "--demo", f"--port={port}", f"--today={state['today']}"],
    )
    return address_of(child), port


def check_files(
    site: Site, children: Children, state: dict[str, Any], kept: Path
) -> checks.Checked:
    """Check the files of a file host twice, as in two nights.

    :param kept: the file of the state, which the next start goes on from.
    """
    with step("Starting a file host"):
        edition = int(state.get("edition", 1))
        host = checks.start_file_host(children, state.get("files_port"), edition)
        # With each start the publisher goes on.
        state.update(files_port=host.port, edition=edition + 1)
        kept.write_text(json.dumps(state))
    made = hand_made.linked(host.url)
    with step("Adding datasets with its files"):
        site.ensure_datasets(made)
    with step("ckan freshness check, twice"):
        return checks.check_twice(host, [one.name for one in made], ckan, site.outcomes)


def update_registry(
    site: Site, children: Children, state: dict[str, Any], kept: Path
) -> Mapping[str, Any]:
    """Do an update cycle of a registry of IATI's.

    :param kept: the file of the state, which the next start goes on from.
    """
    with step("Starting an IATI registry"):
        url, state["registry_port"] = iati.start_registry(children, state.get("registry_port"))
        kept.write_text(json.dumps(state))
    with step("ckan harvester source create"):
        iati.ensure_source(site.sources(), url, ORGANIZATION, ckan)
    with step("ckan iati update"):
        return iati.update()


def checks_summary(checked: checks.Checked) -> str:
    """What two checks found, in words."""
    return (
        f"\nVisited {checked.second.total()} URLs twice; in between new data were published\n"
        f"                  first second\n{checked}"
    )


def ensure_source(site: Site, url: str, *, own: bool) -> Source:
    """The harvest source of a URL, made with ``ckan harvester source create`` if there is none."""
    sources = site.sources()
    for job_id, source_id in site.open_jobs():
        with step("Aborting a job that an earlier demo left unfinished"):
            ckan("harvester", "job-abort", job_id)
            ckan("harvester", "purge-queues")
        say(f"(job {job_id} of source {source_id})")
    for source in sources:
        if source.url.rstrip("/") == url.rstrip("/"):
            return source
        if own and source.name.startswith(LOCAL_SOURCE):
            with step(f"Removing the source {source.url}, whose port is taken"):
                ckan("harvester", "source", "clear", source.name)
                ckan("harvester", "source", "remove", source.name)
    title = "Demo FAIR Data Point" if own else urlsplit(url).hostname or url
    name = f"{LOCAL_SOURCE if own else 'fdp'}-{hashlib.sha256(url.encode()).hexdigest()[:8]}"
    command = ("harvester", "source", "create", name, url, SOURCE_TYPE, title, "true", ORGANIZATION)
    failure = None
    with step("ckan harvester source create"):
        try:
            ckan(*command)
        except StackError as error:
            # ckanext-harvest 1.6.3 on CKAN 2.12 makes the source, then fails to print its status.
            failure = error
    made = [source for source in site.sources() if source.name == name]
    if not made:
        raise failure or StackError(f"The source {name} was made, but CKAN does not list it.")
    return made[0]


def harvest(site: Site, source: Source, children: Children) -> Report:
    """Run a job on the real path: Redis, both consumers, ``ckan harvester run``."""
    with step("ckan harvester job"):
        ckan("harvester", "job", source.name)
    (job_id,) = (job for job, source_id in site.open_jobs() if source_id == source.id)
    with step("Gathering and importing"):
        progress = wait_for_import(site, job_id, children)
    standstill = Standstill()
    with step("ckan harvester run"):
        while progress.status != "Finished":
            standstill.look(progress, children.folder)
            children.check()
            ckan("harvester", "run")
            progress = site.progress(job_id)
    return site.report(job_id)


def wait_for_import(site: Site, job_id: str, children: Children) -> Progress:
    """Wait until every record of a job is done.

    Raises StackError if a consumer ends, or if nothing moves for `STALLED` seconds.
    """
    standstill = Standstill()
    while not (progress := site.progress(job_id)).done:
        children.check()
        standstill.look(progress, children.folder)
        time.sleep(POLL)
    return progress


class Standstill:
    """Notices that a job has not moved for too long."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """
        :param clock: seconds since some moment.
        """
        self._clock = clock
        self._before: Progress | None = None
        self._moved = clock()

    def look(self, progress: Progress, logs: Path) -> None:
        """Compare with the last look.

        :raises StackError: nothing has changed for `STALLED` seconds; names who stands still, and the log.
        """
        if progress != self._before:
            self._before, self._moved = progress, self._clock()
        elif self._clock() - self._moved > STALLED:
            what, log = stood_still(progress, logs)
            end = f" The end of {log}:\n{last_lines(log)}" if log.exists() else f" See {log}."
            raise StackError(f"Nothing has moved for {STALLED:.0f} s: {what}.{end}")


def stood_still(progress: Progress, logs: Path) -> tuple[str, Path]:
    """Who has to do with a job next, and its log."""
    if not progress.gathered:
        return (
            f"the gather has not ended, {progress.objects} records have come so far. The source may "
            "be slow or refuse to be read; another --source can be tried",
            logs / log_name(GATHER),
        )
    if progress.open:
        return (
            f"{progress.open} of {progress.objects} gathered records are not imported",
            logs / log_name(FETCH),
        )
    return "all records are imported, but the job is not finished", logs / log_name(FETCH)


def summary(url: str, report: Report, datasets: int) -> str:
    """The job in words."""
    lines = [f"Harvested {url}"]
    lines += [f"    {name:13} {count:5}" for name, count in report.counts.items()]
    lines += [f"Datasets of this source on the site now: {datasets}"]
    lines += [f"    error: {message} ({count} times)" for message, count in report.errors]
    return "\n".join(lines)


def freshness(statuses: dict[str, int]) -> str:
    """How fresh the datasets of the site are, in words."""
    lines = ["Freshness of all datasets on the site"]
    lines += [f"    {one.status:13} {statuses.get(one.status, 0):5}" for one in hand_made.HAND_MADE]
    return "\n".join(lines)


def serve(
    site: Site, source: Source, port: int, password: str, datasets: list[str], children: Children
) -> None:
    """Serve the site until Ctrl-C."""
    base = f"http://{ports.HOST}:{port}"
    # For what the pages do in the background, such as the preview of a source.
    children.start("jobs worker", ["ckan", "jobs", "worker"])
    with step("Starting the web server"):
        command = ["ckan", "run", "--host", ports.HOST, "--port", str(port)]
        web = children.start(
            "web server", [*command, "--disable-reloader", "--disable-debugger", "--threaded"]
        )
        wait_for_web(base, web)
    say(
        f"""
The site is at   {base}
Log in as        {ADMIN}, password {password}

What to look at
    {base}/freshness    how fresh it all is, and was: days before the first start by the datasets' dates
    {base}/dataset    click the values of the facet Freshness
    {base}/organization/{hand_made.ORGANIZATION}    a dataset of each status
    {base}/dataset/water-points/freshness    why one is overdue; log in to confirm its data
    {base}/dataset/{hand_made.ALL_FILES}/freshness    what a check found at URLs; log in to have them visited
    {base}/harvest/{source.name}    press Admin, then Reharvest
    {base}/organization/{ORGANIZATION}"""
    )
    if datasets:
        say(f"    {base}/dataset/{datasets[0]}")
    say(f"    {source.url}    what was harvested\n\nCtrl-C stops everything.")
    next_run = time.monotonic() + RUN_EVERY
    while True:
        children.check()
        if time.monotonic() > next_run:
            if site.open_jobs():
                ckan("harvester", "run")
            next_run = time.monotonic() + RUN_EVERY
        time.sleep(1)


def wait_for_web(base: str, web: Child) -> None:
    """Wait until the first page has been answered."""
    while True:
        web.check()
        try:
            answer = requests.get(f"{base}/dataset", timeout=30, proxies=NO_PROXY)
        except requests.RequestException:
            time.sleep(POLL)
            continue
        if answer.ok:
            return
        raise StackError(
            f"{base}/dataset answered {answer.status_code}. The end of {web.log}:\n{last_lines(web.log)}"
        )


def ckan(*arguments: str) -> None:
    """Run a ckan command; raises StackError with its words if it fails."""
    done = subprocess.run(
        ["ckan", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        raise StackError(f"ckan {' '.join(arguments)} failed:\n{done.stdout[-3000:]}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument(
        "--state", type=Path, required=True, help="file of what is kept between starts"
    )
    parser.add_argument("--port", type=int, required=True, help="of the web server")
    parser.add_argument("--source", metavar="URL")
    parser.add_argument("--no-serve", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
