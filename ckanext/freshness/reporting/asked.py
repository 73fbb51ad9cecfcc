"""What rows of the report's tables are asked for, and what is common to all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..dates import utc_text
from .sight import Context

Row = dict[str, Any]

PART = 500
"""Rows that are read at a time."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What rows are asked for.

    :ivar now: with its zone
    :ivar organization: the name of the one whose datasets are meant; None for all
    :ivar since: from when changes are told, with its zone; a day before now where it is None
    :ivar run: what this run wrote is told, too
    :ivar status: only datasets that have it now
    :ivar sort: key of a column, behind a minus if the greatest come first; None for the table's order
    :ivar offset: so many of the first rows are left out
    :ivar most: no more rows than this will be read; None for all
    """

    context: Context
    now: datetime
    organization: str | None = None
    since: datetime | None = None
    run: str | None = None
    status: str | None = None
    sort: str | None = None
    offset: int = 0
    most: int | None = None


def sort_of(asked: Asked, standard: str) -> tuple[str, bool]:
    """The key to sort by, and whether the greatest come first.

    :param standard: as :attr:`Asked.sort`, where nothing is asked for
    """
    asked_for = asked.sort or standard
    return asked_for.removeprefix("-"), asked_for.startswith("-")


def moments(row: Mapping[str, Any], *keys: str) -> Row:
    """A row with these of its moments as text."""
    return {**row, **{key: utc_text(row[key]) for key in keys}}
