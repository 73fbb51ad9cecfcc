"""Copies in a local or mounted directory."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from . import store_keys
from .errors import MissingCopy, StoreError, words
from .staging import PIECE, StagedBody
from .store import LEFT_OVER_AFTER, STAGING, PendingCopy, Store

_FEW = 8
"""The largest number of files that are fsynced separately; for more, one sync of all file systems is faster."""

_ATTEMPTS = 5
"""Attempts to create a folder that another process, which found it empty, removes at the same moment."""


class DirectoryStore(Store):
    """A store of files under a root directory.

    A file is complete and fsynced before it is renamed to its key. After a crash of the machine, each key
    therefore has its whole old or its whole new file. When :meth:`keep_all` returns, the new names are on
    the disk, too, if the file system can fsync folders.
    """

    def __init__(self, root: Path, quota: int | None) -> None:
        super().__init__(str(root), quota)
        self._root = root.absolute()
        self._staging = self._root / STAGING
        # Texts and not paths, since joining a Path takes longer than most operations on the files.
        self._below_root = f"{self._root}{os.sep}"
        self._below_staging = f"{self._staging}{os.sep}"
        try:
            self._root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._error("be opened", error) from error

    def open(self, key: str, start: int = 0, end: int | None = None) -> FileReader:
        address = self._address(key)
        try:
            return FileReader(key, address, start, end)
        except (FileNotFoundError, NotADirectoryError):
            self._look()
            raise MissingCopy(f"There is no copy {key} in {self.location}.") from None
        except OSError as error:
            raise self._error("be read", error, key) from error

    def size(self, key: str) -> int | None:
        try:
            found = os.stat(self._address(key))
            return found.st_size if stat.S_ISREG(found.st_mode) else None
        except (FileNotFoundError, NotADirectoryError):
            self._look()
            return None
        except OSError as error:
            raise self._error("be read", error, key) from error

    def remove(self, key: str) -> None:
        path = self._path(key)
        try:
            size = path.stat().st_size
            path.unlink()
        except (FileNotFoundError, NotADirectoryError):
            self._look()
            return
        except OSError as error:
            raise self._error("be removed", error, key) from error
        self._count(-size)
        self._remove_empty(path.parent)

    def move(self, old: str, new: str) -> bool:
        source, target = self._path(old), self._path(new)
        replaced = (self.size(new) or 0) if self.quota is not None and old != new else 0
        try:
            if not source.is_file():
                self._look()
                return False
            self._rename(str(source), str(target))
            self._settle_places([old, new])
        except FileNotFoundError:
            self._look()
            return False
        except OSError as error:
            raise self._error("be moved", error, old) from error
        self._count(-replaced)
        self._remove_empty(source.parent)
        return True

    def sizes(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        folder, _, _ = prefix.rpartition("/")
        below = os.path.join(self._root, folder) if folder else str(self._root)
        for path, size in self._files(below):
            key = path[len(self._below_root) :].replace(os.sep, "/")
            if key.startswith(prefix):
                yield key, size

    def used(self) -> int:
        return sum(size for _, size in self._files(str(self._root)))

    def sweep(self, now: datetime) -> int:
        swept = 0
        try:
            left = list(self._staging.iterdir())
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise self._error("be swept", error) from error
        for path in left:
            with contextlib.suppress(FileNotFoundError):
                if now.timestamp() - path.stat().st_mtime > LEFT_OVER_AFTER.total_seconds():
                    try:
                        path.unlink()
                    except OSError as error:
                        raise self._error("be swept", error) from error
                    swept += 1
        return swept

    def _spool(self) -> tuple[BinaryIO, Path]:
        try:
            handle, name = self._new_file()
        except OSError as error:
            raise self._error("take anything more", error) from error
        return os.fdopen(handle, "wb", buffering=0), Path(name)

    def _put_aside(self, staged: StagedBody) -> PendingCopy:
        content = staged.complete()
        if isinstance(content, Path):
            staged.give_away()
            return PendingCopy(str(content), staged.size)
        try:
            handle, name = self._new_file()
            try:
                _write(handle, content)
            except BaseException:
                self._discard(PendingCopy(name, 0))
                raise
            finally:
                os.close(handle)
        except OSError as error:
            raise self._error("take anything more", error) from error
        return PendingCopy(name, staged.size)

    def _settle(self, pending: Sequence[PendingCopy]) -> None:
        try:
            if len(pending) > _FEW:
                os.sync()
            for file in pending:
                # After a sync there is nothing left to wait for, but sync itself reports no errors.
                _sync(file.name)
                found = os.stat(file.name).st_size
                if found != file.size:
                    raise StoreError(
                        f"Of {file.size:,} bytes {found:,} arrived in {self.location}. "
                        "Is the disk in order?"
                    )
        except OSError as error:
            raise self._error("take anything more", error) from error

    def _settle_places(self, keys: Sequence[str]) -> None:
        for folder in {self._address(key).rpartition(os.sep)[0] for key in keys}:
            # One that is not there any more, or never was, holds no names.
            with contextlib.suppress(OSError):
                _sync(folder)

    def _replace(self, pending: PendingCopy, key: str) -> None:
        try:
            self._rename(pending.name, self._address(key))
        except OSError as error:
            raise self._error("be put in its place", error, key) from error

    def _discard(self, pending: PendingCopy) -> None:
        with contextlib.suppress(OSError):
            os.unlink(pending.name)

    def _path(self, key: str) -> Path:
        return Path(self._address(key))

    def _address(self, key: str) -> str:
        return self._below_root + store_keys.check(key)

    def _new_file(self) -> tuple[int, str]:
        """Create a file in the staging folder, and that folder if needed, but never the root."""
        name = self._below_staging + os.urandom(12).hex()
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
        try:
            return os.open(name, flags, 0o666), name
        except FileNotFoundError:
            with contextlib.suppress(FileExistsError):
                self._staging.mkdir()
            return os.open(name, flags, 0o666), name

    def _rename(self, source: str, target: str) -> None:
        """Rename a file, and create the folder of its target if needed."""
        for attempt in range(_ATTEMPTS):
            try:
                os.replace(source, target)
                break
            except FileNotFoundError:
                if attempt == _ATTEMPTS - 1 or not os.path.exists(source):
                    raise
                self._make_folders(Path(target).parent)

    def _make_folders(self, folder: Path) -> None:
        """Create folders below the root, but never the root, which may be a disk that is not mounted."""
        path = self._root
        for part in folder.relative_to(self._root).parts:
            path = path / part
            with contextlib.suppress(FileExistsError):
                path.mkdir()

    def _remove_empty(self, folder: Path) -> None:
        with contextlib.suppress(OSError):
            while folder != self._root:
                folder.rmdir()
                folder = folder.parent

    def _files(self, folder: str) -> Iterator[tuple[str, int]]:
        """Iterate over the complete files below a folder with their sizes."""
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        yield from self._files(entry.path)
                        continue
                    try:
                        size = entry.stat(follow_symlinks=False).st_size
                    except FileNotFoundError:
                        continue
                    yield entry.path, size
        except (FileNotFoundError, NotADirectoryError):
            self._look()
        except OSError as error:
            raise self._error("be read", error) from error

    def _look(self) -> None:
        """Raise a StoreError if the root is gone, since then no copy is missing by itself."""
        if not self._root.is_dir():
            raise StoreError(
                f"The copies cannot be reached: {self.location} is gone. Is the disk mounted?"
            )

    def _error(self, what: str, error: OSError, key: str | None = None) -> StoreError:
        subject = f"The copy {key} in {self.location}" if key else f"The copies in {self.location}"
        return StoreError(f"{subject} cannot {what}: {words(error)}.")


class FileReader:
    """A reader of a file or a part of it. The file stays open, so a replacement does not change what is
    read."""

    def __init__(self, key: str, address: str, start: int, end: int | None) -> None:
        self._key = key
        self._file = open(address, "rb", buffering=0)  # noqa: SIM115, it is closed by close
        try:
            self.size = os.fstat(self._file.fileno()).st_size
            self._left = max(0, min(self.size if end is None else end, self.size) - start)
            self._file.seek(start)
        except BaseException:
            self._file.close()
            raise

    def __iter__(self) -> FileReader:
        return self

    def __next__(self) -> bytes:
        if not self._left:
            raise StopIteration
        try:
            piece = self._file.read(min(PIECE, self._left))
        except OSError as error:
            raise StoreError(f"The copy {self._key} cannot be read: {words(error)}.") from error
        if not piece:
            raise StoreError(f"The copy {self._key} ends {self._left:,} bytes too early.")
        self._left -= len(piece)
        return piece

    def close(self) -> None:
        self._file.close()


def _sync(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
