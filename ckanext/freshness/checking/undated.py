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
_CHUNK = 64 * 1024

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
    rb"(?:-feira)?)(?:-|[.,]{0,2} {1,2})(?:den |the )?"
)
_TIME = rb"(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?"
_TIME_IN_WORDS = (
    rb"(?i:at|um|om|kl\.?|a las|alle|ore|\xe0|\xc3\xa0|\xe0s|\xc3\xa0s) "
    rb"(?:%s|(?:[01]?\d|2[0-3])[.h][0-5]\d(?:[.m][0-5]\d)?)" % _TIME
)
_HALF = rb"(?: ?(?i:[ap]\.?m)\b\.?)?"
_ZONE = rb"(?:Z\b|(?:UTC|[A-Z]{2,3}T|MSK)(?:[+-]\d\d:?\d\d)?|[+-]\d\d(?::?\d\d)?(?!\d))"
_COMPACT = (
    rb"20\d\d(?:02(?:0[1-9]|[12]\d)|(?:0[469]|11)(?:0[1-9]|[12]\d|30)"
    rb"|(?:0[13578]|1[02])(?:0[1-9]|[12]\d|3[01]))"
)
_CLOCK = rb"(?:[01]\d|2[0-3])[0-5]\d(?:[0-5]\d)?"
_BETWEEN = rb"(?:[-/.]|\.? {1,2}(?:de |of )?)"
_DATE = (
    rb"(?<!\d)(?<!\d[-.,/:])(?:%(weekday)s)?"
    rb"(?:%(year)s[-/.]%(month)s[-/.]%(day)s|%(year)s\. ?%(month)s\. ?%(day)s\.?"
    rb"|%(compact)s(?:[T_-]?%(clock)s)?"
    rb"|%(day)s(?i:st|nd|rd|th|er)?%(between)s(?:%(month)s|%(name)s)(?:%(between)s|, )%(year)s"
    rb"|%(day)s%(name)s%(year)s"
    rb"|%(month)s[-/]%(day)s[-/]%(year)s"
    rb"|%(name)s[ -]{1,2}%(day)s(?i:st|nd|rd|th)?(?:,? |-)(?:%(time)s%(half)s (?:%(zone)s )?)?%(year)s)"
    rb"(?:(?:[T ,]{1,3}|,? - ?|[_:-])%(time)s|,? %(time_in_words)s|T%(clock)s)?"
    rb"%(half)s(?: ?%(zone)s)?(?:\[[A-Z][A-Za-z_/+-]{1,40}\]| \([A-Z][^)\n\d]{1,40}\))?(?!\.?\d)"
) % {
    b"weekday": _WEEKDAY,
    b"year": _YEAR,
    b"month": _MONTH,
    b"day": _DAY,
    b"name": _MONTH_NAME,
    b"compact": _COMPACT,
    b"clock": _CLOCK,
    b"between": _BETWEEN,
    b"time": _TIME,
    b"time_in_words": _TIME_IN_WORDS,
    b"half": _HALF,
    b"zone": _ZONE,
}
"""A real date with no digit beside it, with its weekday and its time. Other numbers are data."""
_WORDS = (
    *(b"generat", b"export", b"extracted", b"extraction", b"downloaded", b"retriev", b"printed"),
    *(b"dump completed", b"script date", b"lastbuilddate", b"dtstamp", b"creation-date"),
    # The same in other languages, in UTF-8 and Latin-1
    *(b"erstellt", b"erzeugt", b"generiert", b"abgerufen", b"genereerd", b"generera", b"genereret"),
    *(b"generert", b"generad", b"generaci", b"extracci", b"descarga", b"gerado", b"estrazione"),
    *(b"esporta", b"eksport", b"generowano", b"generov", b"g\xc3\xa9n\xc3\xa9r", b"g\xe9n\xe9r"),
    *(b"extra\xc3\xa7", b"extra\xe7"),
)
"""Before the moment of an export, in small letters."""
_GAP = rb"(?:(?!</|[,{[]\s?[\"'])[^\n\r]){0,60}?"
"""Between a word and its date: no other name of a value."""
_EPOCH = rb"1[4-9]\d{8}(?:\d{3}|\.\d{1,9})?(?![\d.])"
"""Seconds or milliseconds since 1970, from 2014 on."""
_MARK = re.compile(
    rb"(?P<said>(?<!</)(?i:" + b"|".join(_WORDS) + rb")(?P<gap>" + _GAP + rb")"
    # OGC's services
    rb"|\btimeStamp[\"']?\s?[=:]\s?[\"']"
    # SDMX, OAI-PMH, data of traffic, and the head of a feed or of a track
    rb"|\b(?i:prepared)[\"']?\s?[>:]\s?[\"']?"
    rb"|<(?:\w{1,20}:)?(?i:responseDate|responseTimestamp|publicationTime(?:stamp)?)>"
    rb"|<feed\s(?:(?!<entry)[^\0]){0,1500}?<updated>|<channel>(?:(?!<item)[^\0]){0,1500}?<pubDate>"
    rb"|<metadata>(?:(?!</metadata)[^\0]){0,900}?<time>"
    rb"|(?P<comment>^(?:\#|--|//|/\*|[%!])[^\n\r]{0,80}?|<!--[^>]{0,80}?))"
    rb"(?P<date>" + _DATE + rb")"
    rb"|(?P<name>(?i:generat|export|extract|retriev|download|dump)[A-Za-z_ ]{0,20}?"
    rb"(?:(?i:[ _]?(?:at|on)|time|date|stamp|_ts)(?i:_?m?s|_?millis)?[\"']?\s?[:= >]\s?[\"']?"
    rb"|(?<=generated)\"\s?:\s?(?=\d{13})))"
    + _EPOCH
    # Dumps of PostgreSQL have a random key
    + rb"|^\\(?:un)?restrict \w+",
    re.MULTILINE,
)
_MAKING = re.compile(
    rb"(?i:"
    + b"|".join(_WORDS)
    + rb"|\b(?:created|creation|written|produced|made|built|saved|fetched|accessed"
    rb"|queried|compiled|geschrieben|gespeichert|creado|criado|creato|scritto|aangemaakt|oprettet|skapad"
    rb"|utworzono)\b|\bcr\xc3\xa9\xc3\xa9|\bcr\xe9\xe9|vytvo|\A--\s{0,9}(?:started|completed) on\b)"
)
"""Words of making in a comment, which may also stand behind the date."""
_OF_DATA = re.compile(
    rb"(?i:\b(?:valid(?:e|o|a|ity)?|until|till|as (?:of|at)|updated?|modified|changed|revised|published|stand"
    rb"|g(?:\xc3\xbc|\xfc)ltig|g(?:\xc3\xbc|\xfc)ltigkeit|bis|jusqu|hasta|fino)\b"
    rb"|(?:\b|_)(?:for|from|since|through|to|f(?:\xc3\xbc|\xfc)r|pour|para|per)[^a-z]{0,9}\Z)"
    rb"|[a-z](?:For|From|Since|Until|To)[^A-Za-z]{0,9}\Z"
)
"""Words between a word of making and a date by which the date is one of the data."""
_BY_PROGRAM = re.compile(
    rb"[A-Z][a-z]{2} [A-Z][a-z]{2} [\d ]\d \d\d:\d\d:\d\d (?:[A-Z]{2,5} )?\d{4}\Z"
)
"""A moment as C and Java print it: a comment that says no more has been written by a program."""
_BEHIND = re.compile(rb"(?:(?!-->)[^\n\r]){0,80}")
_SIGNS = (
    *_WORDS,
    *b"stamp prepared <responsedate> publicationtime <feed <channel> <metadata> <!-- extract".split(),
    *b"download dump".split(),
    *(b"\n" + sign for sign in b"# -- // /* % !".split()),
)
"""Signs in small letters. Each file with a mark has one, and looking for them takes a hundredth of the time."""
_SECONDS = re.compile(rb"1[4-9]\d{8}")
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
    head = first[: _length_of_head(first)]
    if b"20" not in head and _SECONDS.search(head) is None:
        # Without a year there is no stamp. Looking for a year is faster than looking for the signs.
        return False
    small = b"\n" + head.lower()
    return any(sign in small for sign in _SIGNS) and any(map(_is_making, _MARK.finditer(head)))


