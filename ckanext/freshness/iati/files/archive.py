"""Bulk ZIPs, assembled from the ZIPs of single copies.

Deflated bytes are copied under a new header, so no member is compressed again. All archives are written in one
pass over the members, verified, and only then stored. The same members give the same bytes. Memory does not
grow with their size.
"""

from __future__ import annotations

import contextlib
import io
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...copies import zip_format
from ...copies.errors import MissingCopy, StoreError, words
from ...copies.staging import PIECE, StagedBody
from ...copies.store import CopyReader, Store, StoredCopy
from .index import GeneratedFile


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """A copy that belongs into the archives.

    :ivar zip_key: key of its own ZIP
    :ivar name: path below the archive's folder: ``{organisation}/{dataset}.xml``, from
        :func:`...copies.store_keys.registry_key`
    :ivar changed: it differs from the previous archives, so it is inflated once to verify it
    """

    zip_key: str
    name: str
    changed: bool = True


@dataclass(frozen=True, slots=True)
class Archive:
    """A ZIP to be written.

    :ivar key: its key in the store
    :ivar folder: folder of the members, such as ``iati-data/datasets``
    :ivar generated: further files, after the members
    """

    key: str
    folder: str
    generated: Iterable[GeneratedFile] = ()


class MembersLost(StoreError):
    """Members that are missing from the store or damaged.

    :ivar members: all of them
    """

    def __init__(self, members: Sequence[ArchiveMember]) -> None:
        self.members = tuple(members)
        some = ", ".join(member.zip_key for member in members[:5])
        more = f" and {len(members) - 5:,} more" if len(members) > 5 else ""
        super().__init__(
            f"The archives are left as they were: {len(members):,} of the copies are lost or damaged "
            f"({some}{more})."
        )


def build(
    store: Store, archives: Iterable[Archive], members: Iterable[ArchiveMember]
) -> list[StoredCopy]:
    """Write archives and replace the stored ones atomically.

    :returns: the stored archives, in the order of ``archives``
    :raises MembersLost: members cannot be read; no archive was replaced
    :raises StoreError: an archive cannot be written; it and the later ones were not replaced
    :raises ValueError: two members have one name
    """
    ordered = sorted(members, key=lambda member: member.name)
    with contextlib.ExitStack() as stack:
        writers = [_Writer(archive, stack.enter_context(store.stage())) for archive in archives]
        lost: list[ArchiveMember] = []
        for member in ordered:
            try:
                with contextlib.closing(store.open(member.zip_key)) as reader:
                    _copy(reader, member, [] if lost else writers)
            except (MissingCopy, zip_format.BadZip):
                lost.append(member)
        if lost:
            raise MembersLost(lost)
        changed = [member for member in ordered if member.changed]
        for writer in writers:
            writer.finish()
            if damaged := writer.verify(changed):
                raise MembersLost(damaged)
        return [
            store.keep(writer.archive.key, writer.staged, zip_member=None) for writer in writers
        ]


def _copy(reader: CopyReader, member: ArchiveMember, writers: Iterable[_Writer]) -> None:
    """Copy the deflated bytes of a member into the archives.

    :raises zip_format.BadZip: its ZIP is damaged
    """
    head = next(reader, b"")
    entry, start = zip_format.read_local_header(head)
    first, tail = zip_format.around(entry)
    if head[:start] != first or reader.size != start + entry.packed + len(tail):
        raise zip_format.BadZip("its size or header is not as it was written")
    for writer in writers:
        name = f"{writer.archive.folder}/{member.name}"
        writer.begin(name, entry.crc, entry.packed, entry.size)
    left, piece = entry.packed, head[start:]
    while True:
        data = piece[:left]
        for writer in writers:
            writer.write(data)
        left -= len(data)
        if not left:
            break
        piece = next(reader)
    if piece[len(data) :] + b"".join(reader) != tail:
        raise zip_format.BadZip("its directory is not as it was written")


class _Writer:
    """A writer of one archive: headers, deflated bytes, and the directory at the end."""

    def __init__(self, archive: Archive, staged: StagedBody) -> None:
        self.archive = archive
        self.staged = staged
        self._directory = bytearray()
        self._count = 0
        self._names: set[str] = set()
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._position = 0

    def begin(self, name: str, crc: int, packed: int, size: int) -> None:
        """Begin a member; its ``packed`` deflated bytes follow."""
        if name in self._names:
            raise ValueError(f"{name} would be twice in {self.archive.key}")
        self._names.add(name)
        entry = zip_format.ZipEntry(name, crc, packed, size, self._position)
        self._directory += zip_format.central_header(entry)
        self._count += 1
        self.write(zip_format.local_header(entry))

    def write(self, data: bytes) -> None:
        self._held.append(data)
        self._held_bytes += len(data)
        self._position += len(data)
        if self._held_bytes >= PIECE:
            self._flush()

    def finish(self) -> None:
        """Write the generated files and the directory."""
        for file in self.archive.generated:
            packed: list[bytes] = []
            crc, size = zip_format.deflate(file.pieces, packed.append)
            self.begin(file.name, crc, sum(map(len, packed)), size)
            for data in packed:
                self.write(data)
        self._names.clear()
        start = self._position
        self.write(bytes(self._directory))
        self.write(zip_format.end(self._count, start, len(self._directory)))
        self._flush()

    def verify(self, changed: Iterable[ArchiveMember]) -> list[ArchiveMember]:
        """Read the archive with :mod:`zipfile`: its whole directory, and the changed members.

        The store itself compares all raw bytes with the written ones.

        :returns: damaged members
        :raises StoreError: the directory is not the written one
        """
        damaged = []
        with self._opened() as archive:
            directory = b"".join(
                zip_format.central_header(
                    zip_format.ZipEntry(
                        *(info.filename, info.CRC, info.compress_size, info.file_size),
                        offset=info.header_offset,
                    )
                )
                for info in archive.infolist()
            )
            if directory != self._directory:
                raise StoreError(f"{self.archive.key} has another directory than was written.")
            for member in changed:
                name = f"{self.archive.folder}/{member.name}"
                try:
                    with archive.open(name) as unpacked:
                        while unpacked.read(PIECE):
                            pass
                except (zipfile.BadZipFile, zlib.error, EOFError):
                    damaged.append(member)
        return damaged

    @contextlib.contextmanager
    def _opened(self) -> Iterator[zipfile.ZipFile]:
        content = self.staged.complete()
        try:
            with zipfile.ZipFile(
                io.BytesIO(content) if isinstance(content, bytes) else content
            ) as file:
                yield file
        except OSError as error:
            raise StoreError(f"{self.archive.key} cannot be read back: {words(error)}.") from error

    def _flush(self) -> None:
        self.staged.write(b"".join(self._held))
        self._held, self._held_bytes = [], 0
