"""The parameters of the report's tables, and helpers that all tables share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..dates import utc_text
from .visibility import Context

Row = dict[str, Any]

PART = 500
"""Rows to read from the database or Solr at a time."""


@dataclass(frozen=True, slots=True)
class TableRequest:
    """A request for rows of a table.

    :ivar now: the current time, aware
    :ivar organization: the name of an organization, to list only its datasets; None for all
    :ivar since: the earliest change to list, aware; None for a day before ``now``
    :ivar run: the id of a run whose changes are listed in addition
    :ivar status: a status, to list only datasets that have it now
    :ivar sort: the key of a column, after a minus for descending order; None for the table's own order
    :ivar offset: the number of rows to skip
    :ivar most: the largest number of rows to read; None for all
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


def sort_of(asked: TableRequest, standard: str) -> tuple[str, bool]:
    """Return the key to sort by, and whether the order is descending.

    :param standard: the table's own order, written like :attr:`Asked.sort`
    """
    asked_for = asked.sort or standard
    return asked_for.removeprefix("-"), asked_for.startswith("-")


def moments(row: Mapping[str, Any], *keys: str) -> Row:
    """Return a row in which the datetimes under these keys are ISO 8601 texts."""
    return {**row, **{key: utc_text(row[key]) for key in keys}}
