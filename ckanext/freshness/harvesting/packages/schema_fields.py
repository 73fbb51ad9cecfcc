"""Values in the forms that the fields of a site's ckanext-scheming schema read. Pure.

Schemas are as ``scheming_dataset_schema_show`` returns them, with expanded presets. Whatever else their
validators refuse, :func:`.ckan_actions.leave_out` removes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...dates import iso_date, utc_moment
from ..legal_values import EMPTY, as_list, is_in_one_language, plain, tags, texts

# A language tag that every version of ckanext-fluent accepts.
_LANGUAGE = re.compile(r"[a-z]{2,8}(-[0-9a-zA-Z]{1,8})*")

Field = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FieldValue:
    """A value that is to fit into a field."""

    field: Field
    key: str
    value: Any
    translations: Mapping[str, Any] | None
    """The value by language, if the record has translations."""
    languages: tuple[str, ...]
    """The languages of the schema's forms, the default first."""
    tell: Callable[[str, str], None]
    """Called with the key and a warning."""

    def fitted(self) -> Any:
        """Return the value in the form that the field's validators read; None if nothing is left of it."""
        if "repeating_subfields" in self.field:
            return _nested(self)
        names = [word.partition("(")[0] for word in str(self.field.get("validators", "")).split()]
        fit = next((_FITS[name] for name in names if name in _FITS), _text)
        return fit(self)


Fit = Callable[[FieldValue], Any]


def is_required(field: Field) -> bool:
    """Return whether CKAN refuses a package without this field."""
    return bool(field.get("required"))


def _text(fitting: FieldValue) -> str | None:
    return plain(fitting.value)


def _list(fitting: FieldValue) -> list[str] | None:
    return texts(fitting.value) or None


def _read(read: Callable[[str], str | None], fault: str) -> Fit:
    """Return the function for a field of dates. CKAN would take some texts for dates that they are not.

    :param read: returns the date as CKAN stores it; None if the text has none
    """

    def fit(fitting: FieldValue) -> str | None:
        text = plain(fitting.value)
        date = None if text is None else read(text)
        if text is not None and date is None:
            fitting.tell(fitting.key, f'"{text[:80]}" {fault}; left out')
        return date

    return fit


def _nested(fitting: FieldValue) -> list[dict[str, Any]] | None:
    subfields = {sub["field_name"]: sub for sub in fitting.field["repeating_subfields"]}
    out = []
    for value in as_list(fitting.value):
        if not isinstance(value, Mapping):
            # A plain text, from a parser that does not use subfields.
            home = next((name for name in ("name", "text", "uri") if name in subfields), None)
            value = {home: plain(value)} if home else {}
        for name in sorted(value.keys() - subfields.keys()):
            if f"{name}_translated" not in subfields and not is_in_one_language(name, value[name]):
                words = "the schema's field has no room for it; left out"
                fitting.tell(f"{fitting.key}.{name}", words)
        item = {}
        for name, subfield in subfields.items():
            untranslated = name.removesuffix("_translated")
            translations = value.get(f"{untranslated}_translated")
            inner = value.get(name, value.get(untranslated))
            if inner in EMPTY and not translations:
                continue
            key = f"{fitting.key}.{name}"
            fitted = FieldValue(
                subfield, key, inner, translations, fitting.languages, fitting.tell
            ).fitted()
            if fitted not in EMPTY:
                item[name] = fitted
        if item:
            out.append(item)
    return out or None


def _choice(fitting: FieldValue) -> Any:
    return fitting.value if isinstance(fitting.value, bool) else plain(fitting.value)


def _several_choices(fitting: FieldValue) -> list[str] | None:
    """Return the values that are among the choices. CKAN would refuse all because of another one."""
    values = texts(fitting.value)
    if fitting.field.get("choices") is None:
        # Only the schema's helper function knows them.
        return values or None
    choices = [choice["value"] for choice in fitting.field["choices"]]
    if refused := [value for value in values if value not in choices]:
        words = f"not among the schema's choices: {', '.join(refused)}; left out"
        fitting.tell(fitting.key, words)
    return [value for value in values if value in choices] or None


def _by_language(fitting: FieldValue, fit: Callable[[list[Any]], Any]) -> dict[str, Any] | None:
    """Return the translations with legal language tags.

    Text without a language counts as the default's. ckanext-fluent wants each language of the forms in a
    required field: the value without translations fills those that are missing.

    :param fit: makes the value of a language of one or two that the record has.
    """
    given: dict[str, list[Any]] = {}
    translations = fitting.translations or {"": fitting.value}
    for language in sorted(translations, reverse=True):
        value = translations[language]
        if value in EMPTY:
            continue
        if language and not _LANGUAGE.fullmatch(language):
            words = (
                f'has the language "{language[:80]}", which ckanext-fluent does not know; left out'
            )
            fitting.tell(fitting.key, f'"{(plain(value) or "")[:80]}" {words}')
        else:
            given.setdefault(language or fitting.languages[0], []).append(value)
    out = {language: fitted for language in given if (fitted := fit(given[language]))}
    fallback = fit([fitting.value])
    if is_required(fitting.field) and fallback:
        for language in fitting.languages:
            out.setdefault(language, fallback)
    return out or None


def _translated(fitting: FieldValue) -> dict[str, str] | None:
    return _by_language(fitting, lambda values: next(filter(None, map(plain, values)), None))


def _translated_tags(fitting: FieldValue) -> dict[str, list[str]] | None:
    return _by_language(
        fitting,
        lambda values: tags(str(one) for value in values for one in as_list(value or []))[0],
    )


_moment = _read(utc_moment, "is not a day or a moment, as the schema wants")

_FITS: dict[str, Fit] = {
    "scheming_multiple_text": _list,
    "scheming_multiple_choice": _several_choices,
    "scheming_choices": _choice,
    "scheming_isodatetime": _moment,
    "scheming_isodatetime_tz": _moment,
    "isodate": _moment,
    "dcat_date": _read(iso_date, "is not a date, as the schema wants"),
    "fluent_text": _translated,
    "fluent_tags": _translated_tags,
}
"""Functions by validator.

The first known name of a field decides. A field without a known name takes text.
"""
