"""In which encoding an XML file is written: BOM, then declaration, then UTF-8.

What a server says of it is not asked: ``text/xml`` without a charset would mean US-ASCII (RFC 3023) or
ISO 8859-1 (RFC 2616), and is neither.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

MARK = 4
"""Bytes that :func:`family_of` wants to see, if there are as many."""

WHITE_SPACE = b" \t\r\n"


@dataclass(frozen=True, slots=True)
class Family:
    """How characters of ASCII are written.

    :ivar codec: Python's name; of ASCII's own family ``utf-8``, whatever a declaration says
    :ivar unit: bytes that such a character has
    :ivar mark: bytes of a BOM
    """

    codec: str
    unit: int
    mark: int


_UTF_8 = Family("utf-8", 1, 0)
# The longer ones stand first: the BOM of UTF-32 begins like that of UTF-16. Those without a BOM are XML's
# appendix F.
_BEGINNINGS: tuple[tuple[bytes, Family], ...] = (
    (codecs.BOM_UTF32_LE, Family("utf-32-le", 4, 4)),
    (codecs.BOM_UTF32_BE, Family("utf-32-be", 4, 4)),
    (codecs.BOM_UTF16_LE, Family("utf-16-le", 2, 2)),
    (codecs.BOM_UTF16_BE, Family("utf-16-be", 2, 2)),
    (codecs.BOM_UTF8, Family("utf-8", 1, 3)),
    (b"<\0\0\0", Family("utf-32-le", 4, 0)),
    (b"\0\0\0<", Family("utf-32-be", 4, 0)),
    (b"<\0", Family("utf-16-le", 2, 0)),
    (b"\0<", Family("utf-16-be", 2, 0)),
)
_LETTERS = (b"?", b"i", b"!")
"""What comes second in nearly all files, and in none of these."""


def family_of(first: bytes) -> Family:
    """What the first :data:`MARK` bytes of a file, or all that it has, say of the rest."""
    if first[1:2] in _LETTERS:
        return _UTF_8
    for beginning, family in _BEGINNINGS:
        if first.startswith(beginning):
            return family
    return _UTF_8


_DECLARED = re.compile(
    rb"""<\?xml[ \t\r\n][^>]*?[ \t\r\n]encoding[ \t\r\n]*=[ \t\r\n]*["']([A-Za-z][A-Za-z0-9._-]{0,39})["']"""
)
_DECLARATION = b"<?xml"
_LONGEST_DECLARATION = 512
_ASCII = bytes(range(0x20, 0x7F))


def declares_more(beginning: bytes) -> bool:
    """Whether a declaration has begun that has not ended: more is to be read before the encoding is
    known."""
    text = beginning[:_LONGEST_DECLARATION].lstrip(WHITE_SPACE)
    if len(beginning) >= _LONGEST_DECLARATION or b"?>" in text:
        return False
    return text.startswith(_DECLARATION) or _DECLARATION.startswith(text)


def codec_of(beginning: bytes) -> tuple[str, int]:
    """The name of Python's codec, and the length of the BOM that comes before what it is for.

    A declaration that cannot be true, since it could be read, or names nothing that is known, counts for
    nothing.
    """
    family = family_of(beginning[:MARK])
    if family.mark or family.unit > 1:
        return family.codec, family.mark
    declared = _DECLARED.match(beginning[:_LONGEST_DECLARATION].lstrip(WHITE_SPACE))
    name = declared[1].decode("ascii") if declared else family.codec
    return (name if _contains_ascii(name) else family.codec), 0


def _contains_ascii(name: str) -> bool:
    """Whether ASCII is written in it as in ASCII. Python calls more an encoding than XML does."""
    if name.lower() in ("utf-8", "utf8", "us-ascii", "iso-8859-1"):
        return True
    try:
        return _ASCII.decode(name) == _ASCII.decode("ascii")
    except (LookupError, ValueError):
        return False
