"""Replaces the stored status of a single dataset, where it is shown, by the status that it has now.

``now`` is an argument.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from ..aging.status import Boundaries, status_at
from ..dates import parse_date
from ..field_names import NAMES
from ..search.fields import judged_extras


def show_current(dataset: dict[str, Any], now: datetime) -> None:
    """Replace a dataset's stored status, wherever it stands, by the status that it has now.

    It stands among the extras, or in a field of its own if the site's schema shows it as one. A field that
    the schema declares for editors is the site's own and stays as it is.
    """
    places = dict(_places(dataset))
    due, overdue, delinquent = (
        parse_date(places[key][0][places[key][1]]) if key in places else None
        for key in (NAMES.due, NAMES.overdue, NAMES.delinquent)
    )
    if NAMES.status not in places or due is None or overdue is None or delinquent is None:
        return
    holder, key = places[NAMES.status]
    # Boundaries are stored to the second.
    status = status_at(Boundaries(due, overdue, delinquent), now.replace(microsecond=0)).value
    if holder[key] != status and NAMES.status in judged_extras(dataset.get("type")):
        holder[key] = status


def _places(dataset: dict[str, Any]) -> Iterator[tuple[str, tuple[dict[str, Any], str]]]:
    """Where our values stand, by our names: a dict and the key in it."""
    for key in NAMES.extras:
        if isinstance(dataset.get(key), str):
            yield key, (dataset, key)
    extras = dataset.get("extras")
    for extra in extras if isinstance(extras, list) else ():
        if extra.get("key") in NAMES.extras:
            yield extra["key"], (extra, "value")
