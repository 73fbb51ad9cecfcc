"""Copies for tests."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.copies import store_keys
from ckanext.freshness.runs import copies

NOON = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)


def put(
    resource: dict[str, Any],
    body: bytes,
    *,
    filename: str = "budget.xml",
    mimetype: str | None = "application/xml",
    at: datetime = NOON,
    zipped: bool = True,
) -> copies.CopyRow:
    """Store a copy of a resource, as a run does."""
    with copies.store().stage() as staged:
        staged.write(body)
        kept = copies.store().keep(
            store_keys.resource_key(resource["id"]), staged, zip_member=filename if zipped else None
        )
    one = copies.CopyRow(
        resource_id=resource["id"],
        package_id=resource["package_id"],
        kept=kept,
        filename=filename,
        mimetype=mimetype,
        source_url=resource["url"],
        at=at,
    )
    copies.remember([one])
    model.Session.commit()
    return one
