"""Copies in any file system of fsspec: S3 and compatible stores, Azure, Google, SFTP, memory.

The store does not use file-keeper, which comes with CKAN 2.12: CKAN 2.11 does not have it, and it
supports far fewer storages.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, BinaryIO

import fsspec

from ..dates import aware
from . import store_keys
from .errors import MissingCopy, StoreError, words
from .staging import PIECE, StagedBody
from .store import LEFT_OVER_AFTER, STAGING, PendingCopy, Store

_CREDENTIALS = re.compile(r"(?<=://)[^/@]*@")


class RemoteStore(Store):
    """A store in an fsspec file system.

    A body is written under a temporary name, read back and compared, and then moved to its key. Readers
    never see a part of it, in object stores either.
    """

    def __init__(self, location: str, quota: int | None) -> None:
        super().__init__(_CREDENTIALS.sub("", location), quota)
        with self._errors("be opened"):
            self._system, root = fsspec.core.url_to_fs(location, skip_instance_cache=True)
        self._root = root.rstrip("/")

    def open(self, key: str, start: int = 0, end: int | None = None) -> RemoteReader:
        path = self._path(key)
        with self._errors("be read", key):
            try:
                self._forget()
                return RemoteReader(
                    self, self._system.open(path, "rb", block_size=4 * PIECE), start, end
                )
            except FileNotFoundError:
                self._look()
                raise MissingCopy(f"There is no copy {key} in {self.location}.") from None

    def size(self, key: str) -> int | None:
        path = self._path(key)
        with self._errors("be read", key):
            try:
                self._forget()
                found = self._system.info(path)
            except FileNotFoundError:
                self._look()
                return None
            return int(found["size"]) if found["type"] == "file" else None

    def remove(self, key: str) -> None:
        before = self.size(key)
        if before is None:
            return
        with self._errors("be removed", key), contextlib.suppress(FileNotFoundError):
            self._system.rm_file(self._path(key))
        self._count(-before)

    def move(self, old: str, new: str) -> bool:
        if self.size(old) is None:
            store_keys.check(new)
            return False
        if old == new:
            return True
        replaced = self.size(new) or 0
        with self._errors("be moved", old):
            self._move(self._path(old), self._path(new))
        self._count(-replaced)
        return True

    def sizes(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        for path, found in self._files(prefix.rpartition("/")[0]):
            key = path[len(self._root) :].lstrip("/")
            if key.startswith(prefix):
                yield key, int(found["size"])

    def used(self) -> int:
        return sum(int(found["size"]) for _, found in self._files(""))

    def sweep(self, now: datetime) -> int:
        swept = 0
        with self._errors("be swept"):
            self._forget()
            for path, found in self._system.find(f"{self._root}/{STAGING}", detail=True).items():
                written = _written(found)
                if written is not None and now - written > LEFT_OVER_AFTER:
                    with contextlib.suppress(FileNotFoundError):
                        self._system.rm_file(path)
                    swept += 1
        return swept

    def _spool(self) -> tuple[BinaryIO, Path]:
        try:
            handle, name = tempfile.mkstemp(prefix="ckanext-freshness-")
        except OSError as error:
            raise StoreError(
                f"A body on its way to {self.location} cannot be put aside in "
                f"{tempfile.gettempdir()}: {words(error)}."
            ) from error
        return os.fdopen(handle, "wb", buffering=0), Path(name)

    def _put_aside(self, staged: StagedBody) -> PendingCopy:
        pending = PendingCopy(f"{self._root}/{STAGING}/{secrets.token_hex(12)}", staged.size)
        try:
            with self._errors("take anything more"):
                with self._in_folder(
                    lambda: self._system.open(pending.name, "wb"), pending.name
                ) as file:
                    for piece in staged.pieces():
                        file.write(piece)
                found, size = hashlib.sha256(), 0
                with self._system.open(pending.name, "rb", block_size=4 * PIECE) as file:
                    while piece := file.read(PIECE):
                        found.update(piece)
                        size += len(piece)
            if found.hexdigest() != staged.sha256:
                raise StoreError(
                    f"What was read back from {self.location} is not what was written: {size:,} bytes "
                    f"in the place of {staged.size:,}, or others."
                )
        except BaseException:
            self._discard(pending)
            raise
        return pending

    def _settle(self, pending: Sequence[PendingCopy]) -> None:
        """Do nothing: the files have been read back."""

    def _settle_places(self, keys: Sequence[str]) -> None:
        """Do nothing: remote stores need no fsync."""

    def _replace(self, pending: PendingCopy, key: str) -> None:
        path = self._path(key)
        with self._errors("be put in its place", key):
            self._move(pending.name, path)

    def _discard(self, pending: PendingCopy) -> None:
        with contextlib.suppress(StoreError), self._errors("be removed"):
            if self._system.exists(pending.name):
                self._system.rm_file(pending.name)

    def _move(self, source: str, target: str) -> None:
        if type(self._system).mv is fsspec.AbstractFileSystem.mv:
            # The default of object stores, which would first search for folders and wildcards.
            self._system.cp_file(source, target)
            self._system.rm_file(source)
        else:
            self._in_folder(lambda: self._system.mv(source, target), target)

    def _in_folder(self, act: Callable[[], Any], path: str) -> Any:
        """Run a function; if it fails because the folder of a path is missing, create the folder and run
        it again."""
        try:
            return act()
        except FileNotFoundError:
            if not self._system.isdir(self._root):
                raise
            self._system.makedirs(path.rpartition("/")[0], exist_ok=True)
            return act()

    def _look(self) -> None:
        """Raise a StoreError if the bucket is gone. Does nothing in file systems without buckets."""
        bucket = self._root.partition("/")[0]
        if bucket and not self._system.exists(bucket):
            raise StoreError(f"The copies cannot be reached: {self.location} is gone.")

    def _files(self, folder: str) -> Iterator[tuple[str, dict[str, Any]]]:
        hidden = f"{self._root}/{STAGING}/"
        with self._errors("be listed"):
            self._forget()
            top = f"{self._root}/{folder}".rstrip("/")
            found = self._system.find(top, detail=True)
        for path, info in found.items():
            if not path.startswith(hidden):
                yield path, info

    def _forget(self) -> None:
        """Clear fsspec's cache of listings, since other processes change the files."""
        self._system.invalidate_cache()

    def _path(self, key: str) -> str:
        return f"{self._root}/{store_keys.check(key)}"

    @contextlib.contextmanager
    def _errors(self, what: str, key: str | None = None) -> Iterator[None]:
        """Turn any exception into a StoreError: every backend has exceptions of its own."""
        try:
            yield
        except StoreError:
            raise
        except Exception as error:
            subject = (
                f"The copy {key} in {self.location}" if key else f"The copies in {self.location}"
            )
            reason = words(error) if isinstance(error, OSError) and error.errno else str(error)
            reason = _CREDENTIALS.sub("", reason).rstrip(".")
            raise StoreError(
                f"{subject} cannot {what}: {reason or type(error).__name__}."
            ) from error


class RemoteReader:
    """A reader of a remote file or a part of it."""

    def __init__(self, store: RemoteStore, file: Any, start: int, end: int | None) -> None:
        self._store = store
        self._file = file
        self.size = int(file.size)
        self._left = max(0, min(self.size if end is None else end, self.size) - start)
        if self._left:
            file.seek(start)

    def __iter__(self) -> RemoteReader:
        return self

    def __next__(self) -> bytes:
        if not self._left:
            raise StopIteration
        with self._store._errors("be read"):
            piece = bytes(self._file.read(min(PIECE, self._left)))
        if not piece:
            raise StoreError(
                f"A copy in {self._store.location} ends {self._left:,} bytes too early."
            )
        self._left -= len(piece)
        return piece

    def close(self) -> None:
        self._file.close()


def _written(found: dict[str, Any]) -> datetime | None:
    """Return when a file was written, from the field that its file system uses; None if it has none."""
    for field in ("LastModified", "last_modified", "mtime", "created", "updated"):
        value = found.get(field)
        if isinstance(value, datetime):
            return value if value.tzinfo else aware(value)
        if isinstance(value, (int, float)):
            return datetime.fromtimestamp(value, timezone.utc)
    return None
