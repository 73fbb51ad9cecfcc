"""A body before it is kept: counted, hashed, and in a file if it is large."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from .errors import StoreError, words

IN_MEMORY = 128 * 1024
"""Bodies up to this many bytes are held in memory. Most files are smaller."""

PIECE = 256 * 1024
"""Bytes that are read from a file at once."""


class StagedBody:
    """A body that is written as to a sink of ``web`` and can be read again.

    Close it or use it as a context manager, whether it is kept or not.

    :param spool: creates the file for a large body
    :ivar size: the bytes written so far
    """

    def __init__(self, spool: Callable[[], tuple[BinaryIO, Path]]) -> None:
        self._spool = spool
        self._pieces: list[bytes] = []
        self._file: BinaryIO | None = None
        self.path: Path | None = None
        self._hash = hashlib.sha256()
        self.size = 0

    def __enter__(self) -> StagedBody:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def sha256(self) -> str:
        """Return the hash of the bytes written so far, in hexadecimal."""
        content = self.complete() if self._file is None else None
        if isinstance(content, bytes):
            return hashlib.sha256(content).hexdigest()
        return self._hash.hexdigest()

    def write(self, data: bytes, /) -> None:
        """Append a piece.

        :raises StoreError: there is no room for it, or the store is gone
        """
        self.size += len(data)
        if self._file is None:
            self._pieces.append(data)
            if self.size > IN_MEMORY:
                self._file, self.path = self._spool()
                pieces, self._pieces = self._pieces, []
                for piece in pieces:
                    self._append(self._file, piece)
        else:
            self._append(self._file, data)

    def restart(self) -> None:
        """Discard all bytes written so far."""
        self.close()
        self._hash = hashlib.sha256()
        self.size = 0

    def close(self) -> None:
        """Discard the body, unless its file was given away, and close its file."""
        self._pieces = []
        file, self._file = self._file, None
        path, self.path = self.path, None
        if file is not None:
            with contextlib.suppress(OSError):  # the bytes are discarded anyway
                file.close()
        if path is not None:
            with contextlib.suppress(OSError):
                path.unlink()

    def complete(self) -> bytes | Path:
        """Return the whole body: as bytes if it is small, else as the path of its file.

        :raises StoreError: not all bytes are in the file
        """
        if self._file is None:
            if len(self._pieces) > 1:
                self._pieces = [b"".join(self._pieces)]
            return self._pieces[0] if self._pieces else b""
        assert self.path is not None
        try:
            self._file.flush()
            found = os.fstat(self._file.fileno()).st_size
        except OSError as error:
            raise self._failed(error) from error
        if found != self.size:
            raise StoreError(
                f"Of {self.size:,} bytes {found:,} arrived in the file that holds them for now."
            )
        return self.path

    def pieces(self) -> Iterator[bytes]:
        """Read the body from its beginning, and compare its hash at the end.

        :raises StoreError: the file cannot be read, or differs from the written bytes
        """
        content = self.complete()
        if isinstance(content, bytes):
            yield content
            return
        found = hashlib.sha256()
        try:
            with content.open("rb", buffering=0) as file:
                while piece := file.read(PIECE):
                    found.update(piece)
                    yield piece
        except OSError as error:
            raise self._failed(error) from error
        if found.digest() != self._hash.digest():
            raise StoreError(
                "What was read back from the file that holds the body for now is not what was written "
                "into it. Is the disk in order?"
            )

    def verify(self) -> None:
        """Read the body back and compare its hash.

        :raises StoreError: the file cannot be read, or differs from the written bytes
        """
        if self._file is not None:
            for _ in self.pieces():
                pass

    def give_away(self) -> None:
        """Leave the file to the store: :meth:`close` no longer deletes it."""
        self.path = None

    def _append(self, file: BinaryIO, data: bytes) -> None:
        # Bytes in memory are hashed when :attr:`sha256` is read, which for a ZIP never happens.
        self._hash.update(data)
        try:
            # An unbuffered file may write only a part, for example if the disk is filling up.
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> StoreError:
        return StoreError(
            f"A body of {self.size:,} bytes so far could not be put aside: {words(error)}."
        )
