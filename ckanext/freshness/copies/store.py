"""Where copies are kept: a directory, or anything that fsspec knows by a URL.

:func:`open_store` gives a :class:`Store`. What it is asked to keep is visible only when all of it is
there: readers find what was before, or what is now, never a part. A :class:`Store` may be used by
several threads, and one location by several processes.
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
from typing import BinaryIO, Protocol

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
"""The folder of what is not complete yet; no key begins with a dot."""

LEFT_OVER_AFTER = timedelta(days=1)
"""So old is nothing that somebody is still writing, whatever the caps on a download."""

COUNT_AGAIN_AFTER = 600.0
"""Seconds for which a quota trusts its own count of what others may have added or removed."""


@dataclass(frozen=True, slots=True)
class StoredCopy:
    """What is in the store now.

    :ivar size: bytes of the copy
    :ivar sha256: of the copy, in hexadecimal
    :ivar zip_key: None if no ZIP of its own was asked for; ``zip_size`` likewise
    """

    key: str
    size: int
    sha256: str
    zip_key: str | None = None
    zip_size: int | None = None


@dataclass(frozen=True, slots=True)
class KeepRequest:
    """What is to be kept; the parameters of :meth:`Store.keep`."""

    key: str
    staged: StagedBody
    zip_member: str | None


class CopyReader(Protocol):
    """Gives a copy, or a part of it, piece by piece; to be closed.

    :ivar size: bytes of the whole copy, whatever part is read
    """

    size: int

    def __iter__(self) -> Iterator[bytes]: ...

    def __next__(self) -> bytes: ...

    def close(self) -> None:
        """Let go of the file."""


@dataclass(frozen=True, slots=True)
class PendingCopy:
    """A file that is complete and verified at the location, but not yet where readers look.

    :ivar name: what the location calls it
    """

    name: str
    size: int


@dataclass(slots=True)
class _Prepared:
    """A copy at the location that is not shown yet.

    :ivar files: what has not taken its place, by key: the bytes, then the ZIP
    :ivar reserved: of the quota, in bytes
    """

    kept: StoredCopy
    files: dict[str, PendingCopy]
    reserved: int


class Store(ABC):
    """Copies by key.

    Every method raises :class:`.errors.StoreError` if the location cannot be reached or refuses, and
    ValueError for what is no key of :mod:`.names`.

    :param quota: how many bytes may be kept altogether; None for no limit
    """

    def __init__(self, location: str, quota: int | None) -> None:
        self.location = location
        self.quota = quota
        self._counting = threading.Lock()
        self._used: int | None = None
        self._used_at = 0.0

    def stage(self) -> StagedBody:
        """A place for a body on its way here."""
        return StagedBody(self._spool)

    def keep(self, key: str, staged: StagedBody, *, zip_member: str | None) -> StoredCopy:
        """Keep a body, and a ZIP of it, in the place of what is there.

        Both are written beside it and verified; then the bytes take their place, then the ZIP does,
        each at once. A process killed in between leaves the ZIP of before beside the bytes of now,
        which the next :meth:`keep` heals; so does a store that vanishes in that very moment.

        :param staged: the whole body; closed by this
        :param zip_member: the file's name in the ZIP, best made by :func:`.names.member`; None for
            no ZIP, and one of before is left as it is
        :raises StoreError: it could not be kept; what was there is untouched
        """
        (result,) = self.keep_all([KeepRequest(key, staged, zip_member)])
        if isinstance(result, StoreError):
            raise result
        return result

    def keep_all(self, wanted: Sequence[KeepRequest]) -> list[StoredCopy | StoreError]:
        """Keep many as :meth:`keep` does each, waiting for the disk only once.

        :returns: what was kept, or why it was not, in the order of ``wanted``
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
        """Put a byte aside, as every copy is before it takes its place, and remove it.

        :raises StoreError: nothing can be kept here; the text says why
        """
        with self.stage() as staged:
            staged.write(b"-")
            self._discard(self._put_aside(staged))

    def write_bytes(self, key: str, data: bytes) -> None:
        """Write a small file, in the place of what is there, at once."""
        with self.stage() as staged:
            staged.write(data)
            self.keep(key, staged, zip_member=None)

    @abstractmethod
    def open(self, key: str, start: int = 0, end: int | None = None) -> CopyReader:
        """The bytes of a copy from ``start`` up to but without ``end``.

        A copy that is replaced meanwhile is read as it was.

        :raises Missing: there is none
        """

    @abstractmethod
    def size(self, key: str) -> int | None:
        """How many bytes a copy has; None if there is none.

        A store that is gone altogether is an error, not the absence of each copy.
        """

    @abstractmethod
    def remove(self, key: str) -> None:
        """Remove a copy, if there is one; its ZIP has a key of its own."""

    @abstractmethod
    def move(self, old: str, new: str) -> bool:
        """Give a copy another key, in the place of what is there; False if there is none to move."""

    def keys(self, prefix: str = "") -> Iterator[str]:
        """All keys that begin so, in no particular order."""
        return (key for key, _ in self.sizes(prefix))

    @abstractmethod
    def sizes(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Likewise, each with how many bytes the copy has: a question for all, not one for each."""

    @abstractmethod
    def used(self) -> int:
        """How many bytes are kept altogether, counted now."""

    @abstractmethod
    def sweep(self, now: datetime) -> int:
        """Remove what has been left incomplete for :data:`LEFT_OVER_AFTER`; returns how many files."""

    def _prepare(self, wanted: KeepRequest) -> _Prepared:
        """Bring a body and its ZIP to the location, without showing them."""
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
        """Forget what has not taken its place."""
        for pending in prepared.files.values():
            self._discard(pending)
        self._count(-prepared.reserved)

    def _packed(self, staged: StagedBody, member: str) -> StagedBody:
        """A ZIP of its own for a body. What stands before the deflated bytes is known only after them,
        so those of a large body are put aside."""
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
        """Reserve what these need beyond what they replace; refuse what would go over the quota."""
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
        """A new local file for a body that is too large for memory."""

    @abstractmethod
    def _put_aside(self, staged: StagedBody) -> PendingCopy:
        """Bring a body to the location, complete and verified."""

    @abstractmethod
    def _settle(self, pending: Sequence[PendingCopy]) -> None:
        """See to it that files put aside survive a failure of power."""

    @abstractmethod
    def _settle_places(self, keys: Sequence[str]) -> None:
        """Likewise for the names under which they stand now; never raises."""

    @abstractmethod
    def _replace(self, pending: PendingCopy, key: str) -> None:
        """Let it take its place, at once."""

    @abstractmethod
    def _discard(self, pending: PendingCopy) -> None:
        """Remove it if it has not taken its place; never raises."""
