"""A body that is hashed and, at the same time, put aside for a copy."""

from __future__ import annotations

from ..copies.store import StagedBody, StoreError
from ..web.client import Sink


class Tee:
    """A :class:`ckanext.freshness.web.exchange.Sink` that gives another one what it gets, and puts it aside.

    A store that takes no more is no reason not to hash.

    :ivar problem: why nothing was put aside, a sentence; None if all was
    """

    __slots__ = ("_sink", "_staged", "problem")

    def __init__(self, sink: Sink, staged: StagedBody) -> None:
        self._sink = sink
        self._staged: StagedBody | None = staged
        self.problem: str | None = None

    def restart(self) -> None:
        """Forget what was written."""
        self._sink.restart()
        if self._staged is not None:
            self._staged.restart()

    def write(self, data: bytes) -> None:
        """The next piece."""
        self._sink.write(data)
        if self._staged is not None:
            try:
                self._staged.write(data)
            except StoreError as error:
                self.problem = str(error)
                self.close()

    def take(self) -> StagedBody | None:
        """What was put aside, if it is whole; whoever takes it closes it."""
        staged, self._staged = self._staged, None
        return staged

    def close(self) -> None:
        """Let go of what was put aside."""
        if self._staged is not None:
            self._staged.close()
            self._staged = None
