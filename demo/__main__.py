"""What ./dev demo does: harvests, adds datasets of each freshness, checks URLs, serves the result.

The servers that it harvests and checks run in this process. Later starts only start the servers.
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
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests

from ckanext.freshness import settings
from ckanext.freshness.dates import utc_now
from ckanext.freshness.runs import check_run
from ckanext.freshness.status import refresh
from ckanext.freshness.tests.servers import fdp_demo
from ckanext.freshness.tests.servers.ckan_portal import PortalServer
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.file_host import FileHost
from ckanext.freshness_iati.tests.servers import registry_model
from ckanext.freshness_iati.tests.servers.registry import RegistryServer
from demo import datasets as own
from demo import history
from demo.children import Children
from demo.site import ADMIN, EDITOR, ORG_ADMIN, ORGANIZATION, Site
from stack.commands import exit_code
from stack.messages import StackError, say, step
from stack.processes import end_with_parent
from stack.system import HOST, choose_port, write_private

REGION, HUB = "coastal-region", "open-data-hub"
LISTED_LATER = 4
"""Datasets that the region's FAIR Data Point still lists when it is harvested again."""
FILES, REGISTRY, PORTAL = "127.0.0.2", "127.0.0.3", "127.0.0.4"
"""Addresses of other servers: the site does not check its own files."""
ON_PORTAL = ("Bus lines", "Playgrounds", "Public toilets", "Tree register")
"""Titles of the portal's datasets."""
YEARLY = [{"key": "frequency", "value": "365"}]
CATALOGUE = f"/catalog.ttl?fq=organization:{own.WITH_COPIES}"
"""The part of the site's own catalogue that it harvests: all of it would contain what is harvested."""
NIGHTS = 30
POLL, PATIENCE = 0.3, 600.0
"""Seconds between two looks at a job, and until a job is given up."""
RUN_EVERY = 15.0
"""Seconds between two looks for jobs that somebody started in the browser; a site uses cron."""


def main() -> int:
    """Run the demo. Return 0 if datasets were harvested, none failed, and all statuses are there."""
    options = _options()
    end_with_parent()
    children = Children(options.state.parent / "logs")

    def work() -> int:
        with ExitStack() as servers:
            servers.callback(children.stop_all)
            return Demo(options, children, servers).run()

    return exit_code(work)


