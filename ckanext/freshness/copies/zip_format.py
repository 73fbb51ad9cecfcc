"""The format of our ZIP files: deflated, in a fixed order, and without times.

The same input gives the same bytes on the same machine. The local headers have names, sizes and checksums, so
that a member can be found and copied without the directory. Layout and numbers are those of PKWARE's APPNOTE
6.3.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable
from functools import lru_cache
from types import ModuleType
from typing import NamedTuple

_DEFLATED = 8
_DOS_TIME, _DOS_DATE = 0, 1 << 5 | 1
"""Midnight of 1980-01-01, the earliest time that a ZIP can hold."""
_UTF8_NAME = 0x800
_VERSION, _VERSION_ZIP64 = 20, 45
_UNIX = 3 << 8
_REGULAR_FILE = 0o100644 << 16

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR64 = struct.Struct("<4sLQL")
_MAX16, _MAX32 = 0xFFFF, 0xFFFFFFFF
_EXTRA64 = 1
LOCAL_BYTES = _LOCAL.size


class ZipEntry(NamedTuple):
    """A member of a ZIP.

    :ivar crc: the CRC-32 of the unpacked bytes
    :ivar packed: the deflated size in bytes
    :ivar size: the unpacked size in bytes
    :ivar offset: the position of its local header in the file
    """

    name: str
    crc: int
    packed: int
    size: int
    offset: int = 0

    @property
    def wide(self) -> bool:
        """Decide whether a size of the entry needs 64 bits."""
        return self.size >= _MAX32 or self.packed >= _MAX32


class BadZip(ValueError):
    """Raised if a file is not a ZIP that this module has written."""


def local_header(entry: ZipEntry) -> bytes:
    """Return the header before the deflated bytes."""
    name, flags = _name(entry.name)
    extra, packed, size = b"", entry.packed, entry.size
    if entry.wide:
        extra = struct.pack("<2H2Q", _EXTRA64, 16, size, packed)
        packed = size = _MAX32
    version = _VERSION_ZIP64 if entry.wide else _VERSION
    return (
        _LOCAL.pack(
            *(b"PK\3\4", version, flags, _DEFLATED, _DOS_TIME, _DOS_DATE),
            *(entry.crc, packed, size, len(name), len(extra)),
        )
        + name
        + extra
    )


def central_header(entry: ZipEntry) -> bytes:
    """Return the entry in the directory at the end of the file."""
    name, flags = _name(entry.name)
    packed, size, offset = entry.packed, entry.size, entry.offset
    numbers: list[int] = []
    if entry.wide:
        numbers += [size, packed]
        packed = size = _MAX32
    if offset >= _MAX32:
        numbers.append(offset)
        offset = _MAX32
    extra = b""
    if numbers:
        extra = struct.pack(f"<2H{len(numbers)}Q", _EXTRA64, 8 * len(numbers), *numbers)
    version = _VERSION_ZIP64 if numbers else _VERSION
    return (
        _CENTRAL.pack(
            *(b"PK\1\2", _UNIX | version, version, flags, _DEFLATED, _DOS_TIME, _DOS_DATE),
            *(entry.crc, packed, size, len(name), len(extra), 0, 0, 0, _REGULAR_FILE, offset),
        )
        + name
        + extra
    )


def end(count: int, start: int, length: int) -> bytes:
    """Return the record at the end of the file.

    :param count: the number of members
    :param start: the position of the directory
    :param length: the size of the directory in bytes
    """
    wide = b""
    if count >= _MAX16 or start >= _MAX32 or length >= _MAX32:
        wide = _END64.pack(
            *(b"PK\6\6", _END64.size - 12, _UNIX | _VERSION_ZIP64, _VERSION_ZIP64),
            *(0, 0, count, count, length, start),
        ) + _LOCATOR64.pack(b"PK\6\7", 0, start + length, 1)
    few = min(count, _MAX16)
    return wide + _END.pack(b"PK\5\6", 0, 0, few, few, min(length, _MAX32), min(start, _MAX32), 0)


def read_local_header(head: bytes) -> tuple[ZipEntry, int]:
    """Read the member at the beginning of some bytes.

    :returns: the member, and the position of its deflated bytes
    :raises BadZip: the bytes are too few or not in our format
    """
    if len(head) < LOCAL_BYTES:
        raise BadZip("it is too short")
    signature, _, flags, method, _, _, crc, packed, size, of_name, of_extra = _LOCAL.unpack_from(
        head
    )
    if signature != b"PK\3\4" or flags & ~_UTF8_NAME or method != _DEFLATED:
        raise BadZip("it does not begin as it should")
    start = LOCAL_BYTES + of_name + of_extra
    if len(head) < start:
        raise BadZip("it is too short")
    name = head[LOCAL_BYTES : LOCAL_BYTES + of_name].decode("utf-8", "replace")
    if packed == size == _MAX32:
        if of_extra != 20:
            raise BadZip("its sizes are missing")
        _, _, size, packed = struct.unpack_from("<2H2Q", head, LOCAL_BYTES + of_name)
    return ZipEntry(name, crc, packed, size), start


def around(entry: ZipEntry) -> tuple[bytes, bytes]:
    """Return the bytes before and after the deflated bytes in a ZIP of one member."""
    head, central = local_header(entry), central_header(entry)
    return head, central + end(1, len(head) + entry.packed, len(central))


@lru_cache(maxsize=1)
def _deflater() -> tuple[ModuleType, int]:
    """Return the module that deflates, and its level.

    Files are at most an eighth larger than by zlib's default, 6. zlib takes half the time for them, and isal at
    most a quarter.
    """
    try:
        # Web workers import this module, too, and write no ZIPs.
        from isal import isal_zlib
    except ImportError:  # this platform has no isal
        return zlib, 3
    return isal_zlib, 2


def deflate(pieces: Iterable[bytes], write: Callable[[bytes], object]) -> tuple[int, int]:
    """Deflate pieces and write the result without headers; return the CRC-32 and the size of the pieces."""
    crc = size = 0
    deflater, level = _deflater()
    compressor = deflater.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    for piece in pieces:
        crc = deflater.crc32(piece, crc)
        size += len(piece)
        if packed := compressor.compress(piece):
            write(packed)
    write(compressor.flush())
    return crc, size


def _name(name: str) -> tuple[bytes, int]:
    return (name.encode(), 0) if name.isascii() else (name.encode(), _UTF8_NAME)
