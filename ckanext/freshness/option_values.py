"""How values of options are written in an ini file.

Each function takes a value as the file has it, or as it was converted before, and raises a ValueError that
says what the value must be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from datetime import timedelta
from itertools import pairwise
from typing import Any

from .checking.selection import Intervals
from .web.urls import host_name

HARVEST = "harvest"
CHECK = "check"
PURPOSES = (HARVEST, CHECK)
"""What we connect to other servers for; limits may differ by it."""

_MOST_DAYS = 36600


def number(value: Any, lowest: float = 0, highest: float = math.inf) -> float:
    """Return a number that lies between two bounds, or is one of them."""
    return _bounded(value, float, "a number", lowest, highest)


def whole(value: Any, lowest: float = 0, highest: float = math.inf) -> int:
    """Return a whole number that lies between two bounds, or is one of them."""
    return int(_bounded(value, _whole, "a whole number", lowest, highest))


def above_zero(value: Any) -> float:
    """Return a number above 0."""
    return _bounded(value, float, "a number", math.ulp(0), math.inf)


def flag(value: Any) -> bool:
    """Return a truth value. CKAN's own validator takes every unknown word for false."""
    try:
        return _FLAGS[str(value).lower()]
    except KeyError:
        raise ValueError(f"must be true or false, not {value!r}") from None


_FLAGS = dict.fromkeys(("true", "yes", "on", "t", "y", "1"), True) | dict.fromkeys(
    ("false", "no", "off", "f", "n", "0", ""), False
)


def by_purpose(entries: Iterable[str], read: Callable[[Any], float]) -> dict[str, float]:
    """Return a limit for each purpose, from ``30`` or ``harvest:30 check:60``."""
    given = list(entries)
    if len(given) == 1 and ":" not in given[0]:
        return dict.fromkeys(PURPOSES, read(given[0]))
    pairs = [one.partition(":") for one in given]
    if sorted(purpose for purpose, _, _ in pairs) != sorted(PURPOSES):
        raise ValueError(
            f"must be one number, or harvest:NUMBER check:NUMBER, not {' '.join(given)!r}"
        )
    return {purpose: read(limit) for purpose, _, limit in pairs}


def delays(entries: Iterable[str]) -> tuple[float, ...]:
    """Return seconds, at least one number."""
    found = tuple(number(one) for one in entries)
    if not found:
        raise ValueError("must be numbers of seconds, such as 5 20")
    return found


def hosts(names: Iterable[str]) -> frozenset[str]:
    """Return normalised names of hosts."""
    return frozenset(host_name(name) for name in names)


def host_limits(entries: Iterable[str]) -> dict[str, tuple[int, float]]:
    """Return connections and requests a second by host, from ``HOST=CONNECTIONS,REQUESTS``."""
    found = {}
    for entry in entries:
        name, _, limits = entry.partition("=")
        connections, comma, rate = limits.partition(",")
        if not comma:
            raise ValueError(f"must be HOST=CONNECTIONS,REQUESTS_PER_SECOND, not {entry!r}")
        found[host_name(name)] = whole(connections, 1), above_zero(rate)
    return found


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
    if any(one >= following for (one, _), (following, _) in pairwise(steps)):
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
    """Return names that are all known."""
    given = frozenset(names)
    if wrong := given.difference(known):
        raise ValueError(f"must be of {', '.join(known)}, not {', '.join(sorted(wrong))}")
    return given


def _days(text: str) -> timedelta:
    return timedelta(days=number(text, 0, _MOST_DAYS))


def _whole(value: Any) -> float:
    found = float(value)
    return found if found == math.floor(found) else math.nan


def _bounded(
    value: Any, convert: Callable[[Any], float], what: str, lowest: float, highest: float
) -> float:
    try:
        found = convert(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not lowest <= found <= highest or math.isinf(found):
        raise ValueError(f"must be {what} {_bounds(lowest, highest)}, not {value!r}")
    return found


def _bounds(lowest: float, highest: float) -> str:
    if lowest == math.ulp(0):
        return "above 0"
    return (
        f"of {lowest:.0f} or more" if highest == math.inf else f"from {lowest:.0f} to {highest:.0f}"
    )
