"""Decides whether a text reports an error in place of data.

**A text is an error only against what came before**: the last good file had other names (:mod:`.outlines`), or
was ten times as large. If nothing came before, nobody can tell. What is doubtful and still comes after weeks is
data if it has a new structure or lacks only rows, and else an error. Only few words are searched for, in
English, as programs and interfaces use them: in other languages, names and size decide.

Pure.
"""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import NamedTuple

from ..web.errors import Meaning
from .outlines import Outline, Text

_STRUCTURED = frozenset(
    {
        *("json", "jsonld", "geojson", "topojson"),
        *("xml", "kml", "gml", "wfs", "gpx", "rss", "atom", "rdf", "rdfxml", "svg"),
    }
)
"""Formats whose servers also send errors in JSON or XML. Some of them have a page, too."""
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
    r"\A.{0,1000}?<(?:[\w.-]+:)?"
    r"(?:\w{0,30}exception\w{0,30}|fault|problem|errors?(?!\s?/>|>\s?(?:0|no|none|false|ok)?\s?</))[\s/>]",
    re.DOTALL | re.I,
)
"""An element of XML that reports an error, unless it says that there is none."""
_NO_ERROR = frozenset(
    {"none", "no", "null", "ok", "false", "0", "no error", "no errors", "success"}
)
"""Values by which an object of JSON says that there is no error."""

_STRONG = re.compile(
    r"(?i:(?:^|[\W_])(?:err(?:o|eur|msg|code|$)|exception|fault))|Err|Exception|Fault"
)
_WEAK = re.compile(r"message|msg|detail", re.IGNORECASE)
"""Names of JSON that report an error, or perhaps something else."""
_STATES = ("status", "state", "success", "ok", "estado")
_BAD_STATE = re.compile(r"false|err.*|fail.*|[45]\d\d|.*(?:error|denied)")
_BUSY = re.compile(
    r"(?:.*\b)?(?:processing|pending|queued|preparing|generating|in[ _-]?progress|running)\W*"
    r"|.*\b(?:rate[ _-]?limit|too[ _-]many[ _-]requests|quota[ _-]exceeded).*",
    re.IGNORECASE,
)
"""What interfaces say while they prepare a file, and to whom has asked too often."""


class ShortText(Text):
    """The text of a whole file.

    :param text: without leading and trailing blanks
    :param size: of the file, in bytes
    """

    def __init__(self, text: str, size: int) -> None:
        super().__init__(text)
        self.size = size

    @property
    def is_json(self) -> bool:
        """Whether it begins as an object or a list of JSON."""
        return self.text[:1] in ("{", "[")

    @property
    def is_marked(self) -> bool:
        """Whether it begins as JSON or as XML."""
        return self.is_json or self.text[:1] == "<"

    @cached_property
    def parsed(self) -> dict[str, object] | None:
        """An object of JSON, or the only one of a list; None if the text is anything else."""
        try:
            found = json.loads(self.text)
        except (ValueError, RecursionError):
            return None
        if isinstance(found, list) and len(found) == 1:
            found = found[0]
        return found if isinstance(found, dict) else None

    @property
    def records(self) -> int:
        """The number of records at its beginning; 0 if it has one column at most."""
        return len(self.lines) if self.columns > 1 else 0

    @property
    def is_line(self) -> bool:
        """Whether it is short, and has no more than two lines and no record."""
        is_short = self.size < SHORT and len(self.lines) < 3
        return is_short and not self.is_marked and self.records < 2

    def says_later(self) -> bool:
        """Return whether it is a JSON object that only says to come back later."""
        found = self.parsed if self.text[:1] == "{" else None
        if found is None or any(
            value and isinstance(value, (dict, list)) for value in found.values()
        ):
            return False
        return any(_BUSY.fullmatch(str(found.get(name))) for name in ("message", "error", *_STATES))


class TextMeaning(NamedTuple):
    """What a text means for a link.

    :ivar now: ``FAILED`` if it reports an error, ``CANNOT_TELL`` if it may, else ``WORKS``
    :ivar in_time: the same if the text still comes after :data:`.decisions.PATIENCE`
    """

    now: Meaning
    in_time: Meaning


_DATA = TextMeaning(Meaning.WORKS, Meaning.WORKS)
_ERROR = TextMeaning(Meaning.FAILED, Meaning.FAILED)
_PERHAPS_DATA = TextMeaning(Meaning.CANNOT_TELL, Meaning.WORKS)
_PERHAPS_ERROR = TextMeaning(Meaning.CANNOT_TELL, Meaning.FAILED)
_UNKNOWN = TextMeaning(Meaning.CANNOT_TELL, Meaning.CANNOT_TELL)


