"""Bodies as they were before their server compressed them.

Not left to aiohttp, which takes a gzip stream for whole wherever it ends: a file that was cut off on its
way would be a change of the file, and take the place of a good copy.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from .errors import FailureReason
from .faults import Fault

ENCODINGS = "gzip, deflate"
"""What servers are told that they may do, as a header says it."""

_PIECE = 256 * 1024
"""Bytes that are decompressed at once, at most: a bomb is noticed before it has gone off."""

_GZIP = frozenset({"gzip", "x-gzip"})
_UNASKED = frozenset({"br", "zstd", "compress", "x-compress"})


class Decoder:
    """Decompresses one body (RFC 9110, section 8.4.1)."""

    def __init__(self, encoding: str) -> None:
        self._is_gzip = encoding in _GZIP
        self._stream = zlib.decompressobj(zlib.MAX_WBITS | (16 if self._is_gzip else 0))
        self._has_begun = False

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """What the next bytes of the body come to, in pieces of at most 256 KiB.

        :raises Fault: ``MALFORMED``
        """
        if not self._has_begun:
            self._begin(data)
        while data:
            if self._stream.eof:
                # Another member may follow (RFC 1952, section 2.2); what else does is no part of it.
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
        """The body has ended.

        :raises Fault: ``TRUNCATED``: its stream has not
        """
        # Nothing at all is an empty body, however it is called.
        if self._has_begun and not self._stream.eof:
            raise Fault(FailureReason.TRUNCATED, "ended before the body was complete")

    def _begin(self, data: bytes) -> None:
        self._has_begun = True
        # Some servers leave out the zlib format's two bytes, of which the first has this in it.
        if not self._is_gzip and data[0] & 0x0F != 8:
            self._stream = zlib.decompressobj(-zlib.MAX_WBITS)


def decoder_of(encoding: str | None) -> Decoder | None:
    """What decompresses a body with that Content-Encoding; None where nothing is to be done.

    Words that name no compression are left alone, as ``utf-8`` and ``none``: servers do send them.

    :raises Fault: ``MALFORMED``: compressed by what was not asked for
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
