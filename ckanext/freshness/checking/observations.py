"""Up to when the data of a table reach: the newest date in each column of dates, and the column that says it.

A column counts if one form reads 95 % of its values. The order of rows does not matter. Nothing is guessed: if
several columns may be meant, or if nobody can tell the day, the month and the year apart, there is no answer
but the reason.

Pure and streaming: each cell is read once, and of a column that is certainly none of dates only its first part.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from enum import Enum
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple

from .date_words import (
    MONTHS,
    Role,
    beginnings_of,
    lists_works,
    names_moment,
    names_period,
    names_year,
    parts_of_date,
    role_of,
    words_of,
)

MOST_COLUMNS = 200
"""Of a table. Of one with more, neither shape nor dates are read."""
MOST_KEPT = 12
"""Columns of dates that are stored of a file, and as many that were schedules in earlier files."""
_LONGEST_NAME = 200
"""Characters of a column's name. Of one with more, no date is read."""

_CELLS = 20_000
"""Cells that are read at a time."""
_LEAST_VALUES = 3
_UNREAD = 0.05
"""The part of a column's values that may be no dates."""
_MISTAKES = 0.001
"""The part of a column's values that may lie in the future by mistake."""
_EARLIEST_YEAR = 1600
"""A newest date before it is one of another calendar."""
_EPOCH = date(1970, 1, 1)
"""The day of times that only tell how long something took."""
_FIRST_YEAR = 1400
"""The first year that bare digits may be: lower numbers are often times of the day."""
_YEARS_AHEAD = 10
"""How far ahead years of two digits may lie."""
_YEARS_PLANNED = 200
"""How far ahead bare digits may be a year."""
_SHORTEST, _LONGEST = 6, 40
"""Characters of a date that does not begin with its year."""
_CLOSE = timedelta(days=31)
"""Columns whose newest dates differ by less say the same."""


class Precision(str, Enum):
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


class Form(str, Enum):
    """How the values of a column are written."""

    ISO = "year, month, day"
    SHORT_ISO = "year of two digits, month, day"
    DAY_FIRST = "day first"
    MONTH_FIRST = "month first"
    UNCLEAR = "day or month first"
    IN_WORDS = "month in words"
    DIGITS = "digits"
    MONTH = "year and month"
    WEEK = "year and week"
    QUARTER = "year and quarter"
    YEAR = "year"
    SEASON = "two years"


class DateColumn(NamedTuple):
    """A column of dates.

    Fields: its sheet, None if the file has one table without a name; its name; the last day of its newest
    period, in ISO 8601, never in the future, None if that is not clear; its precision, a :class:`Precision`;
    how it is written, a :class:`Form`; and whether it has ever reached into the future: it is a schedule for
    good.
    """

    sheet: str | None
    name: str
    until: str | None
    precision: str
    form: str
    is_schedule: bool = False


class Silence(Enum):
    """The reasons why nobody can tell up to when the data of a table reach."""

    NONE = "none"
    """No column has dates of what the rows tell of."""
    SCHEDULE = "schedule"
    """The column reaches into the future, or did so once."""
    UNCLEAR = "unclear"
    """Nobody can tell the day, the month and the year apart."""
    SEVERAL = "several"
    """Several columns may be meant."""


# One file


