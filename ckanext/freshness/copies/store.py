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
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO, Protocol

from . import names, zipping
from .errors import Missing, StoreError
from .staged import Staged

__all__ = ["Kept", "Missing", "Reader", "Staged", "Store", "StoreError", "open_store"]

STAGING = ".staging"
"""The folder of what is not complete yet; no key begins with a dot."""

LEFT_OVER_AFTER = timedelta(days=1)
"""So old is nothing that somebody is still writing, whatever the caps on a download."""

COUNT_AGAIN_AFTER = 600.0
"""Seconds for which a quota trusts its own count of what others may have added or removed."""


@dataclass(frozen=True, slots=True)
class Kept:
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


class Reader(Protocol):
    """Gives a copy, or a part of it, piece by piece; to be closed.

    :ivar size: bytes of the whole copy, whatever part is read
    """

    size: int

    def __iter__(self) -> Iterator[bytes]: ...

    def __next__(self) -> bytes: ...

    def close(self) -> None:
        """Let go of the file."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A file that is complete and verified at the location, but not yet where readers look.

    :ivar name: what the location calls it
    """

    name: str
    size: int


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

    def stage(self) -> Staged:
        """A place for a body on its way here."""
        return Staged(self._spool)

    def keep(self, key: str, staged: Staged, *, zip_member: str | None) -> Kept:
        """Keep a body, and a ZIP of it, in the place of what is there.

        Both are written beside it and verified; then the bytes take their place, then the ZIP does,
        each at once. A process killed in between leaves the ZIP of before beside the bytes of now,
        which the next :meth:`keep` heals.

        :param staged: the whole body; closed by this
        :param zip_member: the file's name in the ZIP, best made by :func:`.names.member`; None for
            no ZIP, and one of before is left as it is
        :raises StoreError: it could not be kept; what was there is untouched
        """
        names.check(key)
        with contextlib.ExitStack() as stack:
            stack.enter_context(staged)
            bodies = {key: staged}
            zip_key = packed = None
            if zip_member is not None:
                zip_key = names.zip_key(key)
                packed = bodies[zip_key] = stack.enter_context(self._packed(staged, zip_member))
            self._make_room({place: body.size for place, body in bodies.items()})
            pending = {}
            for place, body in bodies.items():
                pending[place] = self._put_aside(body)
                stack.callback(self._discard, pending[place])
            for place, file in pending.items():
                before = self.size(place) if self.quota is not None else None
                self._replace(file, place)
                self._count(file.size - (before or 0))
        return Kept(key, staged.size, staged.sha256, zip_key, packed.size if packed else None)

    def write_bytes(self, key: str, data: bytes) -> None:
        """Write a small file, in the place of what is there, at once."""
        with self.stage() as staged:
            staged.write(data)
            self.keep(key, staged, zip_member=None)

    @abstractmethod
    def open(self, key: str, start: int = 0, end: int | None = None) -> Reader:
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

    @abstractmethod
    def keys(self, prefix: str = "") -> Iterator[str]:
        """All keys that begin so, in no particular order."""

    @abstractmethod
    def used(self) -> int:
        """How many bytes are kept altogether, counted now."""

    @abstractmethod
    def sweep(self, now: datetime) -> int:
        """Remove what has been left incomplete for :data:`LEFT_OVER_AFTER`; returns how many files."""

    def _packed(self, staged: Staged, member: str) -> Staged:
        """A ZIP of its own for a body. What stands before the deflated bytes is known only after."""
        packed = self.stage()
        try:
            with self.stage() as deflated:
                crc = zipping.deflate(staged.pieces(), deflated.write)
                head, tail = zipping.around(zipping.Entry(member, crc, deflated.size, staged.size))
                packed.write(head)
                for piece in deflated.pieces():
                    packed.write(piece)
                packed.write(tail)
        except BaseException:
            packed.close()
            raise
        return packed

    def _make_room(self, sizes: dict[str, int]) -> None:
        """Refuse what would go over the quota."""
        if self.quota is None:
            return
        more = sum(size - (self.size(key) or 0) for key, size in sizes.items())
        fresh = time.monotonic() - self._used_at < COUNT_AGAIN_AFTER
        if self._used is None or not fresh or (more > 0 and self._used + more > self.quota):
            self._recount()
        assert self._used is not None
        if more > 0 and self._used + more > self.quota:
            raise StoreError(
                f"{next(iter(sizes))} is not kept: with {more:,} bytes more the copies would have "
                f"{self._used + more:,} bytes, and the quota is {self.quota:,}."
            )

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
    def _put_aside(self, staged: Staged) -> Pending:
        """Bring a body to the location, complete, safe and verified."""

    @abstractmethod
    def _replace(self, pending: Pending, key: str) -> None:
        """Let it take its place, at once."""

    @abstractmethod
    def _discard(self, pending: Pending) -> None:
        """Remove it if it has not taken its place; never raises."""


def open_store(location: str, *, quota: int | None = None) -> Store:
    """The store at a location.

    :param location: the path of a directory, which is made if it is not there; or a URL of fsspec,
        such as ``s3://bucket/folder``, whose library must be installed (``ckanext-freshness[s3]``).
        Credentials, endpoints and the like are what that library, or fsspec's own configuration
        (``FSSPEC_S3_ENDPOINT_URL``, ``AWS_ACCESS_KEY_ID``), says: none of them in the location.
    :param quota: how many bytes may be kept altogether; None for no limit
    :raises StoreError: it cannot be opened
    """
    if "://" in location:
        from .remote import RemoteStore

        return RemoteStore(location, quota)
    from .directory import DirectoryStore

    return DirectoryStore(Path(location), quota)
