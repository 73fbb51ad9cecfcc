"""Words for observed update frequencies, in the reader's language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import ckan.plugins.toolkit as tk

from ..aging.messages import NN_
from .labels import counted

_ABOUT = NN_("about every day", "about every {number} days")
_AT_LEAST = NN_("at least every day", "at least every {number} days")
_CHANGES = {
    "files": NN_("{number} change of the files", "{number} changes of the files"),
    "record": NN_(
        "{number} date of the harvested record", "{number} dates of the harvested record"
    ),
}


def every(days: float, *, at_least: bool = False) -> str:
    """Return an observed average time: "about every 92 days"."""
    number = max(round(days), 1)
    return counted(_AT_LEAST if at_least else _ABOUT, number, number=number)


def changes(seen: Mapping[str, Any]) -> str:
    """Return the number and the kind of the changes that were seen: "5 changes of the files".

    :param seen: with ``changes`` and ``basis``, as ``freshness_show`` returns them
    """
    return counted(_CHANGES[seen["basis"]], seen["changes"], number=seen["changes"])


def observed(seen: Mapping[str, Any]) -> str:
    """Return an observed frequency in a sentence, with its range.

    :param seen: as ``freshness_show`` returns it
    """
    words = {"every": every(seen["days"], at_least=seen["at_least"]), "changes": changes(seen)}
    lowest, highest = (max(round(seen[key]), 1) for key in ("lowest_days", "highest_days"))
    if lowest == highest or seen["at_least"]:
        return str(tk._("Observed: {every} (from {changes}).")).format(**words)
    text = tk._("Observed: {every} (from {changes}; {lowest} to {highest} days apart).")
    return str(text).format(**words, lowest=lowest, highest=highest)


@dataclass(frozen=True, slots=True)
class Beats:
    """Changes on a line that ends now.

    :ivar first: the moment of the first change, where the line begins; aware
    :ivar places: of each change, in percent of the line
    """

    first: datetime
    places: tuple[float, ...]


def beats(moments: Iterable[datetime], now: datetime) -> Beats:
    """Return changes, at least one, as places on a line.

    :param moments: aware
    :param now: aware
    """
    first, *_ = ordered = sorted(moments)
    length = max((now - first).total_seconds(), 1)
    places = (100 * (one - first).total_seconds() / length for one in ordered)
    return Beats(first, tuple(round(min(place, 100), 1) for place in places))
