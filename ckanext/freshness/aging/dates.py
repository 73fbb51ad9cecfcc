"""Dates as catalogues write them, read without ever failing.

A date without a zone is in UTC, as CKAN's are. A date that names only a year, month or day means
its first moment, so that nothing looks newer than it can be shown to be. What is ambiguous
(``01/02/2020``) or no date gives None.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone

EARLIEST = datetime.min.replace(tzinfo=timezone.utc)
LATEST = datetime.max.replace(tzinfo=timezone.utc)

_YEAR = r"(?P<year>[0-9]{4})"
_MONTH = r"(?P<month>[0-9]{2})"
_DAY = r"(?P<day>[0-9]{2})"
_CLOCK = (
    r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,12}))?)?"
)
_ZONE = r"(?P<zone>[Zz]|UTC|GMT|UT|[+-](?P<zh>[0-9]{2})(?::?(?P<zm>[0-9]{2}))?)"
_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_FORMS = (
    # XML Schema: 2020, 2020-01, 2020-01-31, 2020Z, 2020-01-31+01:00
    re.compile(
        rf"{_YEAR}(?:-{_MONTH}(?:-{_DAY})?)?"
        r"(?P<zone>[Zz]|[+-](?P<zh>[0-9]{2}):(?P<zm>[0-9]{2}))?"
    ),
    # ISO 8601, also with a blank for the T: 2020-01-31T10:20:30.5+01:00
    re.compile(rf"{_YEAR}-{_MONTH}-{_DAY}(?:[Tt]| ){_CLOCK} ?{_ZONE}?"),
    # ISO 8601 without hyphens: 20200131, 20200131T102030Z
    re.compile(
        rf"{_YEAR}{_MONTH}{_DAY}"
        rf"(?:T(?P<hour>[0-9]{{2}})(?P<minute>[0-9]{{2}})(?P<second>[0-9]{{2}})?{_ZONE}?)?"
    ),
    # RFC 5322 and HTTP: Wed, 21 Oct 2015 07:28:00 GMT
    re.compile(
        rf"(?:[A-Za-z]{{3}}, {{0,2}})?(?P<day>[0-9]{{1,2}}) (?P<name>{'|'.join(_NAMES)}) {_YEAR}"
        rf" {_CLOCK}(?: {_ZONE})?",
        re.IGNORECASE,
    ),
)
_MAX_SCRIPT = 10_000
_BRACKETED = re.compile(r"\(([^()]{4,40})\)")
_IGNORE = "freshness_ignore"


def shifted(when: datetime, by: timedelta) -> datetime:
    """A moment so much later, or the first or last moment that a datetime can hold."""
    try:
        return when + by
    except OverflowError:
        return LATEST if by > timedelta(0) else EARLIEST


def parse_date(value: object) -> datetime | None:
    """Read a date of any common form; never raises.

    :param value: a text, a date or a datetime; anything else is no date.
    :returns: a moment in UTC, or None. Dates whose zone would take them before the year 1 or
        after 9999 become ``EARLIEST`` or ``LATEST``.
    """
    if isinstance(value, datetime):
        offset = value.utcoffset() or timedelta(0)
        return shifted(value.replace(tzinfo=timezone.utc, fold=0), -offset)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=timezone.utc)
    if not isinstance(value, str):
        return None
    text = value.strip()
    for form in _FORMS:
        if match := form.fullmatch(text):
            return _moment(match)
    return None


def script_date(updated_by_script: object) -> datetime | None:
    """The date in HDX's field of that name: ``HDX Scraper: WHO (2021-03-05T10:20:30.123456)``.

    The last date in parentheses counts; a text that is nothing but a date counts too. A script
    that writes ``freshness_ignore`` says that it changed no data.

    :returns: a moment in UTC, or None; never raises.
    """
    if not isinstance(updated_by_script, str) or len(updated_by_script) > _MAX_SCRIPT:
        return None
    if _IGNORE in updated_by_script.casefold():
        return None
    texts = (*_BRACKETED.findall(updated_by_script), updated_by_script)
    dates = [when for when in map(parse_date, texts) if when is not None]
    return dates[-1] if dates else None


def _moment(match: re.Match[str]) -> datetime | None:
    part = match.groupdict()

    def number(name: str, default: int = 0) -> int:
        digits = part.get(name)
        return int(digits) if digits else default

    name = part.get("name")
    month = _NAMES.index(name.lower()) + 1 if name else number("month", 1)
    clock = timedelta(
        hours=number("hour"),
        minutes=number("minute"),
        seconds=number("second"),
        microseconds=int((part.get("fraction") or "0").ljust(6, "0")[:6]),
    )
    # ISO 8601 ends a day with 24:00 and, with a leap second, a minute with :60.
    if number("minute") > 59 or number("second") > 60 or clock > timedelta(days=1):
        return None
    if number("zh") > 23 or number("zm") > 59:
        return None
    try:
        day = datetime(number("year"), month, number("day", 1), tzinfo=timezone.utc)
    except ValueError:
        return None
    east = timedelta(hours=number("zh"), minutes=number("zm"))
    return shifted(day, clock + east if (part["zone"] or "").startswith("-") else clock - east)
