"""The keys ``absent_for`` and ``on_absence``: how long a record is absent before it is deleted, if it is."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta, timezone

import pytest

from ckanext.freshness.harvesting.messages import MessageCode
from ckanext.freshness.harvesting.record import Containers, KnownRecord, ReadOutcome, SeenRecord
from ckanext.freshness.harvesting.strategy import AbsentRecord, BrakeLimits, Deletions, deletions

ROOT = "https://x/catalog"
NOW = datetime(2026, 11, 27, 12, tzinfo=timezone.utc)
WEEK = timedelta(days=7)
PATIENT = BrakeLimits(max_delete_fraction=1, absent_for=WEEK)
KEEPING = BrakeLimits(max_delete_fraction=1, deletes=False)

IS_LISTED = SeenRecord("https://x/0", ReadOutcome.FAILED, (ROOT,))
IS_GONE = SeenRecord("https://x/0", ReadOutcome.GONE)


def decide(
    limits: BrakeLimits,
    since: timedelta | None,
    *,
    seen: SeenRecord | None = None,
    unproved: bool = False,
    released: bool = False,
) -> Deletions:
    """Decide about the first of ten records; all others are there."""
    known = [KnownRecord(f"https://x/{n}", f"guid {n}", ROOT, "hash") for n in range(10)]
    known[0] = dataclasses.replace(
        known[0], absent_since=NOW - since if since is not None else None
    )
    found = {
        record.url: SeenRecord(record.url, ReadOutcome.PRESENT, (ROOT,)) for record in known[1:]
    }
    if seen is not None:
        found[seen.url] = seen
    containers = Containers(ROOT, unproved={ROOT: "a doubt"} if unproved else {})
    guids = ["guid 0"] if released else []
    return deletions(known, found, containers, now=NOW, limits=limits, released=guids)


DAY = timedelta(days=1)
NO_TIME = timedelta()


@pytest.mark.parametrize(
    ("limits", "since", "more", "is_deleted", "absent_for"),
    [
        (BrakeLimits(), None, {"seen": IS_GONE}, True, None),
        (PATIENT, None, {}, False, NO_TIME),
        (PATIENT, None, {"seen": IS_GONE}, False, NO_TIME),
        (PATIENT, 6 * DAY, {}, False, 6 * DAY),
        (PATIENT, 7 * DAY, {}, True, None),
        (PATIENT, 7 * DAY, {"seen": IS_GONE}, True, None),
        (PATIENT, 9 * DAY, {"unproved": True}, False, 9 * DAY),
        (PATIENT, 9 * DAY, {"seen": IS_LISTED}, False, None),
        (PATIENT, None, {"released": True}, True, None),
        (KEEPING, None, {}, False, NO_TIME),
        (KEEPING, 900 * DAY, {}, False, 900 * DAY),
        (KEEPING, 900 * DAY, {"released": True}, True, None),
        (KEEPING, 9 * DAY, {"seen": IS_LISTED}, False, None),
    ],
)
def test_when_an_absent_record_is_deleted(
    limits: BrakeLimits,
    since: timedelta | None,
    more: dict[str, object],
    is_deleted: bool,
    absent_for: timedelta | None,
) -> None:
    decided = decide(limits, since, **more)  # type: ignore[arg-type]
    one: AbsentRecord
    (one,) = (*decided.delete, *decided.keep)
    assert one.delete is is_deleted and decided.brake is None
    assert one.absent_since == (None if absent_for is None else NOW - absent_for)


def test_people_are_told_until_when() -> None:
    (one,) = decide(PATIENT, 6 * DAY).keep
    assert one.reason.code is MessageCode.ABSENT and one.reason.values == {"date": "2026-11-28"}
    (one,) = decide(KEEPING, 6 * DAY).keep
    assert one.reason.code is MessageCode.KEPT