def meaning_of_text(
    file: ShortText, words: frozenset[str], last: Outline | None, *, takes_pages: bool
) -> TextMeaning:
    """Decide whether a text reports an error.

    :param words: of the promised formats
    :param last: the outline of the last good file; None if there was none
    :param takes_pages: whether web pages are data under the promised formats
    """
    is_small = last is not None and file.size * _TIMES_SMALLER <= last.size
    is_line = is_small and file.is_line
    if not words.isdisjoint(_PLAIN_TEXTS):
        return _PERHAPS_DATA if is_line else _DATA
    text, size = file.text, file.size
    if last is not None and last.is_header(text):
        return _DATA
    is_any = takes_pages and words.isdisjoint(_STRUCTURED)
    if takes_pages:
        # The page of an interface has no features.
        words -= {"geojson"}
    if not is_any and size < SHORT and _is_no_data(file, words, last):
        return _ERROR
    is_other = last is not None and last.differs(file.names)
    looks = is_new = is_message = False
    if file.is_json:
        found = file.parsed
        if found is None:
            return _DATA
        looks = _reports_error(found, is_list=text[:1] == "[", is_other=is_other)
        is_message = _is_message(found) and (is_any or _has_all_names(found, last))
    elif text[:1] == "<":
        looks = _DOCUMENT.match(text) is not None
    elif is_other or last is None or not last.names:
        # A table of one record may be an error, too.
        has_words = _WORDS.search(text[:_BEGINNING]) is not None
        looks, is_new = has_words and file.records < 2, has_words and file.records == 2
    if last is None:
        # An interface that is asked for nothing may also say so. Those that refuse name a code.
        is_doubted = looks and size < SHORT and (not is_any or '"code"' in text)
        return _UNKNOWN if is_doubted else _DATA
    if looks and not is_message and (is_other or is_small):
        return _ERROR
    if is_any or not last.size:
        return _PERHAPS_DATA if is_line or (looks and is_other) else _DATA
    if is_other and is_small and (file.is_marked or file.records < 3):
        # A list of one column may be a new structure.
        is_list = not file.is_marked and len(file.lines) > 2 and file.columns == 1
        return _PERHAPS_ERROR if is_list else _ERROR
    if looks:
        return _PERHAPS_DATA if is_message else _PERHAPS_ERROR
    if size >= SHORT:
        return _DATA
    if file.is_marked:
        # Perhaps an error in another language, perhaps a new structure.
        return _PERHAPS_DATA if last.shares_nothing(file.names) else _DATA
    return _PERHAPS_ERROR if is_new or _has_lost_columns(file, last) else _DATA


def _is_no_data(file: ShortText, words: frozenset[str], last: Outline | None) -> bool:
    """Return whether a short text is certainly not of the promised formats."""
    is_line = last is not None and file.columns == 0 < last.columns
    if "geojson" in words and file.parsed is not None and file.text[:1] == "{":
        return {"type", "features"}.isdisjoint(file.parsed)
    # Databases with an interface in JSON answer so where there is nothing.
    return file.text == "null" or (is_line and not words.isdisjoint(TABLES))


def _has_lost_columns(file: ShortText, last: Outline) -> bool:
    """Return whether two lines without separators came where there was a table."""
    return file.columns < 2 <= last.columns and file.text.count("\n") < 2


def _is_message(found: dict[str, object]) -> bool:
    """Return whether an object that looks like an error names none: it may be a greeting, or have no rows."""
    return not _is_in_bad_state(found) and not any(map(_STRONG.search, _told(found)))


def _has_all_names(found: dict[str, object], last: Outline | None) -> bool:
    """Return whether all that was known is still there, as if only the rows were gone."""
    names = [] if last is None else last.names.split("\n")
    return all(found.get(name) is not None for name in names)


def _reports_error(found: dict[str, object], *, is_list: bool, is_other: bool) -> bool:
    """Return whether an object has an error, and no data.

    :param is_list: whether it is the only one of a list, where a message is data
    :param is_other: whether the last good file had other names. Then lists and objects beside an error are
        not data
    """
    if _is_in_bad_state(found):
        return True
    told = _told(found)
    strong = {
        name for name in told if _STRONG.search(name) and type(found[name]) not in (int, float)
    }
    weak = set() if is_list else {name for name in told if _WEAK.search(name)}
    beside = [found[name] for name in told - strong - weak]
    has_data = any(isinstance(value, (dict, list)) for value in beside)
    return bool(strong and is_other) or bool((strong or weak) and not has_data)


def _is_in_bad_state(found: dict[str, object]) -> bool:
    return any(_BAD_STATE.fullmatch(str(found.get(name)).lower()) for name in _STATES)


def _told(found: dict[str, object]) -> set[str]:
    """Return the names of an object, without those that have no value or only say that there is no error."""
    return {name for name, value in found.items() if value and str(value).lower() not in _NO_ERROR}
