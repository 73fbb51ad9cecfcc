"""The interface of a store of copies, and what all stores share.

A copy becomes visible when it is complete: readers find the earlier copy or the new one, never a part of
one. Several threads may use a :class:`Store`, and several processes may use one location.
:func:`.location.open_store` opens a store.
"""

from __future__ import annotations

import contextlib
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from . import store_keys, zip_format
from .errors import MissingCopy, StoreError
from .staging import StagedBody

__all__ = [
    "CopyReader",
    "KeepRequest",
    "MissingCopy",
    "StagedBody",
    "Store",
    "StoreError",
    "StoredCopy",
]

STAGING = ".staging"
"""The folder of incomplete files. No key begins with a dot."""

LEFT_OVER_AFTER = timedelta(days=1)
"""The age at which an incomplete file is deleted: no download takes that long."""

COUNT_AGAIN_AFTER = 600.0
"""Seconds after which the used bytes are counted again, because other processes also add and remove
copies."""


class StoredCopy(NamedTuple):
    """A copy that the store has kept.

    :ivar size: the size of the copy in bytes
    :ivar sha256: the hash of the copy, in hexadecimal
    :ivar zip_key: the key of its ZIP; None if no ZIP was requested
    :ivar zip_size: the size of its ZIP in bytes; None if no ZIP was requested
    """

    key: str
    size: int
    sha256: str
    zip_key: str | None = None
    zip_size: int | None = None


class KeepRequest(NamedTuple):
    """A body to keep, with the parameters of :meth:`Store.keep`."""

    key: str
    staged: StagedBody
    zip_member: str | None


class CopyReader(Protocol):
    """An iterator over the bytes of a copy or of a part of it. Close it after use.

    :ivar size: the size of the whole copy in bytes
    """

    size: int

    def __iter__(self) -> Iterator[bytes]: ...

    def __next__(self) -> bytes: ...

    def close(self) -> None:
        """Close the file."""


class PendingCopy(NamedTuple):
    """A complete and verified file that is not visible to readers yet.

    :ivar name: its path at the location
    """

    name: str
    size: int


@dataclass(slots=True)
class _Prepared:
    """A copy whose files are complete but not all visible yet.

    :ivar files: the files that are not visible yet, by key: first the copy, then its ZIP
    :ivar reserved: the bytes that it has reserved of the quota
    """

    kept: StoredCopy
    files: dict[str, PendingCopy]
    reserved: int


