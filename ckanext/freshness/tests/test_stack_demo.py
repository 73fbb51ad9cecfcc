"""What the demo says of a harvest that stands still, and the months before that it makes up."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path

import pytest

from ckanext.freshness.aging.thresholds import Thresholds

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(
    not (ROOT / "dev").exists(), reason="about a checkout, which an installed copy is not"
)

if (ROOT / "dev").exists():
    from demo import __main__ as demo
    from demo import history
    from demo.site import Progress
    from stack.errors import StackError


class Clock:
    """Seconds that pass when told."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("gathered", "objects", "left", "words", "log"),
    [
        (
            False,
            0,
            0,
            "the gather has not ended, 0 records have come so far",
            "gather-consumer.log",
        ),
        (
            False,
            7,
            7,
            "the gather has not ended, 7 records have come so far",
            "gather-consumer.log",
        ),
        (True, 7, 3, "3 of 7 gathered records are not imported", "fetch-consumer.log"),
        (True, 7, 0, "all records are imported, but the job is not", "fetch-consumer.log"),
    ],
)
@pytest.mark.parametrize("logged", [True, False])
def test_it_is_named_who_stands_still(
    gathered: bool, objects: int, left: int, words: str, log: str, logged: bool, tmp_path: Path
) -> None:
    if logged:
        (tmp_path / log).write_text("the last words\n")
    clock = Clock()
    progress = Progress("Running", gathered, objects, left)
    standstill = demo.Standstill(clock)
    standstill.look(progress, tmp_path)
    clock.now += demo.STALLED
    standstill.look(progress, tmp_path)
    clock.now += 1
    with pytest.raises(StackError) as told:
        standstill.look(progress, tmp_path)
    said = str(told.value)
    assert f"Nothing has moved for 180 s: {words}" in said
    assert str(tmp_path / log) in said
    assert ("the last words" in said) == logged


def test_whatever_moves_begins_anew(tmp_path: Path) -> None:
    clock = Clock()
    standstill = demo.Standstill(clock)
    moves = [
        Progress("Running", False, 0, 0),
        Progress("Running", False, 50, 50),
        Progress("Running", True, 50, 50),
        Progress("Running", True, 50, 49),
        Progress("Running", True, 50, 0),
    ]
    for progress in moves:
        clock.now += demo.STALLED - 1
        standstill.look(progress, tmp_path)
    clock.now += demo.STALLED + 1
    with pytest.raises(StackError):
        standstill.look(moves[-1], tmp_path)


NOW = datetime(2026, 3, 31, 12, tzinfo=timezone.utc)


def test_the_days_before_are_counted_by_the_dates_of_the_datasets() -> None:
    def ago(days: float) -> datetime:
        return NOW - timedelta(days=days)

    datasets = [
        # A weekly one, confirmed after it was long forgotten.
        history.Dated("a", "relief", 7, "fresh", "upload", (ago(900), ago(3))),
        history.Dated("b", "relief", 7, "overdue", "upload", (ago(16),)),
        history.Dated("c", None, None, "unavailable", "upload", (ago(900),)),
        # Not there until yesterday.
        history.Dated("d", "new", 7, "fresh", "upload", (ago(1),)),
    ]
    expected: dict[int, tuple[dict[str, int], dict[str, dict[str, int]]]] = {
        20: ({"delinquent": 1, "unavailable": 1}, {"relief": {"delinquent": 1}}),
        10: (
            {"fresh": 1, "delinquent": 1, "unavailable": 1},
            {"relief": {"fresh": 1, "delinquent": 1}},
        ),
        1: (
            {"fresh": 2, "overdue": 1, "unavailable": 1},
            {"relief": {"fresh": 1, "overdue": 1}, "new": {"fresh": 1}},
        ),
    }
    for days, (every, organizations) in expected.items():
        found = history.counted(datasets, ago(days), Thresholds())
        assert {key: count for key, count in found.every.statuses.items() if count} == every, days
        assert {
            one.id: {key: count for key, count in one.counts.statuses.items() if count}
            for one in found.organizations
        } == organizations, days


def test_the_status_changes_that_are_made_up_follow_from_the_dates_and_end_with_today() -> None:
    def ago(days: float) -> datetime:
        return NOW - timedelta(days=days)

    dataset = history.Dated("a", "relief", 7, "due", "upload", (ago(900), ago(30), ago(10)))
    found = [
        (one.at, one.before, one.after, one.cause.value)
        for one in history.changes(dataset, NOW, Thresholds())
    ]
    assert found[-5:] == [
        (ago(30), "delinquent", "fresh", "edit"),
        (ago(23), "fresh", "due", "time"),
        (ago(16), "due", "overdue", "time"),
        (ago(10), "overdue", "fresh", "edit"),
        (ago(3), "fresh", "due", "time"),
    ]
    # The newest date stays; before it, updates are spread over all the months.
    earlier = history.with_earlier_dates(dataset, NOW, number=0).dates
    assert earlier[-1] == ago(10)
    assert earlier[0] <= ago(history.DAYS)
    gaps = [(after - before).days for before, after in pairwise(earlier)]
    assert min(gaps) >= 5 and max(gaps) > 14