class Demo:
    """One start of the demo. What is kept until the next one is in the file of its state."""

    def __init__(self, options: argparse.Namespace, children: Children, servers: ExitStack) -> None:
        self._options = options
        self._children = children
        self._servers = servers
        self._base = f"http://{HOST}:{options.port}"
        self._state: dict[str, Any] = json.loads(options.state.read_text())
        self._password: str = self._kept("password", secrets.token_urlsafe(9))
        # The day stays the one of the first start, so that the datasets do grow old.
        self._today = datetime.date.fromisoformat(
            self._kept("today", datetime.date.today().isoformat())
        )
        self._name = "demo-fair-data-point"
        if options.source:
            self._name = f"fdp-{sha256(options.source.encode()).hexdigest()[:8]}"
        self._counts: dict[str, dict[str, int]] = {}
        """The numbers of records of each source's last job."""
        self._is_started = False
        with step("Opening CKAN"):
            self._site = Site(os.environ["CKAN_INI"], children.folder / "demo.log")

    def _kept(self, name: str, value: Any) -> Any:
        """Return a value of the state, which is set if it is not there."""
        return self._keep(name, self._state.get(name, value))

    def _keep(self, name: str, value: Any) -> Any:
        self._state[name] = value
        write_private(self._options.state, json.dumps(self._state))
        return value

    def _port(self, name: str) -> int:
        """Return the port of one of our servers, the one of the last start if it is free."""
        return int(self._keep(name, choose_port(self._state.get(name))))

    def _start(self) -> None:
        """Start the site's processes."""
        start, port = self._children.start, str(self._options.port)
        start("gather consumer", ["ckan", "harvester", "gather-consumer"])
        start("fetch consumer", ["ckan", "harvester", "fetch-consumer"])
        # For what the pages do in the background, such as the preview of a source.
        start("jobs worker", ["ckan", "jobs", "worker"])
        command = ["ckan", "run", "--host", HOST, "--port", port, "--threaded"]
        start("web server", [*command, "--disable-reloader", "--disable-debugger"])
        self._is_started = True

    def run(self) -> int:
        """Make what an earlier start has not made, and serve the site until the end."""
        options = self._options
        is_good = self._harvest_one(options.source) if options.source else self._harvest_ours()
        if not options.no_serve:
            self._serve()
        return 0 if is_good else 1

    def _is_made(self, *urls: str) -> bool:
        """Return whether an earlier start has made everything of these servers, with these people."""
        if self._state.get("made") == [*urls]:
            refresh.refresh(utc_now())
            return True
        self._keep("made", None)
        self._start()
        site = self._site
        site.ensure_people(self._password)
        members = {EDITOR: "editor", ORG_ADMIN: "admin"}
        site.ensure_organization(ORGANIZATION, "Meridian Observatory", {})
        site.ensure_organization(own.ORGANIZATION, own.TITLE, members)
        site.ensure_organization(own.WITH_COPIES, own.TITLE_WITH_COPIES, members)
        site.ensure_organization(REGION, "Coastal Region", {ORG_ADMIN: "admin"})
        site.ensure_organization(HUB, "Open Data Hub", {})
        for job in site.open_jobs():
            ckan("harvester", "job-abort", job)
            ckan("harvester", "purge-queues")
        return False

    def _harvest_one(self, url: str) -> bool:
        """Harvest a FAIR Data Point of the user. The site may then contact no address of this machine."""
        if self._is_made(url):
            return True
        self._harvest(self._name, url, "fdp", urlsplit(url).hostname or url, ORGANIZATION)
        self._site.ensure_datasets(own.OF_EACH_STATUS, "https://relief-works.example.org")
        return self._end(url)

    def _harvest_ours(self) -> bool:
        """Start our servers, and harvest and check them unless an earlier start has."""
        fdp = FdpServer(port=self._port("fdp_port"))
        fdp_demo.demo_catalogue(fdp, self._today)
        region = FdpServer(port=self._port("region_port"))
        files = FileHost(
            now=utc_now(),
            port=self._port("files_port"),
            address=FILES,
            edition=self._kept("edition", 1),
        )
        iati = registry_model.sample()
        *_, forbidden, gone = iati.datasets.values()
        forbidden.status, gone.status = 403, 404
        registry = RegistryServer(iati, port=self._port("registry_port"), address=REGISTRY)
        portal = PortalServer(port=self._port("portal_port"), address=PORTAL)
        for title in ON_PORTAL:
            portal.add(
                title.lower().replace(" ", "-"), owner="city-of-estuary", title=title, extras=YEARLY
            )
        for server in (fdp, files, registry, portal):
            self._servers.enter_context(server)
        urls = (self._base, fdp.url, region.url, files.url, registry.url, portal.url)
        is_made = self._is_made(*urls)
        if not is_made:
            self._harvest(self._name, fdp.url, "fdp", "Meridian Observatory", ORGANIZATION)
            fdp_demo.regional_catalogue(region, len(fdp_demo.REGIONAL), self._today)
            with region:
                self._harvest("demo-region", region.url, "fdp", "Coastal Region", REGION)
        region = FdpServer(port=region.port)
        fdp_demo.regional_catalogue(region, LISTED_LATER, self._today)
        self._servers.enter_context(region)
        if is_made:
            return True
        # It withdraws most of its datasets.
        self._harvest("demo-region", region.url, "fdp", "Coastal Region", REGION)
        self._harvest("demo-gone", f"{region.url}/harbour", "fdp", "Harbour authority", REGION)
        self._harvest("demo-portal", portal.url, "ckan_portal", "City of Estuary", HUB)
        self._check_files(files)
        self._wait_for_web()
        url = f"{self._base}{CATALOGUE}"
        self._harvest("demo-catalogue", url, "dcat_catalog", own.TITLE_WITH_COPIES, HUB)
        self._site.ensure_source(
            "demo-iati-registry",
            registry.url,
            "iati_registry",
            "Demo IATI registry",
            ORGANIZATION,
            {"default_frequency": "P3M"},
        )
        with step("ckan iati update"):
            ckan("iati", "update", "demo-iati-registry")
        return self._end(*urls)

    def _harvest(
        self, name: str, url: str, source_type: str, title: str, organization: str
    ) -> None:
        """Harvest a source on the real path: Redis and both consumers."""
        site = self._site
        with step(f"Harvesting {url}"):
            source_id = site.ensure_source(name, url, source_type, title, organization)
            job_id = site.start_job(source_id)
            deadline = time.monotonic() + PATIENCE
            while not site.is_imported(job_id):
                self._children.check()
                if time.monotonic() > deadline:
                    logs = self._children.folder
                    raise StackError(
                        f"The harvest of {url} has not ended after {PATIENCE:.0f} s; see {logs}."
                    )
                time.sleep(POLL)
            site.end_jobs()
        self._counts[name] = site.counts(job_id)

    def _check_files(self, host: FileHost) -> None:
        """Check the files of a file host twice, after a month of nights at the first start.

        A publisher brings an edition each day, and takes files away some day.
        """
        site = self._site
        # Its servers answer at once.
        settings.CONFIRM_AFTER = 0.1
        site.ensure_datasets(own.LINKED, host.url)
        if host.edition == 1:
            with step("Checking links in the nights of a month"):
                for days in reversed(range(NIGHTS)):
                    day = (utc_now() - datetime.timedelta(days=days, hours=2)).date()
                    night = datetime.datetime.combine(day, datetime.time(2), datetime.timezone.utc)
                    host.publish(night)
                    check_run.check(check_run.CheckScope(everything=True), _stopped_at(night))
        site.ensure_datasets((*own.OF_EACH_STATUS, *own.FURTHER), host.url)
        site.confirm(own.CONFIRMED)
        with step("Checking links twice"):
            check_run.check(check_run.CheckScope(everything=True), utc_now)
            host.publish(utc_now())
            check_run.check(check_run.CheckScope(everything=True), utc_now)
        self._keep("edition", host.edition)

    def _end(self, *urls: str) -> bool:
        """Assess and count all datasets, print what was made, and return whether nothing is missing."""
        with step("ckan freshness refresh, and report"):
            ckan("freshness", "refresh", "--all")
            ckan("freshness", "report")
            if "history" not in self._state:
                history.remember(utc_now())
                self._keep("history", history.DAYS)
        self._keep("made", [*urls])
        for name, numbers in self._counts.items():
            say(in_words(f"Harvested {name}", numbers))
        statuses = self._site.statuses()
        say(in_words("Freshness of all datasets on the site", statuses))
        first = next(iter(self._counts.values()))
        is_harvested = first["added"] + first["not modified"] > 0 == first["errored"]
        return is_harvested and statuses.keys() >= {one.status for one in own.OF_EACH_STATUS}

    def _serve(self) -> None:
        """Serve the site until Ctrl-C."""
        with step("Starting the web server"):
            if not self._is_started:
                self._start()
            self._wait_for_web()
        pages = {
            path.format(source=self._name): words
            for path, words in (
                _FIRST | (_OF_ONE_SOURCE if self._options.source else _OF_OURS)
            ).items()
        }
        for path in pages:
            self._wait_for_web(path)
        say(
            _WHAT_TO_SEE.format(
                base=self._base,
                password=self._password,
                pages="\n".join(
                    f"    {self._base}{path}    {words}" for path, words in pages.items()
                ),
                logs=self._children.folder,
            )
        )
        next_run = time.monotonic() + RUN_EVERY
        while True:
            self._children.check()
            if time.monotonic() > next_run:
                if self._site.open_jobs():
                    ckan("harvester", "run")
                next_run = time.monotonic() + RUN_EVERY
            time.sleep(1)

    def _wait_for_web(self, path: str = "/dataset") -> None:
        """Wait until a page has been answered.

        :raises StackError: the answer is an error
        """
        session = requests.Session()
        # A proxy of the environment cannot reach this machine.
        session.trust_env = False
        while True:
            self._children.check()
            try:
                answer = session.get(f"{self._base}{path}", timeout=60)
            except requests.RequestException:
                time.sleep(POLL)
                continue
            if answer.ok:
                return
            raise StackError(
                f"{self._base}{path} answered {answer.status_code}; see {self._children.folder}."
            )


