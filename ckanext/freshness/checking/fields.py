"""Decides what a check writes into a resource's own fields: last_modified, size, mimetype and hash.

A check fills in fields that are empty or proved wrong, and only for links. What it wrote is stored under the
fields' names, for two reasons: it is never mistaken for the publisher's word, and it is restored when another
update empties the field. What was written while the resource had another URL is kept under the names with
``old_`` in front, for the first reason alone.

Values are as in JSON: moments are text in UTC without zone, which sorts by time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any

from ..dates import utc
from .results import CheckResult

FIELDS = ("last_modified", "size", "mimetype", "hash")
"""Columns of CKAN's table ``resource``."""

Fields = Mapping[str, Any]

_SAYS_NOTHING = frozenset(
    {"application/octet-stream", "binary/octet-stream", "application/x-download", "text/plain"}
)
"""Media types that servers send for files that they do not know."""


def stored(last_modified: datetime | None, size: Any, mimetype: Any, hash_: Any) -> dict[str, Any]:
    """Return a resource's fields for comparison, without empty ones."""
    values = {
        "last_modified": None if last_modified is None else last_modified.isoformat(),
        "size": size,
        "mimetype": mimetype,
        "hash": hash_,
    }
    return {name: value for name, value in values.items() if value not in (None, "")}


def found(result: CheckResult) -> dict[str, Any]:
    """Return the values of the fields by a check, as far as it found them."""
    dates = [date for date in (result.modified, result.changed_at) if date is not None]
    values = {
        "last_modified": utc(max(dates)).isoformat(timespec="seconds") if dates else None,
        "size": result.size,
        "mimetype": None if result.mimetype in _SAYS_NOTHING else result.mimetype,
        "hash": None if result.memory.outdated else result.memory.hash,
    }
    return {name: value for name, value in values.items() if value is not None}


def after_check(
    has: Fields, wrote: Fields, said: Fields, allowed: Collection[str]
) -> dict[str, Any]:
    """Return what to write into a resource's fields after a check.

    :param has: the resource's fields, see :func:`stored`
    :param wrote: what earlier checks wrote into them
    :param said: the values by the check, see :func:`found`
    :param allowed: the fields that may be written
    """
    return {
        name: value
        for name, value in said.items()
        if name in allowed
        and has.get(name) != value
        and (name not in has or has[name] == ours(wrote, name) or _PROVED[name](has[name], value))
    }


def again(has: Fields, wrote: Fields, allowed: Collection[str]) -> dict[str, Any]:
    """Return what to write into a resource's fields again after another update emptied them."""
    return {
        name: wrote[name]
        for name in FIELDS
        if name in allowed
        and name in wrote
        and (name not in has or (name == "last_modified" and has[name] < wrote[name]))
    }


def ours(wrote: Fields, name: str) -> Any:
    """Return the value of a check that a field may have; None if there is none."""
    return wrote.get(name, wrote.get(f"old_{name}"))


OURS = "coalesce(c.wrote ->> '{0}', c.wrote ->> 'old_{0}')"
"""SQL of :func:`ours`, as text."""

_PROVED: dict[str, Callable[[Any, Any], bool]] = {
    "last_modified": lambda has, said: bool(has < said),
    "size": lambda has, said: True,
    # The server may be wrong about the media type, and the publisher's hash may be of another kind.
    "mimetype": lambda has, said: False,
    "hash": lambda has, said: False,
}
"""Whether a field's value is wrong if a check found another one."""
