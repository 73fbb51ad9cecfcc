"""The findings of a run, from its stored counts: outcomes in groups, and hosts in trouble."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import ckan.plugins.toolkit as tk

from ..aging.messages import N_
from ..checking.decisions import Outcome
from .metrics import ALL_HOSTS

OUTCOMES: Mapping[str, tuple[Outcome, ...]] = {
    "unchanged": (Outcome.NOT_MODIFIED, Outcome.SAME_HASH, Outcome.REPEAT_HASH),
    "changed": (Outcome.HEADER, Outcome.CHANGED),
    "first": (Outcome.FIRST_HASH,),
    "failed": (Outcome.ERROR, Outcome.UNCONFIRMED),
    "blocked": (Outcome.CANNOT_TELL,),
    "undetectable": (Outcome.API,),
}
"""The outcomes of checks, in groups that pages show."""

_GROUPS = {outcome.value: group for group, outcomes in OUTCOMES.items() for outcome in outcomes}


def outcomes(labels: Mapping[str, int]) -> Counter[str]:
    """Count the resources of a run by the group of their outcome.

    :param labels: numbers of resources by label; resources that were not checked are not counted
    """
    found: Counter[str] = Counter()
    for label, number in labels.items():
        # The outcome is the last part of a label. Labels of resources on the site begin with a prefix.
        group = _GROUPS.get(label.rpartition(",")[2])
        if group is not None:
            found[group] += number
    return found


def changed_datasets(labels: Mapping[str, int]) -> int:
    """Return the number of datasets with a file that changed by its header or its hash."""
    dated = {Outcome.HEADER.value, Outcome.CHANGED.value}
    return sum(
        number
        for label, number in labels.items()
        if dated & set(label.partition(", Updated ")[2].split(","))
    )


# Hosts


@dataclass(frozen=True, slots=True)
class HostTrouble:
    """A host whose links could not all be checked.

    :ivar kind: ``failing``, ``waiting`` or ``blocked``
    :ivar affected: number of links
    :ivar reason: why most of them failed, in words; empty if that is not known
    """

    name: str
    kind: str
    affected: int
    checks: int
    reason: str


def troubles(hosts: Mapping[str, Mapping[str, Any]]) -> list[HostTrouble]:
    """Return the hosts in trouble, those with most affected links first."""
    found = (_trouble(name, numbers) for name, numbers in hosts.items() if name != ALL_HOSTS)
    return sorted(
        (one for one in found if one is not None),
        key=lambda one: (one.kind == "blocked", -one.affected, one.name),
    )


def _trouble(name: str, numbers: Mapping[str, Any]) -> HostTrouble | None:
    checks = int(numbers.get("visits", 0))
    waiting, errors = int(numbers.get("put_off", 0)), int(numbers.get("errors", 0))
    blocked = int(numbers.get("blocked", 0))
    if errors and errors >= waiting:
        reason = reason_in_words(str(numbers.get("reason") or ""))
        return HostTrouble(name, "failing", errors, checks, reason)
    if waiting:
        return HostTrouble(name, "waiting", waiting, checks, "")
    if blocked and blocked == checks:
        return HostTrouble(name, "blocked", blocked, checks, "")
    return None


_REASONS = {
    "name not found": N_("Its name doesn't exist any more"),
    "name lookup failed": N_("Its name could not be looked up"),
    "connection refused": N_("It refuses connections"),
    "connection reset": N_("It breaks connections off"),
    "unreachable": N_("It can't be reached"),
    "certificate expired": N_("Its certificate has expired"),
    "certificate self-signed": N_("Its certificate is self-signed"),
    "certificate for another name": N_("Its certificate is for another name"),
    "certificate not trusted": N_("Its certificate isn't trusted"),
    "TLS failed": N_("No secure connection is possible"),
    "connect timeout": N_("It doesn't answer"),
    "read timeout": N_("It doesn't answer in time"),
    "total timeout": N_("Its files take too long to load"),
    "host gave no answer": N_("It doesn't answer"),
    "host asked for a pause": N_("It asked us to slow down"),
    "redirect loop": N_("Its links lead in a circle"),
    "too many redirects": N_("Its links are redirected too often"),
    "truncated": N_("Its files break off"),
    "refused by robots.txt": N_("Its robots.txt forbids checks"),
    "inside address": N_("It is inside this site's own network"),
    "format": N_("Its files aren't of the promised format"),
    "404": N_("Its files can't be found (404)"),
    "410": N_("Its files are gone (410)"),
    "500": N_("It has an internal error (500)"),
    "502": N_("It has an internal error (502)"),
    "503": N_("It is out of service (503)"),
    "504": N_("It doesn't answer in time (504)"),
}


def reason_in_words(reason: str) -> str:
    """Return a phrase about a host from the stored reason of its errors; empty if it says nothing."""
    if reason in _REASONS:
        return str(tk._(_REASONS[reason]))
    if reason.isdecimal():
        return str(tk._("It answers with the error {status}").format(status=reason))
    return ""
