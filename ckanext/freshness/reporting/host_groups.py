"""Hosts and groups of hosts for the table "Where files are hosted", which HDX publishes, too. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..aging.messages import N_

OTHERS = N_("Others")
TOTAL = N_("Total")


@dataclass(frozen=True, slots=True)
class HostGroup:
    """Hosts that are counted under one name.

    :ivar hosts: normalised names; ``*.example.org`` stands for every host below ``example.org``
    """

    name: str
    hosts: tuple[str, ...]

    def has(self, host: str) -> bool:
        """Decide whether a (normalised) host belongs to the group."""
        return any(_matches(pattern, host) for pattern in self.hosts)


@dataclass(frozen=True, slots=True)
class HostShare:
    """A line of the table: a number of resources, and their percentage of all resources."""

    name: str
    count: int
    percent: float


def parse_groups(entries: Iterable[str]) -> tuple[HostGroup, ...]:
    """Parse groups of the site's configuration: ``File_Store=data.example.org,files.example.org``.

    Blanks separate entries, so an underscore stands for a blank in a name.

    :raises ValueError: an entry has another form; the text quotes it and shows the right form
    """
    groups = []
    for entry in entries:
        name, _, hosts = entry.partition("=")
        found = tuple(filter(None, (host.strip().lower().rstrip(".") for host in hosts.split(","))))
        if not name.strip() or not found:
            raise ValueError(f"must be NAME=HOST,HOST..., not {entry!r}")
        groups.append(HostGroup(name.strip().replace("_", " "), found))
    return tuple(groups)


def shares(counts: Mapping[str, int], groups: Sequence[HostGroup]) -> list[HostShare]:
    """Return the lines of the table: each group, then the others, then the total.

    Without groups, each host has a line; the host with most resources is the first.

    :param counts: numbers of resources by (normalised) host; the empty name stands for URLs without a host
    """
    total = sum(counts.values())
    numbers = _of_groups(counts, groups) if groups else _of_hosts(counts)
    numbers[TOTAL] = total
    return [
        HostShare(name, count, 100 * count / total if total else 0.0)
        for name, count in numbers.items()
    ]


def _of_groups(counts: Mapping[str, int], groups: Sequence[HostGroup]) -> dict[str, int]:
    numbers = dict.fromkeys([*(group.name for group in groups), OTHERS], 0)
    for host, count in counts.items():
        named = next((group.name for group in groups if group.has(host)), OTHERS)
        numbers[named] += count
    return numbers


def _of_hosts(counts: Mapping[str, int]) -> dict[str, int]:
    named = ((host, count) for host, count in counts.items() if host)
    numbers = dict(sorted(named, key=lambda one: (-one[1], one[0])))
    without_host = counts.get("", 0)
    return {**numbers, OTHERS: without_host} if without_host else numbers


def _matches(pattern: str, host: str) -> bool:
    if pattern.startswith("*."):
        return host.endswith(pattern[1:])
    return host == pattern
