"""The header fields that the client reads and writes itself, and the decompression of bodies.

aiohttp accepts a gzip stream wherever it ends. A file that was cut off would then look like a changed file, and
would replace a good copy. The decoder reports it as truncated.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import overload

from .errors import FailureReason, Fault

_SECONDS = re.compile(r"[0-9]{1,12}(?:\.[0-9]*)?")
_EARLY_YEAR = re.compile(r" (00[0-9]{2}) ")
"""A year that email.utils takes for one of two digits. Some servers send 0001 in place of no date."""
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\U0010ffff]*")


@lru_cache(maxsize=1024)
def parse_http_date(value: str) -> datetime | None:
    """Parse an HTTP date (RFC 9110, section 5.6.7); return None if it is none."""
    try:
        moment = parsedate_to_datetime(value)
        if early := _EARLY_YEAR.search(value):
            moment = moment.replace(year=int(early[1]))
        if moment.tzinfo is None:
            return moment.replace(tzinfo=timezone.utc)
        return moment.astimezone(timezone.utc)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def parse_retry_after(value: str | None, now: datetime) -> float | None:
    """Return the seconds that a ``Retry-After`` header asks for, at least 0 (RFC 9110, section 10.2.3).

    The header is a number of seconds or a date. Fractions of a second, which some servers send, are
    accepted.

    :param value: the header's value; None if there is no such header
    :param now: the moment of the answer
    :returns: None if there is no header or it cannot be parsed
    """
    if value is None:
        return None
    text = value.strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    moment = parse_http_date(text)
    return None if moment is None else max(0.0, (moment - now).total_seconds())


def can_be_sent(value: str) -> bool:
    """Decide whether a header may have this value (RFC 9110, section 5.5)."""
    if value.isascii() and value.isprintable():
        return True
    if not _VALUE.fullmatch(value):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def illegal_header(headers: Mapping[str, str]) -> str | None:
    """Return the name of the first header that cannot be sent, escaped to ASCII; None if all can be sent."""
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name) or not can_be_sent(value):
            return ascii(name)
    return None


# Decompression

ENCODINGS = "gzip, deflate"
"""The ``Accept-Encoding`` header of requests."""

_PIECE = 256 * 1024
"""The most bytes that are decompressed at once, so that the size limit stops a decompression bomb early."""

_GZIP = frozenset({"gzip", "x-gzip"})
_UNASKED = frozenset({"br", "zstd", "compress", "x-compress"})


class Decoder:
    """A decompressor of one body (RFC 9110, section 8.4.1)."""

    def __init__(self, encoding: str) -> None:
        self._is_gzip = encoding in _GZIP
        self._stream = zlib.decompressobj(zlib.MAX_WBITS | (16 if self._is_gzip else 0))
        self._has_begun = False

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Decompress the next bytes of the body, and yield pieces of at most 256 KiB.

        :raises Fault: ``MALFORMED``
        """
        if not self._has_begun:
            self._begin(data)
        while data:
            if self._stream.eof:
                # Another gzip member may follow (RFC 1952, section 2.2). Ignore any other bytes.
                if not (self._is_gzip and data.startswith(b"\x1f")):
                    return
                self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
            try:
                piece = self._stream.decompress(data, _PIECE)
            except zlib.error as error:
                words = f"sent a body that cannot be decompressed: {error}"
                raise Fault(FailureReason.MALFORMED, words) from error
            data = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
            if piece:
                yield piece

    def end(self) -> None:
        """Check, at the end of the body, that its stream is complete.

        :raises Fault: ``TRUNCATED``
        """
        # A body of no bytes is complete, whatever its encoding.
        if self._has_begun and not self._stream.eof:
            raise Fault(FailureReason.TRUNCATED, "ended before the body was complete")

    def _begin(self, data: bytes) -> None:
        self._has_begun = True
        # Some servers send deflate data without the zlib header, whose first byte ends in 8.
        if not self._is_gzip and data[0] & 0x0F != 8:
            self._stream = zlib.decompressobj(-zlib.MAX_WBITS)


def decoder_of(encoding: str | None) -> Decoder | None:
    """Return the decoder for a ``Content-Encoding`` header; None if the body is not compressed.

    Values that name no compression, such as ``utf-8`` and ``none``, are ignored: some servers send them.

    :raises Fault: ``MALFORMED``: the compression is not among :data:`ENCODINGS`
    """
    if encoding is None:
        return None
    name = encoding.strip().lower()
    if name in _GZIP or name == "deflate":
        return Decoder(name)
    if name in _UNASKED:
        words = f"sent a body that is compressed by {name}, which nobody had asked for"
        raise Fault(FailureReason.MALFORMED, words)
    return None


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
