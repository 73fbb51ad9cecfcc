"""The decompression of bodies (``Content-Encoding``, RFC 9110, section 8.4).

aiohttp accepts a gzip stream wherever it ends. A file that was cut off would then look like a changed file, and
would replace a good copy. Therefore bodies are decompressed here, in chunks, so that the size limit stops a
decompression bomb early.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator

import brotli

from ..room import MEMORY, MIB, Share
from .errors import FailureReason, Fault

ACCEPTED = "gzip, deflate"
"""The ``Accept-Encoding`` header of requests. Some servers send other encodings unasked."""

_CHUNK = 256 * 1024
"""About the most bytes that are decompressed at once."""

_WINDOW = 16 * MIB
"""The most that brotli looks back. It grows with what was decompressed."""
_SMALL = 2 * _CHUNK
"""A body of brotli up to this size takes no room."""

_CUT = "sent a body whose compression ended before it was complete"


_CHECKS = (" data check", " length check")
"""Ends of zlib's errors if only the checksum or the size behind the data is wrong."""


class _Zlib:
    """Decompresses gzip and deflate."""

    def __init__(self, *, is_gzip: bool) -> None:
        self._is_gzip = is_gzip
        self._stream = zlib.decompressobj(zlib.MAX_WBITS | (16 if is_gzip else 0))
        self._has_begun = False

    def chunks(self, data: bytes) -> Iterator[bytes]:
        if not self._has_begun:
            self._begin(data)
        while data:
            if self._stream.eof:
                # Another gzip member may follow (RFC 1952, section 2.2). Ignore any other bytes.
                if not (self._is_gzip and data.startswith(b"\x1f")):
                    return
                self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
            yield self._stream.decompress(data, _CHUNK)
            data = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail

    @property
    def is_complete(self) -> bool:
        return self._stream.eof or (self._is_gzip and self._lacks_trailer())

    def _lacks_trailer(self) -> bool:
        """Decide whether only the checksum and the size of a gzip stream are missing, which browsers ignore.

        If they come next, wrong ones are refused, and nothing is decompressed. Of the codes that end compressed
        data, at most one can be made of zeros or of ones.
        """
        for wrong in (b"\0", b"\xff"):
            stream = self._stream.copy()
            try:
                if any(stream.decompress(wrong) for _ in range(8)) or not stream.eof:
                    return False
            except zlib.error as error:
                if not str(error).endswith(_CHECKS):
                    return False
        return True

    def _begin(self, data: bytes) -> None:
        self._has_begun = True
        # Some servers send deflate data without the zlib header, whose first byte ends in 8.
        if not self._is_gzip and data[0] & 0x0F != 8:
            self._stream = zlib.decompressobj(-zlib.MAX_WBITS)


class _Brotli:
    """Decompresses ``br`` (RFC 7932)."""

    def __init__(self) -> None:
        self._stream = brotli.Decompressor()
        self._size = 0
        self._share: Share | None = None

    def chunks(self, data: bytes) -> Iterator[bytes]:
        if self.is_complete:
            return
        # Only an empty chunk tells that no more data are kept.
        while chunk := self._stream.process(data, output_buffer_limit=_CHUNK):
            yield chunk
            data = b""
            self._size += len(chunk)
            if self._size > _SMALL and self._share is None:
                self._share = Share(MEMORY)
                if not self._share.take(_WINDOW):
                    words = "came when this site had no memory left to decompress it"
                    raise Fault(FailureReason.NO_ROOM, words)

    @property
    def is_complete(self) -> bool:
        is_finished: bool = self._stream.is_finished()
        return is_finished


_Stream = _Zlib | _Brotli

_STREAMS: dict[str, Callable[[], _Stream]] = {
    "gzip": lambda: _Zlib(is_gzip=True),
    "x-gzip": lambda: _Zlib(is_gzip=True),
    "deflate": lambda: _Zlib(is_gzip=False),
    "br": _Brotli,
}

MOST_STREAMS = 2
"""How often a body may be compressed. Each time a few bytes may become a thousand times as many."""


class Decoder:
    """A decompressor of one body.

    :param encoding: the ``Content-Encoding`` header. Other values, such as ``utf-8``, ``none``, ``aws-chunked``
        and ``compress``, are ignored, as browsers do: some servers send them.
    :raises Fault: ``MALFORMED``: the body is compressed too often
    """

    def __init__(self, encoding: str) -> None:
        names = [name.strip().lower() for name in encoding.split(",")]
        # The last one that was applied stands last.
        self._streams = [_STREAMS[name]() for name in reversed(names) if name in _STREAMS]
        if len(self._streams) > MOST_STREAMS:
            words = f"sent a body that is compressed {len(self._streams)} times"
            raise Fault(FailureReason.MALFORMED, words)
        self._has_begun = False

    def chunks(self, data: bytes) -> Iterator[bytes]:
        """Decompress the next bytes of the body, and yield chunks of at most 1 MiB.

        :raises Fault: ``MALFORMED``, ``DAMAGED`` or ``NO_ROOM``
        """
        self._has_begun = True
        parts: Iterable[bytes] = (data,)
        for stream in self._streams:
            parts = _decompressed(stream, parts)
        try:
            yield from parts
        except (zlib.error, brotli.error) as error:
            is_check = str(error).endswith(_CHECKS)
            reason = FailureReason.DAMAGED if is_check else FailureReason.MALFORMED
            words = f"sent a body that cannot be decompressed: {error}"
            raise Fault(reason, words) from error

    def end(self) -> None:
        """Check, at the end of the body, that its streams are complete.

        :raises Fault: ``DAMAGED``
        """
        if not self.is_complete:
            raise Fault(FailureReason.DAMAGED, _CUT)

    @property
    def is_complete(self) -> bool:
        # A body of no bytes is complete, whatever its encoding.
        return not self._has_begun or all(stream.is_complete for stream in self._streams)


def _decompressed(stream: _Stream, parts: Iterable[bytes]) -> Iterator[bytes]:
    for part in parts:
        yield from filter(None, stream.chunks(part))
