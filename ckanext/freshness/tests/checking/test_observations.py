"""Up to when the data of tables reach."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.checking.observations import DateColumn, Silence, merged, newest
from ckanext.freshness.checking.shapes import tables_of
from ckanext.freshness.tests.checking.workbooks import workbook

TODAY = date(2026, 11, 29)


def found(data: str | bytes, how: str = "csv") -> Sequence[DateColumn]:
    text = data.encode() if isinstance(data, str) else data
    return tables_of(how, io.BytesIO(text), TODAY).dates


def answer(data: str | bytes, how: str = "csv") -> str:
    """The answer in one line: the day and the precision, or the reason why there is none."""
    column = newest(found(data, how))
    return column.value if isinstance(column, Silence) else f"{column.until} {column.precision}"


def table(name: str, *values: str) -> str:
    return "\n".join([f"id;{name}", *(f"{number};{value}" for number, value in enumerate(values))])


COLUMNS: dict[str, tuple[tuple[str, ...], str]] = {
    # Days
    "date": (("2026-03-02", "2026-08-31", "2026-08-15"), "2026-08-31 day"),
    "when": (("2026-03-02T10:00:00Z", "2026-08-31 23:59", "2026-8-1"), "2026-08-31 day"),
    "Fecha": (("02.03.2026", "31.8.2026", "15.08.26"), "2026-08-31 day"),
    "seen": (("3/2/2026 4:30 PM", "8/31/2026 9:15 AM", "8/15/2026 1:00 PM"), "2026-08-31 day"),
    "Day": (("20260302", "20260831", "20260815"), "2026-08-31 day"),
    "read": (("2 March 2026", "Aug 31, 2026", "31. August 2026"), "2026-08-31 day"),
    "mail": (("Mon, 2 Mar 2026 10:00:00 +0000",) * 3, "2026-03-02 day"),
    "two digits": (("31.12.34", "02.03.26", "31.08.35"), "schedule"),
    "short years first": (("98-12-31", "99-02-28", "97-01-15"), "1999-02-28 day"),
    "short days first": (("01/12/24", "31/08/26", "02/10/25"), "2026-08-31 day"),
    # Which is the year
    "which is the year": (("24-01-01", "24-01-15", "24-02-01"), "unclear"),
    "two ways": (("2024-01-05", "2024-01-19", "25-01-24"), "none"),
    # Which is the month
    "unclear": (("01/02/2026", "03/04/2026", "05/06/2026"), "unclear"),
    "month first": (
        tuple(f"{month}/1/{year}" for year in (2024, 2025) for month in range(1, 13)),
        "2025-12-31 month",
    ),
    # Periods
    "Monat": (("2026-07", "2026-08", "2025-12"), "2026-08-31 month"),
    "in words": (("July 2026", "août 2026", "Dez 2025"), "2026-08-31 month"),
    "first of month": (("2026-07-01", "2026-08-01", "2025-12-01"), "2026-08-31 month"),
    "first of year": (("2023-01-01", "2024-01-01", "2025-01-01"), "2025-12-31 year"),
    "first of quarter": (
        ("2026-01-01", "2026-04-01", "2025-07-01", "2025-10-01"),
        "2026-06-30 quarter",
    ),
    "TIME_PERIOD": (("2026-Q1", "2026-Q2", "2025-Q4"), "2026-06-30 quarter"),
    "sdmx": (("2026-M07", "2026M08", "2025-M12"), "2026-08-31 month"),
    "Jahr": (("2023", "2024", "2025"), "2025-12-31 year"),
    "school years": (("2023/24", "2024/25", "2022/23"), "2025-12-31 year"),
    "months": (("2023/04", "2024/05", "2022/11"), "2024-05-31 month"),
    "one of both": (("2011-12",) * 3, "unclear"),
    # No answer
    "population": (("2023", "2024", "2025"), "none"),
    "epoch": (("1700000000", "1700000001", "1700000002"), "none"),
    "term": (("2023-1", "2023-2", "2024-1"), "none"),
    "daytime": (("0930", "1230", "2145"), "none"),
    "a tenth is none": (("2026-08-30",) * 36 + ("soon",) * 4, "none"),
    "date of birth": (("1990-01-02", "1991-02-03", "1992-03-04"), "none"),
    "exported at": (("2026-10-14", "2026-10-14", "2026-10-14"), "none"),
    "zones": (
        ("2026-08-31T23:30-05:00", "2026-08-30T00:10:00+1400", "2026-08-29 10:00Z"),
        "2026-08-31 day",
    ),
    "what comes behind": (("2026-08-30",) * 60 + ("2026-12-30",) * 12, "schedule"),
    "year 99999": (("99999-01-01", "99999-01-02", "99999-01-03"), "none"),
    "Buddhist year": (("2566", "2567", "2568"), "none"),
    "Arabic digits": (("٢٠٢٦-٠٨-٣١",) * 3, "none"),
    "changes halfway": (("2026-08-30",) * 50 + ("30.08.2026",) * 50, "none"),
    "next year": (("2026-08-31", "2027-08-31", "2026-01-15"), "schedule"),
    "too few": (("2026-08-31",) * 2, "none"),
    # What does not count
    "holes": (("2026-08-31", "NA", "", "2026-08-30", "-", "2026-08-29"), "2026-08-31 day"),
    "a total": (("2026-08-30",) * 40 + ("2026-08-31", "Total"), "2026-08-31 day"),
    "one mistake": (("2026-08-30",) * 1999 + ("2062-08-30",), "2026-08-30 day"),
    "updated_at": (("2026-08-30", "2026-08-31", "2026-08-29"), "2026-08-31 day"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns(name: str) -> None:
    values, expected = COLUMNS[name]
    assert answer(table(name, *values)) == expected


def rows(header: str, *lines: str) -> str:
    return "\n".join([header, *lines])


TABLES = {
    "the end of a period": (
        rows("start_date,end_date", *["2026-01-01,2026-06-30", "2026-07-01,2026-08-31"] * 2),
        "2026-08-31 day",
    ),
    "a period whose end is planned": (
        rows("von,bis", *["2026-01-03,2026-06-30", "2026-07-01,2027-06-30"] * 2),
        "schedule",
    ),
    "the one called date": (
        rows("opened,date", *["2020-01-03,2026-08-31", "2020-07-01,2026-08-30"] * 2),
        "2026-08-31 day",
    ),
    "several": (
        rows("opened,closed", *["2020-01-03,2026-08-31", "2020-07-01,2026-08-30"] * 2),
        "several",
    ),
    "when a row was written counts last": (
        rows("measured,updated", *["2026-03-30,2026-11-01", "2026-03-31,2026-11-02"] * 2),
        "2026-03-31 day",
    ),
    "not in place of a schedule": (
        rows("match,updated", *["2027-03-30,2026-11-01", "2026-03-31,2026-11-02"] * 2),
        "schedule",
    ),
    "a year and its days": (
        rows("year,day", *["2026,2026-03-30", "2026,2026-03-31"] * 2),
        "2026-03-31 day",
    ),
    "year and month apart": (rows("Year,Month,v", "2026,7,1", "2026,8,1", "2025,12,1"), "2026-08-31 month"),
    "three columns": (rows("y,month,year,day", "1,7,2026,3", "1,8,2026,31", "1,12,2025,4"), "2026-08-31 day"),
    "cut in the middle": (table("date", *["2026-08-31"] * 30)[:-4], "2026-08-31 day"),
    "no header": (rows("2026-08-30,1", "2026-08-31,2", "2026-08-29,3"), "none"),
    "wider rows": (rows("date,v", *["2026-08-31,2"] * 30, "2026-08-30,1,2,3,4"), "2026-08-31 day"),
    "a million columns": ("date," * 1_000_000 + "\n" + "2026-08-31," * 1_000_000, "none"),
    "a cell of 10 MB": (rows("date,v", *["2026-08-31,2"] * 3, '2026-08-31,"' + "x" * 10_000_000 + '"'), "none"),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_tables(name: str) -> None:
    data, expected = TABLES[name]
    assert answer(data) == expected


def of_objects(*values: object, name: str = "date") -> list[dict[str, object]]:
    return [{"a": [1], name: value} for value in values]


def statistics(*periods: str, **more: object) -> dict[str, object]:
    category = {"index": {period: place for place, period in enumerate(periods)}}
    return {"role": {"time": ["Tid"]}, "dimension": {"Tid": {"category": category}}, **more}


DAYS = ("2026-08-30", "2026-08-31", "2026-08-29")
JSON = {
    "objects": (of_objects(*DAYS), "2026-08-31 day"),
    "years as numbers": (of_objects(2024, 2025, 2023, name="year"), "2025-12-31 year"),
    "epochs": (of_objects(1700000000, 1700000001, 1700000002), "none"),
    "nothing and objects": (of_objects(None, {}, []), "none"),
    "features": (
        {"type": "FeatureCollection", "features": [{"properties": one} for one in of_objects(*DAYS)]},
        "2026-08-31 day",
    ),
    "JSON-stat 2": (statistics("2026M07", "2026M08", "2026M06"), "2026-08-31 month"),
    "JSON-stat 1": (
        {
            "dataset": {
                "dimension": {
                    "role": {"time": ["Tid"]},
                    "Tid": {"category": {"index": ["2026K1", "2026K2", "2025K4"]}},
                }
            }
        },
        "2026-06-30 quarter",
    ),
    "JSON-stat with an endless name": (
        {"role": {"time": ["x" * 999]}, "dimension": {"x" * 999: {"category": {"index": [*DAYS]}}}},
        "none",
    ),
    "JSON-stat without times": ({"role": {"time": [1]}, "dimension": {"Tid": 2}}, "none"),
    "lists in place of days": (of_objects([1], *DAYS), "none"),
    "moments": (of_objects(*(f"{day}T10:00:00.123Z" for day in DAYS)), "2026-08-31 day"),
    "a name for each object": ({day: {"v": 1} for day in DAYS}, "none"),
    "a plan": (of_objects(*DAYS, "2027-08-31"), "schedule"),
    "year and month": (
        [{"year": 2026, "month": month} for month in (6, 7, 8)],
        "2026-08-31 month",
    ),
    "days and numbers": (of_objects(*DAYS, 7), "none"),
}  # fmt: skip


@pytest.mark.parametrize("name", JSON)
def test_json(name: str) -> None:
    document, expected = JSON[name]
    assert answer(json.dumps(document), "json") == expected


def test_objects_on_lines() -> None:
    lines = "\n".join(json.dumps(row) for row in of_objects(*DAYS))
    assert answer(lines, "json") == "2026-08-31 day"


def test_json_that_is_cut() -> None:
    assert answer(json.dumps(of_objects(*DAYS))[:-9], "json") == "none"


TYPED = [date.fromisoformat(day) for day in DAYS]
Sheet = list[list[Any]]


def sheet(*values: Any, name: str = "date", above: Sheet | None = None) -> Sheet:
    return [
        *(above or []),
        ["id", name],
        *([f"x{number}", one] for number, one in enumerate(values)),
    ]


WORKBOOKS: dict[str, tuple[dict[str, Sheet], str]] = {
    "days": ({"Data": sheet(*TYPED)}, "2026-08-31 day"),
    "a total": ({"Data": [*sheet(*TYPED * 9), ["Total", 12]]}, "2026-08-31 day"),
    "days and text": ({"Data": sheet(*TYPED[:2], DAYS[2])}, "2026-08-31 day"),
    "a title": ({"Data": sheet(*TYPED, above=[["A title"], []])}, "2026-08-31 day"),
    "two sheets": ({"Old": sheet(date(2026, 8, 1), *TYPED), "New": sheet(*TYPED)}, "2026-08-31 day"),
    "dates of several sheets": (
        {str(year): sheet(*(date(year, 8, day) for day in (1, 7, 9))) for year in (2024, 2025)},
        "several",
    ),
    "years": ({"Data": sheet(2023, 2024, 2025, name="year")}, "2025-12-31 year"),
    "a plan": ({"Data": sheet(*TYPED, date(2027, 8, 1))}, "schedule"),
    "numbers": ({"Data": sheet(46264, 46265, 46263)}, "none"),
    "no header": ({"Data": sheet(*TYPED)[1:]}, "none"),
}  # fmt: skip


@pytest.mark.parametrize("name", WORKBOOKS)
def test_workbooks(name: str) -> None:
    sheets, expected = WORKBOOKS[name]
    cells = {
        title: {
            f"{'AB'[place]}{number}": cell
            for number, row in enumerate(rows, 1)
            for place, cell in enumerate(row)
        }
        for title, rows in sheets.items()
    }
    assert answer(workbook(cells), "workbook") == expected


PAST = st.dates(date(1990, 1, 1), TODAY)
WRITTEN = ("%Y-%m-%d", "%d.%m.%Y", "%d %B %Y", "%Y%m%d")


@given(st.lists(PAST, min_size=3, max_size=40), st.sampled_from(WRITTEN), st.randoms())
def test_neither_order_nor_older_rows_matter(days: list[date], form: str, random: object) -> None:
    def reached(some: list[date]) -> str:
        return answer(table("date", *(day.strftime(form) for day in some)))

    # Days that are all the first of a period stand for the period.
    days = [*days, date(1989, 5, 17)]
    expected = f"{max(days)} day"
    assert reached(days) == expected
    assert reached(sorted(days)) == reached(sorted(days, reverse=True)) == expected
    assert reached([*days, min(days) - timedelta(days=1)]) == expected
    later = min(max(days) + timedelta(days=1), TODAY)
    assert reached([*days, later]) == f"{later} day"


MOMENTS = st.builds(
    "{}{}".format,
    st.sampled_from(
        ("2026-08-31", "2026-02-30", "31.08.2026", "30.02.2026", "2026-12-24", "NA", "")
    ),
    st.sampled_from(("", "", " 10:00", "T10:00:59Z", "T10:00:59.123", " 9 o'clock", "\n")),
)


@given(st.lists(MOMENTS, min_size=1, max_size=4), st.integers(1, 60))
def test_values_that_are_read_at_once_mean_the_same(values: list[str], times: int) -> None:
    def columns(form: str) -> Sequence[DateColumn]:
        return found(table("date", *(f'"{form.format(value)}"' for value in values * times)))

    # A blank keeps them from being read at once.
    assert columns("{}") == columns(" {}")


@given(st.lists(st.dates(date(1990, 1, 1), date(2200, 1, 1)), min_size=3, max_size=40))
def test_no_answer_lies_in_the_future(days: list[date]) -> None:
    for form in (*WRITTEN, "%Y", "%Y-%m", "%m/%d/%Y"):
        columns = found(table("date", *(day.strftime(form) for day in days)))
        assert all(column.until is None or column.until <= str(TODAY) for column in columns)


def column(name: str, until: str | None = "2026-08-31", *, is_schedule: bool = False) -> DateColumn:
    return DateColumn(None, name, until, "day", "year, month, day", is_schedule)


def test_a_schedule_stays_one_while_its_name_is_there() -> None:
    plan = column("date", "2026-03-01", is_schedule=True)
    now_past = merged([plan], [column("date")], ["date", "v"])
    assert now_past == (column("date", is_schedule=True),)
    assert newest(now_past) is Silence.SCHEDULE
    unread = column("date", None, is_schedule=True)
    assert merged([plan], [], ["date", "v"]) == merged([plan], [], None) == (unread,)
    assert newest(merged([unread], [column("date")], None)) is Silence.SCHEDULE
    assert merged([plan], [column("day")], ["day", "v"]) == (column("day"),)
    many = [column(f"plan {number}", is_schedule=True) for number in range(50)]
    assert len(merged(many, many, None)) <= 24
