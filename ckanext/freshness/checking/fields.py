"""What a visit says of a resource's own fields: last_modified, size, mimetype and hash.

They are filled in where they are empty or proved wrong, and only for links. What was written is
remembered, under the fields' names: so that it is never taken for somebody's word, and is there again when
an update by others has emptied it. What was written while the resource had another URL is kept under the
names with ``old_`` in front, and is only good for the former.

Values are as JSON has them: moments as text in UTC without zone, which sorts by time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any

from ..dates import utc
from .results import CheckResult

FIELDS = ("last_modified", "size", "mimetype", "hash")
"""In the order of the columns of CKAN's table that they are."""

Fields = Mapping[str, Any]

_SAYS_NOTHING = frozenset(
    {"application/octet-stream", "binary/octet-stream", "application/x-download", "text/plain"}
)
"""What servers call files of which they know nothing."""


def stored(last_modified: datetime | None, size: Any, mimetype: Any, hash_: Any) -> dict[str, Any]:
    """A resource's fields as they are compared; empty ones are left out."""
    values = {
        "last_modified": None if last_modified is None else last_modified.isoformat(),
        "size": size,
        "mimetype": mimetype,
        "hash": hash_,
    }
    return {name: value for name, value in values.items() if value not in (None, "")}


def found(finding: CheckResult) -> dict[str, Any]:
    """What a visit says of the fields; what it does not know is left out."""
    dates = [one for one in (finding.modified, finding.changed_at) if one is not None]
    values = {
        "last_modified": utc(max(dates)).isoformat(timespec="seconds") if dates else None,
        "size": finding.size,
        "mimetype": None if finding.mimetype in _SAYS_NOTHING else finding.mimetype,
        "hash": None if finding.memory.outdated else finding.memory.hash,
    }
    return {name: value for name, value in values.items() if value is not None}


def after_visit(
    has: Fields, wrote: Fields, said: Fields, allowed: Collection[str]
) -> dict[str, Any]:
    """What to write into a resource's fields after a visit.

    :param has: its fields, see :func:`stored`.
    :param wrote: what was written into them before.
    :param said: what the visit says of them, see :func:`found`.
    :param allowed: the fields that may be written.
    """
    return {
        name: value
        for name, value in said.items()
        if name in allowed
        and has.get(name) != value
        and (name not in has or has[name] == ours(wrote, name) or _PROVED[name](has[name], value))
    }


def again(has: Fields, wrote: Fields, allowed: Collection[str]) -> dict[str, Any]:
    """What to write into a resource's fields again, after an update by others."""
    return {
        name: wrote[name]
        for name in FIELDS
        if name in allowed
        and name in wrote
        and (name not in has or (name == "last_modified" and has[name] < wrote[name]))
    }


def ours(wrote: Fields, name: str) -> Any:
    """What of ours may stand in a field; None if nothing does."""
    return wrote.get(name, wrote.get(f"old_{name}"))


OURS = "coalesce(c.wrote ->> '{0}', c.wrote ->> 'old_{0}')"
"""The same in SQL, as text."""

_PROVED: dict[str, Callable[[Any, Any], bool]] = {
    "last_modified": lambda has, said: bool(has < said),
    "size": lambda has, said: True,
    # A server's word against the publisher's; and hashes are of many kinds.
    "mimetype": lambda has, said: False,
    "hash": lambda has, said: False,
}
"""Whether what a field has is wrong, given that a visit says something else."""
