"""Whether a file is an IATI file, by its first 6,000 characters.

An IATI file is XML whose root element is ``iati-activities`` or ``iati-organisations``, with any prefix,
and has its whole opening tag within these characters: whatever XML allows before it, in whatever
encoding, counts as part of them. What follows need not be well-formed.

A file that declares entities does no harm: of external ones nothing is ever fetched, and of internal ones
nothing is ever expanded, since the parser gets to see no ampersand.
"""

from __future__ import annotations

import codecs
import contextlib
from dataclasses import dataclass
from enum import Enum
from xml.parsers import expat

from .encodings import MARK, codec_of, declares_more

FIRST_CHARACTERS = 6000
INITIAL_CHARACTERS = 150

_PIECE = 512
"""Bytes that are looked at together: the opening tag is nearly always among the first."""

_WHITE_SPACE = " \t\r\n"
_SHOWN = 60
_TOO_LATE = f"has no whole opening tag within its first {FIRST_CHARACTERS} characters"


class RootElement(Enum):
    """What an IATI file is a list of."""

    ACTIVITIES = "iati-activities"
    ORGANISATIONS = "iati-organisations"


_ROOTS = {root.value: root for root in RootElement}


@dataclass(frozen=True, slots=True)
class DetectedFile:
    """What a file was found to be.

    :ivar root: None if it is no IATI file
    :ivar words: why not, a phrase that follows "the file"; None if it is one
    """

    root: RootElement | None
    words: str | None = None


class Detection:
    """Takes a file as it comes. The verdict does not depend on where it is cut.

    :ivar verdict: None while more is to be read
    """

    __slots__ = (
        "_beginning",
        "_blank",
        "_decoder",
        "_initial",
        "_parser",
        "_root",
        "_seen",
        "verdict",
    )

    def __init__(self) -> None:
        self.verdict: DetectedFile | None = None
        self._beginning = b""
        self._decoder: codecs.IncrementalDecoder | None = None
        self._initial = ""
        self._seen = 0
        self._blank = True
        self._root: str | None = None
        self._parser: expat.XMLParserType | None = None

    @property
    def initial_contents(self) -> str:
        """The first :data:`INITIAL_CHARACTERS`, without a BOM. What cannot be decoded, and the character
        0, which a database does not take, are U+FFFD."""
        return self._initial[:INITIAL_CHARACTERS].replace("\0", "\ufffd")

    def write(self, data: bytes) -> None:
        """The next piece."""
        if self.verdict is not None and len(self._initial) >= INITIAL_CHARACTERS:
            return
        if self._decoder is None:
            self._beginning += data[:_PIECE]
            if len(self._beginning) < MARK or declares_more(self._beginning):
                # What was cut off is of no use before the encoding is known, which it is after fewer.
                return
            data = self._begin() + data[_PIECE:]
        self._read(data, final=False)

    def finish(self) -> DetectedFile:
        """What the file is, once it is complete."""
        if self._decoder is None:
            self._read(self._begin(), final=True)
        else:
            self._read(b"", final=True)
        if self.verdict is None and self._blank:
            self.verdict = DetectedFile(None, "is empty")
        elif self.verdict is None:
            assert self._parser is not None
            error: expat.ExpatError | None = None
            try:
                self._parser.Parse(b"", True)
            except expat.ExpatError as found:
                error = found
            self._judge(error)
        assert self.verdict is not None
        return self.verdict

    def _begin(self) -> bytes:
        """Find the encoding; what has been read so far, without the BOM."""
        codec, mark = codec_of(self._beginning)
        self._decoder = codecs.getincrementaldecoder(codec)(errors="replace")
        parser = self._parser = expat.ParserCreate("utf-8")
        if hasattr(parser, "SetReparseDeferralEnabled"):
            parser.SetReparseDeferralEnabled(False)
        parser.StartElementHandler = self._opened
        beginning, self._beginning = self._beginning[mark:], b""
        return beginning

    def _opened(self, name: str, _: object) -> None:
        assert self._parser is not None
        self._root = name
        # The others are none of its business, and there may be many.
        self._parser.StartElementHandler = None

    def _read(self, data: bytes, *, final: bool) -> None:
        assert self._decoder is not None
        for start in range(0, len(data), _PIECE) or (0,):
            piece = data[start : start + _PIECE]
            text = self._decoder.decode(piece, final and start + _PIECE >= len(data))
            if len(self._initial) < INITIAL_CHARACTERS:
                self._initial += text[:INITIAL_CHARACTERS]
            if self.verdict is None:
                self._parse(text)
            elif len(self._initial) >= INITIAL_CHARACTERS:
                return

    def _parse(self, text: str) -> None:
        assert self._parser is not None
        text = text[: FIRST_CHARACTERS - self._seen]
        self._seen += len(text)
        if self._blank:
            # Before a declaration XML allows no white space, and many publish files that have some.
            text = text.lstrip(_WHITE_SPACE)
            self._blank = not text
        try:
            self._parser.Parse(text.replace("&", "_").encode("utf-8", "replace"), False)
        except expat.ExpatError as error:
            self._judge(error)
            return
        if self._root is not None:
            self._judge(None)
        elif self._seen >= FIRST_CHARACTERS:
            self._end()
            self.verdict = self.verdict or DetectedFile(None, _TOO_LATE)

    def _end(self) -> None:
        """Have the parser say what it has put off, which some versions of it do."""
        assert self._parser is not None
        with contextlib.suppress(expat.ExpatError):
            self._parser.Parse(b"", True)
        if self._root is not None:
            self._judge(None)

    def _judge(self, error: expat.ExpatError | None) -> None:
        name = self._root
        self._parser = None
        if name is None:
            assert error is not None
            where = f"line {error.lineno}, column {error.offset + 1}"
            why = expat.ErrorString(error.code)
            self.verdict = DetectedFile(None, f"is no XML: {why} ({where})")
            return
        root = _ROOTS.get(name.rpartition(":")[2])
        if root is None:
            shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"
            self.verdict = DetectedFile(None, f"is no IATI file: its root element is <{shown}>")
        else:
            self.verdict = DetectedFile(root)
