"""Writes changes of data into the stream that :mod:`..reporting.changes` reads.

A change is written in the transaction that stores its evidence. Therefore a process that is killed neither
loses a change nor writes it twice.

The stream is in the order of commits. Transactions overlap, so that a change may be committed after changes
that were written later. Positions are therefore given only to committed changes, by one reader at a time, when
the stream is read. A change that is committed later gets a later position, and no reader misses it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import sqlalchemy as sa

from ..aging.evidence import Evidence
from ..ckan_adapter.core import model
from ..ckan_adapter.database import LOCK_CLASS
from ..dates import parse_date, utc, utc_text
from .decisions import OUTCOMES, CheckResult, Outcome, outcomes_that
from .formats import Shape, TableShape
from .observations import newest_period

KEEP = timedelta(days=730)
"""How long a change is kept."""

MOST_BYTES = 8192
"""Of the difference of two shapes, as JSON."""

_CERTAIN = outcomes_that(lambda traits: traits.tells)
_UNCERTAIN = outcomes_that(lambda traits: traits.found and not traits.tells)
"""Outcomes of checks that met a file, but perhaps not the one that is stored."""


@dataclass(frozen=True, slots=True)
class DataChange:
    """A change of data; see :class:`..model.FreshnessChange` for its fields. Moments are aware."""

    package_id: str
    resource_id: str | None
    evidence: Evidence
    seen_at: datetime
    changed_before: datetime
    changed_after: datetime | None = None
    stated_at: datetime | None = None
    hash_before: str | None = None
    hash_after: str | None = None
    size_before: int | None = None
    size_after: int | None = None
    media_type_before: str | None = None
    media_type_after: str | None = None
    summary: Mapping[str, Any] | None = None


def evidence_of(result: CheckResult) -> Evidence | None:
    """Return how the result of a check shows that data have changed; None if it shows no change.

    The first look at a file shows no change, nor does a newer date of a file with the same hash. A file that
    could not be confirmed is checked again, and shows its change then.
    """
    if result.outcome is Outcome.CHANGED:
        return Evidence.HASH
    was_read = result.resource.known.hash is not None
    if result.modified is None or not OUTCOMES[result.outcome].date_is_change or not was_read:
        return None
    return Evidence.HTTP_HEADER


def of_check(result: CheckResult, row: Any) -> DataChange | None:
    """Return the change that the result of a check shows; None if it shows none.

    :param row: of the resource, as :func:`.result_writer.write` returns it
    """
    evidence = evidence_of(result)
    if evidence is None:
        return None
    seen_at = result.changed_at or result.attempt.at
    before = result.resource.known
    return DataChange(
        package_id=result.resource.package_id,
        resource_id=result.resource.resource_id,
        evidence=evidence,
        seen_at=seen_at,
        changed_before=seen_at,
        changed_after=_last_known(row),
        stated_at=result.modified,
        hash_before=None if before.outdated else before.hash,
        hash_after=result.known.hash if OUTCOMES[result.outcome].hashed else None,
        size_before=row.size,
        size_after=result.size,
        media_type_before=row.mimetype or None,
        media_type_after=result.mimetype,
        summary=_summary(result, row),
    )


def _summary(result: CheckResult, row: Any) -> dict[str, Any] | None:
    """Return what a check shows of a change: the difference of shapes, and ``data_until``, the newest periods
    before (None if that is unknown) and after."""
    before, found = result.resource.known, dict[str, Any]()
    answer = result.resource.date_column
    if not before.outdated:
        was = [TableShape(*one) for one in row.was["shape"] or ()]
        found = difference(was, result.shape or ()) or {}
    is_read = OUTCOMES[result.outcome].hashed
    after = newest_period(result.known.dates, answer) if is_read else None
    if after is not None:
        earlier = None if before.outdated else newest_period(before.dates, answer)
        found["data_until"] = [earlier, after]
    return found or None


def _last_known(row: Any) -> datetime | None:
    """Return when a check last knew the old file for certain; None if that is unknown."""
    for attempt in row.was["attempts"]:
        if attempt["outcome"] in _CERTAIN:
            return parse_date(attempt["at"])
        if attempt["outcome"] in _UNCERTAIN:
            return None
    # All stored attempts failed, so that the last success is older.
    return parse_date(row.was["succeeded_at"])


def write(changes: Sequence[DataChange]) -> None:
    """Write changes; nothing is committed."""
    if not changes:
        return
    rows = [{"id": str(uuid4()), **asdict(change)} for change in changes]
    model.Session.execute(sa.text(_WRITE), {"rows": json.dumps(rows, default=_json_value)})


def _json_value(value: Any) -> str:
    return value.value if isinstance(value, Evidence) else str(utc_text(value))


def choose_column(resource_id: str, answer: Sequence[str | None] | None) -> bool:
    """Store an editor's answer, which column says up to when the data of a file reach. No commit.

    What was learned of the dates of another column is forgotten.

    :param answer: see :func:`.observations.newest`
    :returns: whether the answer is stored
    """
    values = {"id": resource_id, "answer": None if answer is None else json.dumps(answer)}
    return bool(model.Session.execute(sa.text(_CHOOSE), values).rowcount)


_CHOOSE = """
WITH learned AS (UPDATE freshness_check SET known = known - 'data_since' WHERE resource_id = :id),
changes AS (
    UPDATE freshness_change SET summary = nullif(summary - 'data_until', '{}')
    WHERE resource_id = :id AND summary ? 'data_until'
)
UPDATE freshness_resource SET date_column = CAST(:answer AS jsonb) WHERE resource_id = :id"""


def prune(now: datetime) -> int:
    """Delete changes that are older than :data:`KEEP`, commit, and return their number."""
    statement = sa.text("DELETE FROM freshness_change WHERE seen_at < :before")
    gone = model.Session.execute(statement, {"before": utc(now - KEEP)}).rowcount
    model.Session.commit()
    return int(gone)


def forget(package_ids: Sequence[str]) -> None:
    """Empty the changes of purged datasets; nothing is committed.

    Their places in the stream remain until they are pruned: a cursor may name them.
    """
    model.Session.execute(sa.text(_FORGET), {"ids": list(package_ids)})


_FORGET = """
UPDATE freshness_change SET package_id = '', resource_id = NULL, stated_at = NULL, hash_before = NULL,
    hash_after = NULL, size_before = NULL, size_after = NULL, media_type_before = NULL,
    media_type_after = NULL, summary = NULL
