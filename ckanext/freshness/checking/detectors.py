"""The base class of detectors: those in :mod:`.content`, and those of other extensions."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from typing import BinaryIO, ClassVar

MIB = 1024 * 1024
PIECE = 64 * 1024

MAGIC_BYTES = 512
"""Bytes from the beginning of a file that :meth:`Detector.takes` is given; fewer if the file is smaller."""


@dataclass(frozen=True, slots=True)
class ContainerLimits:
    """Limits for parsing a container. Beyond them it is hashed as plain bytes. Units are bytes and seconds.

    :ivar max_bytes: of the container; a larger one is never written to disk
    :ivar max_members: files in an archive
    :ivar max_inflated: of all parts that are read, together
    :ivar max_ratio: of inflated to compressed size, for parts of more than a MiB
    :ivar max_token: of a tag or a comment in XML
    :ivar seconds: for one file
    :ivar cpu_seconds: for one file
    :ivar memory: address space of the process that parses
    """

    max_bytes: int = 64 * MIB
    max_members: int = 100_000
    max_inflated: int = 512 * MIB
    max_ratio: int = 300
    max_token: int = MIB
    seconds: float = 60.0
    cpu_seconds: int = 40
    memory: int = 512 * MIB


class NotThis(Exception):
    """Raised if the file is not of the detector's kind, although its first bytes looked so."""


class Unreadable(Exception):
    """Raised with the reason if a file is broken, encrypted or beyond the limits."""


class Detector:
    """A kind of file. Its subclasses are used without instances; other extensions may add their own.

    A detector is imported by name in a process of its own. Define it at the top level of a module that imports
    little.
    """

    name: ClassVar[str]
    """Prefix of its hashes. Change it if the same content gets another hash."""
    magic: ClassVar[tuple[bytes, ...]]
    """Possible first bytes of such a file."""

    @classmethod
    def takes(cls, first: bytes) -> bool:
        """Decide whether a file with these first :data:`MAGIC_BYTES` bytes may be of this kind."""
        return first.startswith(cls.magic)

    @classmethod
    def digest(cls, file: BinaryIO, limits: ContainerLimits) -> str:
        """Return the hash of the content, in hexadecimal.

        :raises NotThis: the file is of another kind, and the next detector may try
        :raises Unreadable: the file is of this kind, but cannot be read
        """
        raise NotImplementedError


def open_archive(file: BinaryIO, limits: ContainerLimits) -> zipfile.ZipFile:
    """Open an archive.

    :raises Unreadable: the archive has more than ``max_members`` files
    :raises zipfile.BadZipFile: the file is no archive
    """
    archive = zipfile.ZipFile(file)
    if len(archive.infolist()) > limits.max_members:
        raise Unreadable(f"more than {limits.max_members} files in the archive")
    return archive
