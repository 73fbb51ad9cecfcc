"""Values that CKAN, PostgreSQL and Solr accept: text, tags, e-mail addresses and sizes made legal.

Sources publish control characters, tags with slashes and geometries of a megabyte. Any of these makes CKAN
refuse the whole dataset. Each function here is pure.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

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
# A comma within a word, or in parentheses, belongs to a keyword.
_BETWEEN_KEYWORDS = re.compile(
    r",\s+(?![^()]{0,100}\))|[;|\t\r\n\u2022\u3001\u060c\u061b\uff0c\uff1b]"
)
_NOT_IN_TAGS = re.compile(r"[^\w \-.]+")
_SPACES = re.compile(r"\s+")

_SCHEME_CHARACTERS = 200
_CONTROL_IN_URLS = re.compile("[\x00-\x1f]")
# A data: URL has a media type or nothing before the comma. "Data: rainfall, daily" is prose.
_ACTIVE_URL = re.compile(
    r"(?:javascript|vbscript):|data:\s*(?:[\w.+-]+/[\w.+-]+\s*)?[;,]", re.IGNORECASE
)

# The pattern of the HTML standard's input type=email, without the dots that CKAN forbids.
_EMAIL = re.compile(
    r"(?!\.)(?!.*\.\.)[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+"
    r"@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
    r"(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*"
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


def one_line(text: str) -> str:
    """Replace each run of white space with one space."""
    return _SPACES.sub(" ", text).strip()


def brief(error: object) -> str:
    """Return a library's message about malformed input as one line of at most 200 legal characters."""
    return one_line(clean(str(error)))[:200] or "no reason is given"


def split_keywords(text: str) -> list[str]:
    """Return the keywords that publishers put into one text, with line breaks, commas or the like between."""
    plain = _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)
    pieces = (piece.strip().strip(",").strip() for piece in _BETWEEN_KEYWORDS.split(plain))
    return [piece for piece in pieces if piece]


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


def is_tag(text: str) -> bool:
    """Return whether CKAN's ``tag_length_validator`` and ``tag_name_validator`` accept a tag."""
    shortest, longest = TAG_CHARACTERS
    return shortest <= len(text) <= longest and not _NOT_IN_TAGS.search(text)


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


def is_email(text: str) -> bool:
    """Return whether CKAN's ``email_validator`` accepts an address."""
    return _EMAIL.fullmatch(text) is not None


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


def stored_bytes(value: Any) -> int:
    """Return how many bytes a value takes in Solr.

    CKAN and ckanext-scheming store lists and dictionaries as ASCII JSON, with six bytes for a letter outside
    ASCII, and lists of texts inside them as JSON texts within JSON.
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
    """Return the longest beginning of a text that fits into a number of bytes of UTF-8.

    :param limit: in bytes. The text is cut between characters.
    """
    return text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
