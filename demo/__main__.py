"""What ./dev demo does: harvests, adds datasets of each freshness, checks URLs, serves the result.

The servers that it harvests and checks run in this process.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import secrets
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests

from ckanext.freshness.checking.decisions import Outcome
from ckanext.freshness.dates import utc_now
from ckanext.freshness.runs import check_run
from ckanext.freshness.tests.servers import fdp_demo, registry_model
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.file_host import FileHost
from ckanext.freshness.tests.servers.registry import RegistryServer
from demo import datasets as own
from demo import history
from demo.children import Child, Children
from demo.site import ADMIN, EDITOR, ORG_ADMIN, ORGANIZATION, Report, Site, Source
from stack.commands import Interrupted, end_on_signals, last_lines
from stack.messages import StackError, say, step
from stack.processes import end_with_parent
from stack.system import HOST, choose_port, write_private

REGION = "coastal-region"
LISTED_LATER = 4
"""Datasets that the region's FAIR Data Point still lists when it is harvested again."""
FILES, REGISTRY = "127.0.0.2", "127.0.0.3"
"""Addresses of other servers: the site does not check its own files."""
NIGHTS = 30
POLL, PATIENCE = 0.3, 600.0
"""Seconds between two looks at a job, and until a job is given up."""
RUN_EVERY = 15.0
"""Seconds between two looks for jobs that somebody started in the browser; a site uses cron."""
EXPECTED = {
    one.value for one in (Outcome.NOT_MODIFIED, Outcome.CHANGED, Outcome.API, Outcome.ERROR)
}
"""Outcomes that the last check must have."""


def main() -> int:
    """Run the demo. Return 0 if datasets were harvested, none failed, and all statuses are there."""
    options = _options()
    end_on_signals()
    end_with_parent()
    children = Children(options.state.parent / "logs")
    try:
        with ExitStack() as servers:
            return Demo(options, children, servers).run()
    except StackError as error:
        say(f"\n{error}")
        return 1
    except Interrupted as signalled:
        return 128 + signalled.number
    except KeyboardInterrupt:
        return 130
    finally:
        children.stop_all()


