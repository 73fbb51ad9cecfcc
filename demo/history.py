"""The demo's months before its first start, which are made up.

A site's own history grows by a day each night, and a demo would have to run for months to have any. So the demo
supposes that the datasets were updated before as regularly as their update frequencies say, some earlier and
some late. From these dates it computes by the site's own rules what would have been counted each day.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import sqlalchemy as sa
from ckan import model

from ckanext.freshness import settings
from ckanext.freshness.aging.evidence import Evidence
from ckanext.freshness.aging.status import assess
from ckanext.freshness.checking import data_changes
from ckanext.freshness.checking.data_changes import DataChange
from ckanext.freshness.reporting import counts
from ckanext.freshness.reporting.counts import StatusCounts, of_statuses
from demo.datasets import CADENCES

DAYS = 240

PUNCTUALITY = (1.0, 0.9, 1.1, 1.6, 0.8, 1.0, 3.2, 1.05)
"""Times between two updates, in update frequencies. Each dataset has one of them."""


def remember(now: datetime) -> None:
    """Write the daily counts and the changes of data before a demo's first start."""
    datasets = list(model.Session.execute(sa.text(_DATASETS)))
    known = {day for day, _ in counts.days((now - timedelta(days=DAYS)).date())}
    for number in range(DAYS, 0, -1):
        at = now - timedelta(days=number)
        if at.date() not in known:
            counts.store(at, *counted(datasets, at))
    data_changes.write([change for one in datasets for change in of_data(one, now)])
    model.Session.commit()
    model.Session.remove()


def counted(datasets: list[Any], at: datetime) -> tuple[StatusCounts, list[dict[str, Any]]]:
    """Return the counts of a moment, without datasets that had no dates by then."""
    found: dict[str | None, Counter[str]] = {}
    thresholds = settings.aging().thresholds
    for number, one in enumerate(datasets):
        modified = one.newest.replace(tzinfo=timezone.utc)
        if (one.frequency_days or 0) > 0:
            between = timedelta(days=one.frequency_days) * PUNCTUALITY[number % len(PUNCTUALITY)]
            # Rounded up: the last update before the moment.
            modified += min((at - modified) // between, 0) * between
        if modified <= at:
            status = assess(modified, one.frequency_days, at, thresholds).status
            found.setdefault(one.organization, Counter())[status.value] += 1
    return (
        of_statuses(sum(found.values(), Counter())),
        [{"id": id, "counts": of_statuses(each)} for id, each in found.items() if id],
    )


def of_data(dataset: Any, now: datetime) -> Iterator[DataChange]:
    """Yield the changes of a dataset's data before a demo's first start, if it has a cadence."""
    days, number = CADENCES.get(dataset.name, (0, 0))
    newest = min(dataset.newest.replace(tzinfo=timezone.utc), now)
    for at in (newest - timedelta(days=days * back) for back in range(number)):
        yield DataChange(dataset.id, None, Evidence.UPLOAD, at, changed_before=at, stated_at=at)


_DATASETS = """
SELECT p.id, p.name, p.owner_org AS organization, d.frequency_days, max(e.happened_at) AS newest
FROM package p
JOIN freshness_dataset d ON d.package_id = p.id
JOIN freshness_evidence e ON e.package_id = p.id
WHERE p.state = 'active' AND NOT p.private
GROUP BY p.id, p.name, p.owner_org, d.frequency_days
ORDER BY p.name"""
