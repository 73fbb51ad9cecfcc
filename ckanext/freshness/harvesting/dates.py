"""Dates as RDF writes them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

_ISO = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d)"
    r"(?:[T ](?P<time>(?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.\d+)?)?))?)?)?"
    r"(?P<zone>Z|[+-]\d\d:?\d\d)?",
    re.ASCII,
)


def iso_date(text: str) -> str | None:
    """The text if it is a date of XML Schema (year, month, day or moment; AD 1 to 9999), or None.

    It is kept as written, save that UTC is always ``Z``, an offset has its colon, and the time follows
    a ``T``.
    """
    match = _ISO.fullmatch(text.strip())
    if match is None or _moment(match) is None:
        return None
    written = match.string[match.start() : match.end()].replace(" ", "T")
    zone = match["zone"]
    if not zone:
        return written
    return written[: -len(zone)] + _zone(zone)


def utc_moment(text: str) -> str | None:
    """The same for fields that know only days and moments without a zone: day, or moment in UTC.

    None where the text says less than a day: a year is not its first of January.
    """
    match = _ISO.fullmatch(text.strip())
    if match is None or not match["day"]:
        return None
    moment = _moment(match)
    if moment is None:
        return None
    if not match["time"]:
        return f"{match['year']}-{match['month']}-{match['day']}"
    return moment.isoformat(timespec="seconds")


def _zone(zone: str) -> str:
    offset = zone if ":" in zone or zone == "Z" else f"{zone[:3]}:{zone[3:]}"
    return "Z" if offset in ("+00:00", "-00:00") else offset


def _moment(match: re.Match[str]) -> datetime | None:
    """The beginning of what the match names, in UTC without zone; None where the calendar lacks it."""
    numbers = [int(match[name] or 1) for name in ("year", "month", "day")]
    numbers += [int(match[name] or 0) for name in ("hour", "minute", "second")]
    try:
        moment = datetime(*numbers)  # type: ignore[arg-type]
        zone = match["zone"]
        if not zone or zone == "Z":
            return moment
        hours, minutes = int(zone[1:3]), int(zone[-2:])
        offset = timedelta(hours=hours, minutes=minutes) * (-1 if zone[0] == "-" else 1)
        return moment.replace(tzinfo=timezone(offset)).astimezone(timezone.utc).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None
