"""The stream of data changes: pages of it in the order of commits, rows of the report's table, and words.

Transactions overlap, so that a change may be committed after changes that were written later. Positions are
therefore given only to committed changes, by one reader at a time, when the stream is read. A change that is
committed later gets a later position, and no reader misses it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa
from dateutil.parser import isoparse
from flask import has_request_context

from ..aging.messages import NN_
from ..ckan_adapter.core import model
from ..ckan_adapter.database import LOCK_CLASS
from ..dates import EARLIEST, utc, utc_words
from . import dataset_tables, display, labels
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
        yield {**row, "id": row["change_id"], "what": change_label(row)}


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


# Words.

_NAMED = 3
"""Number of columns or sheets that are named before the others are only counted."""
_LONGEST = 60
"""Characters of a name."""

_ROWS = NN_("{number} row", "{number} rows")
_FEATURES = NN_("{number} feature", "{number} features")

_COLUMNS = {
    "added": NN_("column {names} added", "columns {names} added"),
    "removed": NN_("column {names} removed", "columns {names} removed"),
    "renamed": NN_("column renamed: {names}", "columns renamed: {names}"),
}
_SHEETS = {
    "added": NN_("sheet {names} added", "sheets {names} added"),
    "removed": NN_("sheet {names} removed", "sheets {names} removed"),
}


def change_label(change: Mapping[str, Any]) -> str:
    """Return what changed: "14,210 rows (+312), column district added". If that is unknown, return how we know.

    :param change: with its ``evidence`` and its ``summary``
    """
    return _difference(change) or labels.label("evidence", change["evidence"])


def details(change: Mapping[str, Any]) -> str:
    """Return the resource of a change, how we know of the change, and when it happened, in sentences.

    :param change: as :data:`FIELDS` describe it
    """
    sentences = []
    if change["resource_id"] is not None:
        sentences.append(change["resource"] or change["url"])
    if _difference(change):
        sentences.append(labels.label("evidence", change["evidence"]))
    before = utc_words(isoparse(change["changed_before"]))
    if change["changed_after"] is None:
        sentences.append(tk._("Changed before {before}").format(before=before))
    else:
        after = utc_words(isoparse(change["changed_after"]))
        words = tk._("Changed between {after} and {before}")
        sentences.append(words.format(after=after, before=before))
    return " ".join(f"{sentence}." for sentence in sentences if sentence)


def _difference(change: Mapping[str, Any]) -> str:
    """Return the difference between the tables of both files; empty if it is unknown."""
    summary = change["summary"]
    if not summary:
        return ""
    parts = list(_named(summary, _SHEETS))
    for table in summary["tables"]:
        words = ", ".join(_of_table(table))
        parts.append(f"{_short(table['name'])}: {words}" if table["name"] else words)
    return "; ".join(parts)


def _of_table(table: Mapping[str, Any]) -> Iterator[str]:
    before, after = table["rows"]
    # Commands have no request, and a request that CKAN did not receive has no language.
    language = tk.h.lang() if has_request_context() else None
    locale = display.locale_of(language or tk.config["ckan.locale_default"])
    number = display.number(after, locale)
    forms = _FEATURES if table.get("features") else _ROWS
    words = labels.counted(forms, after, number=number)
    more = display.number(after - before, locale)
    sign = "+" if after > before else ""
    yield words if after == before else f"{words} ({sign}{more})"
    yield from _named(table, _COLUMNS)


def _named(difference: Mapping[str, Any], forms: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    for key, texts in forms.items():
        if names := difference.get(key):
            yield labels.counted(texts, len(names), names=_listed(names))


def _listed(names: Sequence[str | Sequence[str]]) -> str:
    """Return the first names, and the number of the others. A renamed column has its old and its new name."""
    shown = [
        _short(name) if isinstance(name, str) else " → ".join(map(_short, name))
        for name in names[:_NAMED]
    ]
    listed = ", ".join(shown)
    if len(names) == len(shown):
        return listed
    words = tk._("{names} and {count} more")
    return str(words.format(names=listed, count=len(names) - len(shown)))


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
