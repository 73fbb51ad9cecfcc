"""The select for the update frequency, in dataset forms whose schema has no field for it.

CKAN's forms send extras as a numbered list, in which a number must not occur twice. So the select sends two
fields outside the extras. When the dataset is saved, the chosen value is put into the extras.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ckan.plugins.toolkit as tk

from ..aging import frequency
from ..ckan_adapter.core import site_names
from ..own_values import ours_among
from ..reporting.labels import frequency_label
from ..status.frequencies import vocabularies

FIELD = "freshness_update_frequency"
"""The name of the select in the form."""
KEY_FIELD = "freshness_update_frequency_key"
"""The hidden field with the name of the extra."""


@dataclass(frozen=True, slots=True)
class FrequencySelect:
    """The content of the select."""

    key: str
    """The extra that it sets."""
    options: list[dict[str, str]]
    selected: str


def select(data: dict[str, Any], keys: Sequence[str]) -> FrequencySelect:
    """Return the select in the form of a dataset.

    If the dataset has another frequency than the usual choices, it is offered too, so that an edit of
    something else does not change it.

    :param data: the dataset, or the values of a form that were not valid
    :param keys: the extras that a frequency is read from; the first that the dataset has decides
    """
    key, value = _present(data, keys)
    chosen = str(data.get(FIELD, value)).strip()
    offered = [(str(days), frequency_label(days)) for days in frequency.CHOICES]
    options = [("", tk._("Not known")), *offered]
    if chosen not in dict(options):
        reading = frequency.parse(chosen, vocabularies())
        label = chosen
        if isinstance(reading, frequency.Frequency):
            label = f"{chosen} ({frequency_label(reading.days)})"
        options.append((chosen, label))
    return FrequencySelect(key, [{"value": value, "text": text} for value, text in options], chosen)


def _present(data: dict[str, Any], keys: Sequence[str]) -> tuple[str, str]:
    """Return the extra with a dataset's frequency and its value; by default the first key and no value."""
    values = {extra.get("key"): extra.get("value") for extra in data.get("extras") or []}
    for key in keys:
        if str(values.get(key) or "").strip():
            return key, str(values[key])
    return keys[0], ""


def custom_fields(data: dict[str, Any], hidden: Sequence[str]) -> list[dict[str, Any]]:
    """Return the extras that a form shows as fields to edit: without ours, and without ``hidden``."""
    extras = data.get("extras") or []
    left_out = {*ours_among(extras, site_names()), *hidden}
    return [extra for extra in extras if extra.get("key") not in left_out]


def take(data: dict[str, Any], keys: Sequence[str]) -> None:
    """Move the choice in a form's select into the extras of a dataset that is about to be saved.

    The choice replaces an extra of the same key. Without a choice the extras stay as they are. Malformed
    extras are left to CKAN, which refuses them.
    """
    if FIELD not in data:
        return
    chosen = str(data.pop(FIELD) or "").strip()
    key = data.pop(KEY_FIELD, None)
    extras = data.get("extras") or []
    if (
        not chosen
        or not isinstance(extras, list)
        or not all(isinstance(extra, dict) for extra in extras)
    ):
        return
    key = key if key in keys else keys[0]
    others = [extra for extra in extras if extra.get("key") != key]
    data["extras"] = [*others, {"key": key, "value": chosen}]
