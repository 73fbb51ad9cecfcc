"""Values that a catalogue accepts: CKAN, PostgreSQL and Solr, and a site's ckanext-scheming schema.

Sources publish control characters, tags with slashes and geometries of a megabyte, and a schema's validators
refuse more. Any of these makes CKAN refuse the whole dataset. Therefore a value is made legal, or left out with
a warning. Each function here is pure.

Schemas are as ``scheming_dataset_schema_show`` returns them, with expanded presets. Whatever their validators
refuse, :func:`leave_out` removes.
"""

from __future__ import annotations

import contextlib
import html
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from ..dates import iso_date, utc_moment

SOLR_BYTES = 32_766
"""Lucene's longest indexed term, in bytes of UTF-8. A longer one makes Solr refuse the dataset."""

VERSION_CHARACTERS = 100
"""``ckan.model.PACKAGE_VERSION_MAX_LENGTH``."""

FORMAT_CHARACTERS = 100
"""Our own limit: people see a format on a badge and in a facet. CKAN has no limit but Solr's."""

TAG_CHARACTERS = (2, 100)
"""``ckan.model.MIN_TAG_LENGTH`` and ``MAX_TAG_LENGTH``."""

BIGGEST_INTEGER = 2**63 - 1
"""The largest PostgreSQL ``bigint``, the type of ``resource.size``."""

# Characters that XML 1.0 or PostgreSQL refuses, the C1 controls, and surrogates, which UTF-8 cannot encode.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_ENTITY = re.compile(r"&#?\w{1,10};")
# A comma in parentheses, or between parts of a number or a formula, belongs to a keyword.
_BETWEEN_KEYWORDS = re.compile(
    r",(?:\s+|(?<=[^\W\d]{2},)|(?=[^\W\d]{2}))(?![^()]{0,100}\))"
    r"|[;|\t\r\n\u2022\u3001\u060c\u061b\uff0c\uff1b]"
)
_NOT_IN_TAGS = re.compile(r"[^\w \-.]+")
_SPACES = re.compile(r"\s+")

# A language tag that every version of ckanext-fluent accepts.
_LANGUAGE = re.compile(r"[a-z]{2,8}(-[0-9a-zA-Z]{1,8})*")

EMPTY: tuple[Any, ...] = (None, "", [], {})
"""Values that say nothing."""

_SCHEME_CHARACTERS = 200
_CONTROL_IN_URLS = re.compile("[\x00-\x1f]")
# A data: URL has a media type or nothing before the comma. "Data: rainfall, daily" is prose.
_ACTIVE_URL = re.compile(
    r"(?:javascript|vbscript):|data:\s*(?:[\w.+-]+/[\w.+-]+\s*)?[;,]", re.IGNORECASE
)


def clean(text: str) -> str:
    """Remove control characters, except tabs and line ends, and lone surrogates."""
    return _CONTROL.sub("", text)


def clean_all(value: Any) -> Any:
    """Clean every string in plain data, including dictionary keys."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [clean_all(item) for item in value]
    if isinstance(value, dict):
        return {clean(str(key)): clean_all(item) for key, item in value.items()}
    return value


_MOST_DIGITS = 100
_MOST_LEVELS = 100
# A text, or the beginning or end of a list or object.
_JSON_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


def read_json(body: bytes, object_hook: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """Return the value of JSON, whatever numbers it contains and however deep it is nested.

    A number that Python or JSON could not write becomes a text. What is nested in more than 100 levels becomes
    None, if Python cannot read the whole.

    :param object_hook: see :func:`json.loads`.
    :raises ValueError: the bytes are not JSON.
    :raises RecursionError: it is nested too deeply, and not in UTF-8.
    """
    read = partial(
        json.loads,
        object_hook=object_hook,
        parse_int=_number,
        parse_float=_number,
        parse_constant=str,
    )
    try:
        return read(body)
    except RecursionError:
        return read(_cut(body))


def _number(text: str) -> float | str:
    if text.lstrip("-").isdigit():
        return int(text) if len(text) <= _MOST_DIGITS else text
    return number if math.isfinite(number := float(text)) else text


def _cut(body: bytes) -> bytes:
    """Replace what is nested too deeply in a JSON text with null."""
    kept: list[bytes] = []
    start = level = 0
    for token in _JSON_TOKEN.finditer(body):
        if token[0] in (b"[", b"{"):
            level += 1
            if level == _MOST_LEVELS + 1:
                kept.append(body[start : token.start()])
        elif token[0] in (b"]", b"}"):
            if level == _MOST_LEVELS + 1:
                kept.append(b"null")
                start = token.end()
            level -= 1
    return b"".join([*kept, body[start:]])


def one_line(text: str) -> str:
    """Replace each run of white space with one space."""
    return _SPACES.sub(" ", text).strip()


def brief(error: object) -> str:
    """Return a library's message about malformed input as one line of at most 200 legal characters."""
    return one_line(clean(str(error)))[:200] or "no reason is given"


