"""An IATI file, read while it is downloaded: its encoding, its root element, its two hashes. Pure.

An IATI file is XML whose root element is ``iati-activities`` or ``iati-organisations``, with any prefix. Its
opening tag must end within the first 6,000 characters. Everything that XML allows before the tag counts, in any
encoding. What follows need not be well-formed.

A file that declares entities is harmless: external ones are never fetched, and internal ones are never
expanded, because the parser gets no ampersand.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from functools import lru_cache
from xml.parsers import expat

from ckanext.freshness.copies.store import StagedBody, StoreError
from ckanext.freshness.web.exchange import Enough
from ckanext.freshness.web.headers import storable

from .rules import DownloadedFile

FIRST_CHARACTERS = 6000
INITIAL_CHARACTERS = 150

ENOUGH_BYTES = 4 * FIRST_CHARACTERS + 4
"""Bytes that hold the first characters in any usual encoding, and a BOM."""

ROOTS = frozenset({"iati-activities", "iati-organisations"})
"""Root elements of IATI files."""

LONGEST_TIME = 1000
"""Characters of the longest value of ``generated-datetime`` that is left out of a hash."""

_LONGEST_NAME = 60
"""Characters of another root element's name that are shown."""


# Encoding: BOM, then declaration, then UTF-8. The Content-Type header does not count: ``text/xml`` without a
# charset would mean US-ASCII (RFC 3023) or ISO 8859-1 (RFC 2616), and files are rarely either.

_WHITE_SPACE = " \t\r\n"
_DECLARED = re.compile(
    rb"""<\?xml[ \t\r\n][^>]*?[ \t\r\n]encoding[ \t\r\n]*=[ \t\r\n]*["']([A-Za-z][A-Za-z0-9._-]{0,39})["']"""
)
_LONGEST_DECLARATION = 512
_ASCII = bytes(range(0x20, 0x7F))

