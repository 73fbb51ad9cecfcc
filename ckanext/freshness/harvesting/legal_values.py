"""What CKAN, PostgreSQL and Solr take: text, tags, e-mail addresses and sizes made legal.

Sources publish control characters, tags with slashes and geometries of a megabyte; each of these makes
CKAN refuse the whole dataset. Everything here is a pure function of one value.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from typing import Any

SOLR_BYTES = 32_766
"""Longest indexed term of Lucene, in bytes of UTF-8: a longer one makes Solr refuse the dataset."""

VERSION_CHARACTERS = 100
"""``ckan.model.PACKAGE_VERSION_MAX_LENGTH``."""

FORMAT_CHARACTERS = 100
"""A format is a word on a badge and a facet; CKAN itself has no limit but Solr's."""

TAG_CHARACTERS = (2, 100)
"""``ckan.model.MIN_TAG_LENGTH`` and ``MAX_TAG_LENGTH``."""

BIGGEST_INTEGER = 2**63 - 1
"""What a PostgreSQL ``bigint`` (``resource.size``) holds."""

# Everything that XML 1.0 or PostgreSQL refuses, and the C1 controls: surrogates cannot be encoded.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_NOT_IN_TAGS = re.compile(r"[^\w \-.]+")
_SPACES = re.compile(r"\s+")

_SCHEME_CHARACTERS = 200
_CONTROL_IN_URLS = re.compile("[\x00-\x1f]")
# With a media type or nothing before the comma: "Data: what, when and where" is prose.
_ACTIVE_URL = re.compile(
    r"(?:javascript|vbscript):|data:\s*(?:[\w.+-]+/[\w.+-]+\s*)?[;,]", re.IGNORECASE
)

# The pattern of the HTML standard's input type=email, with the dots that CKAN forbids on top.
_EMAIL = re.compile(
    r"(?!\.)(?!.*\.\.)[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+"
    r"@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
    r"(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*"
)


def clean(text: str) -> str:
    """The text without control characters (tabs and line ends stay) and without lone surrogates."""
    return _CONTROL.sub("", text)


def clean_all(value: Any) -> Any:
    """The same plain data with every string in it cleaned, dictionary keys as well."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [clean_all(item) for item in value]
    if isinstance(value, dict):
        return {clean(str(key)): clean_all(item) for key, item in value.items()}
    return value


def one_line(text: str) -> str:
    """The text with each run of white space turned into one space."""
    return _SPACES.sub(" ", text).strip()


def brief(error: object) -> str:
    """Return a library's message on malformed input: one line, bounded, fit for a database."""
    return one_line(clean(str(error)))[:200] or "no reason is given"


def tag(text: str) -> str | None:
    """A legal name for a free tag, or None where fewer than two legal characters are left.

    Letters keep their accents; what CKAN forbids becomes a space, except combining marks, which would
    cut words in two.
    """
    composed = unicodedata.normalize("NFC", clean(text))
    letters = "".join(c for c in composed if not unicodedata.category(c).startswith("M"))
    shortest, longest = TAG_CHARACTERS
    name = _SPACES.sub(" ", _NOT_IN_TAGS.sub(" ", letters)).strip()[:longest].strip()
    return name if len(name) >= shortest else None


def is_tag(text: str) -> bool:
    """Whether CKAN's ``tag_length_validator`` and ``tag_name_validator`` take the name as it is."""
    shortest, longest = TAG_CHARACTERS
    return shortest <= len(text) <= longest and not _NOT_IN_TAGS.search(text)


def tags(texts: Iterable[str]) -> tuple[list[str], dict[str, str | None]]:
    """Return legal tags in order, unique whatever their case, and what became of the other texts.

    Each text that is none of the tags is a key, with the tag that it became, or None if it became none.
    """
    names: dict[str, str] = {}
    became: dict[str, str | None] = {}
    for text in sorted(set(texts)):
        name = tag(text)
        became[text] = None if name is None else names.setdefault(name.casefold(), name)
    changed = {text: name for text, name in became.items() if text != name}
    return sorted(names.values(), key=lambda name: (name.casefold(), name)), changed


def is_email(text: str) -> bool:
    """Whether CKAN's ``email_validator`` takes the address."""
    return _EMAIL.fullmatch(text) is not None


def is_active_url(text: str) -> bool:
    """Decide whether a browser would run a text or show it as a page: ``javascript:`` and ``data:`` URLs."""
    # Browsers ignore control characters wherever they stand, and leading blanks.
    url = _CONTROL_IN_URLS.sub("", text[:_SCHEME_CHARACTERS]).lstrip()
    return _ACTIVE_URL.match(url) is not None


def json_text(value: Any) -> str:
    """One text for one value: keys sorted, other than ASCII as it is."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def stored_bytes(value: Any) -> int:
    """Bytes that a value takes in Solr.

    Lists and dictionaries count as ASCII JSON, which is how CKAN and ckanext-scheming store them (six
    bytes for a letter outside ASCII), and the lists inside of them as JSON texts in JSON.
    """
    if isinstance(value, str):
        return len(value.encode("utf-8", "replace"))
    return len(json.dumps(_nested_texts(value)))


def _nested_texts(value: Any, *, inside: bool = False) -> Any:
    if isinstance(value, dict):
        return {key: _nested_texts(item, inside=True) for key, item in value.items()}
    if isinstance(value, list):
        if inside and all(isinstance(item, str) for item in value):
            return json.dumps(value)
        return [_nested_texts(item, inside=inside) for item in value]
    return value


def shorten(text: str, limit: int = SOLR_BYTES) -> str:
    """The longest beginning of the text that fits into so many bytes of UTF-8, cut between characters."""
    return text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
