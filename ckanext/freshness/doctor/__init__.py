"""What is wrong with a site, and what to do about it: a list of small functions.

Each check yields findings: what was found, about what, and which command helps. A check says what it
needs, so that one service that is away makes one finding and not twenty.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime


class Severity(str, enum.Enum):
    """How much a finding matters."""

    PROBLEM = "problem"
    """Something does not work."""
    WARNING = "warning"
    """Everything works, but hardly as it was meant."""
    NOTE = "note"
    """Good to know, or waiting for a person."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found."""

    severity: Severity
    what: str
    """What was found, and about what, for people."""
    advice: str = ""
    """What to do: the command in full where one helps."""


def problem(what: str, advice: str) -> Finding:
    """Something does not work."""
    return Finding(Severity.PROBLEM, what, advice)


def warning(what: str, advice: str) -> Finding:
    """Everything works, but hardly as it was meant."""
    return Finding(Severity.WARNING, what, advice)


def note(what: str, advice: str = "") -> Finding:
    """Good to know, or waiting for a person."""
    return Finding(Severity.NOTE, what, advice)


def counted(count: int, one: str, many: str) -> str:
    """A number and what there are so many of."""
    return f"{count} {one if count == 1 else many}"


class Need(enum.Flag):
    """What a check cannot do without."""

    NOTHING = 0
    DATABASE = enum.auto()
    REDIS = enum.auto()
    SOLR = enum.auto()
    HARVEST = enum.auto()
    """ckanext-harvest's plugin."""
    HARVEST_TABLES = enum.auto()
    """Its tables, as its version has them."""
    TABLES = enum.auto()
    """This extension's tables, as this version has them."""


@dataclass(frozen=True, slots=True)
class SiteCheck:
    """A look at one thing."""

    name: str
    look: Callable[[datetime], Iterable[Finding]]
    """Takes the moment it is (aware)."""
    needs: Need = Need.NOTHING
