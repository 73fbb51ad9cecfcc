"""The content of a file: a hash that stays the same if the file is only written again.

Some files differ each time they are written although their content does not: containers hold dates, and an
order and compression of their own. A detector hashes the part that a person would call the content. Each hash
begins with the detector's name, since hashes of two detectors may differ although the content does not.

Pure, but not safe by itself, since files come from strangers: they are opened in processes of the sandbox.
"""

from __future__ import annotations

import bz2
import encodings.cp437  # zipfile and codecs would import these while a file is open
import encodings.utf_8_sig
import encodings.utf_16
import encodings.utf_32  # noqa: F401
import hashlib
import io
import json
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar, Protocol

from ..sandbox import Unopened
from .formats import FIRST_BYTES
from .undated import is_dated, undated_hash

MIB = 1024 * 1024
_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class ContentLimits:
    """Limits for opening a file. Beyond them it is hashed by its bytes.

    :ivar max_bytes: of the file; a larger one is never written to disk
    :ivar max_members: files in all of its archives together
    :ivar max_read: bytes of all parts that are read, together
    :ivar max_depth: containers in one another
    """

    max_bytes: int = 64 * MIB
    max_members: int = 100_000
    max_read: int = 512 * MIB
    max_depth: int = 4


class Unreadable(Exception):
    """Raised with the reason if a file is broken, encrypted or beyond the limits."""


BROKEN = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, tarfile.TarError, zlib.error, lzma.LZMAError),
    *(EOFError, IndexError, NotImplementedError, OSError, OverflowError, ValueError),
)
"""Exceptions of the standard library for files that are broken, or made to break it."""


class Detector:
    """A kind of file. Its subclasses are used without instances; other extensions may add their own.

    A detector is imported by name in a process of its own. Define it at the top level of a module that imports
    little, but all that it needs: nothing can be imported while a file is open.
    """

    name: ClassVar[str]
    """Prefix of its hashes. Change it if the same content gets another hash."""
    magic: ClassVar[tuple[bytes, ...]]
    """Possible first bytes of such a file."""

    @classmethod
    def takes(cls, first: bytes) -> bool:
        """Decide whether a file with these first :data:`FIRST_BYTES` bytes is of this kind."""
        return first.startswith(cls.magic)

    @classmethod
    def digest(cls, file: BinaryIO, limits: ContentLimits) -> str:
        """Return the hash of the content, in hexadecimal.

        :raises Unreadable: the file cannot be read
        """
        raise NotImplementedError

    @classmethod
    def fingerprint(cls, file: BinaryIO, limits: ContentLimits) -> str:
        """Return the hash with the detector's name before it, such as ``members:<hex>``.

        :raises Unreadable: the file cannot be read
        """
        try:
            return f"{cls.name}:{cls.digest(file, limits)}"
        except BROKEN as error:
            raise Unreadable(f"broken: {error or type(error).__name__}") from error

    @classmethod
    def open_file(cls, request: bytes, file: BinaryIO) -> bytes:
        """Return the hash of a file, in a process of the sandbox.

        :param request: the limits as JSON
        :raises Unopened: the file cannot be read
        """
        try:
            return cls.fingerprint(file, ContentLimits(**json.loads(request))).encode()
        except Unreadable as error:
            raise Unopened(str(error)) from error


class Container(Detector):
    """A container, by the names and contents of its members.

    Containers are ZIP archives (also XLSX, ODS, KMZ and zipped shapefiles), tar archives, files of gzip, bzip2
    and xz, and what of these is in one another. Dates, also those in the names of members and the moments of
    making that texts name, order, compression, comments and entries for folders do not count, nor do members
    that only tell who wrote a document when, or that a desktop added. dBase files (``.dbf``) are here because
    their header has the day of writing.
    """

    name = "members"

    @classmethod
    def takes(cls, first: bytes) -> bool:
        is_archive = _is_zip(first) or _is_tar(first)
        return is_archive or first.startswith(tuple(_COMPRESSED)) or _is_dbase(first)

    @classmethod
    def digest(cls, file: BinaryIO, limits: ContentLimits) -> str:
        return _Contents(limits).of(file.read(FIRST_BYTES), file)


class Undated(Detector):
    """A text with the moment of its making, by everything else."""

    name = "undated"

    @classmethod
    def takes(cls, first: bytes) -> bool:
        return is_dated(first)

    @classmethod
    def digest(cls, file: BinaryIO, limits: ContentLimits) -> str:
        return undated_hash(file)


def _is_zip(first: bytes) -> bool:
    return first.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def _gunzip(file: _Readable) -> _Stream:
    """Open a file of gzip. Python's own reader reads zeros behind a member one by one."""
    return _Stream(_members(file))


def _members(file: _Readable) -> Iterator[bytes]:
    data = file.read(_CHUNK)
    while data:
        stream = zlib.decompressobj(wbits=31)
        while not stream.eof:
            if not data:
                raise EOFError("the end is missing")
            yield stream.decompress(data, _CHUNK)
            data = stream.unconsumed_tail or (b"" if stream.eof else file.read(_CHUNK))
        data = (stream.unused_data or file.read(_CHUNK)).lstrip(b"\0")
        while not data and (chunk := file.read(_CHUNK)):
            data = chunk.lstrip(b"\0")


