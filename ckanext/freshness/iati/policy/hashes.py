"""The two hashes of an IATI file, made as it comes.

``hash`` is the SHA-1 of its bytes. ``hash_excluding_generated_timestamp`` is the SHA-1 of what is left of
them once each ``generated-datetime="…"`` is taken out: name, equals sign, both quotation marks and what
stands between them, which is at least one character and may be anything but a quotation mark; wherever
in the file that is, and without the white space before it. That is the Bulk Data Service's definition,
``re.sub(r'generated-datetime="[^"]+"', "", text)``, with its hash made of the text in the file's own
encoding. Here the bytes themselves are searched, so that a file is the same to both if its encoding is
what it says. (So spelled otherwise, say with apostrophes, the attribute is hashed, there as here.)

A value that is never closed is none, and is hashed. Which of both it is only its end tells: until then
one hash is made with it and one without, so that no value, however long, is held in memory.
"""

from __future__ import annotations

import hashlib

from .encodings import MARK, Family, family_of

_OPENING = 'generated-datetime="'
_CLOSING = '"'


class Hashes:
    """Takes a file as it comes. Neither hash depends on where it is cut."""

    __slots__ = (
        *("_closing", "_empty", "_family", "_opening", "_raw", "_rest", "_whole", "_without"),
        "size",
    )

    def __init__(self) -> None:
        self.size = 0
        self._raw = hashlib.sha1(usedforsecurity=False)
        self._without = hashlib.sha1(usedforsecurity=False)
        self._whole: hashlib._Hash | None = None
        """Inside of a value: what the hash is if the value never ends."""
        self._empty = False
        self._rest = b""
        """Read, and not decided about: fewer bytes than there are in what is searched."""
        self._family: Family | None = None

    def write(self, data: bytes) -> None:
        """The next piece."""
        self.size += len(data)
        self._raw.update(data)
        if self._rest:
            data = self._rest + data
            self._rest = b""
        if self._family is None:
            if len(data) < MARK:
                self._rest = data
                return
            self._begin(data)
        self._search(data)

    def finish(self) -> tuple[str, str]:
        """Both hashes, hexadecimal, of what has been written."""
        without = (self._whole or self._without).copy()
        without.update(self._rest)
        return self._raw.hexdigest(), without.hexdigest()

    def _begin(self, first: bytes) -> None:
        self._family = family_of(first[:MARK])
        self._opening = _OPENING.encode(self._family.codec)
        self._closing = _CLOSING.encode(self._family.codec)

    def _search(self, data: bytes) -> None:
        """Hash all but the end, if more has to be seen to decide what it is."""
        at, end = 0, len(data)
        view = memoryview(data)
        while True:
            if self._whole is None:
                found = self._find(data, self._opening, at)
                if found < 0:
                    cut = self._begun(data, at)
                    self._without.update(view[at:cut])
                    self._rest = data[cut:]
                    return
                self._without.update(view[at:found])
                at = found + len(self._opening)
                self._whole = self._without.copy()
                self._whole.update(self._opening)
                self._empty = True
            found = self._find(data, self._closing, at)
            if found < 0:
                cut = end - (end - at) % len(self._closing)
                self._whole.update(view[at:cut])
                self._empty = self._empty and cut == at
                self._rest = data[cut:]
                return
            if self._empty and found == at:
                self._without = self._whole
            else:
                at = found + len(self._closing)
            self._whole = None

    def _find(self, data: bytes, text: bytes, start: int) -> int:
        """Where it stands, on a character's first byte."""
        unit = len(self._closing)
        found = data.find(text, start)
        while found % unit and found >= 0:
            found = data.find(text, found + 1)
        return found

    def _begun(self, data: bytes, start: int) -> int:
        """Where at the end something begins that may become the opening, or a part of a character is
        left; the end if there is neither."""
        unit, opening, end = len(self._closing), self._opening, len(data)
        at = data.find(opening[:1], max(start, end - len(opening) + 1))
        while at >= 0:
            if at % unit == 0 and opening.startswith(data[at:]):
                return at
            at = data.find(opening[:1], at + 1)
        return end - end % unit
