"""The demo's days before today: what would have been counted then, by the dates that its datasets have.

A site's own history grows by a day each night, and a demo would have to run for weeks to have any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

import sqlalchemy as sa
from ckan import model

from ckanext.freshness import settings
from ckanext.freshness.aging.status import assess
from ckanext.freshness.aging.thresholds import Thresholds
from ckanext.freshness.reporting import history
from ckanext.freshness.reporting.counts import STATUSES, CurrentCounts, StatusCounts

DAYS = 30


@dataclass(frozen=True, slots=True)
class Dated:
    """A public dataset, and when its data are known to have changed.

    :ivar organization: its name
    :ivar dates: aware
    """

    organization: str | None
    frequency_days: int | None
    dates: tuple[datetime, ...]


def remember(now: datetime) -> None:
    """Keep the counts of the days before, but for those that were counted when they were."""
    datasets = list(_datasets())
    thresholds = settings.aging().thresholds
    known = {one.day for one in history.days((now - timedelta(days=DAYS)).date())}
    for number in range(DAYS, 0, -1):
        at = now - timedelta(days=number)
        if at.date() not in known:
            history.record(at, counted(datasets, at, thresholds), {})
    model.Session.remove()


def counted(datasets: Iterable[Dated], at: datetime, thresholds: Thresholds) -> CurrentCounts:
    """How fresh the datasets were at a moment that had anything by then."""
    found: dict[str | None, Counter[str]] = {}
    for one in datasets:
        modified = max((date for date in one.dates if date <= at), default=None)
        if modified is not None:
            status = assess(modified, one.frequency_days, at, thresholds).status.value
            found.setdefault(one.organization, Counter())[status] += 1
    every = sum(found.values(), Counter())
    return CurrentCounts(
        _counts(every),
        {name: _counts(numbers) for name, numbers in found.items() if name is not None},
        {},
    )


def _counts(numbers: Counter[str]) -> StatusCounts:
    return StatusCounts({status: numbers[status] for status in STATUSES})


def _datasets() -> Iterator[Dated]:
    for row in model.Session.execute(sa.text(_DATASETS)):
        dates = tuple(date.replace(tzinfo=timezone.utc) for date in row.dates)
        yield Dated(row.organization, row.frequency_days, dates)


_DATASETS = """
SELECT g.name AS organization, d.frequency_days, array_agg(e.happened_at) AS dates
FROM package p
JOIN freshness_dataset d ON d.package_id = p.id
JOIN freshness_evidence e ON e.package_id = p.id
LEFT JOIN "group" g ON g.id = p.owner_org
WHERE p.state = 'active' AND NOT p.private
GROUP BY p.id, g.name, d.frequency_days"""
