"""The update frequency of a dataset: read, chosen in a form, changed.

It is the dataset's own, or the default of its source, its organization or the site. Dataset forms whose schema
has no field for it get a select. CKAN's forms send extras as a numbered list, in which a number must not occur
twice. So the select sends two fields outside the extras. When the dataset is saved, the chosen value is put
into the extras.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk

from .. import settings
from ..aging.frequency import (
    CHOICES,
    EXPLANATIONS,
    VOCABULARIES,
    UnknownFrequency,
    label,
    parse,
)
from ..aging.vocabularies import AS_NEEDED, MAX_DAYS, HdxDays, Reason, Vocabulary
from ..ckan_adapter.core import declared_fields, model, same_user
from ..ckan_adapter.packages import lock_packages, package_extras
from ..interfaces import IFreshnessVocabularies
from .our_fields import ours_among

DEFAULT_KEY = "default_frequency"
"""The key of the default in a harvest source's configuration and in an organization's extras."""

_NO_STATEMENT = (Reason.NOT_GIVEN, Reason.UNSPECIFIED)


class FrequencySource(Enum):
    """The origin of a dataset's update frequency."""

    DATASET = "dataset"
    SOURCE = "source"
    ORGANIZATION = "organization"
    SITE = "site"
    RHYTHM = "rhythm"
    """Learned from the updates that were seen, since nobody has declared one."""


@dataclass(frozen=True, slots=True)
class StatedFrequency:
    """The update frequency of a dataset, and who states it."""

    reading: int | UnknownFrequency
    stated_by: FrequencySource | None
    """None if neither the dataset nor a default states one."""
    raw: str | None = None
    """The value of the dataset's extra, if it has one, even if a default applies."""

    @property
    def days(self) -> int | None:
        return self.reading if isinstance(self.reading, int) else None


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
    raw = None
    for candidate in keys:
        reading = parse(extras.get(candidate), known)
        if isinstance(reading, UnknownFrequency) and reading.reason is Reason.NOT_GIVEN:
            continue
        raw = extras[candidate]
        if isinstance(reading, int) or reading.reason not in _NO_STATEMENT:
            return StatedFrequency(reading, FrequencySource.DATASET, raw)
        own = reading
        break
    for source, value in defaults.items():
        reading = parse(value, known)
        if isinstance(reading, int) or reading.reason not in _NO_STATEMENT:
            return StatedFrequency(reading, source, raw)
    if own is not None:
        return StatedFrequency(own, FrequencySource.DATASET, raw)
    return StatedFrequency(UnknownFrequency("", Reason.NOT_GIVEN), None)


def is_declared(extras: Mapping[str, str], keys: Sequence[str]) -> bool:
    """Decide whether a dataset states a frequency of its own, or a text that is not understood.

    Words such as "irregular" declare none. HDX's number for "as needed", which our forms write, does.
    """
    stated = read(extras, keys, {}, vocabularies())
    if isinstance(stated.reading, UnknownFrequency):
        return stated.reading.reason not in _NO_STATEMENT
    return stated.days != AS_NEEDED or HdxDays().read((stated.raw or "").strip()) is not None


def with_rhythm(stated: StatedFrequency, days: int | None) -> StatedFrequency:
    """Return the rhythm that the data of a dataset keep, unless a default states their frequency.

    :param days: of the rhythm; None if there is none
    """
    if days is None or stated.stated_by not in (None, FrequencySource.DATASET):
        return stated
    return StatedFrequency(days, FrequencySource.RHYTHM)


def explained(reading: UnknownFrequency) -> str:
    """Explain to the reader, in their language, why a text gives no frequency and what to do."""
    words = tk._(EXPLANATIONS[reading.reason])
    return str(words.format(text=reading.text, max_days=MAX_DAYS))


FIELD = "freshness_update_frequency"
"""The name of the select in the form."""
KEY_FIELD = "freshness_update_frequency_key"
"""The hidden field with the name of the extra."""


def form_select(data: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """Return the select in the form of a dataset: ``options``, ``selected``, and the ``key`` of its extra.

    The frequency of the dataset is offered as it is written, so that an edit of something else does not
    change it.

    :param data: the dataset, or the values of a form that were not valid
    :param keys: the extras that a frequency is read from; the first that the dataset has decides
    """
    key, value = _present(data, keys)
    chosen = str(data.get(FIELD, value)).strip()
    offered = {days: str(days) for days in CHOICES}
    reading = parse(chosen, vocabularies())
    if isinstance(reading, int):
        offered[reading] = chosen
    options = [("", tk._("Not known"))]
    options += [(value, label(days, tk._)) for days, value in offered.items()]
    if chosen not in dict(options):
        options.append((chosen, chosen))
    shown = [{"value": value, "text": text} for value, text in options]
    return {"key": key, "options": shown, "selected": chosen}


def _present(data: dict[str, Any], keys: Sequence[str]) -> tuple[str, str]:
    """Return the extra with a dataset's frequency and its value; by default the first key and no value."""
    values = {extra.get("key"): extra.get("value") for extra in data.get("extras") or []}
    for key in keys:
        if str(values.get(key) or "").strip():
            return key, str(values[key])
    return keys[0], ""


def custom_fields(data: dict[str, Any], hidden: Collection[str]) -> list[dict[str, Any]]:
    """Return the extras that a form shows as fields to edit: without ours, and without ``hidden``."""
    extras = data.get("extras") or []
    left_out = {*ours_among(extras), *hidden}
    return [extra for extra in extras if extra.get("key") not in left_out]


def take_choice(data: dict[str, Any], keys: Sequence[str]) -> None:
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


def write_field(context: Mapping[str, Any], package_id: str, key: str, value: str) -> None:
    """Set one field of a package, or the extra of that name if the site's schema has no such field.

    If the value is empty, the extra is removed.

    :raises tk.ValidationError: CKAN refuses the package with this value
    """
    # The lock keeps edits of other extras in between from being lost.
    shown = tk.get_action("package_show")(
        {**same_user(context), "for_update": True}, {"id": package_id}
    )
    if key in declared_fields(shown["type"]):
        patch: dict[str, Any] = {key: value}
    else:
        extras = [extra for extra in shown.get("extras", []) if extra["key"] != key]
        patch = {"extras": [*extras, {"key": key, "value": value}] if value else extras}
    tk.get_action("package_patch")(same_user(context), {"id": shown["id"], **patch})


def change_frequency(context: dict[str, Any], package: Any, wanted: str) -> None:
    """Change the update frequency of a dataset as a user, unless the dataset states it already.

    :param wanted: a text that the dataset then states
    :raises tk.ValidationError: CKAN refuses the dataset with this frequency
    """
    lock_packages([package.id])
    model.Session.refresh(package)
    key = _frequency_key(package)
    if (package_extras(package).get(key) or "") == wanted:
        # Release the lock.
        model.Session.commit()
        return
    write_field(context, package.id, key, wanted)


def _frequency_key(package: Any) -> str:
    """Return the key to write: one that the dataset has, else one of the site's schema, else the first."""
    keys = settings.frequency_keys()
    extras = package_extras(package)
    declared = declared_fields(package.type)
    candidates = (
        *(key for key in keys if (extras.get(key) or "").strip()),
        *(key for key in keys if key in declared),
        keys[0],
    )
    return candidates[0]
