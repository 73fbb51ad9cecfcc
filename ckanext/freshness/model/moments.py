"""Moments as the database has them: in UTC, without a zone."""

from __future__ import annotations

from datetime import datetime, timezone


def utc(moment: datetime) -> datetime:
    """An aware moment as CKAN's, ckanext-harvest's and our own columns hold it."""
    return moment.astimezone(timezone.utc).replace(tzinfo=None)