class TableReader:
    """Reads the columns of one table. Add its rows, then ask for its :meth:`columns`.

    :param sheet: its name, if it has one
    :param most_rows: no fewer than it has
    """

    def __init__(
        self, sheet: str | None, names: Sequence[str], most_rows: int, today: date
    ) -> None:
        self._sheet = sheet
        self._width = len(names)
        self._rows = 0
        self._most_unread = _UNREAD * most_rows
        if len(names) > MOST_COLUMNS:
            names = ()
        found: list[tuple[str, itemgetter[Any]]]
        found = [(name, itemgetter(place)) for place, name in enumerate(names)]
        if parts := parts_of_date(names):
            found.append((" ".join(names[place] for place in parts), itemgetter(*parts)))
        is_of_works = lists_works(names)
        self._columns = {
            cell: _Column(name, today, self._most_unread)
            for name, cell in found
            if len(name) <= _LONGEST_NAME
            and role_of(name) is not Role.OTHER
            and not (is_of_works and names_year(name))
        }

    def add(self, rows: Iterable[Sequence[Any]]) -> int:
        """Take rows of delimited text, of a sheet or of JSON, and return their number."""
        rows = iter(rows)
        # Most columns have no dates, which their first values show.
        some = min(int(self._most_unread) + 1, _CELLS // (self._width or 1) or 1)
        while self._columns and (chunk := list(islice(rows, some))):
            self._rows += len(chunk)
            self._add(chunk)
            some = _CELLS // (self._width or 1) or 1
        self._rows += sum(1 for _ in rows)
        return self._rows

    def _add(self, rows: Sequence[Sequence[Any]]) -> None:
        width = self._width
        if set(map(len, rows)) != {width}:
            rows = [row if len(row) == width else [*row, *[""] * width][:width] for row in rows]
        for cell, column in list(self._columns.items()):
            try:
                may_have_dates = column.add(Counter(map(cell, rows)))
            except TypeError:
                # JSON has lists and objects in place of values.
                may_have_dates = False
            if not may_have_dates:
                del self._columns[cell]

    def columns(self) -> Iterator[DateColumn]:
        """Yield the columns that have dates."""
        for column in self._columns.values():
            found = column.found(self._rows)
            if found is not None:
                yield found._replace(sheet=self._sheet)


def _text_of(value: Any) -> str:
    """Return a cell as text, as it would stand in delimited text."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, tuple):
        # A year, a month and perhaps a day.
        return "-".join(_text_of(part).zfill(2) for part in value)
    if value is None or isinstance(value, bool):
        return ""
    if isinstance(value, date):
        return value.isoformat()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


_BLANK = frozenset(
    ("", *["-", "--", ".", "..", ":", "?", "n/a", "na", "nan", "nd", "nat", "null", "none"])
)
_LONGEST_BLANK = max(map(len, _BLANK))
_MOST_READ = 20_000
"""Values whose reading a column remembers."""


class _Column:
    """The values of a column, counted by the forms that read them.

    :param most_unread: how many values may be no dates
    """

    def __init__(self, name: str, today: date, most_unread: float) -> None:
        self.name = name
        self._most_unread = most_unread
        self._unread = self._filled = 0
        self._today = today
        self._has_digits = names_period(name)
        self._read: dict[str, list[Reading]] = {}
        """How values without their time are read: many are alike."""
        self._days: dict[Form, Counter[date]] = defaultdict(Counter)

    def add(self, values: Counter[Any]) -> bool:
        """Take values with their numbers, and return whether the column may have dates."""
        del values[""]
        if at_once := _days_at_once(values):
            form, days = at_once
            self._filled += values.total()
            self._days[form].update(days)
            return True
        for value, count in values.items():
            text = _text_of(value)
            if len(text) <= _LONGEST_BLANK and text.lower() in _BLANK:
                continue
            self._filled += count
            day = _without_clock(text)
            readings = self._read.get(day)
            if readings is None:
                if len(self._read) >= _MOST_READ:
                    self._read.clear()
                readings = self._read[day] = _readings(
                    day, self._today.year, digits=self._has_digits
                )
            for form, start in readings:
                self._days[form][start] += count
            if not readings:
                self._unread += count
                # Most columns have no dates, and are not read to their end.
                if self._unread > self._most_unread:
                    return False
        return True

    def found(self, rows: int) -> DateColumn | None:
        """Return the column if it has dates; it needs some values, and dates in half of its rows."""
        if self._filled < _LEAST_VALUES or 2 * self._filled < rows:
            return None
        counts = {form: days.total() for form, days in self._days.items()}
        most = max(counts.values(), default=0)
        if most < (1 - _UNREAD) * self._filled:
            return None
        form = self._chosen([form for form, count in counts.items() if count == most])
        if form is Form.UNCLEAR:
            return DateColumn(None, self.name, None, Precision.DAY.value, form.value)
        days = self._days[form]
        tomorrow = self._today + timedelta(days=1)
        ahead = sum(count for day, count in days.items() if day > tomorrow)
        past = [day for day in days if day <= tomorrow]
        if set(past) == {_EPOCH}:
            return None
        if not past or max(past).year < _EARLIEST_YEAR:
            return DateColumn(None, self.name, None, "", form.value, True) if ahead else None
        precision = _precision(form, past)
        until = min(_end(max(past), precision), self._today).isoformat()
        is_schedule = ahead > _MISTAKES * most
        return DateColumn(None, self.name, until, precision.value, form.value, is_schedule)

    def _chosen(self, best: Sequence[Form]) -> Form:
        """Return one of the forms that read equally many values."""
        if Form.SEASON in best:
            # 2011-12 alone may be a month.
            is_certain = len(best) == 1 or len(self._days[Form.SEASON]) > 1
            return Form.SEASON if is_certain else Form.UNCLEAR
        if Form.SHORT_ISO in best and len(best) > 1:
            # 24-05-01 may begin with its year, unless others would lie in the future then.
            if max(self._days[Form.SHORT_ISO]) <= self._today:
                return Form.UNCLEAR
            best = [form for form in best if form is not Form.SHORT_ISO]
        if Form.DAY_FIRST in best and Form.MONTH_FIRST in best:
            regular = [form for form in best if _are_firsts_of_months(self._days[form])]
            return regular[0] if len(regular) == 1 else Form.UNCLEAR
        return best[0]


def _are_firsts_of_months(days: Iterable[date]) -> bool:
    """Decide whether days are the first of many months, in several years."""
    return (
        {day.day for day in days} == {1}
        and len({day.month for day in days}) > 3
        and len({day.year for day in days}) > 1
    )


_CLOCK = re.compile(
    r"\d\d?:\d\d[0-9:.,]{0,16} ?(?:[AaPp]\.?[Mm]\.?|Z|UTC|GMT)?(?: ?[+-]\d\d:?\d\d)?"
)
_DAY = r"(?P<d>[0-9]{1,2})"
_MONTH = r"(?P<m>[0-9]{1,2})"
_WORD = r"(?P<word>[^\W\d_]{3,12})\.?"
_YEAR = r"(?P<y>[0-9]{4})"
_ANY_YEAR = r"(?P<y>[0-9]{4}|[0-9]{2})"
_WEEKDAY = r"(?:[^\W\d_]{2,10}\.?,? )?"


def _forms(*forms: tuple[Form, str]) -> list[tuple[Form, re.Pattern[str]]]:
    return [(form, re.compile(pattern)) for form, pattern in forms]


_YEAR_FIRST = _forms(
    (Form.ISO, rf"{_YEAR}([-/.]){_MONTH}\2{_DAY}"),
    (Form.SEASON, rf"{_YEAR}[-/](?P<next>[0-9]{{2}})"),
    (Form.MONTH, rf"{_YEAR}[-/](?P<m>[0-9]{{2}})"),
    (Form.MONTH, rf"{_YEAR}[- ]?M[- ]?{_MONTH}"),
    (Form.MONTH, rf"{_YEAR}(?:[-/]|,? {{0,2}}){_WORD}"),
    (Form.QUARTER, rf"{_YEAR}[- ]?[QTK][- ]?0?(?P<q>[1-4])"),
    (Form.WEEK, rf"{_YEAR}[- ]?(?:KW|[WU])[- ]?(?P<w>[0-9]{{1,2}})(?:-?[1-7])?"),
)
_WITH_DIGITS = _YEAR_FIRST + _forms(
    (Form.YEAR, rf"{_YEAR}(?:\.[0-9]{{1,20}})?"),
    (Form.MONTH, rf"{_YEAR}(?P<m>[0-9]{{2}})"),
    (Form.DIGITS, rf"{_YEAR}(?P<m>[0-9]{{2}})(?P<d>[0-9]{{2}})"),
)
_YEAR_LAST = _forms(
    (Form.DAY_FIRST, rf"{_DAY}([-/.]){_MONTH}\2{_ANY_YEAR}"),
    (Form.MONTH_FIRST, rf"{_MONTH}([-/]){_DAY}\2{_ANY_YEAR}"),
    (Form.SHORT_ISO, rf"(?P<y>[0-9]{{2}})([-/]){_MONTH}\2{_DAY}"),
)
_WITH_LETTERS = _forms(
    (Form.IN_WORDS, rf"{_WEEKDAY}{_DAY}\.?[-/ ]?{_WORD},?[-/ ]?{_ANY_YEAR}"),
    (Form.IN_WORDS, rf"{_WEEKDAY}{_WORD}[- ]{_DAY}(?:-|,? ){_YEAR}"),
    (Form.MONTH, rf"{_WORD},?[-/ ]?{_YEAR}"),
    (Form.QUARTER, rf"[QT](?P<q>[1-4])[-/ ]?{_YEAR}"),
)

Reading = tuple[Form, date]
_TIME = r"(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?Z?)?"
_AT_ONCE: tuple[tuple[Form, re.Pattern[str], Callable[[str], str]], ...] = (
    (Form.ISO, re.compile(rf"(?:[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}{_TIME}\n)+"), str),
    (
        Form.DAY_FIRST,
        re.compile(rf"(?:[0-9]{{2}}\.[0-9]{{2}}\.[0-9]{{4}}{_TIME}\n)+"),
        lambda day: f"{day[6:]}-{day[3:5]}-{day[:2]}",
    ),
)
"""The usual forms of days, of all values on lines, and how such a day is written in ISO 8601."""


def _days_at_once(values: Counter[Any]) -> tuple[Form, dict[date, int]] | None:
    """Return the form and the numbers of days if all values have one usual form, in a tenth of the time."""
    try:
        lines = "\n".join(values) + "\n"
        for form, pattern, in_iso in _AT_ONCE:
            if pattern.fullmatch(lines) and lines.count("\n") == len(values):
                if len(lines) > 11 * len(values):
                    values = Counter(map(itemgetter(slice(10)), values.elements()))
                return form, {date.fromisoformat(in_iso(day)): n for day, n in values.items()}
    except (TypeError, ValueError):
        # A value is no text, or there is no such day.
        pass
    return None


def _without_clock(text: str) -> str:
    """Return a value without the time of the day at its end."""
    colon = text.find(":")
    if colon < 0:
        return text
    day = text[:colon].rstrip("0123456789")
    is_time = day[-1:] in ("T", " ") and _CLOCK.fullmatch(text, len(day))
    return day[:-1].rstrip() if is_time else text


def _readings(text: str, this_year: int, *, digits: bool) -> list[Reading]:
    """Return each form that reads a value, with the first day of the period that the value names.

    :param digits: whether bare digits may be a date
    """
    if not text[:4].isdecimal():
        if not _SHORTEST <= len(text) <= _LONGEST:
            return []
        forms = _YEAR_LAST if text.lower() == text.upper() else _WITH_LETTERS
    elif digits and _FIRST_YEAR <= int(text[:4]) <= this_year + _YEARS_PLANNED:
        forms = _WITH_DIGITS
    else:
        forms = _YEAR_FIRST
    readings = []
    for form, pattern in forms:
        match = pattern.fullmatch(text)
        day = None if match is None else _first_day(match.groupdict(), this_year)
        if day is not None:
            readings.append((form, day))
    return readings


def _first_day(parts: Mapping[str, str], this_year: int) -> date | None:
    """Return the first day of a period; None if there is no such day."""
    year = int(parts["y"])
    if len(parts["y"]) == 2:
        year += 2000 if year <= this_year % 100 + _YEARS_AHEAD else 1900
    try:
        if "next" in parts:
            return date(year + 1, 1, 1) if int(parts["next"]) == (year + 1) % 100 else None
        if "w" in parts:
            return date.fromisocalendar(year, int(parts["w"]), 1)
        if "word" in parts:
            month = MONTHS["".join(words_of(parts["word"]))]
        else:
            month = 3 * int(parts["q"]) - 2 if "q" in parts else int(parts.get("m", 1))
        return date(year, month, int(parts.get("d", 1)))
    except (KeyError, ValueError):
        return None


_PRECISIONS = {
    **{Form.YEAR: Precision.YEAR, Form.SEASON: Precision.YEAR, Form.MONTH: Precision.MONTH},
    **{Form.QUARTER: Precision.QUARTER, Form.WEEK: Precision.WEEK},
}


def _precision(form: Form, days: Sequence[date]) -> Precision:
    """Return the precision of dates: the first of each month stands for the month, and so on."""
    if form in _PRECISIONS:
        return _PRECISIONS[form]
    if len(days) < _LEAST_VALUES or any(day.day != 1 for day in days):
        return Precision.DAY
    months = {day.month for day in days}
    if months == {1}:
        return Precision.YEAR
    return Precision.QUARTER if months == {1, 4, 7, 10} else Precision.MONTH


def _end(day: date, precision: str) -> date:
    """Return the last day of the period that has a day."""
    if precision == Precision.DAY:
        return day
    if precision == Precision.WEEK:
        return day + timedelta(days=6 - day.weekday())
    months = {Precision.MONTH: 1, Precision.QUARTER: 3, Precision.YEAR: 12}[Precision(precision)]
    years, last = divmod((day.month - 1) // months * months + months, 12)
    return date(day.year + years, last + 1, 1) - timedelta(days=1)


# What it means


def merged(
    before: Sequence[DateColumn], found: Sequence[DateColumn], names: Collection[str] | None
) -> tuple[DateColumn, ...]:
    """Return what to store of new content: a column that was a schedule stays one as long as its name is there.

    :param names: of all columns; None if they are not known
    """
    schedules = {column[:2]: column for column in before if column.is_schedule}
    columns = [
        column._replace(is_schedule=column.is_schedule or column[:2] in schedules)
        for column in found[:MOST_KEPT]
    ]
    dated = {column[:2] for column in columns}
    kept = [column for key, column in schedules.items() if key not in dated]
    still = [column for column in kept if names is None or column.name in names]
    return (*columns, *(column._replace(until=None) for column in still[:MOST_KEPT]))


def newest(
    columns: Sequence[DateColumn] | None, answer: Sequence[str | None] | None = None
) -> DateColumn | Silence:
    """Return the column that says up to when the data reach, or why none does.

    :param answer: an editor's: the sheet and the name of a column; empty for none of them; None without one.
        It does not count as long as the file has no such column
    """
    columns = columns or ()
    if answer is not None:
        columns = [one for one in columns if [*answer] == [*one[:2]]] or (columns if answer else ())
    observed = [one for one in columns if role_of(one.name) is Role.OBSERVED] or list(columns)
    if any(column.form == Form.UNCLEAR for column in observed):
        return Silence.UNCLEAR
    schedules = {words_of(column.name) for column in observed if column.is_schedule}
    open_ = [
        column
        for column in observed
        if column.until is not None
        and not column.is_schedule
        # The beginning of a period whose end is planned.
        and not any(words_of(column.name) in beginnings_of(" ".join(end)) for end in schedules)
    ]
    if not open_:
        return Silence.SCHEDULE if observed else Silence.NONE
    return _one_of(open_) or Silence.SEVERAL


_ORDER: list[str] = list(Precision)


def _one_of(columns: Sequence[DateColumn]) -> DateColumn | None:
    """Return the column that is meant; None if several may be."""
    beginnings = set().union(*(beginnings_of(column.name) for column in columns))
    columns = [column for column in columns if words_of(column.name) not in beginnings]
    columns = [
        column
        for column in columns
        if not any(_is_finer(other, column) for other in columns if other is not column)
    ]
    named = [column for column in columns if names_moment(column.name)]
    finest = min((_ORDER.index(column.precision) for column in named), default=0)
    exact = [column for column in named if _ORDER.index(column.precision) == finest]
    if exact or not _agree(columns):
        columns = exact
    if not columns or not _agree(columns):
        return None
    return max(columns, key=lambda column: (column.until or "", column.name, column.sheet or ""))


def _agree(columns: Sequence[DateColumn]) -> bool:
    days = [_day(column) for column in columns]
    return max(days) - min(days) <= _CLOSE


def _is_finer(one: DateColumn, other: DateColumn) -> bool:
    """Decide whether the newest date of one column lies in the coarser period of the other's."""
    if _ORDER.index(one.precision) >= _ORDER.index(other.precision):
        return False
    return _day(one) <= _day(other) <= _end(_day(one), other.precision)


def _day(column: DateColumn) -> date:
    return date.fromisoformat(column.until or "")


def newest_period(
    columns: Sequence[DateColumn] | None, answer: Sequence[str | None] | None
) -> str | None:
    """Return the newest period of a file as :func:`period_text` writes it; None if that is not certain."""
    found = newest(columns, answer)
    return period_text(found) if isinstance(found, DateColumn) else None


def period_text(column: DateColumn) -> str:
    """Return the newest period of a column that is known to have one.

    :returns: ``2026``, ``2026-Q3``, ``2026-08``, ``2026-W35`` or ``2026-08-31``
    """
    day = _day(column)
    if column.precision == Precision.WEEK:
        year, week, _ = day.isocalendar()
        return f"{year}-W{week:02}"
    if column.precision == Precision.QUARTER:
        return f"{day.year}-Q{(day.month + 2) // 3}"
    length = {Precision.YEAR.value: 4, Precision.MONTH.value: 7}.get(column.precision)
    return day.isoformat()[:length]


def period_of(text: str) -> tuple[date, Precision] | None:
    """Return the last day and the precision of a period as :func:`period_text` writes it, or None."""
    readings = _readings(text, date.max.year, digits=True)
    if not readings:
        return None
    # A month may be read as a season, too, but first.
    form, day = readings[-1]
    precision = _PRECISIONS.get(form, Precision.DAY)
    return _end(day, precision), precision


def periods_of_json_stat(document: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield the times among the dimensions of a JSON-stat dataset: their names, and the codes of periods."""
    dataset = document.get("dataset", document)
    match dataset:
        case {"role": {"time": [*times]}, "dimension": {**dimensions}}:
            pass
        case {"dimension": {"role": {"time": [*times]}, **dimensions}}:
            pass
        case _:
            return
    for name in times:
        match dimensions.get(name) if isinstance(name, str) else None:
            case {"category": {"index": [*codes]}} | {"category": {"index": {**codes}}}:
                yield name, list(map(str, codes))