_COMPRESSED: Mapping[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b\x08": _gunzip,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}
"""What opens a compressed file, by its first bytes."""


def _is_tar(first: bytes) -> bool:
    return first[257:262] == b"ustar"


def _is_dbase(first: bytes) -> bool:
    """Decide by the version, month and day of writing, length of the header, and type of the first field."""
    return (
        len(first) > 65
        and first[0] in b"\x02\x03\x04\x05\x30\x31\x32\x43\x63\x83\x8b\x8c\xcb\xf5\xfb"
        and 1 <= first[2] <= 12
        and 1 <= first[3] <= 31
        and int.from_bytes(first[8:10], "little") > 64
        and first[43] in b"CNLDMFBGPYTI@O+VXQ0"
    )


_ABOUT_WRITING = {
    "_rels/.rels": ("docProps/", "xl/calcChain.xml", "xl/printerSettings/"),
    "mimetype": ("meta.xml", "settings.xml", "Thumbnails/"),
}
"""Members about the writing of a document, by a member that only such documents have: of Office files and of
OpenDocument files."""
_NO_DATA = re.compile(
    r"__MACOSX/|(?:.*/)?(?:\.DS_Store|Thumbs\.db|desktop\.ini)\Z|.*\.shp\.xml\Z", re.DOTALL
)
"""Members of archives that a desktop or ArcGIS adds: they hold no data, but moments."""
_DATE_IN_NAME = re.compile(
    r"(?<!\d)(?:19|20)\d\d([-_.]?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])"
    r"(?:[-_.T ]?[0-2]\d([-_.:]?)[0-5]\d(?:\2[0-5]\d)?)?(?!\d)"
)


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Contents:
    """Hashes one file and the containers in it. The limits hold for all of these together."""

    def __init__(self, limits: ContentLimits) -> None:
        self._limits = limits
        self._members = self._read = 0

    def of(self, first: bytes, file: _Readable, depth: int = 0) -> str:
        """Return the hash of a file's content, in hexadecimal.

        :param first: the bytes that were already read
        :param depth: the number of containers around it
        """
        if depth > self._limits.max_depth:
            raise Unreadable(f"more than {self._limits.max_depth} containers in one another")
        if _is_zip(first):
            whole = io.BytesIO()
            for chunk in self._chunks(first, file):
                whole.write(chunk)
            return self._of_zip(whole, depth)
        for magic, opened in _COMPRESSED.items():
            if first.startswith(magic):
                with opened(_Stream(self._chunks(first, file))) as inside:
                    return self.of(inside.read(FIRST_BYTES), inside, depth + 1)
        if _is_tar(first):
            return self._of_tar(_Stream(self._chunks(first, file)), depth)
        if is_dated(first):
            return undated_hash(_Stream(self._chunks(first, file)))
        if _is_dbase(first):
            first = first[:1] + bytes(3) + first[4:]
        sha256 = hashlib.sha256()
        for chunk in self._chunks(first, file):
            sha256.update(chunk)
        return sha256.hexdigest()

    def _of_zip(self, file: BinaryIO, depth: int) -> str:
        with zipfile.ZipFile(file) as archive:
            names = {member.filename for member in archive.infolist()}
            writing = sum((about for mark, about in _ABOUT_WRITING.items() if mark in names), ())
            members = []
            for member in archive.infolist():
                self._count_member()
                if member.flag_bits & 1:
                    # With AES there is no CRC.
                    raise Unreadable("the archive is encrypted")
                is_folder = member.is_dir() and not member.file_size
                name = member.filename
                if not (is_folder or name.startswith(writing) or _NO_DATA.match(name)):
                    content = self._of_member(archive, member, depth)
                    members.append((member.orig_filename, content))
        return _joined(members)

    def _of_member(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo, depth: int) -> str:
        """Return what identifies the content of a member: its CRC and size, or the hash of a container."""
        stated = f"{member.CRC} {member.file_size}"
        # Python inflates other methods without a bound.
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            return stated
        try:
            with archive.open(member) as file:
                first = file.read(FIRST_BYTES)
                if Container.takes(first) or is_dated(first):
                    return self.of(first, file, depth + 1)
        except (Unreadable, *BROKEN):
            pass
        return stated

    def _of_tar(self, file: _Stream, depth: int) -> str:
        members = []
        with tarfile.open(fileobj=file, mode="r|") as archive:
            for member in archive:
                self._count_member()
                content = member.linkname
                if member.isreg() and (inside := archive.extractfile(member)) is not None:
                    content = self.of(inside.read(FIRST_BYTES), inside, depth + 1)
                if not (member.isdir() or _NO_DATA.match(member.name)):
                    members.append((member.name, content))
        return _joined(members)

    def _count_member(self) -> None:
        self._members += 1
        if self._members > self._limits.max_members:
            raise Unreadable(f"more than {self._limits.max_members} files in the archive")

    def _chunks(self, first: bytes, file: _Readable) -> Iterator[bytes]:
        chunk = first
        while chunk:
            self._read += len(chunk)
            if self._read > self._limits.max_read:
                raise Unreadable(f"more than {self._limits.max_read} bytes when opened")
            yield chunk
            chunk = file.read(_CHUNK)


class _Stream(io.RawIOBase):
    """Chunks of a file as a file, for readers that only go forward."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        # An empty chunk is no end: a gzip member may have no contents.
        self._chunks = filter(None, chunks)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while len(self._rest) < size and (chunk := next(self._chunks, b"")):
            self._rest += chunk
        found, self._rest = self._rest[:size], self._rest[size:]
        return found


def _joined(members: list[tuple[str, str]]) -> str:
    """Return the hash of an archive with these names and contents."""
    undated = sorted((_DATE_IN_NAME.sub("date", name), content) for name, content in members)
    return hashlib.sha256(json.dumps(undated).encode()).hexdigest()
