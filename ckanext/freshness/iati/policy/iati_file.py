"""An IATI file, read while it is downloaded: its encoding, its root element, its two hashes.

An IATI file is XML whose root element is ``iati-activities`` or ``iati-organisations``, with any prefix. Its
opening tag must end within the first 6,000 characters. Everything that XML allows before the tag counts, in any
encoding. What follows need not be well-formed.

A file that declares entities is harmless: external ones are never fetched, and internal ones are never
expanded, because the parser gets no ampersand.
"""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from xml.parsers import expat

from ...copies.store import StagedBody, StoreError
from ...web.exchange import Enough, storable
from .state import DownloadedFile

FIRST_CHARACTERS = 6000
INITIAL_CHARACTERS = 150


# Encoding: BOM, then declaration, then UTF-8. The Content-Type header does not count: ``text/xml`` without a
# charset would mean US-ASCII (RFC 3023) or ISO 8859-1 (RFC 2616), and files are rarely either.

_LONGEST_BOM = 4
_LONGEST_DECLARATION = 512
_WHITE_SPACE = " \t\r\n"
_DECLARATION = b"<?xml"
_DECLARED = re.compile(
    rb"""<\?xml[ \t\r\n][^>]*?[ \t\r\n]encoding[ \t\r\n]*=[ \t\r\n]*["']([A-Za-z][A-Za-z0-9._-]{0,39})["']"""
)
_ASCII = bytes(range(0x20, 0x7F))


@dataclass(frozen=True, slots=True)
class _EncodingFamily:
    """A way to encode ASCII characters in a file.

    :ivar codec: Python's name; ``utf-8`` for all encodings that extend ASCII
    :ivar unit: bytes of an ASCII character
    :ivar bom: bytes of the BOM
    """

    codec: str
    unit: int
    bom: int


# The BOM of UTF-32 begins like that of UTF-16, so the longer ones come first. Those without a BOM are from
# appendix F of the XML specification.
_BEGINNINGS: tuple[tuple[bytes, _EncodingFamily], ...] = (
    (codecs.BOM_UTF32_LE, _EncodingFamily("utf-32-le", 4, 4)),
    (codecs.BOM_UTF32_BE, _EncodingFamily("utf-32-be", 4, 4)),
    (codecs.BOM_UTF16_LE, _EncodingFamily("utf-16-le", 2, 2)),
    (codecs.BOM_UTF16_BE, _EncodingFamily("utf-16-be", 2, 2)),
    (codecs.BOM_UTF8, _EncodingFamily("utf-8", 1, 3)),
    (b"<\0\0\0", _EncodingFamily("utf-32-le", 4, 0)),
    (b"\0\0\0<", _EncodingFamily("utf-32-be", 4, 0)),
    (b"<\0", _EncodingFamily("utf-16-le", 2, 0)),
    (b"\0<", _EncodingFamily("utf-16-be", 2, 0)),
    (b"", _EncodingFamily("utf-8", 1, 0)),
)


@lru_cache(maxsize=64)
def _family_of(beginning: bytes) -> _EncodingFamily:
    """Return the encoding family of a file by its first :data:`_LONGEST_BOM` bytes."""
    return next(family for first, family in _BEGINNINGS if beginning.startswith(first))


def _needs_more(beginning: bytes) -> bool:
    """Decide whether more bytes are needed to know the encoding: an XML declaration is incomplete."""
    if len(beginning) < _LONGEST_BOM:
        return True
    text = beginning[:_LONGEST_DECLARATION].lstrip(_WHITE_SPACE.encode())
    if len(beginning) >= _LONGEST_DECLARATION or b"?>" in text:
        return False
    return text.startswith(_DECLARATION) or _DECLARATION.startswith(text)


def _codec_of(beginning: bytes) -> tuple[str, int]:
    """Return the name of Python's codec, and the length of the BOM.

    A declaration is ignored if it names an unknown encoding, or one in which it could not have been read.
    """
    family = _family_of(beginning[:_LONGEST_BOM])
    if family.bom or family.unit > 1:
        return family.codec, family.bom
    text = beginning[:_LONGEST_DECLARATION].lstrip(_WHITE_SPACE.encode())
    declared = _DECLARED.match(text)
    name = declared[1].decode("ascii") if declared else family.codec
    try:
        # Python knows encodings that XML does not, such as base64.
        extends_ascii = _ASCII.decode(name) == _ASCII.decode("ascii")
    except (LookupError, ValueError):
        extends_ascii = False
    return (name if extends_ascii else family.codec), 0


# Root element

_PIECE = 512
"""Bytes parsed at a time: nearly every opening tag is among the first."""
_LONGEST_NAME = 60
"""Characters of a foreign root element's name that are shown."""


class RootElement(Enum):
    """The root elements of IATI files."""

    ACTIVITIES = "iati-activities"
    ORGANISATIONS = "iati-organisations"


_ROOTS = {root.value: root for root in RootElement}


