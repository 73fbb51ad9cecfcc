"""What a detector is: the base of the classes in :mod:`.content` and of those of other extensions."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from typing import BinaryIO, ClassVar

MIB = 1024 * 1024
PIECE = 64 * 1024

MAGIC_BYTES = 512
"""So much of a file's beginning, or all of it, is there when a detector is asked whether it takes it."""


@dataclass(frozen=True, slots=True)
class ContainerLimits:
    """What a container may cost before it is hashed as plain bytes; bytes and seconds.

    :ivar max_bytes: of the container as it comes; a larger one is never written to disk
    :ivar max_members: files in an archive
    :ivar max_inflated: of all parts that are read, together
    :ivar max_ratio: of a part of more than a MiB, inflated to compressed
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
    """The file is not of the detector's kind, whatever its first bytes said."""


class Unreadable(Exception):
    """The file is broken, locked or beyond the limits; says why."""


class Detector:
    """A kind of file. Subclasses need no instances; other extensions may bring their own.

    A detector is imported by its name in a process of its own, so it stands at the top of a module, one
    that imports little.
    """

    name: ClassVar[str]
    """What its hashes begin with; change it when the same content gets another hash."""
    magic: ClassVar[tuple[bytes, ...]]
    """What such a file begins with, one of these."""

    @classmethod
    def takes(cls, first: bytes) -> bool:
        """Whether a file that begins so may be one of these; asked with :data:`MAGIC_BYTES`."""
        return first.startswith(cls.magic)

    @classmethod
    def digest(cls, file: BinaryIO, limits: ContainerLimits) -> str:
        """The hash of the content, in hexadecimal.

        :raises NotThis: the next detector may try
        :raises Unreadable: it is one of these, but cannot be read
        """
        raise NotImplementedError


def open_archive(file: BinaryIO, limits: ContainerLimits) -> zipfile.ZipFile:
    """An archive of not too many files.

    :raises Unreadable: it has more
    :raises zipfile.BadZipFile: it is none
    """
    archive = zipfile.ZipFile(file)
    if len(archive.infolist()) > limits.max_members:
        raise Unreadable(f"more than {limits.max_members} files in the archive")
    return archive
