"""The brake for registries: organisations and datasets are counted separately and held together."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from ckanext.freshness.harvesting.record import (
    Containers,
    KnownRecord,
    ReadOutcome,
    SeenRecord,
    guid_of,
)
from ckanext.freshness.harvesting.strategy import BrakeLimits, Deletions, deletions

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=timezone.utc)
SITE = "https://registry.example.org"


def organisation(number: int) -> KnownRecord:
    url = f"{SITE}/organization/{number}"
    return KnownRecord(url, guid_of(url, None))


def dataset(number: int) -> KnownRecord:
    owner, url = organisation(0).url, f"{SITE}/dataset/{number}"
    return KnownRecord(url, guid_of(url, owner), owner)


def outcome(
    organisations: tuple[int, int], datasets: tuple[int, int], **options: object
) -> Deletions:
    """Decide the deletions.

    :param organisations: known ones, and how many of them are still listed
    :param datasets: the same for datasets
    """
    known, seen = [], []
    for make, (current, listed) in ((organisation, organisations), (dataset, datasets)):
        # A job before has found them left out, too: a registry has no page of a record that could be asked for.
        known += [
            replace(make(number), absent_since=NOW - timedelta(days=1)) for number in range(current)
        ]
        seen += [
            SeenRecord(one.url, ReadOutcome.PRESENT, (SITE,), is_catalog=one.is_catalog)
            for one in known[-current:][:listed]
            if current
        ]
    containers = Containers(SITE, listed={one.url for one in seen})
    return deletions(
        known,
        {one.url: one for one in seen},
        containers,
        now=NOW,
        limits=BrakeLimits(min_records=1),
        catalogs_apart=True,
        **options,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("organisations", "datasets", "held", "deleted"),
    [
        # Known and still listed organisations, then datasets
        ((4, 4), (40, 40), 0, 0),
        ((10, 8), (40, 32), 0, 10),  # a fifth of each is no accident
        ((10, 7), (40, 40), 3, 0),  # more than a fifth of the organisations
        ((10, 10), (40, 31), 9, 0),  # more than a fifth of the datasets
        ((10, 9), (40, 31), 10, 0),  # and then no organisation goes either
        ((4, 1), (40, 39), 4, 0),
        ((4, 1), (40, 1), 42, 0),
        ((4, 4), (40, 1), 39, 0),  # one dataset of 40
        ((1, 1), (1, 0), 1, 0),  # none of one
        ((1, 0), (0, 0), 1, 0),
        ((4, 0), (40, 40), 4, 0),  # no organisation at all
        ((4, 4), (40, 0), 40, 0),
        ((2, 1), (2, 1), 2, 0),
        ((3, 1), (3, 2), 3, 0),
        ((0, 0), (4, 3), 1, 0),  # the share counts whatever the number
        ((0, 0), (5, 4), 0, 1),
    ],
)
def test_each_kind_has_its_brake_and_holds_both(
    organisations: tuple[int, int], datasets: tuple[int, int], held: int, deleted: int
) -> None:
    found = outcome(organisations, datasets)
    assert (len(found.brake.held) if found.brake else 0, len(found.delete)) == (held, deleted)


def test_what_was_released_goes_and_nothing_else() -> None:
    first = outcome((4, 4), (10, 2))
    assert first.brake is not None
    released = {one.known.guid for one in first.brake.held}
    second = outcome((4, 4), (10, 2), released=released)
    assert (len(second.delete), second.brake) == (8, None)
    third = outcome((4, 1), (10, 2), released=released)
    assert third.brake is not None
    assert {one.known.url for one in third.brake.held} == {
        organisation(number).url for number in (1, 2, 3)
    }
    assert len(third.delete) == 8
