"""A body before it is kept: counted, hashed, and in a temporary file if it is large."""

from __future__ import annotations

import hashlib
import io
import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import IO

IN_MEMORY = 128 * 1024
"""Bodies up to this many bytes are held in memory. Most files are smaller."""

PIECE = 256 * 1024
"""Bytes that are read from a file at once."""


class StoreError(Exception):
    """A copy could not be kept, read or removed. Earlier copies are unchanged.

    The message names the copy and the cause, and holds no credentials.
    """


class StagedBody:
    """A body that is written as to a sink of ``web`` and can be read again.

    Close it or use it as a context manager, whether it is kept or not.

    :ivar size: the bytes written so far
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._file: IO[bytes] = io.BytesIO()
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
        return self._hash.hexdigest()

    def write(self, data: bytes, /) -> int:
        """Append a piece, and return its length.

        :raises StoreError: there is no room for it
        """
        try:
            if isinstance(self._file, io.BytesIO) and self.size + len(data) > IN_MEMORY:
                small, self._file = self._file, tempfile.TemporaryFile()  # noqa: SIM115
                self._file.write(small.getvalue())
            self._file.write(data)
        except OSError as error:
            raise self._failed(error) from error
        self._hash.update(data)
        self.size += len(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing. What writes to files, such as :mod:`zipfile`, calls it."""

    def pieces(self) -> Iterator[bytes]:
        """Read the body from its beginning.

        :raises StoreError: the file cannot be written or read
        """
        try:
            self._file.seek(0)
            while piece := self._file.read(PIECE):
                yield piece
        except OSError as error:
            raise self._failed(error) from error

    def restart(self) -> None:
        """Discard all bytes written so far."""
        self.close()
        self._begin()

    def close(self) -> None:
        """Discard the body."""
        try:
            self._file.close()
        except OSError:  # The bytes are discarded anyway.
            self._file = io.BytesIO()

    def _failed(self, error: OSError) -> StoreError:
        return StoreError(
            f"A body of {self.size:,} bytes so far cannot be put aside in {tempfile.gettempdir()}: "
            f"{error.strerror or error}."
        )
