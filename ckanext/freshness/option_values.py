"""Converts the values of options from an ini file.

Each function also accepts a converted value. It raises a ValueError that says what the value must be.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable
from datetime import timedelta
from itertools import pairwise
from typing import Any

from .checking.selection import Intervals
from .web.urls import host_name

HARVEST = "harvest"
CHECK = "check"
PURPOSES = (HARVEST, CHECK)
"""The purposes of connections to other servers; limits may differ by purpose."""

_MOST_DAYS = 36600


def number(value: Any, lowest: float = 0, highest: float = math.inf) -> float:
    """Return a number from ``lowest`` to ``highest``."""
    return _bounded(value, float, "a number", lowest, highest)


def whole(value: Any, lowest: float = 0, highest: float = math.inf) -> int:
    """Convert an option's value to a whole number from ``lowest`` to ``highest``."""
    return int(_bounded(value, _whole, "a whole number", lowest, highest))


def above_zero(value: Any) -> float:
    """Convert an option's value to a number above 0."""
    return _bounded(value, float, "a number", math.ulp(0), math.inf)


def flag(value: Any) -> bool:
    """Return True or False for a word such as ``yes`` or ``off``.

    CKAN's own validator takes any unknown word for false.

    :raises ValueError: the word is unknown
    """
    try:
        return _FLAGS[str(value).lower()]
    except KeyError:
        raise ValueError(f"must be true or false, not {value!r}") from None


def prefix(text: str | None) -> None:
    """Check a prefix for the names of extras and Solr fields.

    :raises ValueError: Solr or CKAN would refuse it
    """
    if text and not re.fullmatch(r"[a-z][a-z0-9_]{0,30}", text):
        raise ValueError(
            f"must be at most 31 small letters, digits and underscores, such as hdx_, not {text!r}"
        )


_FLAGS = dict.fromkeys(("true", "yes", "on", "t", "y", "1"), True) | dict.fromkeys(
    ("false", "no", "off", "f", "n", "0", ""), False
)


def by_purpose(entries: Iterable[str], read: Callable[[Any], float]) -> dict[str, float]:
    """Return a limit for each purpose, from ``30`` or ``harvest:30 check:60``."""
    given = list(entries)
    if len(given) == 1 and ":" not in given[0]:
        return dict.fromkeys(PURPOSES, read(given[0]))
    pairs = [entry.partition(":") for entry in given]
    if sorted(purpose for purpose, _, _ in pairs) != sorted(PURPOSES):
        raise ValueError(
            f"must be one number, or harvest:NUMBER check:NUMBER, not {' '.join(given)!r}"
        )
    return {purpose: read(limit) for purpose, _, limit in pairs}


def delays(entries: Iterable[str]) -> tuple[float, ...]:
    """Return one or more delays in seconds."""
    seconds = tuple(number(entry) for entry in entries)
    if not seconds:
        raise ValueError("must be numbers of seconds, such as 5 20")
    return seconds


def hosts(names: Iterable[str]) -> frozenset[str]:
    """Return normalised names of hosts."""
    return frozenset(host_name(name) for name in names)


def host_limits(entries: Iterable[str]) -> dict[str, tuple[int, float]]:
    """Return connections and requests a second by host, from ``HOST=CONNECTIONS,REQUESTS``."""
    by_host = {}
    for entry in entries:
        name, _, limits = entry.partition("=")
        connections, comma, rate = limits.partition(",")
        if not comma:
            raise ValueError(f"must be HOST=CONNECTIONS,REQUESTS_PER_SECOND, not {entry!r}")
        by_host[host_name(name)] = whole(connections, 1), above_zero(rate)
    return by_host


def intervals(entries: Iterable[str]) -> Intervals:
    """Return the days between two checks, from ``30:1 180:3 7``."""
    given = list(entries)
    parts = [entry.partition(":") for entry in given]
    if not parts or parts[-1][1] or not all(colon for _, colon, _ in parts[:-1]):
        raise ValueError(
            "must be FREQUENCY:DAYS for some frequencies, and last the DAYS for all others, for example "
            f"30:1 180:3 7, not {' '.join(given)!r}"
        )
    steps = [(whole(up_to, 1), _days(days)) for up_to, _, days in parts[:-1]]
    if any(first >= second for (first, _), (second, _) in pairwise(steps)):
        raise ValueError(f"must be in ascending order of frequencies, not {' '.join(given)!r}")
    return Intervals(tuple(steps), _days(parts[-1][0]))


def secrets(entries: Iterable[str]) -> tuple[str, ...]:
    """Return the names of secrets for headers."""
    given = tuple(entries)
    for entry in given:
        origin, _, name = entry.partition(":")
        if origin not in {"env", "file"} or not name.partition("@")[0]:
            raise ValueError(
                f"must be env:NAME or file:PATH, with @HOST behind it or without, not {entry!r}"
            )
    return given


def one_of(names: Iterable[str], known: Collection[str]) -> frozenset[str]:
    """Return the names as a set, after checking that each is a known name.

    :raises ValueError: a name is unknown
    """
    given = frozenset(names)
    if wrong := given.difference(known):
        raise ValueError(f"must be of {', '.join(known)}, not {', '.join(sorted(wrong))}")
    return given


def _days(text: str) -> timedelta:
    return timedelta(days=number(text, 0, _MOST_DAYS))


def _whole(value: Any) -> float:
    result = float(value)
    return result if result == math.floor(result) else math.nan


def _bounded(
    value: Any, convert: Callable[[Any], float], noun: str, lowest: float, highest: float
) -> float:
    try:
        result = convert(value)
    except (TypeError, ValueError, OverflowError):
        result = math.nan
    if not lowest <= result <= highest or math.isinf(result):
        raise ValueError(f"must be {noun} {_bounds(lowest, highest)}, not {value!r}")
    return result


def _bounds(lowest: float, highest: float) -> str:
    if lowest == math.ulp(0):
        return "above 0"
    return (
        f"of {lowest:.0f} or more" if highest == math.inf else f"from {lowest:.0f} to {highest:.0f}"
    )