class Demo:
    """One start of the demo. What is kept until the next one is in the file of its state."""

    def __init__(self, options: argparse.Namespace, children: Children, servers: ExitStack) -> None:
        self._options = options
        self._children = children
        self._servers = servers
        self._state: dict[str, Any] = json.loads(options.state.read_text())
        self._password: str = self._kept("password", secrets.token_urlsafe(9))
        # The day stays the one of the first start, so that the datasets do grow old.
        self._today = datetime.date.fromisoformat(
            self._kept("today", datetime.date.today().isoformat())
        )
        for consumer in ("gather-consumer", "fetch-consumer"):
            children.start(consumer, ["ckan", "harvester", consumer])
        with step("Opening CKAN"):
            self._site = Site(os.environ["CKAN_INI"])
            self._site.ensure_people(self._password)
            members = {EDITOR: "editor", ORG_ADMIN: "admin"}
            self._site.ensure_organization(ORGANIZATION, "Meridian Observatory", {})
            self._site.ensure_organization(own.ORGANIZATION, own.TITLE, members)
            self._site.ensure_organization(own.WITH_COPIES, own.TITLE_WITH_COPIES, members)
            self._site.ensure_organization(REGION, "Coastal Region", {ORG_ADMIN: "admin"})
            for job in self._site.open_jobs():
                ckan("harvester", "job-abort", job)
                ckan("harvester", "purge-queues")

    def _kept(self, name: str, value: Any) -> Any:
        """Return a value of the state, which is set if it is not there."""
        self._state.setdefault(name, value)
        return self._keep(name, self._state[name])

    def _keep(self, name: str, value: Any) -> Any:
        self._state[name] = value
        write_private(self._options.state, json.dumps(self._state))
        return value

    def _port(self, name: str) -> int:
        """Return the port of one of our servers, the one of the last start if it is free."""
        return int(self._keep(name, choose_port(self._state.get(name))))

    def run(self) -> int:
        """Harvest, check, and serve the site until the end."""
        options, site = self._options, self._site
        if options.source:
            name = f"fdp-{sha256(options.source.encode()).hexdigest()[:8]}"
            source = Source("", name, options.source)
            title = urlsplit(options.source).hostname or options.source
        else:
            fdp = self._servers.enter_context(FdpServer(port=self._port("fdp_port")))
            fdp_demo.demo_catalogue(fdp, self._today)
            source = Source("", "demo-fair-data-point", fdp.url)
            title = "Meridian Observatory"
        source, _ = site.ensure_source(source, "fdp", title, ORGANIZATION)
        with step(f"Harvesting {source.url}"):
            report = self._harvest(source)
        datasets = site.datasets(source)
        found: Counter[str] = Counter()
        if options.source:
            # Without our own source, the site may contact no address of this machine.
            site.ensure_datasets(own.OF_EACH_STATUS, "https://relief-works.example.org")
        else:
            self._harvest_region()
            found = self._check_files()
            self._update_registry()
        with step("ckan freshness refresh, and report"):
            ckan("freshness", "refresh", "--all")
            ckan("freshness", "report")
            if "history" not in self._state:
                history.remember(utc_now())
                self._keep("history", history.DAYS)
        statuses = site.statuses()
        say(f"\n{summary(source, report, datasets, statuses, found)}")
        all_shown = all(statuses.get(one.status or "") for one in own.OF_EACH_STATUS)
        all_found = bool(options.source) or found.keys() >= EXPECTED
        is_good = datasets and not report.counts["errored"] and all_shown and all_found
        if not options.no_serve:
            self._serve(source)
        return 0 if is_good else 1

    def _harvest(self, source: Source) -> Report:
        """Run a job on the real path: Redis and both consumers."""
        job_id = self._site.start_job(source)
        deadline = time.monotonic() + PATIENCE
        while not self._site.is_imported(job_id):
            self._children.check()
            if time.monotonic() > deadline:
                logs = self._children.folder
                raise StackError(
                    f"The harvest of {source.url} has not ended after {PATIENCE:.0f} s; see {logs}."
                )
            time.sleep(POLL)
        self._site.end_jobs()
        return self._site.report(job_id)

    def _harvest_region(self) -> None:
        """Harvest a region twice, which then lists fewer datasets, and a lost source."""
        port = self._port("region_port")
        few = FdpServer(port=port)
        few.stop()
        fdp_demo.regional_catalogue(few, LISTED_LATER, self._today)
        source = Source("", "demo-region", few.url)
        source, is_new = self._site.ensure_source(source, "fdp", "Coastal Region", REGION)
        with step("Harvesting a region that withdraws most of its datasets, and a lost source"):
            if is_new:
                with FdpServer(port=port) as every:
                    fdp_demo.regional_catalogue(every, len(fdp_demo.REGIONAL), self._today)
                    self._harvest(source)
            self._servers.enter_context(few)
            gone = Source("", "demo-gone", f"{few.url}/harbour")
            gone, _ = self._site.ensure_source(gone, "fdp", "Harbour authority", REGION)
            if is_new:
                self._harvest(source)
                self._harvest(gone)

    def _check_files(self) -> Counter[str]:
        """Check the files of a file host twice, after a month of nights at the first start.

        A publisher brings an edition each day, and takes files away some day.
        """
        site, port = self._site, self._port("files_port")
        edition = self._kept("edition", 1)
        host = FileHost(now=utc_now(), port=port, address=FILES, edition=edition)
        self._servers.enter_context(host)
        site.ensure_datasets(own.LINKED, host.url)
        if edition == 1:
            with step("Checking links in the nights of a month"):
                for days in range(NIGHTS, 0, -1):
                    day = (utc_now() - datetime.timedelta(days=days)).date()
                    night = datetime.datetime.combine(day, datetime.time(2), datetime.timezone.utc)
                    host.publish(night)
                    check_run.check(check_run.CheckScope(everything=True), _stopped_at(night))
        site.ensure_datasets((*own.OF_EACH_STATUS, *own.FURTHER), host.url)
        site.confirm(own.CONFIRMED)
        with step("ckan freshness check, twice"):
            ckan("freshness", "check", "--all")
            host.publish(utc_now())
            ckan("freshness", "check", "--all")
        self._keep("edition", host.edition)
        return site.outcomes(one.name for one in own.LINKED)

    def _update_registry(self) -> None:
        """Do an update cycle of an IATI registry."""
        registry = registry_model.sample()
        registry_model.lived_in(registry, utc_now())
        server = RegistryServer(registry, port=self._port("registry_port"), address=REGISTRY)
        self._servers.enter_context(server)
        source = Source("", "demo-iati-registry", server.url)
        config = {"default_frequency": "P3M"}
        title = "Demo IATI registry"
        self._site.ensure_source(source, "iati_registry", title, ORGANIZATION, config)
        with step("ckan iati update"):
            ckan("iati", "update", source.name)

    def _serve(self, source: Source) -> None:
        """Serve the site until Ctrl-C."""
        port = str(self._options.port)
        base = f"http://{HOST}:{port}"
        # For what the pages do in the background, such as the preview of a source.
        self._children.start("jobs worker", ["ckan", "jobs", "worker"])
        with step("Starting the web server"):
            command = ["ckan", "run", "--host", HOST, "--port", port, "--disable-reloader"]
            web = self._children.start("web server", [*command, "--disable-debugger", "--threaded"])
            wait_for_web(base, web)
        say(_WHAT_TO_SEE.format(base=base, password=self._password, source=source))
        next_run = time.monotonic() + RUN_EVERY
        while True:
            self._children.check()
            if time.monotonic() > next_run:
                if self._site.open_jobs():
                    ckan("harvester", "run")
                next_run = time.monotonic() + RUN_EVERY
            time.sleep(1)