# The BOM of UTF-32 begins like that of UTF-16, so the longer ones come first. Those without a BOM are from
# appendix F of the XML specification.
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF8, "utf-8"),
)
_WITHOUT_BOM = (
    (b"<\0\0\0", "utf-32-le"),
    (b"\0\0\0<", "utf-32-be"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)


def family_of(beginning: bytes) -> tuple[str, int]:
    """Return the codec of ASCII characters in a file, and the length of the BOM, by the first four bytes.

    The codec is ``utf-8`` for all encodings that extend ASCII.
    """
    for bom, codec in _BOMS:
        if beginning.startswith(bom):
            return codec, len(bom)
    return next((codec for first, codec in _WITHOUT_BOM if beginning.startswith(first)), "utf-8"), 0


def _text_of(beginning: bytes) -> str:
    """Decode the beginning of a file.

    A declaration is ignored if it names an unknown encoding, or one in which it could not have been read.
    """
    codec, bom = family_of(beginning)
    declared = _DECLARED.match(beginning[:_LONGEST_DECLARATION].lstrip(_WHITE_SPACE.encode()))
    if codec == "utf-8" and not bom and declared:
        name = declared[1].decode("ascii")
        try:
            # Python knows encodings that XML does not, such as base64.
            if _ASCII.decode(name) == _ASCII.decode("ascii"):
                return codecs.getincrementaldecoder(name)(errors="replace").decode(beginning)
        except (LookupError, ValueError):
            # Some of these, such as idna, cannot replace what they cannot decode.
            pass
    return codecs.getincrementaldecoder(codec)(errors="replace").decode(beginning[bom:])


# Root element


class _Root(Exception):
    """Raised at the root element, with its name, since nothing behind it counts."""


def _end_at_root(name: str, _: object) -> None:
    raise _Root(name)


def problem_of(text: str, *, is_whole: bool) -> str | None:
    """Return why a text is not the beginning of an IATI file, a phrase that follows "the file"; None if it is.

    :param is_whole: the text is the whole file
    """
    first = text[:FIRST_CHARACTERS]
    is_cut = len(first) < len(text) or not is_whole
    # XML allows no white space before a declaration, but many published files have some.
    xml = first.lstrip(_WHITE_SPACE)
    if not xml and not is_cut:
        return "is empty"
    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler = _end_at_root
    error: expat.ExpatError | None = None
    try:
        parser.Parse(xml.replace("&", "_").encode("utf-8", "replace"), not is_cut)
    except _Root as root:
        name = str(root)
        if name.rpartition(":")[2] in ROOTS:
            return None
        shown = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
        return f"is no IATI file: its root element is <{shown}>"
    except expat.ExpatError as found:
        error = found
    if error is None:
        return f"has no whole opening tag within its first {FIRST_CHARACTERS} characters"
    where = f"line {error.lineno}, column {error.offset + 1}"
    return f"is no XML: {expat.ErrorString(error.code)} ({where})"


# Hashes


_MOST_BLANKS = 16
"""Before and behind the equals sign of an attribute."""


@lru_cache
def _generated(codec: str) -> tuple[bytes, re.Pattern[bytes]]:
    """Return the name of attributes ``generated-datetime``, and the pattern of a whole one."""
    name, equals = ("generated-datetime".encode(codec), re.escape("=".encode(codec)))
    blank = b"|".join(re.escape(one.encode(codec)) for one in " \t\r\n")
    blanks = rb"(?:%b){0,%d}" % (blank, _MOST_BLANKS)
    values = []
    for quote in "\"'":
        mark = quote.encode(codec)
        one = rb"(?:(?!%b).{%d}){1,%d}" % (re.escape(mark), len(mark), LONGEST_TIME)
        values.append(re.escape(mark) + one + re.escape(mark))
    whole = re.escape(name) + blanks + equals + blanks + rb"(?:%b)" % b"|".join(values)
    return name, re.compile(whole, re.DOTALL)


class Hashes:
    """The two SHA-1 hashes of a file, made chunk by chunk.

    ``hash`` is that of the bytes. ``hash_excluding_generated_timestamp`` is that of the bytes without each
    ``generated-datetime="…"``, by the Bulk Data Service's definition:
    ``re.sub(r'generated-datetime="[^"]+"', "", text)``, encoded again. The bytes themselves are searched here,
    so both definitions agree if the file really has the encoding that it states. A value of more than
    :data:`LONGEST_TIME` characters is no time: it stays. In XML, single quotation marks and blanks around the
    equals sign mean the same, and so they do here.

    :ivar size: bytes read so far
    """

    def __init__(self) -> None:
        self.size = 0
        self._raw = hashlib.sha1(usedforsecurity=False)
        self._without = hashlib.sha1(usedforsecurity=False)
        self._held = b""
        """Bytes that may belong to an attribute."""
        self._codec: str | None = None

    def write(self, data: bytes) -> None:
        """Read the next chunk."""
        self.size += len(data)
        self._raw.update(data)
        self._held += data
        if self._codec is None:
            if len(self._held) < 4:
                return
            self._codec, _ = family_of(self._held[:4])
        name, pattern = _generated(self._codec)
        unit, done, at = len('"'.encode(self._codec)), 0, -1
        while (at := self._held.find(name, at + 1)) >= 0:
            # Halves of two characters may look like the attribute.
            found = pattern.match(self._held, at) if at % unit == 0 else None
            if found is not None:
                self._without.update(self._held[done:at])
                done = found.end()
                at = done - 1
        longest = (LONGEST_TIME + 2 * _MOST_BLANKS + len('generated-datetime=""')) * unit
        end = max(done, (len(self._held) - longest) // unit * unit)
        self._without.update(self._held[done:end])
        self._held = self._held[end:]

    def finish(self) -> tuple[str, str]:
        """Return both hashes, hexadecimal."""
        without = self._without.copy()
        without.update(self._held)
        return self._raw.hexdigest(), without.hexdigest()


class IatiFileSink:
    """A :class:`ckanext.freshness.web.exchange.Sink` that recognizes, hashes and stages the body of one answer.

    It stops when the beginning shows that the file is no IATI file.

    :ivar staged: where the bytes go
    :ivar problem: why it is no IATI file, a phrase that follows "the file"; None if it is an IATI file so far
    :ivar staging_error: why the bytes could not be staged, a sentence; None if they could
    """

    def __init__(self, staged: StagedBody) -> None:
        self.staged = staged
        self._begin()

    def _begin(self) -> None:
        self._beginning = b""
        self._initial: str | None = None
        self._hashes = Hashes()
        self.problem: str | None = None
        self.staging_error: str | None = None

    def restart(self) -> None:
        """Forget everything written so far."""
        self.staged.restart()
        self._begin()

    def write(self, data: bytes) -> None:
        """Read the next chunk.

        :raises Enough: the rest of the body cannot change the result
        """
        if self._initial is None:
            self._beginning += data[: ENOUGH_BYTES - len(self._beginning)]
            if len(self._beginning) == ENOUGH_BYTES:
                self._look(is_whole=False)
        if self.problem is not None:
            raise Enough
        self._hashes.write(data)
        try:
            self.staged.write(data)
        except StoreError as error:
            self.staging_error = str(error)
            raise Enough from None

    def _look(self, *, is_whole: bool) -> None:
        text = _text_of(self._beginning)
        self.problem = problem_of(text, is_whole=is_whole)
        self._initial = storable(text[:INITIAL_CHARACTERS])
        self._beginning = b""

    def finish(self) -> DownloadedFile | None:
        """Return the complete file; None if it is no IATI file or could not be staged."""
        if self.staging_error is not None:
            return None
        if self._initial is None:
            self._look(is_whole=True)
        if self.problem is not None or self._initial is None:
            return None
        raw, without = self._hashes.finish()
        return DownloadedFile(raw, without, self._hashes.size, self._initial)
