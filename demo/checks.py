"""The demo's checks of links: a month of earlier nights, and two checks now."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, time, timedelta, timezone

import requests

from ckanext.freshness.checking.decisions import Outcome
from ckanext.freshness.dates import utc_now
from ckanext.freshness.runs import check_run
from demo.children import NO_PROXY, Children, address_of
from stack import ports

ADDRESS = "127.0.0.2"
"""Not the site's own, whose files would be internal and not checked."""

NIGHTS = 30

EXPECTED = {
    outcome.value
    for outcome in (
        Outcome.NOT_MODIFIED,
        Outcome.HEADER,
        Outcome.CHANGED,
        Outcome.API,
        Outcome.ERROR,
        Outcome.CANNOT_TELL,
    )
}
"""Outcomes of the second check that do not depend on the first."""


@dataclass(frozen=True, slots=True)
class FileHost:
    """The running file host."""

    url: str
    port: int

    def publish(self, at: datetime) -> None:
        """Publish the next edition of the files, dated at a moment."""
        url = f"{self.url}/publish"
        answer = requests.post(url, params={"at": at.isoformat()}, timeout=30, proxies=NO_PROXY)
        answer.raise_for_status()


@dataclass(frozen=True, slots=True)
class Checked:
    """The numbers of results of each check."""

    first: Counter[str]
    second: Counter[str]

    @property
    def complete(self) -> bool:
        """Whether the checks found each expected outcome."""
        return self.second.keys() >= EXPECTED

    def __str__(self) -> str:
        outcomes = sorted(self.first | self.second)
        return "\n".join(
            f"    {one:13} {self.first[one]:5} {self.second[one]:5}" for one in outcomes
        )


def start_file_host(children: Children, port: object, edition: int) -> FileHost:
    """Start the file host, on its previous port if that is free.

    :param edition: that it publishes at its start.
    """
    port = ports.choose(port if isinstance(port, int) else None)
    module = "ckanext.freshness.tests.servers.file_host"
    options = [f"--address={ADDRESS}", f"--port={port}", f"--edition={edition}"]
    child = children.start("file host", [sys.executable, "-m", module, *options])
    return FileHost(address_of(child), port)


def check_for_nights(host: FileHost, now: datetime) -> None:
    """Do real checks for earlier nights, with a clock that was set back.

    A publisher brings an edition each day, and takes files away some day.
    """
    for number in range(NIGHTS, 0, -1):
        night = datetime.combine((now - timedelta(days=number)).date(), time(2), timezone.utc)
        host.publish(night)
        check_run.check(check_run.CheckScope(everything=True), _clock_from(night))


def _clock_from(moment: datetime) -> Callable[[], datetime]:
    began = utc_now()
    return lambda: moment + (utc_now() - began)


def check_twice(
    host: FileHost, ckan: Callable[..., None], outcomes: Callable[[], Counter[str]]
) -> Checked:
    """Check all links, publish the next edition of the files, check again.

    :param ckan: runs a ckan command
    :param outcomes: counts what the last checks found
    """
    ckan("freshness", "check", "--all")
    first = outcomes()
    host.publish(utc_now())
    ckan("freshness", "check", "--all")
    return Checked(first, outcomes())