def undated_hash(file: _Readable) -> str:
    """Return the hash of all but the moments of making, in hexadecimal."""
    first = file.read(WINDOW)
    chunks = iter(lambda: file.read(_CHUNK), b"")
    undated = _without_events if first.startswith(_CALENDAR) else _without_marks
    sha256 = hashlib.sha256()
    for chunk in undated(first, chunks):
        sha256.update(chunk)
    return sha256.hexdigest()


def _length_of_head(first: bytes) -> int:
    """Return how many bytes may say when a file was made. In the rows of a table, dates are data."""
    head = first[:WINDOW]
    # Only PC-Axis has such a line.
    if _is_table(head.decode("latin-1")) and b'\nCREATION-DATE="' not in head:
        return len(head.partition(b"\n")[0])
    return len(head)


def _without_marks(first: bytes, chunks: Iterable[bytes]) -> Iterator[bytes]:
    length = _length_of_head(first)
    yield _without_marks_of(first[:length])
    yield first[length:]
    end = b""
    for chunk in chunks:
        end += chunk
        yield end[:-WINDOW]
        end = end[-WINDOW:]
    yield end if length < len(first) else _without_marks_of(end)


def _without_marks_of(part: bytes) -> bytes:
    marks = [mark for mark in _MARK.finditer(part) if _is_making(mark)]
    # A name with several dates is a field of records.
    names = Counter(map(_name, marks))
    made = {mark.start() for mark in marks if names[_name(mark)] == 1 or not _said(mark)}
    return _MARK.sub(lambda mark: _said(mark) if mark.start() in made else mark[0], part)


def _said(mark: re.Match[bytes]) -> bytes:
    """Return what stands before a moment; nothing if there is no moment."""
    return mark["said"] or mark["name"] or b""


def _name(mark: re.Match[bytes]) -> bytes:
    return _said(mark).translate(None, b"0123456789")


def _is_making(mark: re.Match[bytes]) -> bool:
    """Decide whether a date is the moment when the file was made, by the words beside it."""
    gap, comment = mark["gap"], mark["comment"]
    if comment is not None:
        behind = _BEHIND.match(mark.string, mark.end())
        assert behind is not None
        is_alone = not comment.strip(b"#-/*%! \t") and not behind[0].strip()
        if is_alone and _BY_PROGRAM.fullmatch(mark["date"]):
            return True
        gap = _MAKING.split(comment)[-1]
        if gap == comment and not _MAKING.search(behind[0]):
            return False
    return gap is None or _OF_DATA.search(gap) is None


def _without_events(line: bytes, chunks: Iterable[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        lines, newline, line = (line + chunk).rpartition(b"\n")
        if len(line) > _CHUNK:
            newline, line = newline + line, b""
        yield _EVENT_MADE.sub(b"", lines) + newline
    yield _EVENT_MADE.sub(b"", line)


def _is_table(text: str) -> bool:
    """Decide whether a text is a table, perhaps with a title above its header."""
    return is_table(text) or (text[:1] not in "{[<" and is_table(text.partition("\n")[2]))
