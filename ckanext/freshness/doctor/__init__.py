"""Diagnosis of a site: a list of small checks that report what is wrong and what to do.

A check declares the services and tables it needs. If one of these is missing, the doctor reports it once
and skips the checks that need it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime


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


def problem(text: str, advice: str) -> SiteFinding:
    """Return a finding of severity PROBLEM."""
    return SiteFinding(Severity.PROBLEM, text, advice)


def warning(text: str, advice: str) -> SiteFinding:
    """Return a finding of severity WARNING."""
    return SiteFinding(Severity.WARNING, text, advice)


def note(text: str, advice: str = "") -> SiteFinding:
    """Return a finding of severity NOTE."""
    return SiteFinding(Severity.NOTE, text, advice)


def counted(count: int, singular: str, plural: str) -> str:
    """Return a number and its noun: ``1 dataset``, ``2 datasets``."""
    return f"{count} {singular if count == 1 else plural}"


def some(names: Sequence[str], most: int = 3) -> str:
    """Return the first of some names: ``a, b, c and 4 more``."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


class Need(enum.Flag):
    """The services and tables that a check needs."""

    NOTHING = 0
    DATABASE = enum.auto()
    REDIS = enum.auto()
    SOLR = enum.auto()
    HARVEST = enum.auto()
    """ckanext-harvest's plugin."""
    HARVEST_TABLES = enum.auto()
    """ckanext-harvest's tables, as its installed version expects them."""
    TABLES = enum.auto()
    """This extension's tables, as this version expects them."""


@dataclass(frozen=True, slots=True)
class SiteCheck:
    """A check of one subject.

    :ivar find: takes the current time (aware) and yields findings
    """

    name: str
    find: Callable[[datetime], Iterable[SiteFinding]]
    needs: Need = Need.NOTHING
