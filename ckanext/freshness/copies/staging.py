"""A body on its way into the store: counted, hashed, and held where it takes little memory."""

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
"""Bodies up to so many bytes need no file of their own before they are kept: most IATI files."""

PIECE = 256 * 1024
"""How much is read from a file at once."""


class StagedBody:
    """Takes a body as a sink of ``web`` does, and gives it back piece by piece.

    Close it, or use it as a context manager, whether it was kept or not.

    :param spool: opens a new file of its own for a large body
    :ivar size: bytes written
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
        """Of what was written so far, in hexadecimal."""
        return self._hash.hexdigest()

    def write(self, data: bytes, /) -> None:
        """The next piece.

        :raises StoreError: there is no room for it, or the store is gone
        """
        self._hash.update(data)
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
        """Forget what was written."""
        self.close()
        self._hash = hashlib.sha256()
        self.size = 0

    def close(self) -> None:
        """Let go of what it holds; the body is gone unless it was kept."""
        self._pieces = []
        file, self._file = self._file, None
        path, self.path = self.path, None
        if file is not None:
            with contextlib.suppress(OSError):  # what could not be written is not wanted either
                file.close()
        if path is not None:
            with contextlib.suppress(OSError):
                path.unlink()

    def complete(self) -> bytes | Path:
        """The whole body: as bytes if it is small, else the file that it is in.

        :raises StoreError: not all of it could be written
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
        """The body from its beginning, read back and compared with what was written.

        :raises StoreError: it cannot be read, or is not what was written
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
        """Read it back and compare.

        :raises StoreError: it cannot be read, or is not what was written
        """
        if self._file is not None:
            for _ in self.pieces():
                pass

    def give_away(self) -> None:
        """Its file belongs to the store from now on: closing it leaves the file where it is."""
        self.path = None

    def _append(self, file: BinaryIO, data: bytes) -> None:
        try:
            # What is not buffered may take a part alone, as a disk does that is filling up.
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> StoreError:
        return StoreError(
            f"A body of {self.size:,} bytes so far could not be put aside: {words(error)}."
        )
