"""Words for changes of data, in the reader's language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ckan.plugins.toolkit as tk
from dateutil.parser import isoparse
from flask import has_request_context

from ..aging.evidence import Evidence
from ..aging.messages import NN_
from ..dates import utc_words
from . import display, labels

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
    return _difference(change) or labels.evidence_label(Evidence(change["evidence"]))


def details(change: Mapping[str, Any]) -> str:
    """Return the resource of a change, how we know of the change, and when it happened, in sentences.

    :param change: as :data:`.change_stream.FIELDS` describe it
    """
    sentences = []
    if change["resource_id"] is not None:
        sentences.append(change["resource"] or change["url"])
    if _difference(change):
        sentences.append(labels.evidence_label(Evidence(change["evidence"])))
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
