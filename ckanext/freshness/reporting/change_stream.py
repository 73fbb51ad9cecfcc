"""The stream of data changes: pages of it in the order of commits, and rows of the report's table.

Transactions overlap, so that a change may be committed after changes that were written later. Positions are
therefore given only to committed changes, by one reader at a time, when the stream is read. A change that is
committed later gets a later position, and no reader misses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from ..ckan_adapter.ckan_core import model
from ..ckan_adapter.locks import LOCK_CLASS
from ..dates import EARLIEST, utc
from . import change_words, dataset_tables
from .tables import Context, Row, TableRequest

FACTS = (
    *("changed_after", "changed_before", "stated_at", "hash_before", "hash_after"),
    *("size_before", "size_after", "media_type_before", "media_type_after", "summary"),
)
"""Keys of the facts about a change, besides its dataset, its resource and its evidence."""

FIELDS = (
    *("id", "seen_at", "package_id", "name", "title", "organization", "resource_id", "resource"),
    *("url", "evidence", *FACTS),
)
"""Keys of a change in the stream."""

_LOCK = -2
"""The number of the lock on positions, among this extension's advisory locks."""


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """A request for a page of the stream.

    :ivar cursor: of the page before; None for the beginning
    :ivar since: the earliest change, aware; None for all that are kept
    :ivar organization: name of the only organization; None for all
    :ivar dataset: id of the only dataset; None for all
    :ivar limit: the largest number of changes
    """

    cursor: str | None = None
    since: datetime | None = None
    organization: str | None = None
    dataset: str | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True)
class StreamPage:
    """A page of the stream.

    :ivar cursor: the cursor of the next page, even if that page is still empty; None if no change is stored
    :ivar more: whether there is another page now
    """

    changes: list[dict[str, Any]]
    cursor: str | None
    more: bool


def rows(request: TableRequest) -> Iterator[Row]:
    """Yield changes for the report's table, the newest first."""
    for row in dataset_tables.DATA.rows(request):
        yield {**row, "id": row["change_id"], "what": change_words.change_label(row)}


def page(context: Context, asked: StreamRequest, now: datetime) -> StreamPage:
    """Return a page of the stream: the changes that the user may see, in the order of commits.

    :raises tk.ValidationError: the change that the cursor names is not kept
    """
    newest = _place()
    values = {
        "since": utc(asked.since or EARLIEST),
        "from": 0 if asked.cursor is None else _position(asked.cursor),
        "to": 0 if newest is None else newest.position,
    }
    listed = replace(
        dataset_tables.DATA,
        where="o.seen_at >= :since AND o.position > :from AND o.position <= :to",
        order="position",
        values=lambda request: values,
    )
    request = TableRequest(
        context,
        now,
        organization=asked.organization,
        dataset=asked.dataset,
        limit=asked.limit + 1,
    )
    found = [{**row, "id": row["change_id"]} for row in listed.rows(request)]
    changes = [{key: row[key] for key in FIELDS} for row in found[: asked.limit]]
    if len(found) > asked.limit:
        return StreamPage(changes, changes[-1]["id"] if changes else asked.cursor, more=True)
    # Also past changes of others, so that the cursor of a quiet organization does not grow too old.
    return StreamPage(changes, None if newest is None else newest.id, more=False)


def _place() -> Any:
    """Give committed changes without a position the next positions; return the last change, or None.

    If the database is read-only, they get theirs when it accepts changes again, and are read then.
    """
    with model.Session.get_bind().begin() as connection:
        if connection.execute(sa.text(_UNPLACED)).scalar():
            # Its own statement: what is committed while it waits is seen by the next one.
            connection.execute(
                sa.text("SELECT pg_advisory_xact_lock(:class, :number)"),
                {"class": LOCK_CLASS, "number": _LOCK},
            )
            connection.execute(sa.text(_PLACE))
        return connection.execute(sa.text(_NEWEST)).first()


def _position(cursor: str) -> int:
    """Return the position of the change that a cursor names.

    :raises tk.ValidationError: there is no such change
    """
    statement = sa.text("SELECT position FROM freshness_change WHERE id = :cursor")
    position = model.Session.execute(statement, {"cursor": cursor}).scalar()
    if position is None:
        words = tk._(
            "The cursor {cursor} names no change that is kept: changes are kept for two years. Leave the "
            "cursor out to begin with the oldest change, or use since."
        )
        raise tk.ValidationError({"cursor": [words.format(cursor=cursor[:40])]})
    return int(position)


_UNPLACED = """
SELECT current_setting('transaction_read_only') = 'off'
    AND EXISTS (SELECT FROM freshness_change WHERE position IS NULL)"""
_NEWEST = """
SELECT id, position FROM freshness_change WHERE position IS NOT NULL ORDER BY position DESC LIMIT 1"""
_PLACE = """
UPDATE freshness_change c SET position = n.position FROM (
    SELECT id, (SELECT coalesce(max(position), 0) FROM freshness_change)
        + row_number() OVER (ORDER BY seen_at, id) AS position
    FROM freshness_change WHERE position IS NULL
) n WHERE c.id = n.id"""
