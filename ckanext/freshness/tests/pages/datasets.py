"""Datasets of any status, created by CKAN's actions."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from ckan.tests import factories

from ckanext.freshness.aging.status import Status

AGES = {
    Status.FRESH: timedelta(days=1),
    Status.DUE: timedelta(days=8),
    Status.OVERDUE: timedelta(days=15),
    Status.DELINQUENT: timedelta(days=22),
}
"""An age of weekly data for each status, in days."""

LABELS = {
    Status.FRESH: "Fresh",
    Status.DUE: "Needs update (due)",
    Status.OVERDUE: "Needs update (overdue)",
    Status.DELINQUENT: "Needs update (delinquent)",
    Status.UNAVAILABLE: "Unavailable",
}
"""The texts of badges by status."""


def make_dataset(status: Status, name: str | None = None, **fields: Any) -> dict[str, Any]:
    """Create a weekly dataset with a status, or one without an update frequency, which is unavailable."""
    now = datetime.now(timezone.utc).replace(tzinfo=None, microsecond=0)
    added = now - AGES.get(status, timedelta(days=1))
    extras = [*fields.pop("extras", [])]
    if status in AGES:
        extras.append({"key": "data_update_frequency", "value": "7"})
    link = {
        "name": "Table",
        "url": "https://data.example.org/table.csv",
        "format": "CSV",
        "created": added.isoformat(),
    }
    made: dict[str, Any] = factories.Dataset(
        name=name or f"data-{status.value}",
        title=fields.pop("title", f"Data {status.value}"),
        resources=[link],
        extras=extras,
        **fields,
    )
    return made
