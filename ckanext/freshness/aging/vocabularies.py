"""The vocabularies of update frequencies.

A vocabulary converts a text to a number of days, or to one of HDX's special numbers: ``LIVE`` (0),
``NEVER`` (-1) and ``AS_NEEDED`` (-2). All use HDX's arithmetic: a month has 30 days, ten months
have 300, a year has 365. Periods are rounded up to whole days, since HDX's thresholds count days.

Lists of terms are data: ``vocabularies.yaml``, which :class:`Lists` reads. The other vocabularies are
patterns, which no list can hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import cache, lru_cache
from math import ceil
from pathlib import Path
from typing import Protocol
from unicodedata import combining, normalize

import yaml

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
Terms = Mapping[str, int | Reason]


class Vocabulary(Protocol):
    """A vocabulary of update frequencies. Other extensions can pass their own to ``parse``."""

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


class HdxDays:
    """HDX's numbers of days, with 0 for live, -1 for never and -2 for as needed.

    Numbers with leading zeros are not among them: ``001`` is a code of other lists.
    """

    name = "hdx"
    pattern = re.compile(r"(0|-?[1-9][0-9]*)(?:\.0+)?")

    def read(self, text: str) -> Reading:
        match = self.pattern.fullmatch(text)
        return int(match[1]) if match else None


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


@dataclass(slots=True)
class TermList:
    """A vocabulary that is a list of terms."""

    name: str
    kind: str
    """``words`` are read however people write them, see :func:`plain`; ``codes`` only in any case."""
    terms: Terms
    """Days by term, in the list's own spelling."""
    iris: Sequence[str] = ()
    """Beginnings of the codes' IRIs without ``http://`` and ``https://``; ``*`` is any text."""
    _days: Terms = field(init=False)
    _iri: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        self._days = {_WRITTEN[self.kind](term): days for term, days in self.terms.items()}
        beginnings = (re.escape(iri.casefold()).replace(r"\*", r"\S*") for iri in self.iris)
        self._iri = re.compile(rf"(?:https?://)?(?:{'|'.join(beginnings)})([\w-]+)/?")

    def read(self, text: str) -> Reading:
        key = _WRITTEN[self.kind](text)
        match = self._iri.fullmatch(key) if self.iris else None
        return self._days.get(match[1] if match else key)


class Lists:
    """The lists of the file as one vocabulary: the first list that has a term decides."""

    name = "lists"

    def read(self, text: str) -> Reading:
        readings = (each.read(text) for each in term_lists().values())
        return next((reading for reading in readings if reading is not None), None)


FILE = Path(__file__).with_name("vocabularies.yaml")
_SPECIAL: Terms = {
    "live": LIVE,
    "never": NEVER,
    "as needed": AS_NEEDED,
    "unspecified": Reason.UNSPECIFIED,
}


@cache
def term_lists() -> Mapping[str, TermList]:
    """Return the lists of the file by name, in order of precedence. The first call reads the file."""
    return {each.name: each for each in read_file(FILE)}


def read_file(path: Path) -> list[TermList]:
    """Return the lists of a file of vocabularies."""
    # The loader in C takes a tenth of the time.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    with path.open(encoding="utf-8") as file:
        entries = yaml.load(file, loader)["vocabularies"]
    return [TermList(**{**entry, "terms": _terms(entry["terms"])}) for entry in entries]


def _terms(by_meaning: Mapping[int | str, object]) -> Terms:
    """Return the days by term of a list, whose entry in the file has terms by meaning."""
    return {
        term.strip(): _SPECIAL[meaning] if isinstance(meaning, str) else meaning
        for meaning, texts in by_meaning.items()
        for term in str(texts).split(",")
    }


_LETTERS = str.maketrans({"æ": "a", "ø": "o", "œ": "o", "ł": "l", "đ": "d", "\u0131": "i"})
_TWO_FOR_ONE = re.compile("a[ae]+|[ou]e")
_SEPARATORS = re.compile(r"[\s_().,;:'\u02bc\u05be\u2019\u2010-\u2014-]+")
_PREFIXES = re.compile("^(bi|semi|tri) ")


@lru_cache
def plain(text: str) -> str:
    """Return words without differences that mean nothing: case, accents, width, hyphens and final punctuation.

    ``ae``, ``oe``, ``ue`` and ``aa`` stand for ``ä``, ``ö``, ``ü`` and ``å``.
    """
    letters = normalize("NFKD", text.casefold().translate(_LETTERS))
    bare = "".join(letter for letter in letters if not combining(letter))
    short = _TWO_FOR_ONE.sub(lambda two: two[0][0], bare)
    return _PREFIXES.sub(r"\1", _SEPARATORS.sub(" ", short).rstrip())


_WRITTEN: Mapping[str, Callable[[str], str]] = {"words": plain, "codes": str.casefold}
"""How the terms of a kind of list are compared."""


# English phrases with a number: every two weeks, three times a year.

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
        (rf"(?P<count>{_CARDINAL})(?: times?| ?x) {_IN_ONE}", True),
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
