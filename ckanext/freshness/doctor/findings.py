"""What the doctor says: findings, and their words."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial


class Severity(str, enum.Enum):
    """The severity of a finding."""

    PROBLEM = "problem"
    """Something does not work."""
    WARNING = "warning"
    """Everything works, but probably not as the operator intended."""
    NOTE = "note"
    """Good to know, or waiting for a person."""


@dataclass(frozen=True, slots=True)
class SiteFinding:
    """A fact about the site, with advice.

    :ivar text: the fact and the things it concerns, for people
    :ivar advice: what to do; the complete command if one helps
    """

    severity: Severity
    text: str
    advice: str = ""


problem = partial(SiteFinding, Severity.PROBLEM)
warning = partial(SiteFinding, Severity.WARNING)
note = partial(SiteFinding, Severity.NOTE)


def counted(count: int, singular: str, plural: str) -> str:
    """Return a number and its noun: ``1 dataset``, ``2 datasets``."""
    return f"{count} {singular if count == 1 else plural}"


_NAMED = 10
"""Things that a finding names."""


def named(names: Sequence[str]) -> str:
    """Return names as a list that ends with the number of the others."""
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