@dataclass(frozen=True, slots=True)
class DetectedFile:
    """The result of a detection.

    :ivar root: None if it is no IATI file
    :ivar problem: why it is no IATI file, a phrase that follows "the file"; None if it is an IATI file
    """

    root: RootElement | None
    problem: str | None = None


class Detection:
    """Detects IATI files piece by piece. The result does not depend on where the file is cut.

    :ivar result: None until enough has been read
    """

    def __init__(self) -> None:
        self.result: DetectedFile | None = None
        self._beginning = b""
        self._decoder: codecs.IncrementalDecoder | None = None
        self._initial = ""
        self._parsed_characters = 0
        self._is_blank = True
        self._root: str | None = None
        self._parser = expat.ParserCreate("utf-8")
        if hasattr(self._parser, "SetReparseDeferralEnabled"):
            self._parser.SetReparseDeferralEnabled(False)
        self._parser.StartElementHandler = self._on_root

    @property
    def initial_contents(self) -> str:
        """The first :data:`INITIAL_CHARACTERS`, without a BOM.

        U+FFFD replaces undecodable bytes and the character 0, which PostgreSQL does not accept.
        """
        return storable(self._initial[:INITIAL_CHARACTERS])

    def write(self, data: bytes) -> None:
        """Read the next piece."""
        if self.result is not None and len(self._initial) >= INITIAL_CHARACTERS:
            return
        if self._decoder is None:
            # The encoding is known after fewer bytes than a piece, so the rest of a long piece can wait.
            self._beginning += data[:_PIECE]
            if _needs_more(self._beginning):
                return
            data = self._begin() + data[_PIECE:]
        self._read(data, final=False)

    def finish(self) -> DetectedFile:
        """Return the result for the complete file."""
        self._read(self._begin() if self._decoder is None else b"", final=True)
        if self.result is None and self._is_blank:
            self.result = DetectedFile(None, "is empty")
        elif self.result is None:
            error: expat.ExpatError | None = None
            try:
                self._parser.Parse(b"", True)
            except expat.ExpatError as found:
                error = found
            self._judge(error)
        assert self.result is not None
        return self.result

    def _begin(self) -> bytes:
        """Choose the decoder, and return the bytes after the BOM."""
        codec, bom = _codec_of(self._beginning)
        self._decoder = codecs.getincrementaldecoder(codec)(errors="replace")
        return self._beginning[bom:]

    def _on_root(self, name: str, _: object) -> None:
        self._root = name
        # The elements inside do not matter, and there may be many.
        self._parser.StartElementHandler = None

    def _read(self, data: bytes, *, final: bool) -> None:
        assert self._decoder is not None
        for start in range(0, len(data), _PIECE) or (0,):
            piece = data[start : start + _PIECE]
            text = self._decoder.decode(piece, final and start + _PIECE >= len(data))
            if len(self._initial) < INITIAL_CHARACTERS:
                self._initial += text[:INITIAL_CHARACTERS]
            if self.result is None:
                self._parse(text)
            elif len(self._initial) >= INITIAL_CHARACTERS:
                return

    def _parse(self, text: str) -> None:
        text = text[: FIRST_CHARACTERS - self._parsed_characters]
        self._parsed_characters += len(text)
        if self._is_blank:
            # XML allows no white space before a declaration, but many published files have some.
            text = text.lstrip(_WHITE_SPACE)
            self._is_blank = not text
        try:
            self._parser.Parse(text.replace("&", "_").encode("utf-8", "replace"), False)
        except expat.ExpatError as error:
            self._judge(error)
            return
        if self._root is None and self._parsed_characters >= FIRST_CHARACTERS:
            # Some versions of expat put off the last token until the end.
            with contextlib.suppress(expat.ExpatError):
                self._parser.Parse(b"", True)
            if self._root is None:
                self.result = DetectedFile(
                    None, f"has no whole opening tag within its first {FIRST_CHARACTERS} characters"
                )
        if self._root is not None:
            self._judge(None)

    def _judge(self, error: expat.ExpatError | None) -> None:
        """Set the result from the root element, or from the error that came before any."""
        name = self._root
        if name is None:
            assert error is not None, "a document without an element is an error"
            where = f"line {error.lineno}, column {error.offset + 1}"
            problem = f"is no XML: {expat.ErrorString(error.code)} ({where})"
            self.result = DetectedFile(None, problem)
            return
        root = _ROOTS.get(name.rpartition(":")[2])
        if root is None:
            shown = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
            problem = f"is no IATI file: its root element is <{shown}>"
            self.result = DetectedFile(None, problem)
        else:
            self.result = DetectedFile(root)


# Hashes

_OPENING = 'generated-datetime="'
_CLOSING = '"'


