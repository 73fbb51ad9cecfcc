"""The metadata of a dataset in words and links, from the extras that ckanext-dcat and our harvesters write.

Extras are untrusted text, and anybody may have written them: a value that is not of the expected form is
shown as it is. Only addresses of the web and of mails become links.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from babel import Locale
from babel.core import get_global
from babel.dates import format_skeleton

from ..aging import frequency
from ..aging.messages import N_
from .labels import UPDATE_FREQUENCY

_MAIL = re.compile(r"[^@\s<>\"/:?&#]{1,64}@[\w.-]{1,255}")
_DAY = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ].{0,40})?", re.ASCII)
_LONGEST_LINK = 60
_LONGEST_JSON = 20_000
"""Longer texts, such as detailed geometries, are only for programs."""


@dataclass(frozen=True, slots=True)
class Value:
    """A text, and the address that it leads to.

    :ivar href: ``http``, ``https`` or ``mailto``; None for a text without a link
    """

    text: str
    href: str | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """A field of a dataset with its values.

    :ivar label: the name, to be translated where it is shown
    """

    label: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Metadata:
    """The extras of a dataset, for people.

    :ivar facts: the extras that people want to read
    :ivar others: the extras without a label of ours, by key
    :ivar technical: identifiers and values that only programs read; by key if they have no label of ours
    """

    facts: list[Fact]
    others: list[Fact]
    technical: list[Fact]


def describe(
    extras: Iterable[tuple[str, Any]],
    locale: Locale,
    frequency_keys: Sequence[str] = (),
    translate: Callable[[str], str] = str,
    source_url: Callable[[str], str] | None = None,
) -> Metadata:
    """Sort the extras of a dataset into facts, technical values and others.

    :param extras: key and value, in the order of the page
    :param frequency_keys: the extras that can hold an update frequency
    :param translate: translates a message id
    :param source_url: returns the address of a harvest source's page; None if it has none
    """
    rest = {key: value for key, value in extras if value not in ("", None)}

    def frequencies(value: Any, locale: Locale) -> list[Value]:
        return [_frequency(text, locale, translate) for text in _only(str, value)]

    facts = []
    for row in (*_FACTS, _Row(UPDATE_FREQUENCY, tuple(frequency_keys), frequencies)):
        values: list[Value] = []
        for key in row.keys:
            if key in rest and (found := row.read(_parsed(rest[key]), locale)):
                values += [value for value in found if value not in values]
                del rest[key]
        parts = {
            key: rest[f"{row.prefix}_{key}"] for key in row.parts if f"{row.prefix}_{key}" in rest
        }
        if parts and not values and all(isinstance(part, str) for part in parts.values()):
            values = row.read(parts, locale)
        if values:
            facts.append(Fact(row.label, tuple(values)))
            for key in parts:
                del rest[f"{row.prefix}_{key}"]
    source, source_id = rest.get("harvest_source_title"), rest.get("harvest_source_id")
    if source_url and isinstance(source, str) and isinstance(source_id, str):
        facts.append(Fact(N_("Harvested from"), (Value(source, source_url(source_id)),)))
        del rest["harvest_source_title"]
    others: list[Fact] = []
    technical: list[Fact] = []
    for key, value in rest.items():
        parsed = _parsed(value)
        plain = _texts(parsed, locale)
        hidden = key in TECHNICAL or key.endswith("_translated") or not plain
        (technical if hidden else others).append(
            Fact(TECHNICAL.get(key, key), tuple(plain) or (Value(_as_text(value)),))
        )
    return Metadata(facts, others, technical)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _parsed(value: Any) -> Any:
    """Return the value of a JSON text that holds a list or an object; any other text as it is."""
    if isinstance(value, str) and value[:1] in ("[", "{") and len(value) <= _LONGEST_JSON:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _only(kind: type, value: Any) -> list[Any]:
    """Return the items of a value if all are of a kind; none otherwise."""
    items = [item for item in _items(value) if item not in ("", None)]
    return items if all(isinstance(item, kind) for item in items) else []


# Reading values: an empty list means that the value is not of the expected form.

Read = Callable[[Any, Locale], list[Value]]


def web_link(text: str, words: str | None = None) -> Value:
    """Return a link with words, if the text is an address of the web; otherwise the words alone."""
    try:
        parts = urlsplit(text.strip())
        is_web = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_web = False
    if not is_web:
        return Value(words or text)
    shown = words or _shortened(text.strip().split("://", 1)[1].rstrip("/"))
    return Value(shown, text.strip())


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_LINK else f"{text[:_LONGEST_LINK]}…"


def mail_link(text: str) -> Value:
    """Return a link to a mail address, or the text alone if it is none."""
    address = text.strip().removeprefix("mailto:")
    if _MAIL.fullmatch(address) is None:
        return Value(text)
    return Value(address, f"mailto:{quote(address, safe='@+')}")


def _texts(value: Any, locale: Locale) -> list[Value]:
    return [web_link(text) for text in _only(str, value)]


def _terms(value: Any, locale: Locale) -> list[Value]:
    """Read terms of vocabularies: the label of a known one, the code of an unknown one."""
    return [_term(text, locale) for text in _only(str, value)]


def _term(text: str, locale: Locale) -> Value:
    label = term_label(text, locale)
    if label is not None:
        return Value(label)
    return web_link(text, _code(text) if "://" in text else text)


def _frequency(text: str, locale: Locale, translate: Callable[[str], str]) -> Value:
    label = term_label(text, locale)
    read = frequency.parse(text)
    if label is None and isinstance(read, frequency.Frequency):
        label = frequency.label(read.days, translate)
    return _term(text, locale) if label is None else Value(label)


def _languages(value: Any, locale: Locale) -> list[Value]:
    found = []
    for text in _only(str, value):
        name = language_label(text, locale) if len(text) in (2, 3) else None
        found.append(_term(text, locale) if name is None else Value(name))
    return found


def _agents(value: Any, locale: Locale) -> list[Value]:
    """Read people and organizations: a name that leads to the mail address, and the website."""
    found = []
    for agent in _only(dict, value):
        name, email, url, uri = (str(agent.get(key) or "") for key in _AGENT)
        mail, page = mail_link(email), web_link(url or uri, name)
        if mail.href:
            found.append(Value(name or mail.text, mail.href))
            found += [web_link(url)] if url else []
        elif page.text or email:
            found += [one for one in (page, mail) if one.text]
    return found


def _places(value: Any, locale: Locale) -> list[Value]:
    found = []
    for place in _only(dict, value):
        text, uri = str(place.get("text") or ""), str(place.get("uri") or "")
        if text:
            found.append(web_link(uri, text))
        elif uri:
            found.append(_term(uri, locale))
    return found


def _periods(value: Any, locale: Locale) -> list[Value]:
    found = []
    for period in _only(dict, value):
        start, end = (_day(str(period.get(key) or ""), locale) for key in ("start", "end"))
        if start or end:
            found.append(Value(f"{start} \N{EN DASH} {end}".strip()))
    return found


def _dates(value: Any, locale: Locale) -> list[Value]:
    return [Value(_day(text, locale)) for text in _only(str, value)]


def _day(text: str, locale: Locale) -> str:
    """Return a date as people write it; another text as it is."""
    found = _DAY.fullmatch(text)
    if found is None:
        return text
    try:
        day = date.fromisoformat(found[1])
    except ValueError:
        return text
    words: str = format_skeleton("yMMMd", day, locale=locale)
    return words


@dataclass(frozen=True, slots=True)
class _Row:
    """A fact, and the extras that it is read from.

    :ivar read: returns no values if a value is not of the expected form
    :ivar prefix: of the extras in which ckanext-dcat writes the parts of the first value
    :ivar parts: the ends of these extras' keys
    """

    label: str
    keys: tuple[str, ...]
    read: Read
    prefix: str = ""
    parts: tuple[str, ...] = ()


_AGENT = ("name", "email", "url", "uri")

_FACTS = (
    _Row(N_("Contact"), ("contact",), _agents, "contact", _AGENT),
    _Row(N_("Publisher"), ("publisher",), _agents, "publisher", _AGENT),
    _Row(N_("Creator"), ("creator",), _agents, "creator", _AGENT),
    _Row(N_("Rights holder"), ("rights_holder",), _agents),
    _Row(N_("Themes"), ("theme", "health_theme", "health_category", "hvd_category"), _terms),
    _Row(N_("Languages"), ("language",), _languages),
    _Row(N_("Places"), ("spatial_coverage",), _places, "spatial", ("text", "uri")),
    _Row(N_("Period"), ("temporal_coverage",), _periods, "temporal", ("start", "end")),
    _Row(N_("Access"), ("access_rights",), _terms),
    _Row(N_("Published"), ("issued",), _dates),
    _Row(N_("Modified, as stated"), ("modified",), _dates),
    _Row(N_("Last confirmed"), ("review_date",), _dates),
    _Row(N_("Website"), ("homepage", "landing_page"), _texts),
    _Row(N_("Documentation"), ("documentation",), _texts),
    _Row(N_("Conforms to"), ("conforms_to",), _texts),
    _Row(N_("Provenance"), ("provenance",), _texts),
    _Row(N_("Type"), ("dcat_type",), _terms),
    _Row(N_("Records"), ("number_of_records",), _texts),
    _Row(N_("Population"), ("population_coverage",), _texts),
)
"""In the order of the page. The update frequency, whose keys the site chooses, follows."""

TECHNICAL = {
    "uri": N_("Address of the record"),
    "guid": N_("Identifier in the harvest"),
    "identifier": N_("Identifier"),
    "alternate_identifier": N_("Other identifiers"),
    "harvest_object_id": N_("Harvested record"),
    "harvest_source_id": N_("Identifier of the harvest source"),
    "harvest_source_title": N_("Harvest source"),
    "source_type": N_("Source type"),
    "config": N_("Configuration"),
    "registry_id": N_("Identifier in the registry"),
    "registry_name": N_("Name in the registry"),
    "filetype": N_("Kind of IATI file"),
    "iati_version": N_("IATI version"),
    "data_updated": N_("Data updated, by the registry"),
    "dcat_publisher_name": N_("Name of the publisher"),
    "dcat_publisher_email": N_("E-mail of the publisher"),
    "spatial": N_("Geometry"),
    "spatial_bbox": N_("Bounding box"),
    "spatial_centroid": N_("Centre"),
    "spatial_geom": N_("Exact geometry"),
}
"""Labels of identifiers and of values that only programs read, by key."""


# Labels of the EU's authority tables and of other codes, in the reader's language.

_AUTHORITY = re.compile(
    r"https?://publications\.europa\.eu/(?:resource|mdr)/authority/([a-z-]+)/(\w{1,50})/?", re.ASCII
)
_LABELS = Path(__file__).with_name("eu_vocabularies.json")
"""Labels of data-theme, frequency and access-right, in English, German, French and Spanish."""

_FALLBACK = "en"


def term_label(uri: str, locale: Locale) -> str | None:
    """Return the label of a term of the EU's authority tables; None if it has none.

    Languages and countries have the names that Babel knows, in all languages of CKAN.
    """
    found = _AUTHORITY.fullmatch(uri)
    if found is None:
        return None
    table, code = found.groups()
    if table == "language":
        return language_label(code, locale)
    if table == "country":
        (alpha_2, *_) = get_global("territory_aliases").get(code, [code])
        return _optional(locale.territories.get(alpha_2))
    labels = _labels().get(table, {}).get(code, {})
    return labels.get(locale.language) or labels.get(_FALLBACK)


def language_label(code: str, locale: Locale) -> str | None:
    """Return the name of a language; None if its code is unknown.

    :param code: of ISO 639, of two or three letters
    """
    lower = code.lower()
    name = _optional(locale.languages.get(get_global("language_aliases").get(lower, lower)))
    # In French and Spanish, names of languages are written in lower case.
    return None if name is None else name[:1].upper() + name[1:]


def _code(uri: str) -> str:
    """Return the end of a URI, which people read more easily than all of it."""
    return re.split(r"[/#]", uri.rstrip("/#"))[-1] or uri


def _optional(name: Any) -> str | None:
    return None if name is None else str(name)


@cache
def _labels() -> dict[str, dict[str, dict[str, str]]]:
    labels: dict[str, dict[str, dict[str, str]]] = json.loads(_LABELS.read_text(encoding="utf-8"))
    return labels
