"""Fixtures of the pages."""

from __future__ import annotations

from ckanext.freshness.tests.pages.conftest import (  # noqa: F401
    clean_site,
    clock,
    get,
    read,
    sysadmin,
)
