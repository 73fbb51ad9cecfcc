"""How often a file changes: the rate after each kind of observation, and what must hold for all of them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.checking import change_rates
from ckanext.freshness.checking.change_rates import MOST, NONE, Observations, expected, rate
from ckanext.freshness.checking.learning import Known, after_check, trust

NOW = datetime(2026, 11, 21, 2, tzinfo=timezone.utc)
DAY = timedelta(days=1)

FREQUENCIES = st.none() | st.integers(-2, 36525)
OBSERVATIONS = st.builds(Observations, st.floats(0, MOST), st.floats(0, MOST))
DAYS = st.floats(-1e6, 1e6, allow_nan=False)
"""Clocks go back, and a million days pass."""
CHECKS = st.lists(st.tuples(st.sampled_from(["same", "changed", "dated"]), DAYS, DAYS), max_size=40)


def after(
    checks: list[tuple[str, float, float]], expectation: float, own: Observations = NONE
) -> Observations:
    for kind, days, age in checks:
        if kind == "same":
            own = change_rates.unchanged(own, days)
        elif kind == "changed":
            own = change_rates.changed(own, expectation, days)
        else:
            own = change_rates.changed_at(own, days, age)
    return own


@given(FREQUENCIES, OBSERVATIONS, OBSERVATIONS, OBSERVATIONS, CHECKS)
def test_a_rate_is_positive_and_finite_whatever_is_observed(
    frequency: int | None,
    host: Observations,
    dataset: Observations,
    own: Observations,
    checks: list[tuple[str, float, float]],
) -> None:
    expectation = expected(frequency, host, dataset)
    found = after(checks, expectation, own)
    assert 0 <= found.changes <= MOST and 0 <= found.days <= MOST
    assert rate(expectation, found) > 0 and isfinite(rate(expectation, found))


@given(FREQUENCIES, OBSERVATIONS, DAYS)
def test_a_change_never_means_a_lower_rate_than_none(
    frequency: int | None, own: Observations, days: float
) -> None:
    expectation = expected(frequency)
    same = rate(expectation, change_rates.unchanged(own, days))
    changed = rate(expectation, change_rates.changed(own, expectation, days))
    dated = rate(expectation, change_rates.changed_at(own, days, days))
    assert same <= changed * (1 + 1e-9) and same <= dated * (1 + 1e-9)


@given(
    FREQUENCIES,
    st.floats(0.5, 60),
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30),
)
def test_more_changes_never_mean_a_lower_rate(
    frequency: int | None, days: float, checks: list[tuple[bool, bool]]
) -> None:
    expectation = expected(frequency)
    some = [first for first, _ in checks]
    more = [first or second for first, second in checks]
    rates = [
        rate(
            expectation,
            after([("changed" if one else "same", days, 0) for one in row], expectation),
        )
        for row in (some, more)
    ]
    assert rates[0] <= rates[1] * (1 + 1e-9)


@pytest.mark.parametrize("every", [1, 7, 30, 365, None])
@pytest.mark.parametrize("real", [2, 7, 30])
def test_the_rate_approaches_the_real_one(every: int | None, real: int) -> None:
    expectation = expected(every)
    checks = [("changed" if night % real == 0 else "same", 1.0, 0.0) for night in range(1, 500)]
    assert 0.5 < rate(expectation, after(checks, expectation)) * real < 1.5


def test_a_file_that_has_changed_at_each_check_may_change_more_often() -> None:
    for days in (1, 14):
        own = after([("changed", days, 0.0)] * 50, 1 / 30)
        assert rate(1 / 30, own) > 1.2 / days


def test_old_observations_fade() -> None:
    own = Observations(100, 100)
    assert change_rates.unchanged(own, 365) == pytest.approx((50, 50 + 365))


@pytest.mark.parametrize(
    ("frequency", "host", "dataset", "every"),
    [
        (7, NONE, NONE, 7),
        (0, NONE, NONE, 10),
        (-1, NONE, NONE, 600),
        (-2, NONE, NONE, 90),
        (None, NONE, NONE, 60),
        # Only datasets without an update frequency are like others on their host.
        (None, Observations(1000, 3000), NONE, 3),
        (7, Observations(1000, 3000), NONE, 7),
        (7, NONE, Observations(1000, 3000), 3),
    ],
)
def test_what_is_expected(
    frequency: int | None, host: Observations, dataset: Observations, every: float
) -> None:
    assert 1 / expected(frequency, host, dataset) == pytest.approx(every, rel=0.03)


@pytest.mark.parametrize(
    ("found_at", "changed", "stated", "only_stated", "trusted", "changes", "days"),
    [
        # The first check has nothing to compare with.
        (None, True, None, False, 1.0, 0, 0),
        (NOW - 10 * DAY, False, None, False, 1.0, 0, 10),
        (NOW - 10 * DAY, True, NOW - 2 * DAY, False, 1.0, 1, 2),
        # A date that is not after the previous check, or in the future, is of no use.
        (NOW - 10 * DAY, True, NOW - 11 * DAY, True, 1.0, 0, 10),
        (NOW - 10 * DAY, True, NOW - 10 * DAY, True, 1.0, 0, 10),
        (NOW - 10 * DAY, True, NOW + DAY, True, 1.0, 0, 10),
        # Nothing but a date shows the change.
        (NOW - 10 * DAY, True, NOW - 2 * DAY, True, 1.0, 1, 2),
        (NOW - 10 * DAY, True, NOW - 2 * DAY, True, 0.25, 0.25, 8),
        (NOW - 10 * DAY, True, NOW - 2 * DAY, True, 0.0, 0, 10),
    ],
)
def test_what_a_check_teaches(
    found_at: datetime | None,
    changed: bool,
    stated: datetime | None,
    only_stated: bool,
    trusted: float,
    changes: float,
    days: float,
) -> None:
    known = Known(found_at=found_at, trust=trusted)
    learned = after_check(known, NOW, changed=changed, stated=stated, only_stated=only_stated)
    assert learned.own == pytest.approx((changes, days), abs=1e-9)


MOMENTS = st.none() | DAYS.filter(lambda days: -7e5 < days < 7e5).map(lambda days: NOW + days * DAY)


@given(
    *(OBSERVATIONS, st.floats(1e-6, 1), st.floats(0, 1), st.floats(0, 1), st.booleans()),
    *(MOMENTS, MOMENTS, st.booleans(), st.booleans()),
)
def test_any_check_leaves_a_usable_state(
    own: Observations,
    expectation: float,
    together: float,
    trusted: float,
    others: bool,
    found_at: datetime | None,
    stated: datetime | None,
    changed: bool,
    only_stated: bool,
) -> None:
    known = Known(own, expectation, together, others, found_at, trusted)
    learned = after_check(known, NOW, changed=changed, stated=stated, only_stated=only_stated)
    assert 0 < rate(expectation, learned.own) < float("inf")
    assert 0 <= learned.together <= 1 and 0 < learned.rhythm.regularity < 1
    if found_at is None:
        assert learned.own == own


@pytest.mark.parametrize(
    ("others", "changed", "together"),
    [(False, True, 0.5), (False, False, 0.5), (True, True, 0.65), (True, False, 0.35)],
)
def test_together_is_learned_after_changes_of_others(
    others: bool, changed: bool, together: float
) -> None:
    known = Known(found_at=NOW - DAY, others_changed=others)
    assert after_check(known, NOW, changed=changed).together == pytest.approx(together)


@pytest.mark.parametrize(("right", "wrong", "share"), [(0, 0, 0.5), (8, 0, 0.9), (0, 8, 0.1)])
def test_dates_are_trusted_by_how_often_they_were_right(
    right: int, wrong: int, share: float
) -> None:
    assert trust(right, wrong) == pytest.approx(share)