WHERE package_id = ANY(:ids)"""
_WRITE = """
INSERT INTO freshness_change
SELECT * FROM jsonb_populate_recordset(NULL::freshness_change, CAST(:rows AS jsonb))"""


# The stream

_LOCK = -2
"""The number of the lock on positions, among this extension's advisory locks."""


def place() -> Any:
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


# The difference of two shapes


def difference(before: Shape, after: Shape) -> dict[str, Any] | None:
    """Return the differences between two shapes, as JSON; None if they are uncertain, or if there are none.

    A column is renamed in place if both tables have equally many columns and only its name differs. Moved
    columns are no change.

    :returns: ``tables``: those that are in both and differ, each with ``name``, ``rows`` (before and after),
        as far as there are any ``added``, ``removed`` and ``renamed`` columns, and ``features``, true, if the
        rows are features; of a file with one table without a name also if they do not differ. ``added`` and
        ``removed``: sheets, if there are any
    """
    if not before or not after:
        return None
    old = {table.name: table for table in before}
    new = {table.name: table for table in after}
    if len(old) < len(before) or len(new) < len(after) or (None in old) is not (None in new):
        return None
    tables = [found for name in new if name in old and (found := _of_table(old[name], new[name]))]
    sheets = _without_empty(
        added=[name for name in new if name not in old],
        removed=[name for name in old if name not in new],
    )
    found = {"tables": tables, **sheets}
    is_small = len(json.dumps(found, ensure_ascii=False).encode()) <= MOST_BYTES
    return found if is_small and (tables or sheets) else None


def _of_table(before: TableShape, after: TableShape) -> dict[str, Any] | None:
    if before.rows is None or after.rows is None or before.of_features is not after.of_features:
        return None
    old, new = before.columns or (), after.columns or ()
    pairs = list(zip(old, new, strict=True)) if len(old) == len(new) else []
    renamed = [[one, other] for one, other in pairs if one not in new and other not in old]
    gone, come = ({pair[place] for pair in renamed} for place in (0, 1))
    columns = _without_empty(
        added=[name for name in new if name not in old and name not in come],
        removed=[name for name in old if name not in new and name not in gone],
        renamed=renamed,
    )
    if before.name is not None and before.rows == after.rows and not columns:
        return None
    found = {"name": before.name, "rows": [before.rows, after.rows], **columns}
    return {**found, "features": True} if after.of_features else found


def _without_empty(**lists: list[Any]) -> dict[str, list[Any]]:
    return {name: values for name, values in lists.items() if values}
