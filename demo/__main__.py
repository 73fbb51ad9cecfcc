"""What ./dev demo does: harvests, adds datasets of each freshness, checks URLs, serves the result."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests

from ckanext.freshness.dates import utc_now
from ckanext.freshness.tests.servers.fdp_demo import REGIONAL
from demo import checks, history, iati
from demo import datasets as own
from demo.children import NO_PROXY, Child, Children, address_of, log_name
from demo.site import ADMIN, EDITOR, ORG_ADMIN, ORGANIZATION, Progress, Report, Site, Source
from stack import ports
from stack.commands import Interrupted, end_on_signals, last_lines
from stack.errors import StackError
from stack.layout import Layout
from stack.progress import let_go, say, step

SOURCE_TYPE = "fdp"
REGION = "coastal-region"
LISTED_LATER = 4
"""Datasets that the region's FAIR Data Point still lists when it is harvested again."""
GATHER, FETCH = "gather-consumer", "fetch-consumer"
"""The consumers, as ``ckan harvester`` calls them."""
POLL = 0.3
STALLED = 180.0
"""Seconds without any record done after which a job is given up."""
RUN_EVERY = 15.0
"""Seconds between two looks for jobs that somebody started in the browser; a site uses cron."""


def main() -> int:
    """Run the demo. Return 0 if datasets were harvested, none failed, and all statuses are there."""
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
    """Start the servers, harvest, check, and serve the site until the end."""
    state = json.loads(options.state.read_text())
    for consumer in (GATHER, FETCH):
        children.start(consumer, ["ckan", "harvester", consumer])
    if options.source:
        url = options.source
    else:
        # The day stays the one of the first start, so that the datasets do grow old.
        state.setdefault("today", datetime.date.today().isoformat())
        with step("Starting a FAIR Data Point"):
            child, state["fdp_port"] = start_fair_data_point(
                children, state.get("fdp_port"), state["today"], "--demo"
            )
            url = address_of(child)
    state.setdefault("password", secrets.token_urlsafe(9))
    options.state.write_text(json.dumps(state))

    with step("Opening CKAN"):
        site = Site(os.environ["CKAN_INI"])
        site.ensure_people(state["password"])
        site.ensure_organization()
        members = {EDITOR: "editor", ORG_ADMIN: "admin"}
        site.ensure_organization(own.ORGANIZATION, own.TITLE, members)
        site.ensure_organization(own.WITH_COPIES, own.TITLE_WITH_COPIES, members)
        site.ensure_organization(REGION, "Coastal Region", {ORG_ADMIN: "admin"})
        abort_jobs(site)
        source = ensure_source(site, url, is_own=not options.source)
    with step(f"Harvesting {url}"):
        report = harvest(site, source, children)
    datasets = site.datasets(source)
    # Without our own source, the site may contact no address of this machine.
    if options.source:
        checked = cycle = None
        with step("Adding datasets of each status"):
            site.ensure_datasets(own.OF_EACH_STATUS, "https://relief-works.example.org")
    else:
        harvest_region(site, children, state)
        options.state.write_text(json.dumps(state))
        checked = check_files(site, children, state, options.state)
        cycle = update_registry(site, children, state, options.state)
    with step("ckan freshness refresh"):
        ckan("freshness", "refresh", "--all")
    with step("ckan freshness report, and the months before"):
        ckan("freshness", "report")
        if "history" not in state:
            history.remember(utc_now())
            state["history"] = history.DAYS
            options.state.write_text(json.dumps(state))
    statuses = site.statuses()
    say("\n" + summary(url, report, len(datasets)) + "\n" + freshness(statuses))
    if checked is not None:
        say(checks_summary(checked))
    if cycle is not None:
        say(iati.summary(cycle, f"http://localhost:{options.port}"))
    all_shown = all(statuses.get(status) for status in _STATUSES)
    all_found = checked is None or checked.complete
    code = 0 if datasets and not report.counts["errored"] and all_shown and all_found else 1
    if not options.no_serve:
        serve(site, source, options.port, state["password"], datasets, children)
    return code


