"""Decides whether a text reports an error in place of data.

**A text is an error only against what came before**: the last good file had other names (:mod:`.outlines`), or
was ten times as large. If nothing came before, nobody can tell. Only few words are searched for, in English, as
programs and interfaces use them: in other languages, names and size decide.

Pure.
"""

from __future__ import annotations

import json
import re

from ..web.errors import Meaning
from .outlines import Outline, columns, records

_JSON_FORMATS = frozenset({"json", "jsonld", "geojson", "topojson"})
_XML_FORMATS = frozenset({"xml", "kml", "gml", "wfs", "gpx", "rss", "atom", "rdf", "rdfxml", "svg"})
"""Formats for which a server may send an error document in place of the data."""
_PLAIN_TEXTS = frozenset({"txt", "text", "plaintext", "log"})
"""Formats of texts that may be about errors."""

TABLES = frozenset({"csv", "tsv", "tab", "psv"})
"""Formats of tables, whose good files have several lines or columns."""

SHORT = 4096
"""A text of fewer bytes in place of data is an error text. Larger ones are doubted only by what came before."""
_TIMES_SMALLER = 10

_BEGINNING = 300
"""Characters of a plain text in which its words are searched for."""
_WORDS = re.compile(
    r"(?i:\b(?:errors?|exceptions?|traceback|fatal|panic|fail(?:ed|ure)|denied|refused|invalid|unavailable"
    r"|not (?:found|connected)|could not))\b.*\S|[A-Za-z](?:Error|Exception)\b|\bORA-\d{5}\b|\bSP2-\d{4}\b"
    r"|SQLSTATE|(?:Warning|Notice|Deprecated): .* on line \d|\A\S+ https://git-lfs\."
)
"""Words of programs and databases, and the pointer that Git LFS gives in place of a file."""
_DOCUMENT = re.compile(
    r"\A.{0,1000}?<(?:[\w.-]+:)?(?:\w{0,30}exception\w{0,30}|errors?|fault|problem)[\s/>]",
    re.DOTALL | re.I,
)
"""An element of XML that reports an error."""

_STRONG = re.compile(r"err|exception|fault", re.IGNORECASE)
_WEAK = re.compile(r"message|msg|detail", re.IGNORECASE)
"""Names of JSON that report an error, or perhaps something else."""
_STATES = ("status", "state", "success", "ok", "estado")
_SAYING = ("status", "state", "message")
_BAD_STATE = re.compile(r"false|err.*|fail.*|[45]\d\d|.*(?:error|denied)")
_BUSY = re.compile(
    r"(?:.*\b)?(?:processing|pending|queued|preparing|generating|in[ _-]?progress|running)\W*",
    re.IGNORECASE,
)
"""What interfaces say while they prepare a file."""


def is_being_prepared(text: str) -> bool:
    """Return whether a JSON object only says that the file is being prepared."""
    try:
        found = json.loads(text) if text[:1] == "{" else None
    except (ValueError, RecursionError):
        return False
    if not isinstance(found, dict) or any(isinstance(one, (dict, list)) for one in found.values()):
        return False
    return any(_BUSY.fullmatch(str(found.get(name))) for name in _SAYING)


def meaning_of_text(
    text: str, size: int, words: frozenset[str], last: Outline | None, *, takes_pages: bool
) -> Meaning:
    """Decide whether a text reports an error: ``FAILED``; ``CANNOT_TELL``, if it may; else ``WORKS``.

    :param text: the whole file, without leading and trailing blanks
    :param size: of the file, in bytes
    :param words: of the promised formats
    :param last: the outline of the last good file; None if there was none
    :param takes_pages: whether web pages are data under the promised formats
    """
    if not words.isdisjoint(_PLAIN_TEXTS):
        return Meaning.WORKS
    is_line = last is not None and columns(text) == 0 < last.columns and size < SHORT
    if is_line and not takes_pages and not words.isdisjoint(TABLES):
        return Meaning.FAILED
    if text[:1] in ("{", "["):
        return _of_json(text, size, words, last)
    if text[:1] == "<":
        if words.isdisjoint(_XML_FORMATS):
            return Meaning.WORKS
        return _compared(text, size, last, looks=_DOCUMENT.match(text) is not None)
    if text == "null" and not words.isdisjoint(_JSON_FORMATS):
        # Databases with an interface in JSON answer so where there is nothing.
        return Meaning.FAILED
    if takes_pages:
        return Meaning.WORKS
    if last is not None and last.names and not last.differs(text):
        return Meaning.WORKS
    found = records(text)
    looks = found < 2 and _WORDS.search(text[:_BEGINNING]) is not None
    # A table of one record may be an error, too.
    return _compared(text, size, last, looks=looks, is_data=found > 2)


def _of_json(text: str, size: int, words: frozenset[str], last: Outline | None) -> Meaning:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return Meaning.WORKS
    is_list = isinstance(found, list) and len(found) == 1
    found = found[0] if is_list else found
    if not isinstance(found, dict):
        return Meaning.WORKS
    if words.isdisjoint(_JSON_FORMATS):
        # As ArcGIS says it, whose services have many formats.
        error = found.get("error")
        is_error = found.keys() == {"error"} and isinstance(error, dict) and "code" in error
        return _compared(text, size, last, looks=is_error) if is_error else Meaning.WORKS
    if "geojson" in words and not (is_list or {"type", "features"} & found.keys()):
        return Meaning.FAILED
    is_other = last is not None and last.differs(text)
    looks = _reports_error(found, is_list=is_list, is_other=is_other)
    return _compared(text, size, last, looks=looks)


def _reports_error(found: dict[str, object], *, is_list: bool, is_other: bool) -> bool:
    """Return whether an object has an error, and no data.

    :param is_list: whether it is the only one of a list, where a message is data
    :param is_other: whether the last good file had other names. Then lists and objects beside an error are
        not data
    """
    if any(_BAD_STATE.fullmatch(str(found.get(name)).lower()) for name in _STATES):
        return True
    told = {name for name, value in found.items() if value}
    strong = {name for name in told if _STRONG.search(name)}
    weak = set() if is_list else {name for name in told if _WEAK.search(name)}
    beside = [found[name] for name in told - strong - weak]
    has_data = any(isinstance(value, (dict, list)) for value in beside)
    return bool(strong and is_other) or bool((strong or weak) and not has_data)


def _compared(
    text: str, size: int, last: Outline | None, *, looks: bool, is_data: bool = False
) -> Meaning:
    """Compare a text with the last good file.

    :param looks: whether it looks like an error by itself
    :param is_data: whether it is data, however small, and whatever its names
    """
    if last is None:
        return Meaning.CANNOT_TELL if looks and size < SHORT else Meaning.WORKS
    is_other, is_small = last.differs(text), size * _TIMES_SMALLER <= last.size
    if is_other and is_small and not is_data:
        return Meaning.FAILED
    if looks:
        return Meaning.FAILED if is_other or is_small else Meaning.CANNOT_TELL
    # Perhaps an error in another language, perhaps a new structure.
    is_marked = text[:1] in ("{", "[", "<") and size < SHORT
    return Meaning.CANNOT_TELL if is_marked and last.shares_nothing(text) else Meaning.WORKS
