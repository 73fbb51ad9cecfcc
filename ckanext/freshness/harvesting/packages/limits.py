"""Limits of CKAN, PostgreSQL and Solr for the values of one package, with a warning for each change. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .. import legal_values

Warn = Callable[[str, str], None]
"""Called with the key of a value, and with words for people."""

_PROSE = frozenset({"title", "notes", "name", "description"})
"""Fields whose text is never a link, whatever it begins with. A part of it is of use."""


def without_active_urls(values: dict[str, Any], warn: Warn, before: str = "") -> dict[str, Any]:
    """Leave out links that could run a program, at any depth.

    :param before: the beginning of each warning's key.
    """

    def is_active(value: Any, path: str) -> bool:
        active = isinstance(value, str) and legal_values.is_active_url(value)
        if active:
            warn(path, f'"{value[:80]}" is a link that could run a program; left out')
        return active

    out: dict[str, Any] = {}
    for key, value in values.items():
        path = f"{before}{key}"
        if key.removesuffix("_translated") in _PROSE:
            out[key] = value
        elif isinstance(value, dict):
            out[key] = without_active_urls(value, warn, f"{path}.")
        elif isinstance(value, list):
            out[key] = [
                without_active_urls(item, warn, f"{path}.") if isinstance(item, dict) else item
                for item in value
                if not is_active(item, path)
            ]
        elif not is_active(value, path):
            out[key] = value
    return out


def within_solr(key: str, value: Any, warn: Warn) -> Any:
    """Return the value if Solr accepts it, otherwise the beginning of prose; None for anything else."""
    size = legal_values.stored_bytes(value)
    if size <= legal_values.SOLR_BYTES:
        return value
    limit = f"{size} bytes, and Solr takes {legal_values.SOLR_BYTES}"
    if key == "notes" and isinstance(value, str):
        return value  # Solr indexes its words, not the whole text
    if key.removesuffix("_translated") in _PROSE and isinstance(value, str | dict):
        warn(key, f"{limit}; shortened")
        if isinstance(value, str):
            return legal_values.shorten(value)
        # An equal share for each language. A character of two bytes in UTF-8 may take six in JSON.
        share = legal_values.SOLR_BYTES // len(value) // 4
        return {
            language: legal_values.shorten(str(text), share) for language, text in value.items()
        }
    warn(key, f"{limit}; left out")
    return None


def legal_tags(texts: Iterable[str], warn: Warn) -> list[dict[str, str]]:
    """Return keywords as tags that CKAN takes."""
    names, changed = legal_values.tags(texts)
    for text, name in changed.items():
        became = f'becomes "{name}"' if name else "has fewer than two letters or digits; left out"
        warn("tags", f'"{text[:80]}" {became}')
    return [{"name": name} for name in names]


def legal_url(urls: Iterable[str], key: str, warn: Warn) -> str:
    """Return the first of some URLs that CKAN and Solr accept; "" if there is none."""
    for url in filter(None, urls):
        shown = legal_values.shown_url(url)
        if shown is None:
            warn(key, f'"{url[:80]}" is no URL that CKAN can read; left out')
        elif legal_values.stored_bytes(shown) > legal_values.SOLR_BYTES:
            warn(key, f"longer than the {legal_values.SOLR_BYTES} bytes that Solr takes")
        else:
            return shown
    return ""


def legal_size(size: Any, key: str, warn: Warn) -> int | None:
    """Return a number of bytes that PostgreSQL takes; None if the value is none."""
    try:
        number = int(size)
    except (TypeError, ValueError, OverflowError):
        number = -1
    if 0 <= number <= legal_values.BIGGEST_INTEGER:
        return number
    warn(key, f'"{str(size)[:80]}" is not a number of bytes; left out')
    return None
