"""Values that fit the fields of a ckanext-scheming schema.

If a field's validator refuses a value, CKAN refuses the whole dataset. Therefore such a value is left out,
with a warning. Schemas are accepted as ``scheming_dataset_schema_show`` returns them, with expanded presets,
and as they are written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...dates import iso_date, utc_moment
from ..legal_values import is_email, json_text, one_line
from ..legal_values import tags as legal_tags

Field = Mapping[str, Any]
Warn = Callable[[str, str], None]

# A language tag that every version of ckanext-fluent accepts.
_LANGUAGE = re.compile(r"[a-z]{2,8}(-[0-9a-zA-Z]{1,8})*")
_HTTP_URL = re.compile(r"https?://[^\s/]\S*", re.IGNORECASE)


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
    warn: Warn
    """Called with the key and a message."""


def fit(fitting: FieldValue) -> Any:
    """Return the value in the form that the field's validators accept; None if nothing is left of it."""
    if "repeating_subfields" in fitting.field:
        return _nested(fitting)
    names = [*_validators(fitting.field), str(fitting.field.get("preset", ""))]
    shape = next((_SHAPES[name] for name in names if name in _SHAPES), _text)
    value = shape(fitting)
    for name in names:
        legal = _CHECKS.get(name)
        if legal is not None and isinstance(value, str) and not legal(value):
            fitting.warn(fitting.key, f'"{value[:80]}" is refused by {name}; left out')
            return None
    return value


def is_required(field: Field) -> bool:
    """Return whether CKAN refuses a package without this field."""
    return bool(field.get("required"))


def _validators(field: Field) -> Iterator[str]:
    for word in str(field.get("validators", "")).split():
        yield word.partition("(")[0]


def plain(value: Any) -> str | None:
    """Return a value for a text field: the only text of a list, or other structures as JSON."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        value = value[0]
    return stored(value)


def stored(value: Any) -> str | None:
    """Return a value as the text that CKAN stores: structures as JSON; None if the value is empty."""
    if isinstance(value, str):
        return value or None
    if value is None or value in ([], {}):
        return None
    return json_text(value)


def says_no_more(key: str, values: Mapping[str, Any]) -> bool:
    """Return whether a translated field has one language and no other text than the plain field."""
    value, plain_key = values[key], key.removesuffix("_translated")
    if plain_key == key or not isinstance(value, Mapping):
        return False
    if len([language for language in value if language]) > 1:
        return False
    plain = values.get(plain_key)
    known = [one_line(str(text)) for text in as_list(plain)]
    # All tags of a record are in its "tags".
    return key == "tags_translated" or all(
        one_line(str(text)) in known for texts in value.values() for text in as_list(texts)
    )


def as_list(value: Any) -> list[Any]:
    """Return the values of a field that holds one or a list."""
    return value if isinstance(value, list) else [value]


def _text(fitting: FieldValue) -> str | None:
    return plain(fitting.value)


def _list(fitting: FieldValue) -> list[str] | None:
    values = fitting.value if isinstance(fitting.value, list) else [fitting.value]
    return [text for text in map(plain, values) if text] or None


def _nested(fitting: FieldValue) -> list[dict[str, Any]] | None:
    subfields = {sub["field_name"]: sub for sub in fitting.field["repeating_subfields"]}
    values = fitting.value if isinstance(fitting.value, list) else [fitting.value]
    out = []
    for value in values:
        if not isinstance(value, Mapping):
            # A plain text, from a parser that does not use subfields.
            home = next((name for name in ("name", "text", "uri") if name in subfields), None)
            value = {home: plain(value)} if home else {}
        item = {}
        for name in sorted(value.keys() - subfields.keys()):
            if f"{name}_translated" not in subfields and not says_no_more(name, value):
                fitting.warn(
                    f"{fitting.key}.{name}", "the schema's field has no room for it; left out"
                )
        for name, subfield in subfields.items():
            translations = value.get(f"{name.removesuffix('_translated')}_translated")
            inner = value.get(name, value.get(name.removesuffix("_translated")))
            if inner in (None, "", [], {}) and not translations:
                continue
            fitted = fit(
                FieldValue(
                    subfield,
                    f"{fitting.key}.{name}",
                    inner,
                    translations,
                    fitting.languages,
                    fitting.warn,
                )
            )
            if fitted not in (None, "", [], {}):
                item[name] = fitted
        if item:
            out.append(item)
    return out or None


def _choices(field: Field) -> list[Any] | None:
    """Return the allowed values; None if only the schema's helper function knows them."""
    choices = field.get("choices")
    return None if choices is None else [choice["value"] for choice in choices]


def _choice(fitting: FieldValue) -> Any:
    value = fitting.value if isinstance(fitting.value, bool) else plain(fitting.value)
    choices = _choices(fitting.field)
    if value is None or choices is None or value in choices:
        return value
    listed = ", ".join(map(str, choices[:10]))
    fitting.warn(fitting.key, f'"{value}" is none of the schema\'s choices ({listed}); left out')
    return None


def _several_choices(fitting: FieldValue) -> list[str] | None:
    values = _list(fitting) or []
    choices = _choices(fitting.field)
    if choices is None:
        return values or None
    refused = [value for value in values if value not in choices]
    if refused:
        fitting.warn(fitting.key, f"not among the schema's choices: {', '.join(refused)}; left out")
    return [value for value in values if value in choices] or None


