"""Broken links by their cause: the links of one server that fail for one reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from dateutil.parser import isoparse

from ..aging.messages import NN_
from . import labels
from .report_tables import BROKEN
from .tables import Row, TableRequest

MOST = 2_000
"""The greatest number of links that are grouped, the longest broken first."""
LISTED = 100
"""The greatest number of links to show of a group."""
NIGHT = timedelta(hours=12)
"""Links that began to fail within this time did so in one night."""

_SAME_NIGHT = NN_(
    "{count} link on this server has failed since the night of {first}.",
    "{count} links on this server have failed since the same night ({first}).",
)
_NIGHTS = NN_(
    "{count} link on this server has failed since the night of {first}.",
    "{count} links on this server have failed, the first since {first}, the last since {last}.",
)


def read(request: TableRequest) -> tuple[list[dict[str, Any]], bool]:
    """Return the broken links that the user may see, in groups, and whether there are too many for that.

    :returns: groups as of :func:`grouped`
    """
    links = list(BROKEN.read(replace(request, limit=MOST + 1)))
    return grouped(links[:MOST]), len(links) > MOST


def grouped(links: Iterable[Row]) -> list[dict[str, Any]]:
    """Return links by server and reason, the largest group first.

    :param links: rows of the table of broken links
    :returns: groups, each with its ``host``, its ``problem`` and its ``extent`` in sentences, and its
        ``links``, those of one dataset together
    """
    found: dict[tuple[str, str], list[Row]] = {}
    for link in links:
        found.setdefault((link["host"], labels.link_problem(link)), []).append(link)
    groups: list[dict[str, Any]] = [
        {
            "host": host,
            "problem": problem,
            "extent": _extent(rows),
            "links": sorted(rows, key=lambda row: (row["title"].casefold(), row["package_id"])),
        }
        for (host, problem), rows in found.items()
    ]
    return sorted(groups, key=lambda group: (-len(group["links"]), group["host"], group["problem"]))


def _extent(rows: list[Row]) -> str:
    begun = sorted(isoparse(row["failing_since"]) for row in rows)
    forms = _SAME_NIGHT if begun[-1] - begun[0] <= NIGHT else _NIGHTS
    first, last = (labels.in_words(moment, "day") for moment in (begun[0], begun[-1]))
    return labels.counted(forms, len(rows), first=first, last=last)
