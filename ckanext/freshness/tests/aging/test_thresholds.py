"""The table of thresholds: its rows, what lies between them, and tables of a site's own."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.aging.status import (
    Ages,
    ThresholdRow,
    Thresholds,
    ThresholdsError,
)
from ckanext.freshness.aging.vocabularies import MAX_DAYS

HDX = Thresholds()


def limits(due: float, overdue: float, delinquent: float) -> Ages:
    return Ages(*(timedelta(days=days) for days in (due, overdue, delinquent)))


@pytest.mark.parametrize(
    ("frequency", "due", "overdue", "delinquent"),
    [
        (1, 1, 2, 3),
        (2, 2, 4, 6),
        (7, 7, 14, 21),
        (14, 14, 21, 28),
        (30, 30, 44, 60),
        (60, 60, 84, 108),
        (90, 90, 120, 150),
        (120, 120, 147, 174),
        (180, 180, 210, 240),
        (300, 300, 342, 384),
        (365, 365, 425, 455),
        (730, 730, 785, 840),
    ],
)
def test_hdx_rows(frequency: int, due: int, overdue: int, delinquent: int) -> None:
    assert HDX.limits(frequency) == limits(due, overdue, delinquent)


@pytest.mark.parametrize("frequency", [0, -1, -2, -7, MAX_DAYS + 1, 10**30])
def test_what_has_no_thresholds(frequency: int) -> None:
    with pytest.raises(ValueError, match=f"a frequency of {frequency} days"):
        HDX.limits(frequency)


@pytest.mark.parametrize(
    ("frequency", "expected"),
    [
        # Nearest row's graces on both sides; due comes 3 days, then 3 to 13 days late.
        (1, limits(4, 4 + 4, 4 + 7)),
        (7, limits(10, 14, 17)),
        (12, limits(12 + 8, 20 + 6, 20 + 10)),
        (17, limits(30, 38, 43)),
        (100, limits(113, 113 + 8, 113 + 13)),
    ],
)
def test_a_site_with_a_table_of_its_own(frequency: int, expected: Ages) -> None:
    thresholds = Thresholds.parse(" 7:10,14,17\n  17:30,38,43\n")
    assert thresholds.limits(frequency) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The table of thresholds is empty"),
        ("7:7,14", r"Thresholds '7:7,14': write"),
        ("7:7,14,21.5", r"Thresholds '7:7,14,21.5': write"),
        ("x" * 100_000, r"Thresholds 'x{80}': write"),
        ("0:7,14,21", r"Thresholds '0:7,14,21': the frequency 0 must be from 1 to 36525"),
        ("7:6,14,21", r"Thresholds '7:6,14,21': due must not come before the frequency"),
        ("7:7,6,21", r"Thresholds '7:7,6,21': .* overdue not before due"),
        ("7:7,14,13", r"Thresholds '7:7,14,13': .* delinquent not before overdue"),
        ("7:7,14,99999", r"Thresholds '7:7,14,99999': .* nor after 73050 days"),
        ("7:7,14,21 7:7,14,21", r"'7:7,14,21': rows must be in ascending order .* once"),
        ("30:30,44,60 7:7,14,21", r"'7:7,14,21': rows .* comes after '30:30,44,60'"),
    ],
)
def test_tables_that_make_no_sense(text: str, message: str) -> None:
    with pytest.raises(ThresholdsError, match=message):
        Thresholds.parse(text)


rows = st.lists(
    st.tuples(st.integers(1, MAX_DAYS), *[st.integers(0, 9999)] * 3).map(
        lambda n: ThresholdRow(n[0], n[0] + n[1], n[0] + n[1] + n[2], n[0] + sum(n[1:]))
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda row: row.frequency,
).map(lambda found: tuple(sorted(found, key=lambda row: row.frequency)))
days = st.integers(1, MAX_DAYS)


@given(rows, days)
def test_any_table_gives_limits_in_order(table: tuple[ThresholdRow, ...], frequency: int) -> None:
    thresholds = Thresholds(table)
    assert Thresholds.parse(str(thresholds)) == thresholds
    found = thresholds.limits(frequency)
    assert timedelta(days=frequency) <= found.due <= found.overdue <= found.delinquent


@given(days)
def test_data_that_change_less_often_become_due_later_and_never_overdue_sooner(
    frequency: int,
) -> None:
    found, following = HDX.limits(frequency), HDX.limits(min(frequency + 1, MAX_DAYS))
    assert found.due <= following.due
    assert found.overdue <= following.overdue
    assert found.delinquent <= following.delinquent