class Store(ABC):
    """A store of copies by key.

    Every method raises :class:`.errors.StoreError` if the location cannot be reached or refuses, and
    ValueError if a key is invalid by :func:`.store_keys.check`.

    :param quota: the most bytes that all copies together may have; None for no limit
    """

    def __init__(self, location: str, quota: int | None) -> None:
        self.location = location
        self.quota = quota
        self._counting = threading.Lock()
        self._used: int | None = None
        self._used_at = 0.0

    def stage(self) -> StagedBody:
        """Return an empty body to write to."""
        return StagedBody(self._spool)

    def keep(self, key: str, staged: StagedBody, *, zip_member: str | None) -> StoredCopy:
        """Keep a body and a ZIP of it, and replace the earlier copy.

        Both files are written and verified first. Then the copy is replaced, and then its ZIP. If the
        process is killed or the store vanishes between the two, the new copy stands beside the earlier
        ZIP until the next :meth:`keep`.

        :param staged: the whole body, which this method closes
        :param zip_member: the file's name in the ZIP, see :func:`.store_keys.member`; None to write no
            ZIP and to leave an earlier one as it is
        :raises StoreError: the copy could not be kept; the earlier copy is unchanged
        """
        (result,) = self.keep_all([KeepRequest(key, staged, zip_member)])
        if isinstance(result, StoreError):
            raise result
        return result

    def keep_all(self, wanted: Sequence[KeepRequest]) -> list[StoredCopy | StoreError]:
        """Keep many bodies as :meth:`keep` does, but wait for the disk only once.

        :returns: the kept copy or the error of each request, in the order of ``wanted``
        """
        with contextlib.ExitStack() as stack:
            for one in wanted:
                stack.enter_context(one.staged)
                store_keys.check(one.key)
            prepared: list[_Prepared | StoreError] = []
            for one in wanted:
                try:
                    files = self._prepare(one)
                except StoreError as error:
                    prepared.append(error)
                else:
                    prepared.append(files)
                    stack.callback(self._drop, files)
                one.staged.close()
            complete = [one for one in prepared if isinstance(one, _Prepared)]
            try:
                self._settle([pending for one in complete for pending in one.files.values()])
            except StoreError as error:
                return [one if isinstance(one, StoreError) else error for one in prepared]
            results = [one if isinstance(one, StoreError) else self._place(one) for one in prepared]
            self._settle_places([key for one in complete for key in one.files])
            return results

    def try_out(self) -> None:
        """Write a file of one byte and remove it again.

        :raises StoreError: the store cannot keep copies; the message says why
        """
        with self.stage() as staged:
            staged.write(b"-")
            self._discard(self._put_aside(staged))

    def write_bytes(self, key: str, data: bytes) -> None:
        """Keep a small file, and replace an earlier one."""
        with self.stage() as staged:
            staged.write(data)
            self.keep(key, staged, zip_member=None)

    @abstractmethod
    def open(self, key: str, start: int = 0, end: int | None = None) -> CopyReader:
        """Open a copy to read the bytes from ``start`` to before ``end``.

        If the copy is replaced meanwhile, the reader returns the earlier bytes.

        :raises MissingCopy: there is no copy with this key
        """

    @abstractmethod
    def size(self, key: str) -> int | None:
        """Return the size of a copy in bytes; None if there is no copy.

        :raises StoreError: the store itself is gone, which is not the absence of a copy
        """

    @abstractmethod
    def remove(self, key: str) -> None:
        """Remove a copy if it exists. Its ZIP has a key of its own and stays."""

    @abstractmethod
    def move(self, old: str, new: str) -> bool:
        """Change the key of a copy, and replace an earlier copy of the new key.

        :returns: whether there was a copy to move
        """

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Iterate over all keys with a prefix, in any order."""
        return (key for key, _ in self.sizes(prefix))

    @abstractmethod
    def sizes(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Iterate over all keys with a prefix and the sizes of their copies in bytes, in any order."""

    @abstractmethod
    def used(self) -> int:
        """Count the bytes of all copies."""

    @abstractmethod
    def sweep(self, now: datetime) -> int:
        """Remove incomplete files older than :data:`LEFT_OVER_AFTER`, and return their number."""

    def _prepare(self, wanted: KeepRequest) -> _Prepared:
        """Write a body and its ZIP to the location, still invisible to readers."""
        staged, key = wanted.staged, wanted.key
        bodies, zip_key, packed = {key: staged}, None, None
        if wanted.zip_member is not None:
            zip_key, packed = store_keys.zip_key(key), self._packed(staged, wanted.zip_member)
            bodies[zip_key] = packed
        else:
            staged.verify()
        with packed or contextlib.nullcontext():
            zip_size = None if packed is None else packed.size
            kept = StoredCopy(key, staged.size, staged.sha256, zip_key, zip_size)
            prepared = _Prepared(kept, {}, self._make_room(bodies))
            try:
                for place, body in bodies.items():
                    prepared.files[place] = self._put_aside(body)
            except BaseException:
                self._drop(prepared)
                raise
        return prepared

    def _place(self, prepared: _Prepared) -> StoredCopy | StoreError:
        try:
            for key in list(prepared.files):
                self._replace(prepared.files[key], key)
                del prepared.files[key]
        except StoreError as error:
            return error
        prepared.reserved = 0
        return prepared.kept

    def _drop(self, prepared: _Prepared) -> None:
        """Delete the files that are not visible yet, and release the reserved bytes."""
        for pending in prepared.files.values():
            self._discard(pending)
        self._count(-prepared.reserved)

    def _packed(self, staged: StagedBody, member: str) -> StagedBody:
        """Pack a body into a ZIP.

        The header before the deflated bytes has their size, so the deflated bytes of a large body are
        staged first.
        """
        packed = self.stage()
        try:
            content = staged.complete()
            if isinstance(content, bytes):
                pieces: list[bytes] = []
                crc, _ = zip_format.deflate((content,), pieces.append)
                entry = zip_format.ZipEntry(member, crc, sum(map(len, pieces)), staged.size)
                head, tail = zip_format.around(entry)
                packed.write(b"".join((head, *pieces, tail)))
                return packed
            with self.stage() as deflated:
                crc, _ = zip_format.deflate(staged.pieces(), deflated.write)
                entry = zip_format.ZipEntry(member, crc, deflated.size, staged.size)
                head, tail = zip_format.around(entry)
                packed.write(head)
                for piece in deflated.pieces():
                    packed.write(piece)
                packed.write(tail)
        except BaseException:
            packed.close()
            raise
        return packed

    def _make_room(self, bodies: Mapping[str, StagedBody]) -> int:
        """Reserve the bytes by which the new files are larger than the replaced ones, and return their
        number.

        :raises StoreError: the quota does not allow them
        """
        if self.quota is None:
            return 0
        more = sum(body.size - (self.size(key) or 0) for key, body in bodies.items())
        fresh = time.monotonic() - self._used_at < COUNT_AGAIN_AFTER
        if self._used is None or not fresh or (more > 0 and self._used + more > self.quota):
            self._recount()
        assert self._used is not None
        if more > 0 and self._used + more > self.quota:
            raise StoreError(
                f"{next(iter(bodies))} is not kept: with {more:,} bytes more the copies would have "
                f"{self._used + more:,} bytes, and the quota is {self.quota:,}."
            )
        self._count(more)
        return more

    def _recount(self) -> None:
        used = self.used()
        with self._counting:
            self._used, self._used_at = used, time.monotonic()

    def _count(self, more: int) -> None:
        with self._counting:
            if self._used is not None:
                self._used += more

    @abstractmethod
    def _spool(self) -> tuple[BinaryIO, Path]:
        """Create a local file for a body that is too large for memory."""

    @abstractmethod
    def _put_aside(self, staged: StagedBody) -> PendingCopy:
        """Write a body to the location and verify it."""

    @abstractmethod
    def _settle(self, pending: Sequence[PendingCopy]) -> None:
        """Make sure that pending files survive a power failure."""

    @abstractmethod
    def _settle_places(self, keys: Sequence[str]) -> None:
        """Make sure that the new names survive a power failure, as far as the file system allows. Never
        raises."""

    @abstractmethod
    def _replace(self, pending: PendingCopy, key: str) -> None:
        """Make a pending file visible under its key, atomically."""

    @abstractmethod
    def _discard(self, pending: PendingCopy) -> None:
        """Delete a pending file if it still exists. Never raises."""
