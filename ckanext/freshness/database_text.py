"""Text as PostgreSQL takes it."""

from __future__ import annotations

from typing import overload


@overload
def storable(text: str) -> str: ...
@overload
def storable(text: str | None) -> str | None: ...
def storable(text: str | None) -> str | None:
    """Return a server's text with U+FFFD for what PostgreSQL refuses: NUL and lone surrogates.

    HTTP clients decode illegal bytes to lone surrogates. If they are UTF-8 after all, they become characters.
    """
    if text is None or (text.isascii() and "\0" not in text):
        return text
    # Illegal bytes have surrogates in this range.
    has_bytes = all(
        not 0xD800 <= ord(character) <= 0xDFFF or 0xDC80 <= ord(character) <= 0xDCFF
        for character in text
    )
    encoded = text.encode("utf-8", "surrogateescape" if has_bytes else "replace")
    return encoded.decode("utf-8", "replace").replace("\0", "\ufffd")
