"""Moments as the database has them: in UTC, without a zone."""

from __future__ import annotations

from datetime import datetime, timezone


def utc(moment: datetime) -> datetime:
    """An aware moment as CKAN's, ckanext-harvest's and our own columns hold it."""
    return moment.astimezone(timezone.utc).replace(tzinfo=None)


def utc_text(moment: datetime | None) -> str | None:
    """A moment in UTC without zone, as it is written: ISO 8601 to the second, with ``Z``."""
    return None if moment is None else f"{moment.replace(microsecond=0).isoformat()}Z"
