"""Stores of copies."""

from __future__ import annotations

from ckanext.freshness.tests.copies.conftest import (  # noqa: F401
    folder,
    location,
    s3_bucket,
    s3_url,
    store,
)
