"""How often a dataset is updated, as it says itself, or as somebody assumes for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import ckan.plugins as p
import ckan.plugins.toolkit as tk

from ..aging.frequency import (
    EXPLANATIONS,
    MAX_DAYS,
    VOCABULARIES,
    Frequency,
    Reason,
    UnknownFrequency,
    parse,
)
from ..aging.vocabularies import Vocabulary
from ..interfaces import IFreshnessVocabularies

DEFAULT_KEY = "default_frequency"
"""The key of a harvest source's configuration, and the extra of an organization."""

_SAYS_NOTHING = (Reason.NOT_GIVEN, Reason.UNSPECIFIED)


class FrequencySource(Enum):
    """Who says how often a dataset is updated."""

    DATASET = "dataset"
    SOURCE = "source"
    ORGANIZATION = "organization"
    SITE = "site"


@dataclass(frozen=True, slots=True)
class StatedFrequency:
    """How often a dataset is updated, and who says so."""

    reading: Frequency | UnknownFrequency
    speaker: FrequencySource | None
    """None where nobody says anything."""
    key: str | None = None
    """The extra in which the dataset itself says something, even where somebody else is heard."""
    raw: str | None = None
    """What it says there."""

    @property
    def days(self) -> int | None:
        return self.reading.days if isinstance(self.reading, Frequency) else None


def vocabularies() -> tuple[Vocabulary, ...]:
    """All vocabularies: those of other plugins first."""
    others = p.PluginImplementations(IFreshnessVocabularies)
    return (*(one for plugin in others for one in plugin.frequency_vocabularies()), *VOCABULARIES)


def read(
    extras: Mapping[str, str],
    keys: Sequence[str],
    defaults: Mapping[FrequencySource, object],
    known: Sequence[Vocabulary] = VOCABULARIES,
) -> StatedFrequency:
    """The first frequency that a dataset has; where it has none, the first default.

    Blank values are none, and so are those that say that there is nothing to say (*unknown*,
    *other*). What is not understood is said to be so: no default takes its place.
    """
    own: UnknownFrequency | None = None
    key = raw = None
    for candidate in keys:
        reading = parse(extras.get(candidate), known)
        if isinstance(reading, UnknownFrequency) and reading.reason is Reason.NOT_GIVEN:
            continue
        key, raw = candidate, extras[candidate]
        if isinstance(reading, Frequency) or reading.reason not in _SAYS_NOTHING:
            return StatedFrequency(reading, FrequencySource.DATASET, key, raw)
        own = reading
        break
    for speaker, value in defaults.items():
        reading = parse(value, known)
        if isinstance(reading, Frequency) or reading.reason not in _SAYS_NOTHING:
            return StatedFrequency(reading, speaker, key, raw)
    if own is not None:
        return StatedFrequency(own, FrequencySource.DATASET, key, raw)
    return StatedFrequency(UnknownFrequency("", Reason.NOT_GIVEN), None)


def of_source(config: str | None) -> object:
    """The default in a harvest source's configuration, whatever harvester it belongs to."""
    try:
        plain = json.loads(config or "{}")
    except ValueError:
        return None
    return plain.get(DEFAULT_KEY) if isinstance(plain, dict) else None


def explained(reading: UnknownFrequency) -> str:
    """Return why a text gives no frequency, and what to do, in the reader's language."""
    words = tk._(EXPLANATIONS[reading.reason])
    return words.format(text=reading.text, max_days=MAX_DAYS)
