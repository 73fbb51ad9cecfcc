"""The clock, and dates as catalogues, databases and people write them.

Decisions take ``now`` as an argument: only the code at the edges of the package calls :func:`utc_now`.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone
from typing import TypeVar, overload

from dateutil.parser import isoparse, isoparser, parse

Moment = TypeVar("Moment", datetime, datetime | None)

EARLIEST = datetime.min.replace(tzinfo=timezone.utc)
LATEST = datetime.max.replace(tzinfo=timezone.utc)

_CLOCK = r"(?P<clock>\d\d:\d\d(?::\d\d(?:[.,]\d{1,12})?)?)"
_ZONE = r"(?P<zone>Z|UTC|GMT|UT|[+-]\d\d(?::?\d\d)?)"
_FORMS = tuple(
    re.compile(form, re.ASCII | re.IGNORECASE)
    for form in (
        # XML Schema: 2020, 2020-01, 2020-01-31, 2020Z, 2020-01-31+01:00
        r"(?P<day>\d{4}(?:-\d\d){0,2})(?P<clock>)(?P<zone>Z|[+-]\d\d:\d\d)?",
        # ISO 8601, also with a blank for the T: 2020-01-31T10:20:30.5+01:00
        rf"(?P<day>\d{{4}}-\d\d-\d\d)[T ]{_CLOCK} ?{_ZONE}?",
        # ISO 8601 without hyphens: 20200131, 20200131T102030Z
        rf"(?P<day>\d{{8}})(?:(?-i:T)(?P<clock>\d{{4}}(?:\d\d)?){_ZONE}?)?",
        # RFC 5322 and HTTP: Wed, 21 Oct 2015 07:28:00 GMT
        r"(?:[A-Z]{3}, {0,2})?"
        r"(?P<day>\d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [1-9]\d{3})"
        rf" {_CLOCK}(?: {_ZONE})?",
    )
)
"""The forms that are read: dateutil alone also takes weekdays and lone numbers for dates, and 0012 for 2012."""
_LEAP_SECOND = re.compile(r"^(\d\d:?\d\d:?)60")
_RDF = re.compile(
    r"(?P<date>\d{4}(?:-\d\d(?P<day>-\d\d"
    r"(?P<clock>[T ](?:[01]\d|2[0-3]):\d\d(?::\d\d(?:\.\d+)?)?)?)?)?)"
    r"(?P<zone>Z|[+-]\d\d:?\d\d)?",
    re.ASCII,
)


def utc_now() -> datetime:
    """Return the current time, in UTC."""
    return datetime.now(timezone.utc)


def utc(moment: datetime) -> datetime:
    """Return an aware moment as columns of the database hold it: in UTC, without a zone."""
    return moment.astimezone(timezone.utc).replace(tzinfo=None)


def aware(moment: Moment) -> Moment:
    """Return a moment of a column, which is in UTC without a zone, with its zone."""
    return None if moment is None else moment.replace(tzinfo=timezone.utc)


def utc_to_second(moment: datetime | None) -> datetime | None:
    """Return a moment as columns of the database hold it, without its microseconds.

    :param moment: an aware moment, or one of a column
    """
    if moment is None:
        return None
    naive = moment if moment.tzinfo is None else utc(moment)
    return naive.replace(microsecond=0)


def aware_to_second(moment: datetime | None) -> datetime | None:
    """Return a moment of a column with its zone, without its microseconds."""
    return None if moment is None else aware(moment).replace(microsecond=0)


@overload
def utc_text(moment: datetime) -> str: ...
@overload
def utc_text(moment: datetime | None) -> str | None: ...
def utc_text(moment: datetime | None) -> str | None:
    """Write a moment for JSON and SQL: in UTC, ISO 8601 to the second, with ``Z``.

    :param moment: an aware moment, or one of a column
    """
    if moment is None:
        return None
    naive = moment if moment.tzinfo is None else utc(moment)
    return f"{naive.isoformat(timespec='seconds')}Z"


def exact_text(moment: datetime) -> str:
    """Write an aware moment for JSON and SQL with its microseconds: in UTC, ISO 8601, with ``Z``."""
    # The text ends with "+00:00".
    return f"{moment.astimezone(timezone.utc).isoformat()[:-6]}Z"


def utc_words(moment: datetime) -> str:
    """Write a moment in UTC for people, to the minute."""
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def shifted(when: datetime, by: timedelta) -> datetime:
    """Return ``when + by``. If the sum is out of range, return :data:`EARLIEST` or :data:`LATEST`."""
    try:
        return when + by
    except OverflowError:
        return LATEST if by > timedelta(0) else EARLIEST


def parse_date(value: object) -> datetime | None:
    """Read a date of any common form; never raise.

    A date without a zone is in UTC, as CKAN's are. A date that names only a year, month or day means
    its first moment, so that no data look newer than they can be shown to be.

    :param value: a text, a date or a datetime; anything else is no date.
    :returns: a moment in UTC, or None for ambiguous dates (``01/02/2020``) and all other texts. Dates
        whose zone would take them before the year 1 or after 9999 become ``EARLIEST`` or ``LATEST``.
    """
    if isinstance(value, datetime):
        offset = value.utcoffset() or timedelta(0)
        return shifted(value.replace(tzinfo=timezone.utc, fold=0), -offset)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=timezone.utc)
    if not isinstance(value, str):
        return None
    text = value.strip()
    found = next((match for form in _FORMS if (match := form.fullmatch(text))), None)
    if found is None:
        return None
    day, clock = found["day"], found["clock"] or ""
    clock, leap_seconds = _LEAP_SECOND.subn(r"\g<1>59", clock)
    try:
        if " " in day:
            day = parse(day).date().isoformat()
        moment = isoparse(f"{day}T{clock}" if clock else day).replace(tzinfo=timezone.utc)
        return shifted(moment, timedelta(seconds=leap_seconds) - _offset(found["zone"]))
    except ValueError:
        return None
    except OverflowError:  # 24:00 of the last day
        return LATEST


_FIRST_DAYS = tuple(
    datetime(*day, tzinfo=timezone.utc)
    for day in ((1, 1, 1), (1601, 1, 1), (1899, 12, 30), (1899, 12, 31), (1900, 1, 1), (1970, 1, 1))
)
"""The days from which .NET, Windows, spreadsheets and Unix count; the last of them is the latest."""
_ANY_ZONE = timedelta(hours=14)


def stated_date(value: object) -> datetime | None:
    """Read the date that somebody states for a change of data, as :func:`parse_date` does; never raise.

    :returns: None also for the first days that programs can count, in whatever zone: programs that know no
        date write ``1970-01-01`` or ``0001-01-01``.
    """
    moment = parse_date(value)
    if moment is None or moment.year > _FIRST_DAYS[-1].year:
        return moment
    return None if any(abs(moment - day) <= _ANY_ZONE for day in _FIRST_DAYS) else moment


def _offset(zone: str | None) -> timedelta:
    if zone is None or zone[0] not in "+-":
        return timedelta(0)
    return isoparser().parse_tzstr(zone).utcoffset(None) or timedelta(0)


def iso_date(text: str) -> str | None:
    """Return a date of XML Schema (year, month, day or moment; AD 1 to 9999), or None for other texts.

    The date is kept as written, except that UTC becomes ``Z``, an offset gets its colon and a ``T``
    comes before the time.
    """
    match = _RDF.fullmatch(text.strip())
    if match is None or _first_moment(match) is None:
        return None
    zone = match["zone"] or ""
    if zone not in ("", "Z"):
        zone = f"{zone[:3]}:{zone[-2:]}" if _offset(zone) else "Z"
    return match["date"].replace(" ", "T") + zone


def utc_moment(text: str) -> str | None:
    """Return a day, or a moment in UTC without its zone, for fields that know nothing else.

    None if the text names no day: a year is not its first of January.
    """
    match = _RDF.fullmatch(text.strip())
    if match is None or not match["day"]:
        return None
    moment = _first_moment(match)
    if moment is None:
        return None
    return moment.isoformat(timespec="seconds") if match["clock"] else match["date"]


def _first_moment(match: re.Match[str]) -> datetime | None:
    """Return the first moment that a date names, in UTC; None if the calendar does not have it."""
    try:
        return isoparse(match["date"]) - _offset(match["zone"])
    except (OverflowError, ValueError):
        return None
