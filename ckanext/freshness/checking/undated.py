"""Texts that say when they were made: the same data, exported anew each day, have one hash.

Exports, services and dumps write the moment of their making into a comment or under a name of its own. It is
no data. Only the beginning and the end of a file are searched: :data:`WINDOW` bytes each. In calendars, each
event has such a moment.

Pure, but only used in the sandbox, as all that opens files.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Protocol

from .outlines import is_table

WINDOW = 2048
_PIECE = 64 * 1024

_YEAR = rb"20\d\d"
_MONTH = rb"(?:0?[1-9]|1[0-2])"
_DAY = rb"(?:0?[1-9]|[12]\d|3[01])"
_MONTH_NAME = (
    rb"(?i:jan|feb|fev|f\xc3\xa9v|f\xe9v|mar|m\xc3\xa4r|m\xe4r|maa|apr|avr|abr|mai|may|mag|mei|maj|jun|jui|giu"
    rb"|jul|lug|aug|ago|ao\xc3\xbb|ao\xfb|sep|set|oct|okt|out|ott|nov|dec|dez|dic|d\xc3\xa9c|d\xe9c|ene|gen)"
    rb"[a-z\x80-\xff]{0,9}\.?"
)
"""A month, in the languages of the words below."""
_WEEKDAY = (
    rb"(?=[A-Za-z])(?<![A-Za-z])(?i:mon|tues?|wed|thu(?:rs?)?|fri|sat|sun|[a-z\x80-\xff]{2,9}(?:day|tag|dag)|mittwoch"
    rb"|sonnabend|mo|di|mi|do|fr|sa|so|lun|mar|mer|jeu|ven|sam|dim|[a-z]{3,8}di|dimanche|lunes|martes"
    rb"|mi(?:\xc3\xa9|\xe9|e)rcoles|jueves|viernes|s(?:\xc3\xa1|\xe1|a)bado|domingo"
    rb"|[a-z]{4,8}d(?:\xc3\xac|\xec|i')|sabato|domenica|(?:segunda|ter(?:\xc3\xa7|\xe7)a|quarta|quinta|sexta)"
    rb"(?:-feira)?)[.,]{0,2} {1,2}(?:den |the )?"
)
_TIME = rb"(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?"
_ZONE = rb"(?:Z|(?:UTC|[A-Z]{2,3}T|MSK)(?:[+-]\d\d:?\d\d)?|[+-]\d\d:?\d\d)"
_COMPACT = (
    rb"20\d\d(?:02(?:0[1-9]|[12]\d)|(?:0[469]|11)(?:0[1-9]|[12]\d|30)"
    rb"|(?:0[13578]|1[02])(?:0[1-9]|[12]\d|3[01]))"
)
_BETWEEN = rb"(?:[-/.]|\.? {1,2}(?:de )?)"
_DATE = (
    rb"(?:%(weekday)s)?(?:%(year)s[-/.]%(month)s[-/.]%(day)s|%(compact)s(?:[01]\d|2[0-3])[0-5]\d[0-5]\d"
    rb"|%(compact)s|%(day)s%(between)s(?:%(month)s|%(name)s)(?:%(between)s|, )%(year)s"
    rb"|%(month)s[-/]%(day)s[-/]%(year)s"
    rb"|%(name)s {1,2}%(day)s,? (?:%(time)s (?:%(zone)s )?)?%(year)s)"
    rb"(?:(?:[T ,]{1,3}|,? (?:at|um|om|kl\.?|-|\xe0|\xc3\xa0) )%(time)s|T(?:[01]\d|2[0-3])[0-5]\d(?:[0-5]\d)?)?"
    rb"(?: ?(?i:[ap]\.?m)\b\.?)?(?: ?%(zone)s)?(?: \([A-Z][^)\n\d]{1,40}\))?(?!\.?\d)"
) % {
    b"weekday": _WEEKDAY,
    b"year": _YEAR,
    b"month": _MONTH,
    b"day": _DAY,
    b"name": _MONTH_NAME,
    b"compact": _COMPACT,
    b"between": _BETWEEN,
    b"time": _TIME,
    b"zone": _ZONE,
}
"""A real date with no digit beside it, with its weekday and its time. Other numbers are data."""
_WORDS = (
    *(b"generat", b"export", b"extracted", b"extraction", b"downloaded", b"retrieved", b"printed"),
    *(b"dump completed", b"lastbuilddate", b"dtstamp", b"creation-date"),
    # The same in other languages, in UTF-8 and Latin-1
    *(b"erstellt", b"erzeugt", b"generiert", b"abgerufen", b"genereerd", b"generera", b"genereret"),
    *(b"generad", b"generaci", b"extracci", b"descarga", b"gerado", b"estrazione", b"generowano"),
    *(b"generov", b"g\xc3\xa9n\xc3\xa9r", b"g\xe9n\xe9r", b"extra\xc3\xa7", b"extra\xe7"),
)
"""Before the moment of an export, in small letters."""
_MARK = re.compile(
    rb"((?i:" + b"|".join(_WORDS) + rb")[^\n\r\d]{0,40}?"
    # OGC's services
    rb"|\btimeStamp[\"']?\s?[=:]\s?[\"']"
    # SDMX, OAI-PMH, data of traffic, and the head of a feed or of a track
    rb"|\b(?i:prepared)[\"']?\s?[>:]\s?[\"']?"
    rb"|<(?:\w{1,20}:)?(?i:responseDate|responseTimestamp|publicationTime(?:stamp)?)>"
    rb"|<feed\s(?:(?!<entry)[^\0]){0,1500}?<updated>|<metadata>(?:(?!</metadata)[^\0]){0,900}?<time>"
    # Comments
    rb"|^(?:\#|--)[^\n\r\d]{0,80}?|<!--[^>\d]{0,80}?)"
    + _DATE
    +
    # Dumps of PostgreSQL have a random key
    rb"|^\\(?:un)?restrict \w+",
    re.MULTILINE,
)
_SIGNS = (
    *(*_WORDS, b"stamp", b"prepared", b"<responsedate>", b"publicationtime", b"<feed"),
    *(b"<metadata>", b"<!--", b"\n#", b"\n--"),
)
"""Signs in small letters. Each file with a mark has one, and looking for them takes a hundredth of the time."""
_DUMPS = (b"-- MySQL dump", b"-- MariaDB dump", b"--\n-- PostgreSQL database")
"""First bytes of texts that have a mark at the end."""
_CALENDAR = b"BEGIN:VCALENDAR"
_EVENT_MADE = re.compile(rb"^DTSTAMP[^\n]*", re.MULTILINE)


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def is_dated(first: bytes) -> bool:
    """Decide by its first bytes whether a file is a text that says when it was made."""
    if first.startswith((*_DUMPS, _CALENDAR)):
        return True
    head = first[:WINDOW]
    if _is_table(head.decode("latin-1")) and b'\nCREATION-DATE="' not in head:
        # Dates in the rows are data. Only PC-Axis has such a line.
        head = head.partition(b"\n")[0]
    if b"20" not in head:
        # Without a year there is no stamp. Looking for a year is faster than looking for the signs.
        return False
    small = b"\n" + head.lower()
    return any(sign in small for sign in _SIGNS) and _MARK.search(head) is not None


def undated_hash(file: _Readable) -> str:
    """Return the hash of all but the moments of making, in hexadecimal."""
    first = file.read(WINDOW)
    pieces = iter(lambda: file.read(_PIECE), b"")
    undated = _without_events if first.startswith(_CALENDAR) else _without_marks
    sha256 = hashlib.sha256()
    for piece in undated(first, pieces):
        sha256.update(piece)
    return sha256.hexdigest()


def _without_marks(first: bytes, pieces: Iterable[bytes]) -> Iterator[bytes]:
    yield _without_marks_of(first)
    end = b""
    for piece in pieces:
        end += piece
        yield end[:-WINDOW]
        end = end[-WINDOW:]
    yield _without_marks_of(end)


def _without_marks_of(part: bytes) -> bytes:
    marks = {mark[0]: mark[1] for mark in _MARK.finditer(part)}
    # A name with several dates is a field of records.
    names = Counter(marks.values())
    del names[None]
    return _MARK.sub(lambda mark: mark[0] if names[mark[1]] > 1 else mark[1] or b"", part)


def _without_events(line: bytes, pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        lines, newline, line = (line + piece).rpartition(b"\n")
        if len(line) > _PIECE:
            newline, line = newline + line, b""
        yield _EVENT_MADE.sub(b"", lines) + newline
    yield _EVENT_MADE.sub(b"", line)


def _is_table(text: str) -> bool:
    """Decide whether a text is a table, perhaps with a title above its header."""
    return is_table(text) or (text[:1] not in "{[<" and is_table(text.partition("\n")[2]))
