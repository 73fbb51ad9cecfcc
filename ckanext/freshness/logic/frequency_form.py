"""The update frequency in dataset forms that have no field of their schema for it.

The select sends two fields of its own, outside the extras, which the forms of CKAN send as a numbered
list: no number can be taken twice, and what is chosen is put into the extras when the dataset is saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ckan.plugins.toolkit as tk

from ..aging import frequency
from ..field_names import NAMES
from ..reporting.labels import frequency_label
from ..status.frequencies import vocabularies

FIELD = "freshness_update_frequency"
"""What the select is called in the form."""
KEY_FIELD = "freshness_update_frequency_key"
"""The hidden field that says which extra it stands for."""


@dataclass(frozen=True, slots=True)
class FrequencySelect:
    """What the select shows."""

    key: str
    """The extra it stands for."""
    options: list[dict[str, str]]
    selected: str


def select(data: dict[str, Any], keys: Sequence[str]) -> FrequencySelect:
    """The select for a dataset, as a form has it.

    A frequency that is none of those offered is offered too, so that an edit of something else does not
    change it.

    :param data: the dataset, or what was sent of it and was not valid.
    :param keys: the extras that a frequency is read from; the first that the dataset has decides.
    """
    key, value = present(data, keys)
    chosen = str(data.get(FIELD, value)).strip()
    offered = [(str(days), frequency_label(days)) for days in frequency.CHOICES]
    options = [("", tk._("Not known")), *offered]
    if chosen not in dict(options):
        read = frequency.parse(chosen, vocabularies())
        words = f" ({frequency_label(read.days)})" if isinstance(read, frequency.Frequency) else ""
        options.append((chosen, f"{chosen}{words}"))
    return FrequencySelect(key, [{"value": value, "text": text} for value, text in options], chosen)


def present(data: dict[str, Any], keys: Sequence[str]) -> tuple[str, str]:
    """The extra that a dataset's frequency is in, and its value; else the first of the keys, and none."""
    values = {extra.get("key"): extra.get("value") for extra in data.get("extras") or []}
    for key in keys:
        if str(values.get(key) or "").strip():
            return key, str(values[key])
    return keys[0], ""


def custom_fields(data: dict[str, Any], hidden: Sequence[str]) -> list[dict[str, Any]]:
    """The extras that a form shows as fields to edit: without ours, and without ``hidden``."""
    extras = data.get("extras") or []
    return [extra for extra in extras if extra.get("key") not in {*NAMES.extras, *hidden}]


def take(data: dict[str, Any], keys: Sequence[str]) -> None:
    """Put what a form's select says into the extras of a dataset that is about to be saved.

    An extra of the same key that somebody wrote by hand gives way to what is chosen, and stays where
    nothing is. Without the select's field, nothing happens; extras that are none are left to CKAN, which
    refuses them.
    """
    if FIELD not in data:
        return
    chosen = str(data.pop(FIELD) or "").strip()
    key = data.pop(KEY_FIELD, None)
    extras = data.get("extras") or []
    if (
        not chosen
        or not isinstance(extras, list)
        or not all(isinstance(one, dict) for one in extras)
    ):
        return
    key = key if key in keys else keys[0]
    others = [extra for extra in extras if extra.get("key") != key]
    data["extras"] = [*others, {"key": key, "value": chosen}]
