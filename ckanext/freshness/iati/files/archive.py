"""ZIPs of many copies, put together from the ZIPs that the copies have of their own.

What is deflated already is copied as it is, under a new header: no member is compressed again. All
archives are written in one pass over the members, verified, and only then put in their places. The same
members give the same bytes; memory does not grow with their size.
"""

from __future__ import annotations

import contextlib
import io
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ...copies import zip_format
from ...copies.errors import MissingCopy, StoreError, words
from ...copies.staging import PIECE, StagedBody
from ...copies.store import CopyReader, Store, StoredCopy
from .index import GeneratedFile


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """A copy that belongs into the archives.

    :ivar zip_key: where its own ZIP is in the store
    :ivar name: below the folder of an archive: ``{organisation}/{dataset}.xml``, as
        :func:`.names.iati_key` says
    :ivar changed: whether it is another one than in the archives of before; then it is inflated once
        more to see whether it is whole
    """

    zip_key: str
    name: str
    changed: bool = True


@dataclass(frozen=True, slots=True)
class Archive:
    """One ZIP that is wanted.

    :ivar key: where it goes in the store
    :ivar folder: what the members are in: ``iati-data/datasets``
    :ivar given: what stands in it besides, after the members
    """

    key: str
    folder: str
    given: Iterable[GeneratedFile] = field(default=())


class MembersLost(StoreError):
    """Copies that should be in the archives are not in the store, or are damaged there.

    :ivar members: these, so that they can be fetched again
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
    """Write archives anew, each in the place of the one before, at once.

    :returns: what was kept, in the order of ``archives``
    :raises MembersLost: members cannot be put in; all archives are as they were
    :raises StoreError: an archive cannot be written; it is as it was, and so are those after it
    :raises ValueError: two members would have one name
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

    :raises zipping.BadZip: its ZIP is not whole
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
    """Writes one archive: headers and deflated bytes, and the directory at the end."""

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
        """A member, whose ``packed`` deflated bytes come next."""
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
        """Write what is given, and the directory."""
        for given in self.archive.given:
            packed: list[bytes] = []
            crc, size = zip_format.deflate(given.pieces, packed.append)
            self.begin(given.name, crc, sum(map(len, packed)), size)
            for data in packed:
                self.write(data)
        self._names.clear()
        start = self._position
        self.write(bytes(self._directory))
        self.write(zip_format.end(self._count, start, len(self._directory)))
        self._flush()

    def verify(self, changed: Iterable[ArchiveMember]) -> list[ArchiveMember]:
        """Read the archive as others will: its directory whole, and the changed members.

        The raw bytes of all of it are compared with what was written when the store keeps it.

        :returns: those that are damaged
        :raises StoreError: it is not what was written
        """
        damaged = []
        with self._opened() as archive:
            at = 0
            for each in archive.infolist():
                entry = zip_format.ZipEntry(
                    *(each.filename, each.CRC, each.compress_size, each.file_size),
                    offset=each.header_offset,
                )
                header = zip_format.central_header(entry)
                if not self._directory.startswith(header, at):
                    break
                at += len(header)
            if at != len(self._directory):
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
