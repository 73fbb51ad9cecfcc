"""The demo's check of URLs: a file host, two checks of it, and an edition that comes in between."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import requests

from ckanext.freshness.checking.decisions import Outcome
from demo.children import NO_PROXY, Children, address_of
from stack import ports

ADDRESS = "127.0.0.2"
"""Not the site's own, whose files would be internal and not visited."""

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
"""What the second check finds, whatever the first one knew."""


@dataclass(frozen=True, slots=True)
class FileHost:
    """The file host that runs."""

    url: str
    port: int

    def publish(self) -> None:
        """Have the next edition published."""
        requests.post(f"{self.url}/publish", timeout=30, proxies=NO_PROXY).raise_for_status()


@dataclass(frozen=True, slots=True)
class Checked:
    """What each of the checks found, counted."""

    first: Counter[str]
    second: Counter[str]

    @property
    def complete(self) -> bool:
        """Whether all was found that there is to be found."""
        return self.second.keys() >= EXPECTED

    def __str__(self) -> str:
        outcomes = sorted(self.first | self.second)
        return "\n".join(
            f"    {one:13} {self.first[one]:5} {self.second[one]:5}" for one in outcomes
        )


def start_file_host(children: Children, port: object, edition: int) -> FileHost:
    """Start the file host, on the port of last time if that is free.

    :param edition: that it publishes at its start.
    """
    port = ports.choose(port if isinstance(port, int) else None)
    module = "ckanext.freshness.tests.servers.file_host"
    options = [f"--address={ADDRESS}", f"--port={port}", f"--edition={edition}"]
    child = children.start("file host", [sys.executable, "-m", module, *options])
    return FileHost(address_of(child), port)


def check_twice(
    host: FileHost,
    names: Sequence[str],
    ckan: Callable[..., None],
    outcomes: Callable[[Sequence[str]], Counter[str]],
) -> Checked:
    """Check datasets, publish the next edition of their files, check again.

    :param ckan: runs a ckan command.
    :param outcomes: counts what the last visits to some datasets' URLs found.
    """
    ckan("freshness", "check", *names)
    first = outcomes(names)
    host.publish()
    ckan("freshness", "check", *names)
    return Checked(first, outcomes(names))
