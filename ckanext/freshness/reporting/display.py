"""Dates, numbers and states as pages and mails show them, in the reader's language."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from decimal import ROUND_HALF_UP, Decimal

from babel import Locale
from babel.dates import format_date, format_datetime, format_skeleton, format_timedelta
from babel.numbers import format_decimal, format_percent
from babel.units import format_unit

from ..aging.messages import N_
from ..aging.status import Status


@dataclass(frozen=True, slots=True)
class State:
    """The look of a status or of a link: colour, icon and words.

    :ivar colour: the value of ``data-state`` in ``freshness.css``
    :ivar icon: the name of an icon of Font Awesome, without its prefix
    :ivar label: the words, to be translated where they are shown
    """

    colour: str
    icon: str
    label: str


STATUSES = {
    Status.FRESH.value: State("fresh", "circle-check", N_("Up to date")),
    Status.DUE.value: State("due", "clock", N_("Due")),
    Status.OVERDUE.value: State("overdue", "triangle-exclamation", N_("Overdue")),
    Status.DELINQUENT.value: State("delinquent", "calendar-xmark", N_("Long overdue")),
    Status.UNAVAILABLE.value: State("unknown", "circle-question", N_("Freshness unknown")),
}
"""The states of a dataset by their stored status."""

LINKS = {
    "works": State("ok", "link", N_("Link works")),
    "failing": State("warn", "bolt", N_("Link failing")),
    "broken": State("bad", "link-slash", N_("Broken link")),
    "unchecked": State("unknown", "ban", N_("Couldn't be checked")),
    "waiting": State("unknown", "hourglass", N_("Not checked yet")),
    "excluded": State("unknown", "circle-minus", N_("Not checked")),
    "internal": State("ok", "house", N_("On this portal")),
}
"""The states of a resource's link."""

JOBS = {
    "finished": State("ok", "check", N_("Finished")),
    "errors": State("warn", "triangle-exclamation", N_("With errors")),
    "failed": State("bad", "plug-circle-xmark", N_("Failed")),
    "held": State("bad", "hand", N_("Deletions on hold")),
    "running": State("unknown", "spinner", N_("Running")),
    "waiting": State("unknown", "hourglass", N_("Waiting")),
    "stopped": State("unknown", "ban", N_("Stopped")),
}
"""The states of a harvest job."""


def locale_of(language: str) -> Locale:
    """Return the locale of one of CKAN's languages; English dates put the day before the month."""
    return Locale.parse("en_GB" if language == "en" else language)


def ago(moment: datetime, now: datetime, locale: Locale) -> str:
    """Return a moment relative to now: "3 days ago", "in 2 months"."""
    return _in_words(moment - now, locale, with_direction=True)


def lasting(since: datetime, now: datetime, locale: Locale) -> str:
    """Return the time that has passed since a moment: "9 days". It is at least a second."""
    return _in_words(max(now - since, timedelta(seconds=1)), locale)


def _in_words(delta: timedelta, locale: Locale, *, with_direction: bool = False) -> str:
    if abs(delta) < timedelta(days=1):
        return format_timedelta(delta, add_direction=with_direction, locale=locale)
    # By default Babel rounds 6 to 10 days to a week.
    return format_timedelta(
        delta, granularity="day", threshold=1.5, add_direction=with_direction, locale=locale
    )


def day(moment: datetime, now: datetime, zone: tzinfo, locale: Locale) -> str:
    """Return a date in short, with its year only if that is not the present one: "12 Nov"."""
    moment, now = moment.astimezone(zone), now.astimezone(zone)
    skeleton = "MMMd" if moment.year == now.year else "yMMMd"
    text = format_skeleton(skeleton, moment, tzinfo=zone, locale=locale)
    if text.endswith("."):
        # At the end of a sentence, the period of an abbreviated month would stand before another one.
        return format_skeleton("MMMMd", moment, tzinfo=zone, locale=locale)
    return text


def month(moment: date, locale: Locale) -> str:
    """Return a month with its year: "Nov 2026"."""
    return format_skeleton("yMMM", moment, locale=locale)


def whole_day(day: date, locale: Locale) -> str:
    """Return a day with its year: "12 Nov 2026"."""
    return format_skeleton("yMMMd", day, locale=locale)


def exact(moment: datetime, zone: tzinfo, locale: Locale) -> str:
    """Return a moment to the minute, with its time zone: "12 Nov 2026, 02:13 UTC"."""
    date = format_skeleton("yMMMd", moment, tzinfo=zone, locale=locale)
    time = format_datetime(moment, "HH:mm z", tzinfo=zone, locale=locale)
    return f"{date}, {time}"


def date_of(moment: datetime, zone: tzinfo, locale: Locale) -> str:
    """Return a date in full: "12 November 2026"."""
    return format_date(moment.astimezone(zone), "long", locale=locale)


def size(number_of_bytes: int, locale: Locale) -> str:
    """Return a number of bytes in the largest unit that fits: "218 bytes", "1.8 GB"."""
    if number_of_bytes < 1000:
        # The short word is "byte" in English, whatever the number.
        return format_unit(number_of_bytes, "digital-byte", "long", locale=locale)
    exponent = min((len(str(number_of_bytes)) - 1) // 3, 4)
    value = Decimal(number_of_bytes) / 1000**exponent
    digits = "#,##0.#" if value < 100 else "#,##0"
    unit = f"digital-{('kilo', 'mega', 'giga', 'tera')[exponent - 1]}byte"
    return format_unit(value, unit, "short", format=digits, locale=locale)


def number(value: int, locale: Locale) -> str:
    """Return a whole number with the language's separators."""
    return format_decimal(value, locale=locale)


def percent(part: int, whole: int, locale: Locale) -> str:
    """Return a share as whole percent. Only an exact 0 gives "0 %", and only an exact 1 gives "100 %"."""
    if not whole:
        return format_percent(0, locale=locale)
    share = Decimal(part * 100) / whole
    rounded = int(share.quantize(Decimal(1), ROUND_HALF_UP))
    if 0 < part < whole:
        rounded = min(max(rounded, 1), 99)
    return format_percent(Decimal(rounded) / 100, locale=locale)
