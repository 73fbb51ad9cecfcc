"""The vocabularies in which people write update frequencies, as tables.

A vocabulary turns a text into a number of days, or one of three special numbers that HDX uses:
``LIVE`` (0), ``NEVER`` (-1) and ``AS_NEEDED`` (-2). All tables follow one arithmetic, HDX's: a
month has 30 days, a year 365, and ten months have 300. What happens more often than once a day,
or several times in a period, is rounded up to whole days, since HDX's thresholds count days.

The words with two meanings are taken as the vocabularies define them: *biannual* is twice a year
(ISO 19115; every two years is *biennial*), *biweekly* every two weeks and *bimonthly* every two
months (Dublin Core, EU). *Triweekly*, *trimonthly* and *biyearly*, which no vocabulary defines,
are not understood.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from fractions import Fraction
from math import ceil
from typing import ClassVar, Protocol

LIVE = 0
NEVER = -1
AS_NEEDED = -2

MAX_DAYS = 36525
"""The longest period understood, in days: a hundred years. Longer ones are typing errors."""


class Reason(Enum):
    """Why a text gives no frequency."""

    NOT_GIVEN = "not given"
    """Nothing was written: no value at all, or blanks."""
    UNSPECIFIED = "unspecified"
    """A value that says that there is nothing to say, such as UNKNOWN, OTHER or ``periodic``."""
    NOT_UNDERSTOOD = "not understood"
    """A value that is in none of the vocabularies."""
    OUT_OF_RANGE = "out of range"
    """A period that is no possible frequency: of no length, negative, or over ``MAX_DAYS``."""


Reading = int | Reason | None
Table = Mapping[str, int | Reason]


class Vocabulary(Protocol):
    """A way to write update frequencies. Other extensions can add their own to ``parse``.

    ``name`` is kept with each frequency read, to tell where it came from.
    """

    name: str

    def read(self, text: str) -> Reading:
        """The days that a text means.

        :param text: without surrounding blanks, not empty, of at most 200 characters, in the
            case in which it was written.
        :returns: days; ``LIVE``, ``NEVER`` or ``AS_NEEDED``; ``Reason.UNSPECIFIED`` or
            ``Reason.OUT_OF_RANGE`` where the text belongs to this vocabulary and yet gives no
            frequency; None where it does not belong to it.
        """
        ...


def period(months: Fraction, seconds: Fraction) -> int | Reason:
    """The whole days, rounded up, of a period of calendar months and seconds.

    :returns: ``Reason.OUT_OF_RANGE`` for one of no length, which must not become ``LIVE``.
    """
    years, rest = divmod(months, 12)
    return ceil(years * 365 + rest * 30 + seconds / 86400) or Reason.OUT_OF_RANGE


class Codes:
    """A list of codes, each written bare or, below one of ``namespaces``, as an IRI."""

    name: str
    spelled: ClassVar[Table]
    """By code, as the list spells it."""
    codes: ClassVar[Table]
    """By code, in lower case."""
    namespaces: tuple[str, ...] = ()
    """What stands before the code in an IRI, without ``http://`` or ``https://``, lower case."""

    def __init_subclass__(cls) -> None:
        cls.codes = {code.casefold(): days for code, days in cls.spelled.items()}

    def read(self, text: str) -> Reading:
        return self.codes.get(self.code(text.casefold()))

    def code(self, text: str) -> str:
        scheme, separator, rest = text.partition("://")
        if separator and scheme in {"http", "https"}:
            for namespace in self.namespaces:
                if rest.startswith(namespace):
                    return rest[len(namespace) :].rstrip("/")
        return text


class HdxDays:
    """HDX's numbers of days, where 0 is live, -1 never and -2 as needed.

    Numbers with leading zeros are left alone: ``001`` is a code of other lists.
    """

    name = "hdx"
    pattern = re.compile(r"(0|-?[1-9][0-9]*)(?:\.0+)?")

    def read(self, text: str) -> Reading:
        match = self.pattern.fullmatch(text)
        return int(match[1]) if match else None