def summary(
    source: Source,
    report: Report,
    datasets: list[str],
    statuses: Mapping[str, int],
    outcomes: Mapping[str, int],
) -> str:
    """Return the results in words."""

    def table(numbers: Mapping[str, int]) -> list[str]:
        return [f"    {name:13} {count:5}" for name, count in sorted(numbers.items())]

    lines = [f"Harvested {source.url}", *table(report.counts)]
    lines += [f"    error: {message} ({count} times)" for message, count in report.errors]
    lines += [f"Datasets of this source on the site now: {len(datasets)}"]
    lines += ["Freshness of all datasets on the site", *table(statuses)]
    return "\n".join([*lines, "Results of the last link check", *table(outcomes)])


_WHAT_TO_SEE = f"""
The site is at   {{base}}
Log in as        {ADMIN} (sysadmin), {EDITOR} or {ORG_ADMIN} (of {own.TITLE},
                 {own.TITLE_WITH_COPIES} and Coastal Region); the password of each is {{password}}

What to look at
    {{base}}/freshness    the dashboard. The months before the first start are made up
    {{base}}/freshness/mine    log in as {EDITOR}: what to do now
    {{base}}/dataset    click the values of the facet Freshness
    {{base}}/organization/{own.ORGANIZATION}    a dataset of each status
    {{base}}/dataset/water-points/freshness    why one is overdue; log in to confirm its data
    {{base}}/dataset/{own.CLINICS}    a broken link, and the last good copy of its file
    {{base}}/dataset/{own.ALL_FILES}/freshness    what checks find at links; log in to check them again
    {{base}}/freshness/data    which data have changed: rows and columns, also as a feed
    {{base}}/freshness/frequencies    update frequencies that do not fit the data; log in to change them
    {{base}}/dataset/market-surveys/freshness    how often data really change
    {{base}}/iati    the IATI registry, with its ZIPs and index files
    {{base}}/harvest    a source whose deletions are on hold, and one that has gone
    {{base}}/harvest/{{source.name}}    log in, press Admin, then Harvest now
    {{base}}/organization/{ORGANIZATION}
    {{source.url}}    what was harvested

Ctrl-C stops everything."""


def _stopped_at(moment: datetime.datetime) -> Callable[[], datetime.datetime]:
    return lambda: moment


def wait_for_web(base: str, web: Child) -> None:
    """Wait until the first page has been answered."""
    session = requests.Session()
    # A proxy of the environment cannot reach this machine.
    session.trust_env = False
    while True:
        web.check()
        try:
            answer = session.get(f"{base}/dataset", timeout=60)
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
    parser.add_argument("--state", type=Path, required=True, help="file of what is kept")
    parser.add_argument("--port", type=int, required=True, help="of the web server")
    parser.add_argument("--source", metavar="URL")
    parser.add_argument("--no-serve", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