def start_fair_data_point(
    children: Children, last_port: object, today: str, *content: str
) -> tuple[Child, int]:
    """Start a FAIR Data Point, on its previous port if that is free. Return its process and port."""
    port = ports.choose(last_port if isinstance(last_port, int) else None)
    module = "ckanext.freshness.tests.servers.fdp"
    command = [sys.executable, "-m", module, *content, f"--port={port}", f"--today={today}"]
    return children.start(f"fair data point {content[0].strip('-')}", command), port


def harvest_region(site: Site, children: Children, state: dict[str, Any]) -> None:
    """Harvest a region, which then lists fewer datasets, so that their deletion is held; and a lost source.

    The region's FAIR Data Point runs on, with the few datasets.
    """
    all_listed = ("--regional", str(len(REGIONAL)))
    few_listed = ("--regional", str(LISTED_LATER))
    with step(
        "Harvesting a region that withdraws most of its datasets, and a source that has gone"
    ):
        child, port = start_fair_data_point(
            children, state.get("region_port"), state["today"], *all_listed
        )
        url = address_of(child)
        source = Source("", "demo-region", url)
        source, is_new = site.ensure_source(source, SOURCE_TYPE, "Coastal Region", REGION)
        if is_new:
            harvest(site, source, children)
        children.stop(child)
        child, state["region_port"] = start_fair_data_point(
            children, port, state["today"], *few_listed
        )
        address_of(child)
        if is_new:
            harvest(site, source, children)
        gone = Source("", "demo-gone", f"{url}/harbour")
        gone, is_new = site.ensure_source(gone, SOURCE_TYPE, "Harbour authority", REGION)
        if is_new:
            harvest(site, gone, children)


def check_files(
    site: Site, children: Children, state: dict[str, Any], kept: Path
) -> checks.Checked:
    """Check the files of a file host twice, after a month of nights at the first start.

    :param kept: the file of the state, which the next start goes on from
    """
    with step("Starting a file host"):
        edition = int(state.get("edition", 1))
        host = checks.start_file_host(children, state.get("files_port"), edition)
        # With each start the publisher goes on.
        state.update(files_port=host.port, edition=edition + 1)
        kept.write_text(json.dumps(state))
    with step("Adding datasets with its files"):
        site.ensure_datasets(own.LINKED, host.url)
    if "nights" not in state:
        with step("Checking them in the nights of a month"):
            checks.check_for_nights(host, utc_now())
            state["nights"] = checks.NIGHTS
            state["edition"] += checks.NIGHTS
            kept.write_text(json.dumps(state))
    with step("Adding datasets of each status"):
        site.ensure_datasets((*own.OF_EACH_STATUS, *own.FURTHER), host.url)
        site.confirm(own.CONFIRMED)
    names = [one.name for one in own.LINKED]
    with step("ckan freshness check, twice"):
        return checks.check_twice(host, ckan, lambda: site.outcomes(names))


def update_registry(
    site: Site, children: Children, state: dict[str, Any], kept: Path
) -> Mapping[str, Any]:
    """Do an update cycle of an IATI registry.

    :param kept: the file of the state, which the next start goes on from.
    """
    with step("Starting an IATI registry"):
        url, state["registry_port"] = iati.start_registry(children, state.get("registry_port"))
        kept.write_text(json.dumps(state))
        source = Source("", iati.SOURCE, url)
        title = "Demo IATI registry"
        site.ensure_source(source, iati.SOURCE_TYPE, title, ORGANIZATION, iati.CONFIG)
    with step("ckan iati update"):
        return iati.update()


def checks_summary(checked: checks.Checked) -> str:
    """What two checks found, in words."""
    return (
        f"\nChecked {checked.second.total()} URLs twice; in between new data were published\n"
        f"                  first second\n{checked}"
    )


def abort_jobs(site: Site) -> None:
    """Abort the jobs that an earlier demo left unfinished."""
    for job_id, _source_id in site.open_jobs():
        ckan("harvester", "job-abort", job_id)
        ckan("harvester", "purge-queues")


