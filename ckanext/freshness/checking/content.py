"""Detectors: the hash of a file's content, with one class for each kind of file.

Some files differ each time they are written although their content does not: containers hold dates, and an
order and compression of their own. A detector hashes the part that a person would call the content. Each hash
begins with the detector's name, since hashes of two detectors cannot be compared.

Pure, but not safe by itself, since files come from strangers. Files are parsed within the limits of
:class:`.detectors.ContainerLimits`, and :mod:`.container_sandbox` does so in a process that may be lost.
"""

from __future__ import annotations

import hashlib
import struct
import zipfile
import zlib
from collections.abc import Sequence
from typing import BinaryIO
from xml.parsers import expat

from .detectors import PIECE, ContainerLimits, Detector, NotThis, Unreadable, open_archive
from .workbooks import Xlsx


class RawBytes(Detector):
    """Fallback: hash the raw bytes."""

    name = "sha256"
    magic = (b"",)

    @classmethod
    def digest(cls, file: BinaryIO, limits: ContainerLimits) -> str:
        sha256 = hashlib.sha256()
        while piece := file.read(PIECE):
            sha256.update(piece)
        return sha256.hexdigest()


class Zip(Detector):
    """An archive, by the names, CRCs and sizes of its members as its directory gives them.

    Nothing is unpacked. Dates, order, compression, comments and entries for folders do not count. An encrypted
    archive is unreadable: with AES there is no CRC.
    """

    name = "zip"
    magic = (b"PK\x03\x04", b"PK\x05\x06")

    @classmethod
    def digest(cls, file: BinaryIO, limits: ContainerLimits) -> str:
        sha256 = hashlib.sha256()
        members = []
        for member in open_archive(file, limits).infolist():
            if member.flag_bits & 1:
                raise Unreadable("the archive is encrypted")
            if member.file_size or not member.is_dir():
                name = member.orig_filename.encode("utf-8", "surrogatepass")
                members.append((name, member.CRC, member.file_size))
        for name, crc, size in sorted(members):
            sha256.update(struct.pack(">IIQ", len(name), crc, size) + name)
        return sha256.hexdigest()


DETECTORS: tuple[type[Detector], ...] = (Xlsx, Zip)
"""Detectors of containers, the more special first. Other files are :class:`RawBytes`."""

BROKEN = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, expat.ExpatError, struct.error),
    *(EOFError, NotImplementedError, OSError, OverflowError, ValueError),
)
"""Exceptions of the standard library for files that are broken, or made to break it."""


def fingerprint(
    file: BinaryIO, detectors: Sequence[type[Detector]], limits: ContainerLimits
) -> str | None:
    """Return the hash by the first detector that takes the file, such as ``xlsx:<hex>``; None if none does.

    :param detectors: only those whose ``takes()`` accepted the first bytes
    :raises Unreadable: the file cannot be read
    """
    for detector in detectors:
        file.seek(0)
        try:
            return f"{detector.name}:{detector.digest(file, limits)}"
        except NotThis:
            continue
        except BROKEN as error:
            raise Unreadable(f"broken: {error or type(error).__name__}") from error
    return None
