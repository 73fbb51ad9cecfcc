"""Values that a catalogue accepts: CKAN, PostgreSQL and Solr.

Sources publish control characters, tags with slashes and geometries of a megabyte. Any of these makes CKAN
refuse the whole dataset. Therefore a value is made legal, or left out with a warning. Each function here is
pure.
"""

from __future__ import annotations

import contextlib
import html
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

SOLR_BYTES = 32_766
"""Lucene's longest indexed term, in bytes of UTF-8. A longer one makes Solr refuse the dataset."""

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


def read_json(body: bytes, object_hook: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """Return the value of JSON, whatever numbers it contains.

    A number that Python or JSON could not write becomes a text.

    :param object_hook: see :func:`json.loads`.
    :raises ValueError: the bytes are not JSON.
    :raises RecursionError: it is nested too deeply.
    """
    return json.loads(
        body,
        object_hook=object_hook,
        parse_int=_number,
        parse_float=_number,
        parse_constant=str,
    )


def _number(text: str) -> float | str:
    if text.lstrip("-").isdigit():
        return int(text) if len(text) <= _MOST_DIGITS else text
    return number if math.isfinite(number := float(text)) else text


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
