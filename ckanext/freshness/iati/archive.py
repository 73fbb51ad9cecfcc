"""Bulk ZIPs, assembled from copies.

All archives are written in one pass over the members, whose bytes are compared with their hashes, and only then
stored. The same members give the same bytes. Memory does not grow with the size of the files.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from zipfile import ZipFile

from ..copies.store import MissingCopy, Store, StoredCopy, StoreError, new_member, new_zip
from .index import GeneratedFile


class ArchiveMember(NamedTuple):
    """A copy that belongs into the archives.

    :ivar name: path below the archive's folder: ``{organisation}/{dataset}.xml``, from
        :func:`..copies.store_keys.registry_key`
    """

    key: str
    name: str
    sha256: str


class Archive(NamedTuple):
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
        some = ", ".join(member.key for member in members[:5])
        more = f" and {len(members) - 5:,} more" if len(members) > 5 else ""
        super().__init__(
            f"The archives are left as they were: {len(members):,} of the copies are lost or damaged "
            f"({some}{more})."
        )


def build(
    store: Store, archives: Sequence[Archive], members: Iterable[ArchiveMember]
) -> list[StoredCopy]:
    """Write archives and replace the stored ones atomically.

    :returns: the stored archives, in the order of ``archives``
    :raises MembersLost: members cannot be read; no archive was replaced
    :raises StoreError: an archive cannot be written; it and the later ones were not replaced
    """
    with contextlib.ExitStack() as bodies:
        staged = [bodies.enter_context(store.stage()) for _ in archives]
        with contextlib.ExitStack() as stack:
            zips = [
                (archive, stack.enter_context(new_zip(body)))
                for archive, body in zip(archives, staged, strict=True)
            ]
            in_order = sorted(members, key=lambda member: member.name)
            lost = [member for member in in_order if not _add(store, zips, member)]
            for archive, file in zips:
                for generated in archive.generated:
                    with new_member(file, generated.name) as target:
                        for piece in generated.pieces:
                            target.write(piece)
        if lost:
            raise MembersLost(lost)
        return [
            store.keep(archive.key, body, zip_member=None)
            for archive, body in zip(archives, staged, strict=True)
        ]


def _add(store: Store, zips: Sequence[tuple[Archive, ZipFile]], member: ArchiveMember) -> bool:
    """Write a member to all archives, and return whether its bytes were there and undamaged."""
    try:
        reader = store.open(member.key)
    except MissingCopy:
        return False
    digest = hashlib.sha256()
    with contextlib.ExitStack() as files:
        files.enter_context(contextlib.closing(reader))
        targets = [
            files.enter_context(new_member(file, f"{archive.folder}/{member.name}", reader.size))
            for archive, file in zips
        ]
        for piece in reader:
            digest.update(piece)
            for target in targets:
                target.write(piece)
    return digest.hexdigest() == member.sha256
