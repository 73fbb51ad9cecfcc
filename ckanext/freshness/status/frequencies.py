"""Reads the update frequency of a dataset: its own, or the default of its source, organization or site."""

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
"""The key of the default in a harvest source's configuration and in an organization's extras."""

_NO_STATEMENT = (Reason.NOT_GIVEN, Reason.UNSPECIFIED)


class FrequencySource(Enum):
    """The origin of a dataset's update frequency."""

    DATASET = "dataset"
    SOURCE = "source"
    ORGANIZATION = "organization"
    SITE = "site"


@dataclass(frozen=True, slots=True)
class StatedFrequency:
    """The update frequency of a dataset, and who states it."""

    reading: Frequency | UnknownFrequency
    speaker: FrequencySource | None
    """None if neither the dataset nor a default states one."""
    key: str | None = None
    """The dataset's extra, if it has one, even if a default applies."""
    raw: str | None = None
    """The value of that extra."""

    @property
    def days(self) -> int | None:
        return self.reading.days if isinstance(self.reading, Frequency) else None


def vocabularies() -> tuple[Vocabulary, ...]:
    """Return all vocabularies, those of other plugins first."""
    found: list[Vocabulary] = []
    for plugin in p.PluginImplementations(IFreshnessVocabularies):
        found += plugin.frequency_vocabularies()
    return (*found, *VOCABULARIES)


def read(
    extras: Mapping[str, str],
    keys: Sequence[str],
    defaults: Mapping[FrequencySource, object],
    known: Sequence[Vocabulary] = VOCABULARIES,
) -> StatedFrequency:
    """Return the frequency of a dataset: the first of its extras that has a value, else the first default.

    A default also takes the place of a value such as *unknown* or *other*. It never takes the place of a
    value that is not understood.

    :param keys: the extras to read, in order of precedence
    :param defaults: in order of precedence
    """
    own: UnknownFrequency | None = None
    key = raw = None
    for candidate in keys:
        reading = parse(extras.get(candidate), known)
        if isinstance(reading, UnknownFrequency) and reading.reason is Reason.NOT_GIVEN:
            continue
        key, raw = candidate, extras[candidate]
        if isinstance(reading, Frequency) or reading.reason not in _NO_STATEMENT:
            return StatedFrequency(reading, FrequencySource.DATASET, key, raw)
        own = reading
        break
    for speaker, value in defaults.items():
        reading = parse(value, known)
        if isinstance(reading, Frequency) or reading.reason not in _NO_STATEMENT:
            return StatedFrequency(reading, speaker, key, raw)
    if own is not None:
        return StatedFrequency(own, FrequencySource.DATASET, key, raw)
    return StatedFrequency(UnknownFrequency("", Reason.NOT_GIVEN), None)


def of_source(config: str | None) -> object:
    """Return the default in the configuration of a harvest source, of any harvester."""
    try:
        values = json.loads(config or "{}")
    except ValueError:
        return None
    return values.get(DEFAULT_KEY) if isinstance(values, dict) else None


def explained(reading: UnknownFrequency) -> str:
    """Explain to the reader, in their language, why a text gives no frequency and what to do."""
    words = tk._(EXPLANATIONS[reading.reason])
    return str(words.format(text=reading.text, max_days=MAX_DAYS))
