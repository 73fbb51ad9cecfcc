"""Update frequencies in English words, also in the forms of older catalogues."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from .vocabularies import AS_NEEDED, LIVE, NEVER, Reading, Reason, period

_WORDS: Mapping[int | Reason, str] = {
    LIVE: "live, continual, continually, continuous, continuously, continuously updated, real time, realtime",
    1: "daily, nightly, hourly, bihourly, trihourly",
    4: "semiweekly",
    7: "weekly",
    14: "fortnightly, biweekly",
    15: "semimonthly",
    30: "monthly",
    60: "bimonthly",
    90: "quarterly",
    180: "semiannual, semiannually, semiyearly, biannual, biannually",
    365: "annual, annually, yearly",
    730: "biennial, biennially",
    1095: "triennial, triennially",
    1460: "quadrennial, quadrennially",
    1825: "quinquennial, quinquennially",
    2190: "sexennial, sexennially",
    3650: "decennial, decennially",
    7300: "bidecennial",
    10950: "tridecennial",
    NEVER: "never, not planned, not updated, no longer updated, no updates, discontinued, archived, "
    "historical, static, one off, one time, once",
    AS_NEEDED: "as needed, as required, when needed, when required, on demand, ad hoc, adhoc, irregular, "
    "irregularly, completely irregular, occasional, occasionally, sporadic, sporadically",
    Reason.UNSPECIFIED: "unknown, other, unspecified, not specified, not known, not applicable, n/a, none, "
    "null, periodic, periodically, regular, regularly, provisional data",
}

_CARDINALS: Mapping[str, int | Fraction] = {
    **{"half": Fraction(1, 2), "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6},
    **{"seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15},
    **{"twenty": 20, "thirty": 30},
}
_ORDINALS = {"other": 2, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "tenth": 10}
_MULTIPLES = {"once": 1, "twice": 2, "thrice": 3}
_COUNTS: Mapping[str, int | Fraction] = {**_CARDINALS, **_ORDINALS, **_MULTIPLES}

_SECONDS: Mapping[str, int] = {
    **{"second": 1, "minute": 60, "hour": 3600, "hourly": 3600, "day": 86400, "daily": 86400},
    **{"week": 604800, "weekly": 604800, "fortnight": 1209600},
}
_MONTHS: Mapping[str, int] = {
    **{"month": 1, "monthly": 1, "quarter": 3, "quarterly": 3, "year": 12, "yearly": 12},
    **{"annually": 12, "annum": 12, "decade": 120},
}

_CARDINAL = "|".join((*_CARDINALS, "[0-9]{1,6}"))
_ORDINAL = "|".join((*_ORDINALS, "[0-9]{1,6}(?:st|nd|rd|th)"))
_NOUN = "second|minute|hour|day|week|fortnight|month|quarter|year|decade"
_ADVERB = "hourly|daily|weekly|monthly|yearly"
_IN_ONE = rf"(?:(?:a|an|per|each|every) )?(?P<unit>{'|'.join((*_SECONDS, *_MONTHS))})"

_FORMS = tuple(
    (re.compile(form), several_in_one)
    for form, several_in_one in (
        # Every two weeks, every other month.
        (
            rf"(?:once )?(?:every|each) (?:(?P<count>{_CARDINAL}|{_ORDINAL}) )?(?P<unit>{_NOUN})s?",
            False,
        ),
        # 7 days, once in 5 years.
        (rf"(?:once in )?(?P<count>{_CARDINAL}) (?P<unit>{_NOUN})s?", False),
        # Six-monthly.
        (rf"(?P<count>{_CARDINAL}) (?P<unit>{_ADVERB})", False),
        # Twice a week, once a day.
        (rf"(?P<count>{'|'.join(_MULTIPLES)}) {_IN_ONE}", True),
        # 3x per year, three times yearly.
        (rf"(?P<count>{_CARDINAL})(?: times| ?x) {_IN_ONE}", True),
    )
)
"""Forms, and whether the count says how often in one unit, rather than how many units lie between."""

_SEPARATORS = re.compile(r"[\s_-]+")
_PREFIXES = re.compile(r"^(bi|semi|tri) ")


class EnglishWords:
    """Words such as *monthly*, *every two weeks*, *3 times a year*, *as needed*.

    Hyphens, underscores and runs of blanks are blanks; case does not matter.
    """

    name = "english"
    words: Mapping[str, int | Reason] = {
        word: days for days, words in _WORDS.items() for word in words.split(", ")
    }

    def read(self, text: str) -> Reading:
        plain = _PREFIXES.sub(r"\1", _SEPARATORS.sub(" ", text.casefold()))
        if plain in self.words:
            return self.words[plain]
        for form, several_in_one in _FORMS:
            if match := form.fullmatch(plain):
                count = _count(match["count"])
                if several_in_one and count:
                    count = 1 / count
                unit = match["unit"]
                return period(count * _MONTHS.get(unit, 0), count * _SECONDS.get(unit, 0))
        return None


def _count(word: str | None) -> Fraction:
    if word is None:
        return Fraction(1)
    return Fraction(_COUNTS.get(word) or word.rstrip("stndrh"))
