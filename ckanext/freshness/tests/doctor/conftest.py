"""A harvest source, and the findings of a check."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timezone

from ckanext.freshness.doctor.findings import SiteFinding
from ckanext.freshness.tests.harvesting.conftest import (  # noqa: F401
    clean_queues,
    clean_site,
    fdp,
)

NOW = datetime(2026, 3, 3, 12, tzinfo=timezone.utc)


def findings(
    check: Callable[[datetime], Iterable[SiteFinding]], at: datetime = NOW
) -> list[SiteFinding]:
    return list(check(at))
