"""How often data really change, and whether the declared update frequency fits."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.aging.frequency import CHOICES
from ckanext.freshness.aging.observed_frequency import (
    ObservedFrequency,
    Update,
    fitting,
    observed,
)
from ckanext.freshness.aging.vocabularies import AS_NEEDED, LIVE, NEVER

NOW = datetime(2026, 11, 21, 2, tzinfo=timezone.utc)
DAY = timedelta(days=1)

TIMES = st.lists(st.floats(0, 7e3), max_size=80)


def updates(times: Sequence[float], since: float = 1, within: float = 0) -> list[Update]:
    """Return updates with these days between them, the newest ``since`` days ago."""
    at = NOW - since * DAY
    found = [Update(at, within * DAY)]
    for days in times:
        at -= days * DAY
        found.append(Update(at, within * DAY))
    return found


def known(times: Sequence[float], since: float = 1, within: float = 0) -> ObservedFrequency:
    found = observed(updates(times, since, within), NOW)
    assert found is not None
    return found


@pytest.mark.parametrize("times", [[], [30.0]])
def test_too_few_updates_tell_nothing(times: list[float]) -> None:
    assert observed(updates(times), NOW) is None


def test_files_that_change_together_are_one_update() -> None:
    single = updates([30, 30, 30])
    files = [Update(one.at + hours * timedelta(hours=1)) for one in single for hours in range(10)]
    found = observed(files, NOW)
    assert found == observed(single, NOW)
    assert found is not None and found.moments == tuple(sorted(one.at for one in single))


def test_checks_that_are_far_apart_tell_an_upper_limit() -> None:
    assert known([30] * 5, within=29).at_least
    assert not known([30] * 5, within=3).at_least


FITS = (
    # times between updates, since the last, period in which each happened, declared, suggested
    ([92, 92, 92, 92], 20, 0, 30, 90),
    ([7.0] * 20, 3, 0, 365, 7),
    ([7.0] * 20, 3, 0, NEVER, 7),
    ([300, 280, 290] * 3, 3, 0, 730, 365),
    # Less than twice as often
    ([400, 380, 390] * 3, 3, 0, 730, None),
    # Four updates
    ([92, 92, 92], 20, 0, 30, None),
    ([30, 31, 29, 30], 10, 0, 30, None),
    ([35, 36, 34, 36], 10, 0, 30, None),
    # Whatever comes fits these.
    ([7.0] * 20, 3, 0, LIVE, None),
    ([7.0] * 20, 3, 0, AS_NEEDED, None),
    # The data have stopped to change. They did fit.
    ([7.0] * 5, 100, 0, 7, None),
    # Each month some files change, one a day.
    ([1, 1, 1, 1, 26] * 4, 5, 0, 30, None),
    # Each check has found a change: they may be weekly, but not yearly.
    ([30.0] * 5, 3, 29, 7, None),
    ([30.0] * 5, 3, 29, 365, 30),
)


@pytest.mark.parametrize(("times", "since", "within", "declared", "suggested"), FITS)
def test_whether_a_declared_frequency_fits(
    times: list[float], since: float, within: float, declared: int, suggested: int | None
) -> None:
    assert fitting(known(times, since, within), declared) == suggested


@given(TIMES, st.floats(0, 1e5), st.floats(0, 1e5), st.sampled_from(CHOICES))
def test_whatever_was_seen_ranges_contain_their_values(
    times: list[float], since: float, within: float, declared: int
) -> None:
    seen = updates(times, since, within)
    found = observed(seen, NOW)
    assert found == observed(reversed(seen), NOW)
    if found is None:
        return
    assert 0 < found.lowest <= found.days <= found.highest < float("inf")
    assert fitting(found, declared) in (None, *CHOICES)