def ensure_source(site: Site, url: str, *, is_own: bool) -> Source:
    """Make the harvest source of a FAIR Data Point, unless there is one."""
    host = urlsplit(url)
    title = "Meridian Observatory" if is_own else host.hostname or url
    name = "demo-fair-data-point" if is_own else f"fdp-{sha256(url.encode()).hexdigest()[:8]}"
    return site.ensure_source(Source("", name, url), SOURCE_TYPE, title, ORGANIZATION)[0]


def harvest(site: Site, source: Source, children: Children) -> Report:
    """Run a job on the real path: Redis and both consumers."""
    job_id = site.start_job(source)
    progress = wait_for_import(site, job_id, children)
    standstill = Standstill()
    while progress.status != "Finished":
        standstill.look(progress, children.folder)
        children.check()
        site.end_jobs()
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
    """A watch that notices if a job makes no progress for too long."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """
        :param clock: seconds since some moment.
        """
        self._clock = clock
        self._before: Progress | None = None
        self._moved = clock()

    def look(self, progress: Progress, logs: Path) -> None:
        """Compare the job with its previous state.

        :raises StackError: nothing has changed for `STALLED` seconds; the text names the stage and the log
        """
        if progress != self._before:
            self._before, self._moved = progress, self._clock()
        elif self._clock() - self._moved > STALLED:
            what, log = stood_still(progress, logs)
            end = f" The end of {log}:\n{last_lines(log)}" if log.exists() else f" See {log}."
            raise StackError(f"Nothing has moved for {STALLED:.0f} s: {what}.{end}")


def stood_still(progress: Progress, logs: Path) -> tuple[str, Path]:
    """Return why a job does not go on, in words, and the log of the process that should continue it."""
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
    """Return a job's results in words."""
    lines = [f"Harvested {url}"]
    lines += [f"    {name:13} {count:5}" for name, count in report.counts.items()]
    lines += [f"Datasets of this source on the site now: {datasets}"]
    lines += [f"    error: {message} ({count} times)" for message, count in report.errors]
    return "\n".join(lines)


_STATUSES = [one.status or "" for one in own.OF_EACH_STATUS]


def freshness(statuses: dict[str, int]) -> str:
    """Return the freshness of the site's datasets in words."""
    lines = ["Freshness of all datasets on the site"]
    lines += [f"    {status:13} {statuses.get(status, 0):5}" for status in _STATUSES]
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
Log in as        {ADMIN} (sysadmin), {EDITOR} or {ORG_ADMIN} (of {own.TITLE}
                 and {own.TITLE_WITH_COPIES}); the password of each is {password}

What to look at
    {base}/freshness    the dashboard. The months before the first start are made up from the datasets' dates
    {base}/freshness/mine    log in as {EDITOR}: what to do now
    {base}/dataset    click the values of the facet Freshness
    {base}/organization/{own.ORGANIZATION}    a dataset of each status
    {base}/dataset/water-points/freshness    why one is overdue; log in to confirm its data
    {base}/dataset/{own.CLINICS}    a broken link, and the last good copy of its file
    {base}/dataset/{own.ALL_FILES}/freshness    what checks find at links; log in to check them again
    {base}/freshness/data    which data have changed: rows and columns; the feed is {base}/freshness/data.atom
    {base}/freshness/frequencies    update frequencies that do not fit the data; log in to change them
    {base}/dataset/market-surveys/freshness    how often data really change
    {base}/harvest    a source whose deletions are on hold, and one that has gone
    {base}/harvest/{source.name}    log in, press Admin, then Reharvest
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
    """Run a ckan command.

    :raises StackError: the command fails; the text has its messages
    """
    done = subprocess.run(
        ["ckan", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        raise StackError(f"ckan {' '.join(arguments)} failed:\n{done.stdout[-3000:]}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument(
        "--state",
        type=Path,
        required=True,
        help="file with the values that are kept between starts",
    )
    parser.add_argument("--port", type=int, required=True, help="of the web server")
    parser.add_argument("--source", metavar="URL")
    parser.add_argument("--no-serve", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