def in_words(title: str, numbers: Mapping[str, int]) -> str:
    """Return numbers by name in words."""
    return f"{title}: {', '.join(f'{count} {name}' for name, count in numbers.items())}"


_FIRST = {
    "/freshness": "the dashboard. The months before the first start are made up",
    "/freshness/mine": f"log in as {EDITOR}: what to do now",
    "/dataset/water-points/freshness": "why a dataset is overdue; log in to confirm its data",
}
_OF_OURS = {
    f"/dataset/{own.CLINICS}": "a broken link, and the last good copy of its file",
    "/harvest": "a source whose deletions are on hold, and one that has gone",
}
_OF_ONE_SOURCE = {
    "/dataset": "click the values of the facet Freshness",
    "/harvest/{source}": "log in, press Admin, then Harvest now",
}
"""What to look at, by path: first, and on a site with our sources or with one source of the user."""

_WHAT_TO_SEE = f"""
The site is at   {{base}}
Log in as        {ADMIN} (sysadmin), {EDITOR} or {ORG_ADMIN} (of {own.TITLE},
                 {own.TITLE_WITH_COPIES} and Coastal Region); the password of each is {{password}}

Look at these five
{{pages}}

Logs of all processes are in {{logs}}
Ctrl-C stops everything."""


def _stopped_at(moment: datetime.datetime) -> Callable[[], datetime.datetime]:
    return lambda: moment


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
