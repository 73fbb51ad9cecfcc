"""Takes the body of an answer as it comes: looks whether it is an IATI file, hashes it, stages it."""

from __future__ import annotations

from ...copies.store import StagedBody, StoreError
from ...web.client import Enough
from .detection import Detection
from .hashes import Hashes
from .state import DownloadedFile


class Intake:
    """A :class:`ckanext.freshness.web.exchange.Sink` for one body. Has enough of what is no IATI file.

    :ivar staged: where the bytes are
    :ivar no_iati: why it is no IATI file, a phrase that follows "the file"; None if it is one, as far as
        it has been read
    :ivar not_staged: why the bytes could not be staged, a sentence; None if they could
    """

    __slots__ = ("_detection", "_hashes", "no_iati", "not_staged", "staged")

    def __init__(self, staged: StagedBody) -> None:
        self.staged = staged
        self._begin()

    def _begin(self) -> None:
        self._detection = Detection()
        self._hashes = Hashes()
        self.no_iati: str | None = None
        self.not_staged: str | None = None

    def restart(self) -> None:
        """Forget what was written."""
        self.staged.restart()
        self._begin()

    def write(self, data: bytes) -> None:
        """The next piece.

        :raises Enough: there is nothing that the rest could change
        """
        detection = self._detection
        detection.write(data)
        verdict = detection.verdict
        if verdict is not None and verdict.words is not None:
            self.no_iati = verdict.words
            raise Enough
        self._hashes.write(data)
        try:
            self.staged.write(data)
        except StoreError as error:
            self.not_staged = str(error)
            raise Enough from None

    def finish(self) -> DownloadedFile | None:
        """What came, once it is complete; None if it is no IATI file, or is not staged."""
        if self.not_staged is not None:
            return None
        if self.no_iati is None:
            self.no_iati = self._detection.finish().words
        if self.no_iati is not None:
            return None
        raw, without = self._hashes.finish()
        return DownloadedFile(
            hash=raw,
            hash_excluding_generated_timestamp=without,
            content_length=self._hashes.size,
            initial_contents=self._detection.initial_contents,
        )