class EuFrequency(Codes):
    """The EU Publications Office's authority table *Frequency*, which DCAT-AP asks for."""

    name = "eu"
    namespaces = ("publications.europa.eu/resource/authority/frequency/",)
    spelled: ClassVar[Table] = {
        "1MIN": 1,
        "5MIN": 1,
        "10MIN": 1,
        "15MIN": 1,
        "30MIN": 1,
        "HOURLY": 1,
        "BIHOURLY": 1,
        "TRIHOURLY": 1,
        "12HRS": 1,
        "DAILY_2": 1,
        "DAILY": 1,
        "WEEKLY_5": 2,
        "WEEKLY_3": 3,
        "WEEKLY_2": 4,
        "WEEKLY": 7,
        "MONTHLY_3": 10,
        "BIWEEKLY": 14,
        "MONTHLY_2": 15,
        "MONTHLY": 30,
        "BIMONTHLY": 60,
        "QUARTERLY": 90,
        "ANNUAL_3": 120,
        "ANNUAL_2": 180,
        "ANNUAL": 365,
        "BIENNIAL": 730,
        "TRIENNIAL": 1095,
        "QUADRENNIAL": 1460,
        "QUINQUENNIAL": 1825,
        "SEXENNIAL": 2190,
        "DECENNIAL": 3650,
        "BIDECENNIAL": 7300,
        "TRIDECENNIAL": 10950,
        "CONT": LIVE,
        "UPDATE_CONT": LIVE,
        "NEVER": NEVER,
        "NOT_PLANNED": NEVER,
        "AS_NEEDED": AS_NEEDED,
        "IRREG": AS_NEEDED,
        # "Provisional data": it says something of the data, nothing of when it changes.
        "OP_DATPRO": Reason.UNSPECIFIED,
        "OTHER": Reason.UNSPECIFIED,
        "UNKNOWN": Reason.UNSPECIFIED,
    }


class CldFrequency(Codes):
    """Dublin Core's Collection Description Frequency Namespace, ``http://purl.org/cld/freq/``."""

    name = "cld"
    namespaces = ("purl.org/cld/freq/",)
    spelled: ClassVar[Table] = {
        "continuous": LIVE,
        "daily": 1,
        "threeTimesAWeek": 3,
        "semiweekly": 4,
        "weekly": 7,
        "threeTimesAMonth": 10,
        "biweekly": 14,
        "semimonthly": 15,
        "monthly": 30,
        "bimonthly": 60,
        "quarterly": 90,
        "threeTimesAYear": 120,
        "semiannual": 180,
        "annual": 365,
        "biennial": 730,
        "triennial": 1095,
        "irregular": AS_NEEDED,
        # Not in the namespace, yet what several national portals write.
        "completelyIrregular": AS_NEEDED,
    }


class Iso19115(Codes):
    """ISO 19115's code list MD_MaintenanceFrequencyCode, with INSPIRE's copy of it.

    The IRIs differ from one catalogue to the next; each has the list's name before the code.
    """

    name = "iso19115"
    pattern = re.compile(r"(?:https?://\S*)?maintenancefrequency(?:code)?[#/_.:](\w+)/?")
    spelled: ClassVar[Table] = {
        "continual": LIVE,
        "daily": 1,
        "weekly": 7,
        "fortnightly": 14,
        "semimonthly": 15,
        "monthly": 30,
        "quarterly": 90,
        "biannually": 180,
        "annually": 365,
        "biennially": 730,
        "asNeeded": AS_NEEDED,
        "irregular": AS_NEEDED,
        "notPlanned": NEVER,
        # "At regular intervals", without saying which.
        "periodic": Reason.UNSPECIFIED,
        "unknown": Reason.UNSPECIFIED,
    }

    def code(self, text: str) -> str:
        match = self.pattern.fullmatch(text.removeprefix("md_"))
        return match[1] if match else text


class Iso8601:
    """ISO 8601 durations and repeating intervals: ``P1M``, ``R/P1Y``, ``R5/2020-01-01/P3M``.

    Decimals are allowed anywhere, as in Project Open Data's ``R/P0.33W``. An interval between
    two dates, and one that is repeated no times, is not understood.
    """

    name = "iso8601"
    pattern = re.compile(
        r"(?:R(?:-1|0*[1-9][0-9]*)?/(?:[0-9]{4}[-0-9T:.,Z+]*/)?)?"
        r"P(?=[0-9T])"
        r"(?:(?P<years>{n})Y)?(?:(?P<months>{n})M)?(?:(?P<weeks>{n})W)?(?:(?P<days>{n})D)?"
        r"(?:T(?=[0-9])(?:(?P<hours>{n})H)?(?:(?P<minutes>{n})M)?(?:(?P<seconds>{n})S)?)?"
        r"(?:/[0-9]{4}[-0-9T:.,Z+]*)?".replace("{n}", r"[0-9]{1,9}(?:[.,][0-9]{1,9})?"),
        re.IGNORECASE,
    )

    def read(self, text: str) -> Reading:
        match = self.pattern.fullmatch(text)
        if match is None:
            return None
        part = {
            name: Fraction(number.replace(",", "."))
            for name, number in match.groupdict(default="0").items()
        }
        days = part["weeks"] * 7 + part["days"]
        minutes = part["hours"] * 60 + part["minutes"]
        return period(
            part["years"] * 12 + part["months"],
            days * 86400 + minutes * 60 + part["seconds"],
        )
