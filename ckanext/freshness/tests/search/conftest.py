"""A harvest source, and a plugin that meddles with documents."""

from __future__ import annotations

from ckanext.freshness.tests.harvesting.conftest import (  # noqa: F401
    clean_queues,
    clean_site,
    fdp,
    stumbling,
)
from ckanext.freshness.tests.status.conftest import meddling  # noqa: F401