def split_keywords(texts: Iterable[str]) -> list[str]:
    """Return keywords in order, each once, also if publishers put several into one text."""
    plain = (_ENTITY.sub(lambda entity: html.unescape(entity[0]), text) for text in texts)
    pieces = (piece for text in plain for piece in _BETWEEN_KEYWORDS.split(text))
    return sorted({piece.strip().strip(",").strip() for piece in pieces} - {""})


def tag(text: str) -> str | None:
    """Return a legal tag; None if fewer than two legal characters are left.

    Letters keep their accents. Forbidden characters become spaces. Combining marks are removed, because a
    space would cut the word in two.
    """
    composed = unicodedata.normalize("NFC", clean(text))
    letters = "".join(c for c in composed if not unicodedata.category(c).startswith("M"))
    shortest, longest = TAG_CHARACTERS
    name = _SPACES.sub(" ", _NOT_IN_TAGS.sub(" ", letters)).strip()[:longest].strip()
    return name if len(name) >= shortest else None


def tags(texts: Iterable[str]) -> tuple[list[str], dict[str, str | None]]:
    """Return legal tags in order, unique regardless of case, and the texts that had to change.

    :returns: the tags; and each changed text with the tag that it became, or None if no tag was left.
    """
    names: dict[str, str] = {}
    became: dict[str, str | None] = {}
    for text in sorted(set(texts)):
        name = tag(text)
        became[text] = None if name is None else names.setdefault(name.casefold(), name)
    changed = {text: name for text, name in became.items() if text != name}
    return sorted(names.values(), key=lambda name: (name.casefold(), name)), changed


def is_active_url(text: str) -> bool:
    """Return whether a browser would run a text, or show it as a page: ``javascript:``, ``data:`` URLs."""
    # Browsers ignore leading blanks, and control characters anywhere.
    url = _CONTROL_IN_URLS.sub("", text[:_SCHEME_CHARACTERS]).lstrip()
    return _ACTIVE_URL.match(url) is not None


def shown_url(url: str) -> str | None:
    """Return the URL of a resource as CKAN shows it; None if CKAN could not read the resource any more.

    CKAN splits the URL each time, and puts ``http://`` before one without a scheme.
    """
    try:
        if url and not urlsplit(url).scheme:
            url = f"http://{url.lstrip('/')}"
        urlsplit(url)
    except ValueError:
        return None
    return url


def json_text(value: Any) -> str:
    """Return canonical JSON: sorted keys, and characters outside ASCII unescaped."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def json_list(text: str) -> list[Any] | None:
    """Return the list of texts or dictionaries that a profile wrote as JSON; None for any other text."""
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        return None
    is_plain = isinstance(items, list) and all(isinstance(one, str | dict) for one in items)
    return items if is_plain else None


def stored_bytes(value: Any) -> int:
    """Return how many bytes a value takes in Solr at most.

    CKAN and ckanext-scheming store lists and dictionaries as ASCII JSON, with six bytes for a letter outside
    ASCII, and lists of texts inside them as JSON texts within JSON.
    """
    text = value if isinstance(value, str) else json.dumps(json.dumps(value))
    return len(text.encode("utf-8", "replace"))


def shorten(text: str, limit: int = SOLR_BYTES) -> str:
    """Return the longest beginning of a text that fits into a number of bytes of UTF-8.

    :param limit: in bytes. The text is cut between characters.
    """
    return text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")


# Values as texts


def plain(value: Any) -> str | None:
    """Return a value for a text field: the only text of a list, or other structures as JSON."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        value = value[0]
    return stored(value)


def stored(value: Any) -> str | None:
    """Return a value as the text that CKAN stores: structures as JSON; None if the value is empty."""
    if isinstance(value, str):
        return value or None
    return None if value in EMPTY else json_text(value)


def as_list(value: Any) -> list[Any]:
    """Return the values of a field that holds one or a list, or a list as JSON, as CKAN's extras do."""
    if isinstance(value, str) and value.startswith("["):
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(value)
    return value if isinstance(value, list) else [value]


def texts(value: Any) -> list[str]:
    """Return the texts of a field that holds one text or a list."""
    return [text for text in map(plain, as_list(value)) if text]


def is_in_one_language(key: str, value: Any) -> bool:
    """Return whether a field has translations and no more of them than the plain field beside it."""
    return key.endswith("_translated") and isinstance(value, Mapping) and len({*value} - {""}) < 2