def _integer(fitting: FieldValue) -> int | None:
    text = plain(fitting.value)
    try:
        return None if text is None else int(text)
    except ValueError:
        fitting.warn(fitting.key, f'"{text[:80] if text else ""}" is not a whole number; left out')
        return None


def _numbers(fitting: FieldValue) -> list[str] | None:
    numbers = []
    for text in _list(fitting) or []:
        try:
            float(text)
        except ValueError:
            fitting.warn(fitting.key, f'"{text[:80]}" is not a number; left out')
        else:
            numbers.append(text)
    return numbers or None


def _boolean(fitting: FieldValue) -> bool | None:
    if isinstance(fitting.value, bool):
        return fitting.value
    text = plain(fitting.value)
    value = {"true": True, "false": False}.get(str(text).lower())
    if text is not None and value is None:
        fitting.warn(fitting.key, f'"{text[:80]}" is neither true nor false; left out')
    return value


def _date(fitting: FieldValue) -> str | None:
    return _checked_date(fitting, iso_date, "a date")


def _moment(fitting: FieldValue) -> str | None:
    return _checked_date(fitting, utc_moment, "a day or a moment")


def _checked_date(
    fitting: FieldValue, read: Callable[[str], str | None], wanted: str
) -> str | None:
    text = plain(fitting.value)
    date = None if text is None else read(text)
    if text and date is None:
        fitting.warn(fitting.key, f'"{text[:80]}" is not {wanted}, as the schema wants; left out')
    return date


def _by_language(fitting: FieldValue) -> list[tuple[str, Any]]:
    """Return translations with legal language tags. Text without a language counts as the default's, last."""
    translations = fitting.translations or {"": fitting.value}
    out = [
        (language or fitting.languages[0], translations[language])
        for language in sorted(translations, reverse=True)
    ]
    given = [(language, value) for language, value in out if value not in (None, "", [], {})]
    for language, value in given:
        if not _LANGUAGE.fullmatch(language):
            words = f'"{(plain(value) or "")[:80]}" has the language "{language[:80]}"'
            fitting.warn(fitting.key, f"{words}, which ckanext-fluent does not know; left out")
    return [(language, value) for language, value in given if _LANGUAGE.fullmatch(language)]


def _complete(fitting: FieldValue, translations: dict[str, Any], fallback: Any) -> dict[str, Any]:
    """Add missing languages to a required field, because ckanext-fluent wants each of the forms' languages."""
    if is_required(fitting.field) and fallback not in (None, "", [], {}):
        for language in fitting.languages:
            translations.setdefault(language, fallback)
    return translations


def _translated(fitting: FieldValue) -> dict[str, str] | None:
    texts: dict[str, str] = {}
    for language, value in _by_language(fitting):
        text = plain(value)
        if text is not None:
            texts.setdefault(language, text)
    return _complete(fitting, texts, plain(fitting.value)) or None


def _translated_tags(fitting: FieldValue) -> dict[str, list[str]] | None:
    out: dict[str, list[str]] = {}
    for language, values in _by_language(fitting):
        given = values if isinstance(values, list) else [str(values)]
        names, _ = legal_tags([*out.get(language, []), *given])
        if names:
            out[language] = names
    fallback, _ = legal_tags(fitting.value or [])
    return _complete(fitting, out, fallback) or None


def _tag_string(fitting: FieldValue) -> str | None:
    names, changed = legal_tags(_list(fitting) or [])
    for text, name in changed.items():
        became = f'becomes "{name}"' if name else "has fewer than two letters or digits; left out"
        fitting.warn(fitting.key, f'"{text[:80]}" {became}')
    return ", ".join(names) or None


def _json_object(fitting: FieldValue) -> dict[str, Any] | None:
    if isinstance(fitting.value, Mapping):
        return dict(fitting.value)
    if text := plain(fitting.value):
        fitting.warn(fitting.key, f'"{text[:80]}" is no JSON object; left out')
    return None


def _foreign(fitting: FieldValue) -> None:
    fitting.warn(fitting.key, "the schema's field wants datasets of this site; left out")


# Functions by validator, and by preset for schemas as they are written. The first known name of a field
# decides. A field without a known name takes text.
_SHAPES: dict[str, Callable[[FieldValue], Any]] = {
    "scheming_multiple_text": _list,
    "scheming_multiple_choice": _several_choices,
    "scheming_multiple_number": _numbers,
    "scheming_choices": _choice,
    "scheming_valid_json_object": _json_object,
    "tag_string_convert": _tag_string,
    "scheming_isodatetime": _moment,
    "scheming_isodatetime_tz": _moment,
    "isodate": _moment,
    "dcat_date": _date,
    "int_validator": _integer,
    "natural_number_validator": _integer,
    "is_positive_integer": _integer,
    "boolean_validator": _boolean,
    "fluent_text": _translated,
    "fluent_tags": _translated_tags,
    # presets
    "multiple_text": _list,
    "multiple_checkbox": _several_choices,
    "multiple_select": _several_choices,
    "select": _choice,
    "radio": _choice,
    "json_object": _json_object,
    "tag_string_autocomplete": _tag_string,
    "date": _moment,
    "datetime": _moment,
    "datetime_tz": _moment,
    "fluent_core_translated": _translated,
    "fluent_markdown": _translated,
    "fluent_link": _translated,
    # ckanext-dataset-series
    "dataset_series_in_series": _foreign,
}

_CHECKS: dict[str, Callable[[str], bool]] = {
    "email_validator": is_email,
    "url_validator": lambda text: _HTTP_URL.fullmatch(text) is not None,
}
