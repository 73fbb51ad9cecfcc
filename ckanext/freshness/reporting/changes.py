"""Changes of data: the table and the stream of them, in words, and how often the data of a dataset change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from statistics import median
from typing import Any

import ckan.plugins.toolkit as tk
from dateutil.parser import isoparse

from ..aging import observed_frequency
from ..checking import data_changes
from ..checking.observations import period_of
from ..dates import EARLIEST, utc, utc_words
from ..status import updates
from ..translation import N_, NN_
from . import labels, visibility
from .tables import (
    DATASET,
    ORGANIZATION,
    RESOURCE,
    Column,
    DatasetTable,
    TableRequest,
)

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


def since_values(request: TableRequest) -> dict[str, Any]:
    """Return the values of a table of changes: the period, and the run whose changes are added."""
    since = request.since or request.now - timedelta(days=1)
    return {"since": utc(since), "until": utc(request.now), "run": request.run}


DATA = DatasetTable(
    name="data",
    title=N_("Data changes"),
    meaning=N_(
        "Data that have changed since yesterday or the chosen date, as far as this portal noticed."
    ),
    empty=N_("No data have changed."),
    columns=(
        Column("id"),
        Column("seen_at", N_("When"), "moment"),
        *DATASET,
        *RESOURCE,
        ORGANIZATION,
        Column("what", N_("What changed"), sort="evidence"),
        Column("evidence"),
        *(Column(key) for key in FACTS),
    ),
    select=f"""o.id, o.resource_id, coalesce(r.name, '') AS resource, r.url, o.seen_at, o.evidence, o.position,
        {", ".join(f"o.{key}" for key in FACTS)}""",
    source="""FROM freshness_change o JOIN package p ON p.id = o.package_id
        LEFT JOIN resource r ON r.id = o.resource_id AND r.state = 'active'""",
    where="o.seen_at >= :since AND o.seen_at <= :until",
    order="-seen_at",
    key="id",
    always=("seen_at", "position"),
    searched=("title", "name", "resource"),
    values=since_values,
    complete=lambda row: {**row, "what": change_label(row)},
    tab="datasets",
)

# The stream.


def page(request: TableRequest, limit: int, cursor: str | None = None) -> dict[str, Any]:
    """Return a page of the stream: the changes that the user may see, in the order of commits.

    :param request: its organization, its dataset, and since when; None for all that are kept
    :param limit: the largest number of changes
    :param cursor: of the page before; None for the beginning
    :returns: ``changes``; ``cursor`` of the next page, even if that page is still empty, None if no change is
        stored; ``more``: whether there is another page now
    :raises tk.ValidationError: the change that the cursor names is not kept
    """
    newest = data_changes.place()
    values = {
        "since": utc(request.since or EARLIEST),
        "from": 0 if cursor is None else _position(cursor),
        "to": 0 if newest is None else newest.position,
    }
    listed = replace(
        DATA,
        where="o.seen_at >= :since AND o.position > :from AND o.position <= :to",
        order="position",
        values=lambda request: values,
    )
    rows = listed.read(replace(request, limit=limit + 1))
    changes = [{key: row[key] for key in FIELDS} for row in rows]
    found = changes[:limit]
    if len(changes) > limit:
        return {"changes": found, "cursor": found[-1]["id"] if found else cursor, "more": True}
    # Also past changes of others, so that the cursor of a quiet organization does not grow too old.
    return {"changes": found, "cursor": None if newest is None else newest.id, "more": False}


def _position(cursor: str) -> int:
    """Return the position of the change that a cursor names.

    :raises tk.ValidationError: there is no such change
    """
    statement = "SELECT position FROM freshness_change WHERE id = :cursor"
    position = visibility.rows(statement, cursor=cursor).scalar()
    if position is None:
        words = tk._(
            "The cursor {cursor} names no change that is kept: changes are kept for two years. Leave the "
            "cursor out to begin with the oldest change, or use since."
        )
        raise tk.ValidationError({"cursor": [words.format(cursor=cursor[:40])]})
    return int(position)


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
    """Return the difference between the data of both files; empty if it is unknown."""
    summary = change["summary"]
    if not summary:
        return ""
    parts = list(_named(summary, _SHEETS))
    for table in summary.get("tables", ()):
        words = ", ".join(_of_table(table))
        parts.append(f"{_short(table['name'])}: {words}" if table["name"] else words)
    if "data_until" in summary:
        before, after = summary["data_until"]
        text = tk._("still up to {period}") if before == after else tk._("now up to {period}")
        parts.append(text.format(period=labels.period(after)))
    return "; ".join(parts)


def _of_table(table: Mapping[str, Any]) -> Iterator[str]:
    before, after = table["rows"]
    number = labels.number(after)
    forms = _FEATURES if table.get("features") else _ROWS
    words = labels.counted(forms, after, number=number)
    more = labels.number(after - before)
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


# How often the data of a dataset change.


def observed(package_id: str, declared_days: int | None, now: datetime) -> dict[str, Any] | None:
    """Return how often a dataset's data change, as ``freshness_show`` shows it; None if too little is known.

    :param declared_days: the dataset's update frequency; None if it has none
    :param now: the current time, aware
    """
    for basis, seen in updates.of_packages([package_id]).get(package_id, {}).items():
        found = observed_frequency.observed(seen, now)
        if found is not None:
            fits = (
                None if declared_days is None else observed_frequency.fitting(found, declared_days)
            )
            return {
                "days": round(found.days, 1),
                "lowest_days": round(found.lowest, 1),
                "highest_days": round(found.highest, 1),
                "at_least": found.at_least,
                "changes": found.updates,
                "basis": basis,
                "suggested_days": fits,
            }
    return None


def lag(resource_id: str, until: date) -> dict[str, Any] | None:
    """Return how far the data of a file usually lie behind, and when the next are expected.

    :param until: the last day of its newest period
    :returns: as ``freshness_show`` returns it; None if too little is known
    """
    rows = visibility.rows(_NEWER_DATA, id=resource_id, most=observed_frequency.MOST_UPDATES)
    periods = [(row.happened_at.date(), *map(period_of, row.data_until)) for row in rows]
    newer = [(at, was[0], now[0]) for at, was, now in periods if was and now and now > was]
    if len(newer) < observed_frequency.LEAST_UPDATES:
        return None
    lags = [max((at - now).days, 0) for at, _, now in newer]
    step = median((now - was).days for _, was, now in newer)
    days = round(median(lags))
    return {
        "days": days,
        "lowest_days": min(lags),
        "highest_days": max(lags),
        "step_days": round(step),
        "updates": len(newer),
        "next_expected": (until + timedelta(days=round(step) + days)).isoformat(),
    }


_NEWER_DATA = f"""
SELECT {updates.HAPPENED} AS happened_at, c.summary -> 'data_until' AS data_until
FROM freshness_change c
WHERE c.resource_id = :id AND c.summary #>> '{{data_until,0}}' <> c.summary #>> '{{data_until,1}}'
ORDER BY c.changed_before DESC LIMIT :most"""
