"""Where files are hosted: HDX's table, with the groups of hosts that a site names.

Pure: what is counted comes from the caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..aging.messages import N_

OTHERS = N_("Others")
TOTAL = N_("Total")


@dataclass(frozen=True, slots=True)
class HostGroup:
    """Hosts that people know under one name.

    :ivar hosts: normalised names; ``*.`` before one stands for all below it
    """

    name: str
    hosts: tuple[str, ...]

    def has(self, host: str) -> bool:
        """Whether a (normalised) host is one of them."""
        return any(_matches(pattern, host) for pattern in self.hosts)


@dataclass(frozen=True, slots=True)
class Share:
    """A line of the table: so many resources, and what part of all of them, in percent."""

    name: str
    count: int
    percent: float


HDX = (
    HostGroup("File Store", ("data.humdata.org",)),
    HostGroup("CPS", ("manage.hdx.rwlabs.org",)),
    HostGroup("HXL Proxy", ("proxy.hxlstandard.org",)),
    HostGroup("ScraperWiki", ("ds-ec2.scraperwiki.com", "*.scraperwiki.com")),
)
"""The groups of HDX's own table."""


def parse_groups(entries: Iterable[str]) -> tuple[HostGroup, ...]:
    """Groups as a site's config writes them: ``File_Store=data.example.org,files.example.org``.

    An underscore stands for a blank, since blanks end an entry.

    :raises ValueError: an entry that is no such thing; the text says which and how it must be.
    """
    groups = []
    for entry in entries:
        name, _, hosts = entry.partition("=")
        found = tuple(filter(None, (one.strip().lower().rstrip(".") for one in hosts.split(","))))
        if not name.strip() or not found:
            raise ValueError(f"must be NAME=HOST,HOST..., not {entry!r}")
        groups.append(HostGroup(name.strip().replace("_", " "), found))
    return tuple(groups)


def shares(counts: Mapping[str, int], groups: Sequence[HostGroup]) -> list[Share]:
    """The table: each group, then the others, then the total.

    :param counts: resources by (normalised) host; the empty name is that of URLs without one.
    """
    total = sum(counts.values())
    numbers = dict.fromkeys([*(group.name for group in groups), OTHERS], 0)
    for host, count in counts.items():
        named = next((group.name for group in groups if group.has(host)), OTHERS)
        numbers[named] += count
    numbers[TOTAL] = total
    return [
        Share(name, count, 100 * count / total if total else 0.0) for name, count in numbers.items()
    ]


def _matches(pattern: str, host: str) -> bool:
    if pattern.startswith("*."):
        return host.endswith(pattern[1:])
    return host == pattern
