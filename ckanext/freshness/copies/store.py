"""The store of copies, in a directory or in any file system of fsspec: S3, Azure, Google, SFTP, memory.

A copy becomes visible when it is complete: it is written beside its place and then moved there. Readers find
the earlier copy or the new one, never a part of one. Several threads may use a :class:`Store`, and several
processes may use one location.

The store does not use file-keeper, which comes with CKAN 2.12: CKAN 2.11 does not have it, and it supports far
fewer storages.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import secrets
import stat
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta, timezone
from typing import IO, Any, NamedTuple

from ..dates import aware
from ..room import FILES, Share
from . import store_keys

STAGING = ".staging"
"""The folder of incomplete files. No key begins with a dot."""

LEFT_OVER_AFTER = timedelta(days=1)
"""The age at which an incomplete file is deleted: no download takes that long."""

ZIP_LEVEL = 3
"""Files are at most an eighth larger than by zlib's default, 6, and take half the time."""
_LARGE_MEMBER = 2_000_000_000
"""From this size on, a member of a ZIP needs 64-bit sizes, perhaps."""

IN_MEMORY = 128 * 1024
"""Bodies up to this many bytes are held in memory. Most files are smaller."""

CHUNK = 256 * 1024
"""Bytes that are read from a file at once."""

_CREDENTIALS = re.compile(r"(?<=://)[^/@]*@")


class StoreError(Exception):
    """A copy could not be kept, read or removed. Earlier copies are unchanged.

    The message names the copy and the cause, and holds no credentials.
    """


class MissingCopy(StoreError):
    """A key without a copy in the store."""


class StagedBody:
    """A body that is written as to a sink of ``web`` and can be read again.

    Close it or use it as a context manager, whether it is kept or not.

    :param small: bytes of a beginning that takes no room until :meth:`claim`
    :ivar file: the bytes written so far, to be read once they are complete
    :ivar size: their number
    """

    def __init__(self, small: int = 0) -> None:
        self._small = small
        self._begin()

    def _begin(self) -> None:
        self.file: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115
        self._share = Share(FILES)
        self._unclaimed = 0
        self.size = 0

    def __enter__(self) -> StagedBody:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def sha256(self) -> str:
        """Return the hash of the body, in hexadecimal.

        :raises StoreError: the file cannot be written or read
        """
        found = hashlib.sha256()
        for chunk in self.chunks():
            found.update(chunk)
        return found.hexdigest()

    def write(self, data: bytes, /) -> int:
        """Append a chunk, and return its length.

        :raises StoreError: there is no room for it
        """
        is_small = self.size + len(data) <= self._small
        if not is_small and not self._share.take(len(data)):
            raise self._failed("too many other files are there")
        try:
            self.file.write(data)
        except OSError as error:
            raise self._failed(error.strerror or str(error)) from error
        self.size += len(data)
        if is_small:
            self._unclaimed = self.size
        return len(data)

    def claim(self) -> bool:
        """Take room for a small beginning, too, of a body that waits; return False if there is none."""
        is_there = self._share.take(self._unclaimed)
        if is_there:
            self._unclaimed = 0
        return is_there

    def flush(self) -> None:
        """Do nothing. What writes to files, such as :mod:`zipfile`, calls it."""

    def chunks(self) -> Iterator[bytes]:
        """Read the body from its beginning.

        :raises StoreError: the file cannot be written or read
        """
        try:
            self.file.seek(0)
            while chunk := self.file.read(CHUNK):
                yield chunk
        except OSError as error:
            raise self._failed(error.strerror or str(error)) from error

    def restart(self) -> None:
        """Discard all bytes written so far."""
        self.close()
        self._begin()

    def close(self) -> None:
        """Discard the body."""
        try:
            self.file.close()
        except OSError:  # The bytes are discarded anyway.
            self.file = io.BytesIO()
        self._share.give_back()

    def _failed(self, why: str) -> StoreError:
        return StoreError(
            f"A body of {self.size:,} bytes so far cannot be put aside in {tempfile.gettempdir()}: {why}."
        )


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


