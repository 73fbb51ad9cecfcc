"""The vocabularies of update frequencies, as tables.

A vocabulary converts a text to a number of days, or to one of HDX's special numbers: ``LIVE`` (0),
``NEVER`` (-1) and ``AS_NEEDED`` (-2). All tables use HDX's arithmetic: a month has 30 days, ten months
have 300, a year has 365. Periods are rounded up to whole days, since HDX's thresholds count days.

Ambiguous words have the meaning that a vocabulary defines: *biannual* is twice a year (ISO 19115; every
two years is *biennial*), *biweekly* every two weeks and *bimonthly* every two months (Dublin Core, EU).
No vocabulary defines *triweekly*, *trimonthly* and *biyearly*, so they are not understood.
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
    """The reasons why a text gives no frequency."""

    NOT_GIVEN = "not given"
    """No value, or only blanks."""
    UNSPECIFIED = "unspecified"
    """A value without a period, such as UNKNOWN, OTHER or ``periodic``."""
    NOT_UNDERSTOOD = "not understood"
    """A value that no vocabulary contains."""
    OUT_OF_RANGE = "out of range"
    """An impossible period: empty, negative, or over ``MAX_DAYS``."""


Reading = int | Reason | None
Table = Mapping[str, int | Reason]


class Vocabulary(Protocol):
    """A vocabulary of update frequencies. Other extensions can pass their own to ``parse``.

    :ivar name: is stored with each frequency that it understands
    """

    name: str

    def read(self, text: str) -> Reading:
        """Return the number of days that a text stands for.

        :param text: 1 to 200 characters without surrounding blanks, in its original case
        :returns: days; ``LIVE``, ``NEVER`` or ``AS_NEEDED``; ``Reason.UNSPECIFIED`` or
            ``Reason.OUT_OF_RANGE`` if the text belongs to this vocabulary but gives no frequency; None
            if it does not belong to this vocabulary
        """
        ...


def period(months: Fraction, seconds: Fraction) -> int | Reason:
    """Convert a period of calendar months and seconds to whole days, rounded up.

    :returns: ``Reason.OUT_OF_RANGE`` for an empty period, which must not become ``LIVE``
    """
    years, rest = divmod(months, 12)
    return ceil(years * 365 + rest * 30 + seconds / 86400) or Reason.OUT_OF_RANGE


class Codes:
    """A code list. A code can be written alone or as an IRI in one of the list's namespaces."""

    name: str
    spelled: ClassVar[Table]
    """Days by code, in the list's own spelling."""
    codes: ClassVar[Table]
    """Days by code, in lower case."""
    namespaces: tuple[str, ...] = ()
    """Beginnings of the codes' IRIs, in lower case, without ``http://`` or ``https://``."""

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
    """HDX's numbers of days, with 0 for live, -1 for never and -2 for as needed.

    Numbers with leading zeros are not among them: ``001`` is a code of other lists.
    """

    name = "hdx"
    pattern = re.compile(r"(0|-?[1-9][0-9]*)(?:\.0+)?")

    def read(self, text: str) -> Reading:
        match = self.pattern.fullmatch(text)
        return int(match[1]) if match else None


class EuFrequency(Codes):
    """The EU Publications Office's authority table *Frequency*, which DCAT-AP asks for."""

    name = "eu"
    namespaces = (
        "publications.europa.eu/resource/authority/frequency/",
        "publications.europa.eu/mdr/authority/frequency/",  # its former URLs
    )
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
        # "Provisional data": it describes the data and not how often they change.
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
