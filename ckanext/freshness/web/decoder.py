"""Decompression of bodies.

aiohttp accepts a gzip stream wherever it ends. A file that was cut off would then look like a changed
file, and would replace a good copy. This decoder reports it as truncated.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from .errors import FailureReason
from .faults import Fault

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
