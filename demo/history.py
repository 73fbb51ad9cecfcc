"""The demo's months before its first start, which are made up.

A site's own history grows by a day each night, and a demo would have to run for months to have any. So the demo
supposes that the datasets were updated before as regularly as their update frequencies say, now and then late.
From these dates it computes by the site's own rules what would have been counted each day.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from itertools import cycle

import sqlalchemy as sa
from ckan import model

from ckanext.freshness import settings
from ckanext.freshness.aging.evidence import Evidence
from ckanext.freshness.aging.status import assess
from ckanext.freshness.aging.thresholds import Thresholds
from ckanext.freshness.checking import data_changes
from ckanext.freshness.checking.data_changes import DataChange
from ckanext.freshness.reporting import changes as data_stream
from ckanext.freshness.reporting import counts
from ckanext.freshness.reporting.counts import CurrentCounts, OrganizationCounts, of_statuses
from demo.datasets import CADENCES

DAYS = 240

PUNCTUALITY = (1.0, 0.9, 1.1, 1.6, 0.8, 1.0, 3.2, 1.05)
"""Times between two updates, in update frequencies. Each dataset begins at another place of this table."""


@dataclass(frozen=True, slots=True)
class Dated:
    """A public dataset, and when its data are known to have changed.

    :ivar organization: its id
    :ivar dates: aware
    """

    id: str
    organization: str | None
    frequency_days: int | None
    dates: tuple[datetime, ...]
    name: str = ""


def remember(now: datetime) -> None:
    """Write the daily counts before a demo's first start."""
    datasets = [with_earlier_dates(one, now, number) for number, one in enumerate(_datasets())]
    thresholds = settings.aging().thresholds
    known = {day for day, _ in counts.days((now - timedelta(days=DAYS)).date())}
    for number in range(DAYS, 0, -1):
        at = now - timedelta(days=number)
        if at.date() not in known:
            counts.store(at, counted(datasets, at, thresholds), {})
    data_changes.write([change for one in datasets for change in of_data(one, now)])
    model.Session.commit()
    data_stream.store_frequencies(now)
    model.Session.remove()


def of_data(dataset: Dated, now: datetime) -> Iterator[DataChange]:
    """Yield the changes of a dataset's data before a demo's first start, if it has a cadence."""
    days, number = CADENCES.get(dataset.name, (0, 0))
    newest = min(max(dataset.dates), now)
    for at in (newest - timedelta(days=days * back) for back in range(number)):
        yield DataChange(
            package_id=dataset.id,
            resource_id=None,
            evidence=Evidence.UPLOAD,
            seen_at=at,
            changed_before=at,
            stated_at=at,
        )


def with_earlier_dates(dataset: Dated, now: datetime, number: int) -> Dated:
    """Return a dataset with a date for each update that it should have had.

    :param number: chooses how punctual it was
    """
    days = dataset.frequency_days
    if days is None or days < 1:
        return dataset
    dates = [max(dataset.dates)]
    start = number % len(PUNCTUALITY)
    delays = cycle((*PUNCTUALITY[start:], *PUNCTUALITY[:start]))
    while dates[-1] > now - timedelta(days=DAYS):
        dates.append(dates[-1] - timedelta(days=days) * next(delays))
    return replace(dataset, dates=tuple(reversed(dates)))


def counted(datasets: Iterable[Dated], at: datetime, thresholds: Thresholds) -> CurrentCounts:
    """Return the counts of a moment, without datasets that had no dates by then."""
    found: dict[str | None, Counter[str]] = {}
    for one in datasets:
        modified = max((date for date in one.dates if date <= at), default=None)
        if modified is not None:
            status = assess(modified, one.frequency_days, at, thresholds).status.value
            found.setdefault(one.organization, Counter())[status] += 1
    every = sum(found.values(), Counter())
    return CurrentCounts(
        of_statuses(every),
        [
            OrganizationCounts(id, "", "", of_statuses(numbers))
            for id, numbers in found.items()
            if id is not None
        ],
    )


def _datasets() -> Iterator[Dated]:
    for row in model.Session.execute(sa.text(_DATASETS)):
        dates = tuple(date.replace(tzinfo=timezone.utc) for date in row.dates)
        yield Dated(
            row.id,
            row.organization,
            row.frequency_days,
            dates,
            row.name,
        )


_DATASETS = """
SELECT p.id, p.name, p.owner_org AS organization, d.frequency_days,
    array_agg(e.happened_at ORDER BY e.happened_at) AS dates
FROM package p
JOIN freshness_dataset d ON d.package_id = p.id
JOIN freshness_evidence e ON e.package_id = p.id
WHERE p.state = 'active' AND NOT p.private
GROUP BY p.id, p.name, p.owner_org, d.frequency_days
ORDER BY p.name"""
