"""Labels of the EU's authority tables and of other codes, in the reader's language."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from babel import Locale
from babel.core import get_global

_AUTHORITY = re.compile(
    r"https?://publications\.europa\.eu/(?:resource|mdr)/authority/([a-z-]+)/(\w{1,50})/?", re.ASCII
)
_LABELS = Path(__file__).with_name("eu_vocabularies.json")
"""Labels of data-theme, frequency and access-right, in English, German, French and Spanish."""

_FALLBACK = "en"


def label(uri: str, locale: Locale) -> str | None:
    """Return the label of a term of the EU's authority tables; None if it has none.

    Languages and countries have the names that Babel knows, in all languages of CKAN.
    """
    found = _AUTHORITY.fullmatch(uri)
    if found is None:
        return None
    table, code = found.groups()
    if table == "language":
        return language(code, locale)
    if table == "country":
        (alpha_2, *_) = get_global("territory_aliases").get(code, [code])
        return _text(locale.territories.get(alpha_2))
    labels = _labels().get(table, {}).get(code, {})
    return labels.get(locale.language) or labels.get(_FALLBACK)


def language(code: str, locale: Locale) -> str | None:
    """Return the name of a language; None if its code is unknown.

    :param code: of ISO 639, of two or three letters
    """
    lower = code.lower()
    name = _text(locale.languages.get(get_global("language_aliases").get(lower, lower)))
    # In French and Spanish, names of languages are written in lower case.
    return None if name is None else name[:1].upper() + name[1:]


def code(uri: str) -> str:
    """Return the end of a URI, which people read more easily than all of it."""
    return re.split(r"[/#]", uri.rstrip("/#"))[-1] or uri


def _text(name: Any) -> str | None:
    return None if name is None else str(name)


@cache
def _labels() -> dict[str, dict[str, dict[str, str]]]:
    labels: dict[str, dict[str, dict[str, str]]] = json.loads(_LABELS.read_text(encoding="utf-8"))
    return labels
