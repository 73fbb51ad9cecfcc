"""Hashes a body as it arrives, with little memory whatever its size, and stages it for a copy.

Every body goes through sha256 chunk by chunk. A body that a detector takes, or whose tables are to be read, is
also kept up to a limit: in memory if it is small, else in a temporary file without a name. When it is complete,
it is opened in the sandbox.
"""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from typing import IO, NamedTuple

import msgspec

from ..copies.store import StagedBody, StoreError
from ..sandbox import Unopened
from ..sandbox.processes import ProcessLimits, Sandbox
from ..web.errors import FailureReason, Fault
from ..web.exchange import Enough
from .content import Container, ContentLimits, Detector, Undated
from .decisions import RAW, UNOPENED, Digest
from .formats import FIRST_BYTES, FileKind, kind
from .shapes import SMALL, Tables, tables_of

DETECTORS: tuple[type[Detector], ...] = (Container, Undated)
"""The first one that takes a file hashes it; if none does, it is hashed by its bytes."""

_SMALL = 16 * 1024
"""A body up to this size is read to its end, so that its connection can be kept."""

_WORKBOOKS = frozenset({FileKind.OFFICE, FileKind.OPEN_DOCUMENT})


class ContentSandbox(Sandbox):
    """A sandbox that hashes files by their content, and reads their tables. No file raises an exception.

    :param detectors: the first one that takes a file hashes it
    :param workers: the largest number of processes
    """

    def __init__(
        self,
        detectors: Sequence[type[Detector]] = DETECTORS,
        limits: ContentLimits | None = None,
        process: ProcessLimits | None = None,
        workers: int = 2,
    ) -> None:
        super().__init__(process, workers)
        self.limits = limits or ContentLimits()
        self._detectors = detectors
        self.names = frozenset({RAW, UNOPENED, *(one.name for one in detectors)})

    def detector_of(self, first: bytes) -> type[Detector] | None:
        """Return the detector of a file with these first bytes; None if it is hashed by its bytes."""
        return next((one for one in self._detectors if one.takes(first)), None)

    async def fingerprint(self, detector: type[Detector], file: IO[bytes]) -> str | None:
        """Return the hash of a file; None if it cannot be opened."""
        function = f"{detector.__module__}:{detector.__qualname__}.open_file"
        try:
            return (
                await self.run(function, json.dumps(asdict(self.limits)).encode(), file)
            ).decode()
        except Unopened:
            return None

    async def tables(self, how: str, file: IO[bytes], today: date) -> Tables:
        """Return what is read of a file's tables; nothing if it is uncertain.

        :param how: see :func:`.shapes.tables_of`
        """
        request = f"{how} {today.isoformat()}".encode()
        try:
            answer = await self.run(f"{__package__}.shapes:open_tables", request, file)
        except Unopened:
            return Tables([], [])
        return msgspec.json.decode(answer, type=Tables)


class HashedBody(NamedTuple):
    """A complete body.

    :ivar size: in bytes
    :ivar first: the first :data:`.formats.FIRST_BYTES` bytes
    """

    digest: Digest
    size: int
    first: bytes


class FirstBytes:
    """A :class:`ckanext.freshness.web.exchange.Sink` that keeps the first bytes of a body.

    :ivar first: the first :data:`.formats.FIRST_BYTES` bytes
    :ivar size: of the body in bytes, if it is small; else of the part that was read
    """

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self.first = b""
        self.size = 0

    def write(self, data: bytes) -> None:
        """Take the next chunk.

        :raises Enough: the body is not small
        """
        self.first += data[: FIRST_BYTES - len(self.first)]
        self.size += len(data)
        if self.size > _SMALL:
            raise Enough


class Hasher:
    """A :class:`ckanext.freshness.web.exchange.Sink` that hashes one body.

    Always :meth:`close` it.

    :param keeps_copy: whether the body is also kept for a copy, if there is room for it
    :param text: how to read the tables of a text, see :func:`.formats.kind_of_text`; None if they are not
        needed
    """

    def __init__(
        self, sandbox: ContentSandbox, *, keeps_copy: bool = False, text: str | None = None
    ) -> None:
        self._sandbox = sandbox
        self._keeps_copy = keeps_copy
        self._text = text
        self._begin()

    def _begin(self) -> None:
        self._sha256 = hashlib.sha256()
        self._size = 0
        self._first = b""
        self._detector: type[Detector] | None = None
        self._is_decided = False
        """Whether the first bytes have decided about the detector, and whether the body is kept."""
        self._kept: StagedBody | None = None

    def restart(self) -> None:
        """Forget the chunks so far."""
        self.close()
        self._begin()

    def close(self) -> None:
        """Remove the temporary file, unless it was taken."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def write(self, data: bytes) -> None:
        """Take the next chunk.

        :raises Fault: ``NO_ROOM``
        """
        self._sha256.update(data)
        self._size += len(data)
        if self._is_decided:
            self._keep(data)
        else:
            missing = FIRST_BYTES - len(self._first)
            self._first += data[:missing]
            if len(data) >= missing:
                self._decide()
                self._keep(data[missing:])

    def _keep(self, data: bytes) -> None:
        """Keep a chunk, if the body is kept and not too large.

        :raises Fault: ``NO_ROOM``: the hash of its content cannot be compared
        """
        if self._kept is None:
            return
        if not (self._keeps_copy or self._is_to_be_opened):
            self.close()
            return
        try:
            self._kept.write(data)
        except StoreError as error:
            self.close()
            if self._is_to_be_opened:
                words = f"came when this site had no room left for it in {tempfile.gettempdir()}"
                raise Fault(FailureReason.NO_ROOM, words) from error

    @property
    def _is_to_be_opened(self) -> bool:
        """Whether the content or the tables are read: not of a body that is too large."""
        is_small = self._size <= self._sandbox.limits.max_bytes
        return is_small and (self._detector is not None or self._text is not None)

    def _decide(self) -> None:
        self._is_decided = True
        self._detector = self._sandbox.detector_of(self._first)
        if self._keeps_copy or self._is_to_be_opened:
            # What is open at the same time is so little that a small body needs no room.
            self._kept = StagedBody(SMALL)
            self._keep(self._first)

    def take_staged(self) -> StagedBody | None:
        """Return the body for a copy if it is whole and has room until it is stored. The caller closes it."""
        if not self._keeps_copy or self._kept is None or not self._kept.claim():
            return None
        kept, self._kept = self._kept, None
        return kept

    async def result(self) -> HashedBody:
        """Return the hashes of a complete body.

        A container that cannot be opened is hashed by its bytes: no body raises an exception.
        """
        if not self._is_decided:
            self._decide()
        raw = self._sha256.hexdigest()
        by_bytes = f"{RAW if self._detector is None else UNOPENED}:{raw}"
        content = await self._content() or by_bytes
        digest = Digest(content, raw, self._sandbox.names)
        return HashedBody(digest, self._size, self._first)

    async def _content(self) -> str | None:
        if self._kept is None or self._detector is None or not self._is_to_be_opened:
            return None
        return await self._sandbox.fingerprint(self._detector, self._kept.file)

    async def tables(self, today: date) -> Tables:
        """Return what is read of the tables of a complete body; nothing if it is uncertain."""
        how = self._text
        if self._detector not in (None, Undated):
            how = "workbook" if kind(self._first) in _WORKBOOKS else None
        if self._kept is None or how is None or not self._is_to_be_opened:
            return Tables([], [])
        file = self._kept.file
        if how == "csv" and self._size <= SMALL:
            file.seek(0)
            return tables_of("csv", io.BytesIO(file.read()), today)
        return await self._sandbox.tables(how, file, today)