class Hashes:
    """The two SHA-1 hashes of a file, made piece by piece.

    ``hash`` is that of the bytes. ``hash_excluding_generated_timestamp`` is that of the bytes without each
    ``generated-datetime="…"``, by the Bulk Data Service's definition:
    ``re.sub(r'generated-datetime="[^"]+"', "", text)``, encoded again. The bytes themselves are searched here,
    so both definitions agree if the file really has the encoding that it states.

    A value without a closing quotation mark is hashed. Only the end of the file shows that it is missing, so
    one hash is made with the value and one without. No value is held in memory, however long it is.

    :ivar size: bytes read so far
    """

    def __init__(self) -> None:
        self.size = 0
        self._raw = hashlib.sha1(usedforsecurity=False)
        self._without = hashlib.sha1(usedforsecurity=False)
        self._with_value: hashlib._Hash | None = None
        """Inside a value: the hash if the value never ends."""
        self._value_is_empty = False
        self._undecided = b""
        """Bytes that may belong to an opening, a closing or an incomplete character."""
        self._unit = 0
        """Bytes of an ASCII character; 0 until the encoding is known."""

    def write(self, data: bytes) -> None:
        """Read the next piece."""
        self.size += len(data)
        self._raw.update(data)
        data = self._undecided + data
        self._undecided = b""
        if not self._unit:
            if len(data) < _LONGEST_BOM:
                self._undecided = data
                return
            family = _family_of(data[:_LONGEST_BOM])
            self._unit = family.unit
            self._opening = _OPENING.encode(family.codec)
            self._closing = _CLOSING.encode(family.codec)
        self._search(data)

    def finish(self) -> tuple[str, str]:
        """Return both hashes, hexadecimal."""
        without = (self._with_value or self._without).copy()
        without.update(self._undecided)
        return self._raw.hexdigest(), without.hexdigest()

    def _search(self, data: bytes) -> None:
        """Hash everything but an end that more bytes must decide."""
        at = 0
        view = memoryview(data)
        while True:
            if self._with_value is None:
                found = self._find(data, self._opening, at)
                if found < 0:
                    cut = self._partial_opening(data, at)
                    self._without.update(view[at:cut])
                    self._undecided = data[cut:]
                    return
                self._without.update(view[at:found])
                at = found + len(self._opening)
                self._with_value = self._without.copy()
                self._with_value.update(self._opening)
                self._value_is_empty = True
            found = self._find(data, self._closing, at)
            if found < 0:
                cut = len(data) - (len(data) - at) % self._unit
                self._with_value.update(view[at:cut])
                self._value_is_empty = self._value_is_empty and cut == at
                self._undecided = data[cut:]
                return
            if self._value_is_empty and found == at:
                # An empty value is hashed.
                self._without = self._with_value
            else:
                at = found + len(self._closing)
            self._with_value = None

    def _find(self, data: bytes, text: bytes, start: int) -> int:
        """Return where a text begins, on a character's first byte; -1 if it does not occur."""
        found = data.find(text, start)
        while found >= 0 and found % self._unit:
            found = data.find(text, found + 1)
        return found

    def _partial_opening(self, data: bytes, start: int) -> int:
        """Return where the end of the data may begin an opening or an incomplete character, else its length."""
        opening, end = self._opening, len(data)
        at = data.find(opening[:1], max(start, end - len(opening) + 1))
        while at >= 0:
            if at % self._unit == 0 and opening.startswith(data[at:]):
                return at
            at = data.find(opening[:1], at + 1)
        return end - end % self._unit


class IatiFileSink:
    """A :class:`ckanext.freshness.web.exchange.Sink` that detects, hashes and stages the body of one answer.

    It stops at the first sign that the file is no IATI file.

    :ivar staged: where the bytes go
    :ivar problem: why it is no IATI file, a phrase that follows "the file"; None if it is an IATI file so far
    :ivar staging_error: why the bytes could not be staged, a sentence; None if they could
    """

    def __init__(self, staged: StagedBody) -> None:
        self.staged = staged
        self._begin()

    def _begin(self) -> None:
        self._detection = Detection()
        self._hashes = Hashes()
        self.problem: str | None = None
        self.staging_error: str | None = None

    def restart(self) -> None:
        """Forget everything written so far."""
        self.staged.restart()
        self._begin()

    def write(self, data: bytes) -> None:
        """Read the next piece.

        :raises Enough: the rest of the body cannot change the result
        """
        self._detection.write(data)
        result = self._detection.result
        if result is not None and result.problem is not None:
            self.problem = result.problem
            raise Enough
        self._hashes.write(data)
        try:
            self.staged.write(data)
        except StoreError as error:
            self.staging_error = str(error)
            raise Enough from None

    def finish(self) -> DownloadedFile | None:
        """Return the complete file; None if it is no IATI file or could not be staged."""
        if self.staging_error is not None:
            return None
        if self.problem is None:
            self.problem = self._detection.finish().problem
        if self.problem is not None:
            return None
        raw, without = self._hashes.finish()
        return DownloadedFile(
            hash=raw,
            hash_excluding_generated_timestamp=without,
            content_length=self._hashes.size,
            initial_contents=self._detection.initial_contents,
        )
