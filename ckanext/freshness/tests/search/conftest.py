"""A harvest source."""

from __future__ import annotations

from ckanext.freshness.tests.harvesting.conftest import (  # noqa: F401
    clean_queues,
    clean_site,
    fdp,
    stumbling,
)