# Values for the fields of a schema

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
        shape = next((_SHAPES[name] for name in names if name in _SHAPES), _text)
        return shape(self)


Shape = Callable[[FieldValue], Any]


def is_required(field: Field) -> bool:
    """Return whether CKAN refuses a package without this field."""
    return bool(field.get("required"))


def _text(fitting: FieldValue) -> str | None:
    return plain(fitting.value)


def _list(fitting: FieldValue) -> list[str] | None:
    return texts(fitting.value) or None


def _read(read: Callable[[str], str | None], fault: str) -> Shape:
    """Return a shape for a date. CKAN would take some texts for dates that they are not.

    :param read: returns the date as CKAN stores it; None if the text has none
    """

    def shape(fitting: FieldValue) -> str | None:
        text = plain(fitting.value)
        date = None if text is None else read(text)
        if text is not None and date is None:
            fitting.tell(fitting.key, f'"{text[:80]}" {fault}; left out')
        return date

    return shape


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


def _by_language(fitting: FieldValue, shape: Callable[[list[Any]], Any]) -> dict[str, Any] | None:
    """Return the translations with legal language tags.

    Text without a language counts as the default's. ckanext-fluent wants each language of the forms in a
    required field: the value without translations fills those that are missing.

    :param shape: makes the value of a language of one or two that the record has.
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
    out = {language: shaped for language in given if (shaped := shape(given[language]))}
    fallback = shape([fitting.value])
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


def changed_tag(text: str, name: str | None) -> str:
    """Return a warning about a tag that :func:`tags` changed."""
    became = f'becomes "{name}"' if name else "has fewer than two letters or digits; left out"
    return f'"{text[:80]}" {became}'


_moment = _read(utc_moment, "is not a day or a moment, as the schema wants")

_SHAPES: dict[str, Shape] = {
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

# Values that CKAN has refused

NOT_STATED = frozenset({"id", "name", "type", "owner_org", "state", "private", "groups"})
"""Keys of a package that do not come from the source's record."""

_ITEM_NAMES = {"tags": "name", "extras": "key"}
"""Lists whose items are left out as a whole, and the key of an item's name."""


def leave_out(
    package: dict[str, Any], stated: Mapping[str, Any], errors: Mapping[str, Any]
) -> list[str]:
    """Remove refused values from a package, as far as its record states them.

    :param stated: the values that come from the record.
    :param errors: CKAN's errors by key.
    :returns: a warning for each removed value.
    """
    warnings: list[str] = []
    for key in errors.keys() - NOT_STATED:
        if key in _ITEM_NAMES:
            _remove_items(key, package, stated, errors[key], warnings)
        else:
            _remove(package, stated, key, errors[key], key, warnings)
    return sorted(warnings)


def _remove(
    values: dict[str, Any],
    stated: Mapping[str, Any],
    key: str,
    wrong: Any,
    path: str,
    warnings: list[str],
) -> None:
    """Remove a value, or those of its parts that are wrong."""
    value: Any = values.get(key)
    own: Any = stated.get(key)
    if all(map(_is_list_of_dicts, (value, own, wrong))):
        parts = zip(value, own, wrong, strict=False)
        for number, (item, own_item, wrong_item) in enumerate(parts, start=1):
            place = f"{path}.{number}" if len(value) > 1 else path
            for name in wrong_item:
                _remove(item, own_item, name, wrong_item[name], f"{place}.{name}", warnings)
        values[key] = [item for item in value if item]
    elif key in values and key in stated and str(value) == str(own):
        warnings.append(_refusal(path, value, wrong))
        del values[key]


def _remove_items(
    key: str, package: dict[str, Any], stated: Mapping[str, Any], wrong: Any, warnings: list[str]
) -> None:
    """Remove wrong tags or extras."""
    name = _ITEM_NAMES[key]
    own = {item[name] for item in stated.get(key, ())}
    errors = dict(enumerate(wrong)) if _is_list_of_dicts(wrong) else {}
    kept = []
    for index, item in enumerate(package.get(key, ())):
        if errors.get(index) and item[name] in own:
            path = item[name] if key == "extras" else key
            warnings.append(_refusal(path, item.get("value", item[name]), errors[index]))
        else:
            kept.append(item)
    package[key] = kept


def _is_list_of_dicts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _refusal(path: str, value: Any, wrong: Any) -> str:
    errors = wrong.values() if isinstance(wrong, dict) else [wrong]
    words = one_line("; ".join(str(text) for error in errors for text in as_list(error)))[:200]
    return f'{path}: "{(stored(value) or "")[:80]}" is left out, because CKAN refuses it: {words}'