class _Directory:
    """The local file system, with the methods of fsspec's that :class:`Location` calls.

    If the system refuses to move a file, fsspec's own writes over the earlier copy, which may end halfway.
    """

    makedirs = staticmethod(os.makedirs)
    exists = staticmethod(os.path.exists)
    mv = staticmethod(os.replace)
    rm_file = staticmethod(os.remove)

    def open(self, path: str, mode: str, block_size: int = -1) -> IO[Any]:
        return open(path, mode, block_size)

    def info(self, path: str) -> dict[str, Any]:
        return _info(os.stat(path))

    def find(self, folder: str, *, detail: bool) -> dict[str, dict[str, Any]]:
        found = {}
        folders = [folder]
        for path in folders:
            # Another process may have removed what is listed.
            with (
                contextlib.suppress(FileNotFoundError, NotADirectoryError),
                os.scandir(path) as entries,
            ):
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif entry.is_file():
                        with contextlib.suppress(FileNotFoundError):
                            found[entry.path] = _info(entry.stat())
        return found

    def invalidate_cache(self) -> None:
        """Do nothing: no listing is remembered."""


def _info(found: os.stat_result) -> dict[str, Any]:
    kind = "file" if stat.S_ISREG(found.st_mode) else "other"
    return {"size": found.st_size, "type": kind, "mtime": found.st_mtime}


