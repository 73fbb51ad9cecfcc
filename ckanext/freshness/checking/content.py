"""What bytes are, and what their hash is: one class per kind of file.

Some files differ each time they are written though nothing in them changed: a container keeps dates, an
order and a compression of its own. A detector hashes what a person would call the content instead. Each
hash begins with its detector's name, since hashes of two detectors say nothing about one another.

Pure, but not safe by itself: files come from strangers. What is parsed here is parsed within
:class:`.detectors.ContainerLimits`, and by :mod:`.sandbox` in a process that may be lost.
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
    """The bytes as they come: what everything is that nothing better is known of."""

    name = "sha256"
    magic = (b"",)

    @classmethod
    def digest(cls, file: BinaryIO, limits: ContainerLimits) -> str:
        sha256 = hashlib.sha256()
        while piece := file.read(PIECE):
            sha256.update(piece)
        return sha256.hexdigest()


class Zip(Detector):
    """An archive, by names, CRCs and sizes of its members as its directory gives them.

    Nothing is unpacked. Dates, order, compression, comments and entries for folders do not count. An
    encrypted archive is unreadable: AES leaves no CRC to go by.
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
"""Those that look into a file, the more special first; what none takes is :class:`RawBytes`."""

_BROKEN = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, expat.ExpatError, struct.error),
    *(EOFError, NotImplementedError, OSError, OverflowError, ValueError),
)
"""What the standard library raises at files that are broken or meant to break it."""


def fingerprint(
    file: BinaryIO, detectors: Sequence[type[Detector]], limits: ContainerLimits
) -> str | None:
    """The hash by the first of the detectors whose kind the file is, or None: ``xlsx:<hex>``.

    :raises Unreadable: the file cannot be read, in words
    """
    for detector in detectors:
        file.seek(0)
        try:
            return f"{detector.name}:{detector.digest(file, limits)}"
        except NotThis:
            continue
        except _BROKEN as error:
            raise Unreadable(f"broken: {error or type(error).__name__}") from error
    return None
