"""Update frequencies in English words, also in the forms of older catalogues."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from .vocabularies import AS_NEEDED, LIVE, NEVER, Reading, Reason, period

_WORDS: Mapping[int | Reason, tuple[str, ...]] = {
    LIVE: (
        "live",
        "continual",
        "continually",
        "continuous",
        "continuously",
        "continuously updated",
        "real time",
        "realtime",
    ),
    1: ("daily", "nightly", "hourly", "bihourly", "trihourly"),
    4: ("semiweekly",),
    7: ("weekly",),
    14: ("fortnightly", "biweekly"),
    15: ("semimonthly",),
    30: ("monthly",),
    60: ("bimonthly",),
    90: ("quarterly",),
    180: ("semiannual", "semiannually", "semiyearly", "biannual", "biannually"),
    365: ("annual", "annually", "yearly"),
    730: ("biennial", "biennially"),
    1095: ("triennial", "triennially"),
    1460: ("quadrennial", "quadrennially"),
    1825: ("quinquennial", "quinquennially"),
    2190: ("sexennial", "sexennially"),
    3650: ("decennial", "decennially"),
    7300: ("bidecennial",),
    10950: ("tridecennial",),
    NEVER: (
        "never",
        "not planned",
        "not updated",
        "no longer updated",
        "no updates",
        "discontinued",
        "archived",
        "historical",
        "static",
        "one off",
        "one time",
        "once",
    ),
    AS_NEEDED: (
        "as needed",
        "as required",
        "when needed",
        "when required",
        "on demand",
        "ad hoc",
        "adhoc",
        "irregular",
        "irregularly",
        "completely irregular",
        "occasional",
        "occasionally",
        "sporadic",
        "sporadically",
    ),
    Reason.UNSPECIFIED: (
        "unknown",
        "other",
        "unspecified",
        "not specified",
        "not known",
        "not applicable",
        "n/a",
        "none",
        "null",
        "periodic",
        "periodically",
        "regular",
        "regularly",
        "provisional data",
    ),
}

_CARDINALS: Mapping[str, Fraction] = {
    "half": Fraction(1, 2),
    "one": Fraction(1),
    "two": Fraction(2),
    "three": Fraction(3),
    "four": Fraction(4),
    "five": Fraction(5),
    "six": Fraction(6),
    "seven": Fraction(7),
    "eight": Fraction(8),
    "nine": Fraction(9),
    "ten": Fraction(10),
    "eleven": Fraction(11),
    "twelve": Fraction(12),
    "fifteen": Fraction(15),
    "twenty": Fraction(20),
    "thirty": Fraction(30),
}
_ORDINALS: Mapping[str, Fraction] = {
    "other": Fraction(2),
    "second": Fraction(2),
    "third": Fraction(3),
    "fourth": Fraction(4),
    "fifth": Fraction(5),
    "sixth": Fraction(6),
    "tenth": Fraction(10),
}
_MULTIPLES: Mapping[str, Fraction] = {
    "once": Fraction(1),
    "twice": Fraction(2),
    "thrice": Fraction(3),
}
_COUNTS = {**_CARDINALS, **_ORDINALS, **_MULTIPLES}

_SECONDS: Mapping[str, int] = {
    "second": 1,
    "minute": 60,
    "hour": 3600,
    "hourly": 3600,
    "day": 86400,
    "daily": 86400,
    "week": 604800,
    "weekly": 604800,
    "fortnight": 1209600,
}
_MONTHS: Mapping[str, int] = {
    "month": 1,
    "monthly": 1,
    "quarter": 3,
    "quarterly": 3,
    "year": 12,
    "yearly": 12,
    "annually": 12,
    "annum": 12,
    "decade": 120,
}

_CARDINAL = "|".join((*_CARDINALS, "[0-9]{1,6}"))
_ORDINAL = "|".join((*_ORDINALS, "[0-9]{1,6}(?:st|nd|rd|th)"))
_UNIT = "|".join((*_SECONDS, *_MONTHS))
_NOUN = "second|minute|hour|day|week|fortnight|month|quarter|year|decade"
_ADVERB = "hourly|daily|weekly|monthly|yearly"

# One in so many units: every two weeks, every other month, once in 5 years, 7 days, six-monthly.
_EVERY = (
    re.compile(
        rf"(?:once )?(?:every|each) (?:(?P<count>{_CARDINAL}|{_ORDINAL}) )?(?P<unit>{_NOUN})s?"
    ),
    re.compile(rf"(?:once in )?(?P<count>{_CARDINAL}) (?P<unit>{_NOUN})s?"),
    re.compile(rf"(?P<count>{_CARDINAL}) (?P<unit>{_ADVERB})"),
)
# So many in one unit: twice a week, 3x per year, three times yearly, once a day.
_IN_ONE = rf"(?:(?:a|an|per|each|every) )?(?P<unit>{_UNIT})"
_TIMES = (
    re.compile(rf"(?P<count>{'|'.join(_MULTIPLES)}) {_IN_ONE}"),
    re.compile(rf"(?P<count>{_CARDINAL})(?: times| ?x) {_IN_ONE}"),
)

_SEPARATORS = re.compile(r"[\s_-]+")
_PREFIXES = re.compile(r"^(bi|semi|tri) ")


class EnglishWords:
    """Words such as *monthly*, *every two weeks*, *3 times a year*, *as needed*.

    Hyphens, underscores and runs of blanks are blanks; case does not matter.
    """

    name = "english"
    words: Mapping[str, int | Reason] = {
        word: days for days, words in _WORDS.items() for word in words
    }

    def read(self, text: str) -> Reading:
        plain = _PREFIXES.sub(r"\1", _SEPARATORS.sub(" ", text.casefold()))
        days = self.words.get(plain)
        if days is not None:
            return days
        for pattern in _EVERY:
            if match := pattern.fullmatch(plain):
                return _days(match["unit"], _count(match["count"]))
        for pattern in _TIMES:
            if match := pattern.fullmatch(plain):
                times = _count(match["count"])
                return _days(match["unit"], 1 / times if times else times)
        return None


def _count(word: str | None) -> Fraction:
    if word is None:
        return Fraction(1)
    return _COUNTS.get(word) or Fraction(word.rstrip("stndrh"))


def _days(unit: str, count: Fraction) -> int | Reason:
    months = count * _MONTHS.get(unit, 0)
    seconds = count * _SECONDS.get(unit, 0)
    return period(months, seconds)
