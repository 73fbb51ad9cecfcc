"""Datasets of any status, created by CKAN's actions."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from ckan.tests import factories

from ckanext.freshness.aging.status import Status
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.model import Copy, ResourceCheck

AGES = {
    Status.FRESH: timedelta(days=1),
    Status.DUE: timedelta(days=8),
    Status.OVERDUE: timedelta(days=15),
    Status.DELINQUENT: timedelta(days=22),
}
"""An age of weekly data for each status, in days."""

LABELS = {
    Status.FRESH: "Up to date",
    Status.DUE: "Due",
    Status.OVERDUE: "Overdue",
    Status.DELINQUENT: "Long overdue",
    Status.UNAVAILABLE: "Freshness unknown",
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
        "url": fields.pop("url", "https://data.example.org/table.csv"),
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


def break_link(dataset: dict[str, Any], **known: Any) -> str:
    """Let the checks of a dataset's first link fail for nine days, and return the resource's id."""
    now = datetime.now(timezone.utc).replace(tzinfo=None, microsecond=0)
    resource = dataset["resources"][0]
    row = ResourceCheck(
        **{
            "resource_id": resource["id"],
            "package_id": dataset["id"],
            "url": resource["url"],
            "host": "data.example.org",
            "first_seen": now - timedelta(days=90),
            "failures": 5,
            "failing_since": now - timedelta(days=9),
            "failed_at": now - timedelta(hours=8),
            "tried_at": now - timedelta(hours=8),
            "attempts": [
                {"outcome": "error", "status": 404, "reason": None, "words": "answered 404"}
            ],
            "wrote": {},
            **known,
        }
    )
    model.Session.merge(row)
    model.Session.commit()
    return str(resource["id"])


def keep_copy(resource_id: str, package_id: str, at: datetime, **more: Any) -> None:
    """Add the row of a copy of 2.4 MB; its file does not exist."""
    row: dict[str, Any] = {
        "key": resource_id,
        "size": 2_400_000,
        "sha256": "0" * 64,
        "filename": "table.csv",
        "source_url": "https://data.example.org/table.csv",
    }
    copied = {"resource_id": resource_id, "package_id": package_id}
    model.Session.add(Copy(stored_at=at, verified_at=at, **{**row, **copied, **more}))
    model.Session.commit()