class Location:
    """The directory, or the file system of fsspec, that holds the copies. Its failures are StoreErrors.

    :ivar name: the location without credentials
    """

    def __init__(self, location: str) -> None:
        self.name = _CREDENTIALS.sub("", location)
        with self.errors("be opened"):
            # Imported here, since fsspec takes long to import, and web workers rarely need it.
            import fsspec
            from fsspec.implementations.local import LocalFileSystem

            self._system, root = fsspec.core.url_to_fs(location, skip_instance_cache=True)
            self.root = root.rstrip("/")
            self._top = self.root.partition("/")[0]
            if isinstance(self._system, LocalFileSystem):
                self._system = _Directory()
                self._top = self.root
                self._system.makedirs(self.root, exist_ok=True)

    @contextlib.contextmanager
    def errors(self, what: str, key: str | None = None) -> Iterator[None]:
        """Turn any exception into a StoreError: every backend has exceptions of its own."""
        if key is not None:
            store_keys.check(key)
        try:
            yield
        except StoreError:
            raise
        except Exception as error:
            copy = "The copies" if key is None else f"The copy {key}"
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            reason = _CREDENTIALS.sub("", reason).rstrip(".") or type(error).__name__
            raise StoreError(f"{copy} in {self.name} cannot {what}: {reason}.") from error

    def open(self, key: str) -> Any:
        """Open the file of a copy to read it.

        :raises MissingCopy: there is none
        """
        try:
            return self._fresh().open(self._path(key), "rb", block_size=4 * CHUNK)
        except FileNotFoundError:
            self._check_there()
            raise MissingCopy(f"There is no copy {key} in {self.name}.") from None

    def size(self, key: str) -> int | None:
        """Return the size of a copy in bytes; None if there is no copy."""
        with self.errors("be read", key):
            try:
                found = self._fresh().info(self._path(key))
            except FileNotFoundError:
                self._check_there()
                return None
            return int(found["size"]) if found["type"] == "file" else None

    def find(self, folder: str) -> dict[str, dict[str, Any]]:
        """Return what is known of each file below a folder, by path."""
        with self.errors("be listed"):
            found = self._fresh().find(f"{self.root}/{folder}".rstrip("/"), detail=True)
            if not found:
                self._check_there()
        return dict(found)

    def write(self, staged: StagedBody) -> str:
        """Write a body beside all copies, and return the path of its file."""
        name = f"{self.root}/{STAGING}/{secrets.token_hex(12)}"
        try:
            with self.errors("take anything more"):
                with self._in_folder(name, self._system.open, name, "wb") as file:
                    for chunk in staged.chunks():
                        file.write(chunk)
                found = self._fresh().info(name)["size"]
            if found != staged.size:
                raise StoreError(
                    f"Of {staged.size:,} bytes {found:,} arrived in {self.name}. Is it in order?"
                )
        except BaseException:
            self.discard(name)
            raise
        return name

    def put(self, path: str, key: str) -> None:
        """Move a file to the place of a copy."""
        with self.errors("be put in its place", key):
            target = self._path(key)
            self._in_folder(target, self._system.mv, path, target)

    def remove(self, key: str) -> None:
        """Remove a copy if it exists."""
        with self.errors("be removed", key), contextlib.suppress(FileNotFoundError):
            self._system.rm_file(self._path(key))

    def discard(self, path: str) -> None:
        """Delete a file that may not exist. Never raises."""
        with contextlib.suppress(StoreError), self.errors("be removed"):
            self._system.rm_file(path)

    def _in_folder(self, path: str, act: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function. If it fails because the folder of a path is missing, create the folder, but never
        the root, which may be a disk that is not mounted; and call it again."""
        try:
            return act(*arguments)
        except FileNotFoundError:
            self._check_there()
            self._system.makedirs(path.rpartition("/")[0], exist_ok=True)
            return act(*arguments)

    def _path(self, key: str) -> str:
        return f"{self.root}/{store_keys.check(key)}"

    def _fresh(self) -> Any:
        """Return the file system without its cache of listings, since other processes change the files."""
        self._system.invalidate_cache()
        return self._system

    def _check_there(self) -> None:
        """Raise a StoreError if the directory or bucket is gone, since then no copy is missing by itself."""
        if self._top and not self._system.exists(self._top):
            raise StoreError(
                f"The copies cannot be reached: {self.name} is gone. Is the disk mounted?"
            )


class Store:
    """A store of copies by key.

    Every method raises :class:`StoreError` if the location cannot be reached or refuses, and ValueError if a
    key is invalid by :func:`.store_keys.check`.

    :param location: the path of a directory, which is created if it does not exist; or a URL for fsspec,
        such as ``s3://bucket/folder``, whose library must be installed (``ckanext-freshness[s3]``).
        Credentials and endpoints do not belong in the URL: configure them for that library or for fsspec
        (``AWS_ACCESS_KEY_ID``, ``FSSPEC_S3_ENDPOINT_URL``).
    :param quota: the most bytes that all copies together may have; None for no limit
    """

    def __init__(self, location: str, quota: int | None = None) -> None:
        self._at = Location(location)
        self.location = self._at.name
        self.quota = quota
        self._counting = threading.Lock()
        self._used: int | None = None

    def stage(self) -> StagedBody:
        """Return an empty body to write to."""
        return StagedBody()

    def keep(self, key: str, staged: StagedBody, *, zip_member: str | None) -> StoredCopy:
        """Keep a body and a ZIP of it, and replace the earlier copy.

        Both files are complete before the copy is replaced, and then its ZIP. If the process is killed
        between the two, the new copy stands beside the earlier ZIP until the next :meth:`keep`.

        :param staged: the whole body, which this method closes
        :param zip_member: the file's name in the ZIP, see :func:`.store_keys.member`; None to write no
            ZIP and to leave an earlier one as it is
        :raises StoreError: the copy could not be kept; the earlier copy is unchanged
        """
        bodies = {store_keys.check(key): staged}
        zip_key = None if zip_member is None else store_keys.zip_key(key)
        pending: dict[str, str] = {}
        with contextlib.ExitStack() as stack:
            stack.enter_context(staged)
            if zip_key is not None and zip_member is not None:
                bodies[zip_key] = stack.enter_context(_zipped(staged, zip_member))
            kept = StoredCopy(
                *(key, staged.size, staged.sha256, zip_key),
                None if zip_key is None else bodies[zip_key].size,
            )
            more = self._make_room(bodies)
            try:
                for place, body in bodies.items():
                    pending[place] = self._at.write(body)
                for place in bodies:
                    self._at.put(pending[place], place)
                    del pending[place]
            finally:
                for name in pending.values():
                    self._at.discard(name)
                if pending:
                    self._count(-more)
        return kept

    def write_bytes(self, key: str, data: bytes) -> None:
        """Keep a small file, and replace an earlier one."""
        with self.stage() as staged:
            staged.write(data)
            self.keep(key, staged, zip_member=None)

    def try_out(self) -> None:
        """Write a file of one byte and remove it again.

        :raises StoreError: the store cannot keep copies; the message says why
        """
        with self.stage() as staged:
            staged.write(b"-")
            self._at.discard(self._at.write(staged))

    def open(self, key: str) -> CopyReader:
        """Open a copy to read it.

        :raises MissingCopy: there is no copy with this key
        """
        with self._at.errors("be read", key):
            return CopyReader(self._at, key, self._at.open(key))

    def size(self, key: str) -> int | None:
        """Return the size of a copy in bytes; None if there is no copy.

        :raises StoreError: the store itself is gone, which is not the absence of a copy
        """
        return self._at.size(key)

    def remove(self, key: str) -> None:
        """Remove a copy if it exists. Its ZIP has a key of its own and stays."""
        before = self.size(key)
        if before is None:
            return
        self._at.remove(key)
        self._count(-before)

    def sizes(self, folder: str = "") -> dict[str, int]:
        """Return the sizes of all copies in a folder in bytes, by their keys."""
        root = self._at.root
        hidden = f"{root}/{STAGING}/"
        return {
            path[len(root) :].lstrip("/"): int(found["size"])
            for path, found in self._at.find(folder).items()
            if not path.startswith(hidden)
        }

    def used(self) -> int:
        """Count the bytes of all copies."""
        return sum(self.sizes().values())

    def sweep(self, now: datetime) -> int:
        """Remove incomplete files older than :data:`LEFT_OVER_AFTER`, and return their number."""
        swept = 0
        for path, found in self._at.find(STAGING).items():
            written = _written(found)
            if written is not None and now - written > LEFT_OVER_AFTER:
                self._at.discard(path)
                swept += 1
        return swept

    def _make_room(self, bodies: Mapping[str, StagedBody]) -> int:
        """Reserve the bytes by which the new files are larger than the replaced ones, and return their
        number.

        :raises StoreError: the quota does not allow them
        """
        if self.quota is None:
            return 0
        more = sum(body.size - (self.size(key) or 0) for key, body in bodies.items())
        if self._used is None or self._used + more > self.quota:
            # Other processes may have removed copies meanwhile.
            self._used = self.used()
        if more > 0 and self._used + more > self.quota:
            raise StoreError(
                f"{next(iter(bodies))} is not kept: with {more:,} bytes more the copies would have "
                f"{self._used + more:,} bytes, and the quota is {self.quota:,}."
            )
        self._count(more)
        return more

    def _count(self, more: int) -> None:
        with self._counting:
            if self._used is not None:
                self._used += more


class CopyReader:
    """An iterator over the bytes of a copy, from any place on. Close it after use.

    :ivar size: the size of the whole copy in bytes
    """

    def __init__(self, location: Location, key: str, file: Any) -> None:
        self._location = location
        self._key = key
        self._file = file
        file.seek(0, 2)
        self.size = int(file.tell())
        self.seek(0)

    def seekable(self) -> bool:
        """Tell Werkzeug that it need not read what it leaves out."""
        return True

    def seek(self, start: int) -> None:
        """Go on with the byte at ``start``."""
        self._file.seek(min(start, self.size))
        self._left = self.size - self._file.tell()

    def tell(self) -> int:
        """Return the place of the next byte."""
        place: int = self.size - self._left
        return place

    def __iter__(self) -> CopyReader:
        return self

    def __next__(self) -> bytes:
        if not self._left:
            raise StopIteration
        with self._location.errors("be read", self._key):
            chunk = bytes(self._file.read(min(CHUNK, self._left)))
        if not chunk:
            raise StoreError(f"The copy {self._key} ends {self._left:,} bytes too early.")
        self._left -= len(chunk)
        return chunk

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _zipped(staged: StagedBody, member: str) -> StagedBody:
    packed = StagedBody()
    try:
        with new_zip(packed) as archive, new_member(archive, member, staged.size) as file:
            for chunk in staged.chunks():
                file.write(chunk)
    except BaseException:
        packed.close()
        raise
    return packed


def new_zip(staged: StagedBody) -> zipfile.ZipFile:
    """Return a ZIP that is written to a body. The same members give the same bytes: they have no dates."""
    return zipfile.ZipFile(staged, "w", zipfile.ZIP_DEFLATED, compresslevel=ZIP_LEVEL)


def new_member(archive: zipfile.ZipFile, name: str, size: int = 0) -> Any:
    """Return a file to write a member of a ZIP to.

    :param size: its bytes, if they are known
    """
    return archive.open(name, "w", force_zip64=size >= _LARGE_MEMBER)


def _written(found: Mapping[str, Any]) -> datetime | None:
    """Return when a file was written, from the field that its file system uses; None if it has none."""
    for field in ("LastModified", "last_modified", "mtime", "created", "updated"):
        value = found.get(field)
        if isinstance(value, datetime):
            return value if value.tzinfo else aware(value)
        if isinstance(value, (int, float)):
            return datetime.fromtimestamp(value, timezone.utc)
    return None
