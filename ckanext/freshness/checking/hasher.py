"""Hashes a body as it arrives, with little memory whatever its size, and stages it for a copy.

Every body goes through sha256 piece by piece. A body that begins like a container is also written to a
temporary file without a name, up to a limit, and opened in the sandbox when it is complete.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import tempfile
from collections.abc import Callable, Sequence
from typing import BinaryIO, NamedTuple

from ..copies.store import StagedBody, StoreError
from ..web.exchange import Enough
from . import shapes
from .container_sandbox import ContainerSandbox
from .content import DETECTORS, RawBytes
from .detectors import MAGIC_BYTES, Detector
from .formats import FIRST_BYTES
from .shapes import Shape
from .workbooks import Xlsx

_SMALL = 16 * 1024
"""A body up to this size is read to its end, so that its connection can be kept."""


class HashedBody(NamedTuple):
    """A complete body.

    :ivar hash: of the content. It begins with the detector's name: ``xlsx:<hex>``
    :ivar size: in bytes
    :ivar note: why a file that looks like a container was hashed as plain bytes, in words
    :ivar first: the first :data:`.formats.FIRST_BYTES` bytes
    :ivar shape: of its tables, empty if it is uncertain; None if it was not read
    """

    hash: str
    size: int
    note: str | None
    first: bytes
    shape: Shape | None = None


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
        """Take the next piece.

        :raises Enough: the body is not small
        """
        self.first += data[: FIRST_BYTES - len(self.first)]
        self.size += len(data)
        if self.size > _SMALL:
            raise Enough


class Hasher:
    """A :class:`ckanext.freshness.web.exchange.Sink` that hashes one body.

    If you may leave it without a result, :meth:`close` it or use it as a context manager.

    :param staged: also takes the body, for a copy. If the store takes no more, the body is hashed without a
        copy.
    :param text: how to read the shape of a text, see :func:`.shapes.kind_of`, for which the body is kept; None
        if no such shape is needed
    """

    def __init__(
        self,
        sandbox: ContainerSandbox,
        *,
        detectors: Sequence[type[Detector]] = DETECTORS,
        staged: StagedBody | None = None,
        text: str | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._detectors = detectors
        self._staged = staged
        self._file: BinaryIO | None = None
        self._text = text
        self._kept: BinaryIO | None = None
        self._begin()

    def _begin(self) -> None:
        self._sha256 = hashlib.sha256()
        self._size = 0
        self._first = b""
        self._candidates: list[type[Detector]] | None = None
        self._note: str | None = None
        if self._text is not None:
            self._kept = io.BytesIO()

    def __enter__(self) -> Hasher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def restart(self) -> None:
        """Forget the pieces so far."""
        self._close_file()
        self._begin()
        if self._staged is not None:
            self._staged.restart()

    def close(self) -> None:
        """Remove the temporary file, and the staged body unless it was taken."""
        self._close_file()
        if self._staged is not None:
            self._staged.close()
            self._staged = None

    def _close_file(self) -> None:
        if self._file is not None:
            # On a full disk, closing fails once more. The bytes are not needed.
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None
        self._close_kept()

    def _close_kept(self) -> None:
        if self._kept is not None:
            with contextlib.suppress(OSError):
                self._kept.close()
            self._kept = None

    def write(self, data: bytes) -> None:
        """Take the next piece."""
        self._sha256.update(data)
        before = self._first
        self._size += len(data)
        if len(before) < FIRST_BYTES:
            self._first = before + data[: FIRST_BYTES - len(before)]
        if self._candidates is not None:
            self._spool(data)
        elif self._size >= MAGIC_BYTES:
            self._find_candidates()
            # The earlier pieces are shorter than the first bytes, so they are all in `before`.
            self._spool(before)
            self._spool(data)
        if self._kept is not None:
            self._keep(data)
        if self._staged is not None:
            try:
                self._staged.write(data)
            except StoreError:
                self._staged.close()
                self._staged = None

    def _keep(self, data: bytes) -> None:
        """Keep a piece of a text, unless the text is too large or a container."""
        assert self._kept is not None
        if self._candidates or self._size > self._sandbox.limits.max_bytes:
            self._close_kept()
            return
        try:
            kept = self._kept if self._size <= shapes.SMALL else self._kept_on_disk()
            kept.write(data)
        except OSError:
            self._close_kept()

    def _kept_on_disk(self) -> BinaryIO:
        """Return the kept text in a temporary file, to which it is moved from memory."""
        assert self._kept is not None
        if isinstance(self._kept, io.BytesIO):
            pieces = self._kept.getvalue()
            self._kept = tempfile.TemporaryFile()  # noqa: SIM115
            self._kept.write(pieces)
        return self._kept

    def take_staged(self) -> StagedBody | None:
        """Return the staged body if it is whole. The caller closes it."""
        staged, self._staged = self._staged, None
        return staged

    async def result(self, wants_shape: Callable[[str], bool] = lambda hash_: False) -> HashedBody:
        """Return the hash of a complete body, and remove the temporary files.

        A container that cannot be opened is hashed as plain bytes: no body raises an exception.

        :param wants_shape: decides by the hash whether the shape is read, too
        """
        if self._candidates is None:
            self._find_candidates()
            self._spool(self._first)
        try:
            hash_ = await self._open() or f"{RawBytes.name}:{self._sha256.hexdigest()}"
            shape = await self._shape(hash_) if wants_shape(hash_) else None
        finally:
            self._close_file()
        return HashedBody(hash_, self._size, self._note, self._first, shape)

    async def _shape(self, hash_: str) -> Shape:
        if self._file is not None and hash_.startswith(f"{Xlsx.name}:"):
            return await self._sandbox.shape(self._file, Xlsx.name)
        if self._kept is None or self._text is None:
            return []
        if self._text == "csv" and self._size <= shapes.SMALL:
            self._kept.seek(0)
            return shapes.of_small_csv(self._kept.read())
        try:
            kept = self._kept_on_disk()
            kept.flush()
        except OSError:
            return []
        return await self._sandbox.shape(kept, self._text)

    def _find_candidates(self) -> None:
        first = self._first[:MAGIC_BYTES]
        self._candidates = [detector for detector in self._detectors if detector.takes(first)]
        if self._candidates:
            try:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115
            except OSError as error:
                self._give_up(f"no temporary file: {error.strerror}")

    def _spool(self, data: bytes) -> None:
        """Write a piece to the temporary file, if there is one."""
        if self._file is None:
            return
        max_bytes = self._sandbox.limits.max_bytes
        if self._size > max_bytes:
            self._give_up(f"more than {max_bytes} bytes")
            return
        try:
            self._file.write(data)
        except OSError as error:
            self._give_up(f"no temporary file: {error.strerror}")

    def _give_up(self, reason: str) -> None:
        """Continue with the hash of the plain bytes."""
        self._note = f"hashed as plain bytes: {reason}"
        self._close_file()

    async def _open(self) -> str | None:
        """Return the hash of the container in the temporary file; None if it is hashed as plain bytes."""
        if self._file is None or not self._candidates:
            return None
        try:
            self._file.flush()
        except OSError as error:
            self._give_up(f"no temporary file: {error.strerror}")
            return None
        opened = await self._sandbox.parse(self._file, self._candidates)
        if opened.reason is not None:
            self._give_up(opened.reason)
        return opened.hash
