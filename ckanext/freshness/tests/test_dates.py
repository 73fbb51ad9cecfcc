"""Dates as catalogues write them."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.aging.evidence import script_date
from ckanext.freshness.dates import EARLIEST, LATEST, parse_date, stated_date
from ckanext.freshness.web.headers import parse_http_date


def utc(
    year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0, us: int = 0
) -> datetime:
    return datetime(year, month, day, hour, minute, second, us, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2024-02-29T10:20:30.123456", utc(2024, 2, 29, 10, 20, 30, 123456)),
        ("2024-02-29 10:20:30", utc(2024, 2, 29, 10, 20, 30)),
        ("2024-02-29T10:20", utc(2024, 2, 29, 10, 20)),
        ("2024-02-29T10:20:30Z", utc(2024, 2, 29, 10, 20, 30)),
        ("2024-02-29t10:20:30z", utc(2024, 2, 29, 10, 20, 30)),
        ("2024-02-29 10:20:30 UTC", utc(2024, 2, 29, 10, 20, 30)),
        ("2024-02-29T10:20:30.5+01:00", utc(2024, 2, 29, 9, 20, 30, 500000)),
        ("2024-02-29T10:20:30,5+0100", utc(2024, 2, 29, 9, 20, 30, 500000)),
        ("2024-02-29T10:20:30+01", utc(2024, 2, 29, 9, 20, 30)),
        ("2024-02-29T10:20:30.123456789Z", utc(2024, 2, 29, 10, 20, 30, 123456)),
        ("2024-02-29T24:00:00", utc(2024, 3, 1)),
        ("2016-12-31T23:59:60Z", utc(2017, 1, 1)),
        ("2024-02-29", utc(2024, 2, 29)),
        ("2024-02-29+02:00", utc(2024, 2, 28, 22)),
        ("2024", utc(2024, 1, 1)),
        ("20240229T102030Z", utc(2024, 2, 29, 10, 20, 30)),
        ("20240229T1020+0100", utc(2024, 2, 29, 9, 20)),
        ("Thu, 29 Feb 2024 10:20:30 GMT", utc(2024, 2, 29, 10, 20, 30)),
        ("29 feb 2024 10:20 -0500", utc(2024, 2, 29, 15, 20)),
        ("Sun, 4 Feb 2024 10:20:30 +0000", utc(2024, 2, 4, 10, 20, 30)),
        ("0001-01-01T00:00:00+14:00", EARLIEST),
        ("9999-12-31T23:59:59-14:00", LATEST),
        ("9999-12-31T24:00:00", LATEST),
        (date(2024, 2, 29), utc(2024, 2, 29)),
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))), EARLIEST),
        ("yesterday", None),
        ("2023-02-29", None),
        ("2024-13-01", None),
        ("-0044-03-15", None),
        # What dateutil reads as a date: a day of this month, weeks, days of the year, 2012.
        ("10", None),
        ("2024-W09", None),
        ("29 Feb 0012 10:20:30 GMT", None),
        ("2024-02-29T25:00:00", None),
        ("2024-02-29T10:20:30+99:99", None),
        ("2024-02-29T10:20:30 CET", None),
        ("[2020-01-01T00:00:00 TO 2020-12-31T23:59:59]", None),
        ("\u0662\u0660\u0662\u0664-02-29", None),
        ("2" * 1_000_000, None),
        (None, None),
        (["2024-02-29"], None),
    ],
    ids=lambda value: str(value)[:40],
)
def test_parse_date(value: object, expected: datetime | None) -> None:
    found = parse_date(value)
    assert found == expected
    assert found is None or found.tzinfo is timezone.utc


@pytest.mark.parametrize(
    ("value", "is_stated"),
    [
        ("2024-02-29T10:20:30Z", True),
        (utc(2024, 2, 29), True),
        ("now and then", False),
        # .NET, Windows, spreadsheets and Unix, in UTC and in other zones.
        ("0001-01-01", False),
        ("0001-01-01T00:00:00+14:00", False),
        ("1899-12-30", False),
        ("1900", False),
        ("1970-01-01T01:00:00+01:00", False),
        (date(1970, 1, 1), False),
        (parse_http_date("Thu, 01 Jan 1970 00:00:00 GMT"), False),
        (parse_http_date("Mon, 01 Jan 0001 00:00:00 GMT"), False),
        # Old data have old dates.
        ("1899-12-29", True),
        ("1955-06-01", True),
        ("1970-01-02", True),
    ],
    ids=str,
)
def test_stated_date(value: object, is_stated: bool) -> None:
    assert stated_date(value) == (parse_date(value) if is_stated else None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "HDX Scraper: WHO (2021-03-05T10:20:30.123456)",
            utc(2021, 3, 5, 10, 20, 30, 123456),
        ),
        ("HDX Scraper: X (2021-03-05) (2022-03-05)", utc(2022, 3, 5)),
        ("HDX Scraper: X (2021-03-05) (sic)", utc(2021, 3, 5)),
        ("HDX Scraper: Data of 2015-01-01", None),
        ("HDX Scraper: X (1970-01-01T00:00:00)", None),
        ("HDXINTERNAL freshness_ignore (2021-03-05T10:20:30)", None),
        ("", None),
        ("x" * 1_000_000 + " (2021-03-05)", None),
        (None, None),
    ],
    ids=lambda value: str(value)[:40],
)
def test_script_date(text: object, expected: datetime | None) -> None:
    assert script_date(text) == expected


zones = st.integers(-14 * 60, 14 * 60).map(lambda m: timezone(timedelta(minutes=m)))


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=zones))
def test_what_python_writes_is_read_back(when: datetime) -> None:
    assert parse_date(when.isoformat()) == when
    assert parse_date(when) == when
    assert script_date(f"HDX Scraper: any ({when.isoformat()})") == stated_date(when)


@given(
    st.one_of(
        st.text(),
        st.text("0123456789-+:.TZ /(),GMTUC ", max_size=40),
        st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[-+][0-9]{4}\Z"),
        st.datetimes(timezones=st.none() | zones),
        st.dates(),
        st.integers(),
        st.none(),
    )
)
def test_never_raises(value: object) -> None:
    for read in (parse_date, script_date, stated_date):
        found = read(value)
        assert found is None or found.tzinfo is timezone.utc
