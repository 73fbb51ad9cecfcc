"""Reads update frequencies, in whatever vocabulary, as numbers of days.

A text that is not understood is reported with the reason, and never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..translation import N_
from .vocabularies import (
    AS_NEEDED,
    LIVE,
    MAX_DAYS,
    NEVER,
    EnglishPhrases,
    HdxDays,
    Iso8601,
    Lists,
    Reason,
    Vocabulary,
)

ALWAYS_FRESH = frozenset({LIVE, NEVER, AS_NEEDED})

VOCABULARIES: tuple[Vocabulary, ...] = (HdxDays(), Lists(), Iso8601(), EnglishPhrases())
"""In order of precedence: the first that knows a text decides."""

WORDS: Mapping[int, str] = {
    AS_NEEDED: N_("As needed"),
    NEVER: N_("Never"),
    LIVE: N_("Live"),
    1: N_("Every day"),
    2: N_("Every two days"),
    7: N_("Every week"),
    14: N_("Every two weeks"),
    30: N_("Every month"),
    60: N_("Every two months"),
    90: N_("Every three months"),
    120: N_("Every four months"),
    180: N_("Every six months"),
    300: N_("Every ten months"),
    365: N_("Every year"),
    730: N_("Every two years"),
}
"""HDX's words for its numbers of days. They are message ids for translation."""

EVERY_N_DAYS = N_("Every {days} days")
EVERY_N_YEARS = N_("Every {years} years")
"""The message ids for any other number of days."""

CHOICES: tuple[int, ...] = (
    *(1, 2, 7, 14, 30, 60, 90, 120, 180, 365, 730, 1095, 1825, 3650),
    *(LIVE, AS_NEEDED, NEVER),
)
"""The days to offer in a select list, in its order. ``label`` returns the words."""

EXPLANATIONS: Mapping[Reason, str] = {
    Reason.NOT_GIVEN: N_("No update frequency is given."),
    Reason.UNSPECIFIED: N_(
        "The update frequency '{text}' does not say how often the data change. "
        "Choose one that does, for example 'Every month', 'As needed' or 'Never'."
    ),
    Reason.NOT_UNDERSTOOD: N_(
        "The update frequency '{text}' is not understood. Write a number of days, a code of "
        "the EU frequency table, an ISO 8601 interval such as R/P1M, or words such as "
        "'Every month'."
    ),
    Reason.OUT_OF_RANGE: N_(
        "The update frequency '{text}' is out of range. Write a period from 1 to {max_days} "
        "days, or 0 for live, -1 for never, -2 for as needed."
    ),
}
"""Explanations with advice: message ids with the placeholders ``text`` and ``max_days``."""

_MAX_TEXT = 200
_SHOWN_TEXT = 80


@dataclass(frozen=True, slots=True)
class UnknownFrequency:
    """A value that gives no frequency."""

    text: str
    """The value as written, shortened; its type in parentheses if it is neither text nor number."""
    reason: Reason

    @property
    def words(self) -> str:
        """The explanation with advice, in English; use ``EXPLANATIONS`` for other languages."""
        return EXPLANATIONS[self.reason].format(text=self.text, max_days=MAX_DAYS)


def parse(
    value: object, vocabularies: Sequence[Vocabulary] = VOCABULARIES
) -> int | UnknownFrequency:
    """Read an update frequency in any of the vocabularies.

    Return days: 1 to ``MAX_DAYS``, or ``LIVE`` (0), ``NEVER`` (-1), ``AS_NEEDED`` (-2). No value raises an
    error with the vocabularies of this package.

    :param value: usually the text of an extra; numbers are days
    :param vocabularies: in order of precedence; an extension adds its own before or after ``VOCABULARIES``
    """
    text = _text(value)
    if isinstance(text, UnknownFrequency):
        return text
    if not text:
        return UnknownFrequency("", Reason.NOT_GIVEN)
    if len(text) > _MAX_TEXT:
        return UnknownFrequency(_shortened(text), Reason.NOT_UNDERSTOOD)
    for vocabulary in vocabularies:
        reading = vocabulary.read(text)
        if reading is None:
            continue
        if isinstance(reading, Reason):
            return UnknownFrequency(_shortened(text), reading)
        if not AS_NEEDED <= reading <= MAX_DAYS:
            return UnknownFrequency(_shortened(text), Reason.OUT_OF_RANGE)
        return reading
    return UnknownFrequency(_shortened(text), Reason.NOT_UNDERSTOOD)


def label(days: int, translate: Callable[[str], str] = str) -> str:
    """Return HDX's words for a frequency.

    :param days: as :func:`parse` returns them
    :param translate: translates a message id, such as CKAN's ``_``
    :raises ValueError: the number of days is no frequency
    """
    if not AS_NEEDED <= days <= MAX_DAYS:
        raise ValueError(
            f"{days} is no update frequency: it takes 1 to {MAX_DAYS} days, 0, -1 or -2."
        )
    if days in WORDS:
        return translate(WORDS[days])
    years, rest = divmod(days, 365)
    return translate(EVERY_N_DAYS if rest else EVERY_N_YEARS).format(days=days, years=years)


def _text(value: object) -> str | UnknownFrequency:
    """Return the text to read, without surrounding blanks."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int):
        # Python refuses to write out numbers of thousands of digits.
        if value.bit_length() > 64:
            return UnknownFrequency("(a number of more than 64 bits)", Reason.OUT_OF_RANGE)
        return str(value)
    return UnknownFrequency(f"(a value of type {type(value).__name__})", Reason.NOT_UNDERSTOOD)


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN_TEXT else f"{text[:_SHOWN_TEXT]}..."
