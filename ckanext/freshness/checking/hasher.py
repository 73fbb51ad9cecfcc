"""Takes a body as it comes and says what its hash is, with little memory whatever its size.

Every body goes through sha256 piece by piece. One that begins like a container is also written to a
temporary file without a name, up to a limit, and opened in the sandbox when it is complete.
"""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

from ..web.exchange import Enough
from .container_sandbox import ContainerSandbox
from .content import DETECTORS, RawBytes
from .detectors import MAGIC_BYTES, Detector
from .formats import FIRST_BYTES

_SMALL = 16 * 1024
"""A body up to this size is read to its end, so that its connection can be kept."""


@dataclass(slots=True)
class HashedBody:
    """What a body was.

    :ivar hash: of its content, beginning with the detector's name: ``xlsx:<hex>``
    :ivar sha256: of its bytes, in hexadecimal, whatever the detector
    :ivar size: in bytes
    :ivar detector: the name of the one that made ``hash``
    :ivar note: why a file that looks like a container was hashed as plain bytes, in words
    :ivar first: its first :data:`.formats.FIRST_BYTES`
    """

    hash: str
    sha256: str
    size: int
    detector: str
    note: str | None
    first: bytes


class FirstBytes:
    """A :class:`ckanext.freshness.web.exchange.Sink` that keeps the first bytes of a body.

    :ivar first: the first :data:`.formats.FIRST_BYTES`
    :ivar size: of the body, in bytes, if it is small; else of the part that was read
    """

    __slots__ = ("first", "size")

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Forget what was written."""
        self.first = b""
        self.size = 0

    def write(self, data: bytes) -> None:
        """Take the next piece.

        :raises Enough: the body is not small
        """
        self.first += data[: FIRST_BYTES - len(self.first)]
        self.size += len(data)
        if self.size > _SMALL:
            raise Enough


class Hasher:
    """A :class:`ckanext.freshness.web.exchange.Sink` for one body.

    :meth:`close` it, or use it as a context manager, if it may be left without a result.
    """

    def __init__(
        self,
        sandbox: ContainerSandbox,
        *,
        detectors: Sequence[type[Detector]] = DETECTORS,
    ) -> None:
        self._sandbox = sandbox
        self._detectors = detectors
        self._file: BinaryIO | None = None
        self.restart()

    def __enter__(self) -> Hasher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def restart(self) -> None:
        """Forget what was written."""
        self.close()
        self._sha256 = hashlib.sha256()
        self._size = 0
        self._first = b""
        self._candidates: list[type[Detector]] | None = None
        self._note: str | None = None

    def close(self) -> None:
        """Remove the temporary file."""
        if self._file is not None:
            # A full disk fails here once more, of bytes that nobody wants.
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    def write(self, data: bytes) -> None:
        """The next piece."""
        self._sha256.update(data)
        before = self._first
        self._size += len(data)
        if len(before) < FIRST_BYTES:
            self._first = before + data[: FIRST_BYTES - len(before)]
        if self._candidates is not None:
            if self._file is not None:
                self._spool(data)
        elif self._size >= MAGIC_BYTES:
            self._decide()
            if self._file is not None:
                # What came before this piece was less than what is kept of the beginning.
                self._spool(before)
                self._spool(data)

    async def result(self) -> HashedBody:
        """What the body was, once it is complete. The file is closed.

        A container that cannot be opened is hashed as plain bytes: never raises for a body.
        """
        if self._candidates is None:
            self._decide()
            self._spool(self._first)
        found = None
        if self._file is not None:
            try:
                found = await self._open()
            finally:
                self.close()
        sha256 = self._sha256.hexdigest()
        return HashedBody(
            hash=found or f"{RawBytes.name}:{sha256}",
            sha256=sha256,
            size=self._size,
            detector=found.partition(":")[0] if found else RawBytes.name,
            note=self._note,
            first=self._first,
        )

    def _decide(self) -> None:
        first = self._first[:MAGIC_BYTES]
        self._candidates = [it for it in self._detectors if it.takes(first)]
        if self._candidates:
            try:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115
            except OSError as error:
                self._leave(f"no temporary file: {error.strerror}")

    def _spool(self, data: bytes) -> None:
        if self._file is None:
            return
        most = self._sandbox.limits.max_bytes
        if self._size > most:
            self._leave(f"more than {most} bytes")
            return
        try:
            self._file.write(data)
        except OSError as error:
            self._leave(f"no temporary file: {error.strerror}")

    def _leave(self, reason: str) -> None:
        """Go on with the plain bytes alone."""
        self._note = f"hashed as plain bytes: {reason}"
        self.close()

    async def _open(self) -> str | None:
        if self._file is None or not self._candidates:
            return None
        try:
            self._file.flush()
        except OSError as error:
            self._leave(f"no temporary file: {error.strerror}")
            return None
        parsed = await self._sandbox.parse(self._file, self._candidates)
        if parsed.reason is not None:
            self._leave(parsed.reason)
        return parsed.hash
