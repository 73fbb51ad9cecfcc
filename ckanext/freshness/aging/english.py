"""Update frequencies as English phrases with a number: every two weeks, three times a year."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from .vocabularies import Reading, period, plain

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
        # 1 per year, 2/month, 3 x/week.
        (rf"(?P<count>{_CARDINAL})(?: times| ?x)? ?(?:per|/) ?(?P<unit>{_NOUN})", True),
    )
)
"""Forms, and whether the count says how often in one unit, rather than how many units lie between."""


class EnglishPhrases:
    """Phrases such as *every two weeks*, *3 times a year*, *six-monthly*, *7 days*.

    Single words such as *monthly* are in a list.
    """

    name = "english phrases"

    def read(self, text: str) -> Reading:
        for form, several_in_one in _FORMS:
            if match := form.fullmatch(plain(text)):
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
