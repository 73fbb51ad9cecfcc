"""The interface between :mod:`.engine` and the policies that decide what a check asks.

A policy gives the engine a factory (:data:`BeginCheck`) of objects with the methods of :class:`Check`. They
decide which request comes first, what an answer means, and whether another request follows. The engine decides
when a request is sent, how long a host is waited for, and how often a request is repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Protocol, TypeVar

from ..web.errors import FetchError
from ..web.exchange import Answer
from ..web.urls import Target

if TYPE_CHECKING:
    from ..web.attempts import RequestAttempts


class NextStep(Enum):
    """The next step of a check."""

    END = "end"
    ASK_NOW = "ask now"
    """:meth:`Check.begin` returns another request, to be sent at once."""
    CONFIRM = "confirm"
    """:meth:`Check.begin` returns another request, to be sent after
    :attr:`.engine.EngineOptions.confirm_after`."""


class CheckInput(Protocol):
    """A URL to be checked."""

    @property
    def url(self) -> str: ...


InputT = TypeVar("InputT", bound=CheckInput)
ResultT = TypeVar("ResultT")
InputT_contra = TypeVar("InputT_contra", bound=CheckInput, contravariant=True)
ResultT_co = TypeVar("ResultT_co", covariant=True)


class Check(Protocol[InputT_contra, ResultT_co]):
    """A check of one URL. However it ends, it gives the sink one result for each of its inputs."""

    def takes(self, item: InputT_contra, /) -> bool:
        """Add an input if its requests would be the same, and return whether it was added.

        Called before the first request, with inputs of the same ``url``.
        """

    def begin(self) -> RequestAttempts:
        """Return the request that is to be sent, or is being sent.

        :raises FetchError: no request can be made of the URL. This ends the run, as a bug
        """

    async def answered(self, answer: Answer, sink: Callable[[ResultT_co], None], /) -> NextStep:
        """Evaluate an answer, whatever its status."""

    def failed(self, error: FetchError, sink: Callable[[ResultT_co], None], /) -> NextStep:
        """Evaluate the error of the last attempt.

        If the URL is invalid, this is called in place of :meth:`begin`, and the check ends.
        """

    def close(self) -> None:
        """Remove temporary files: the check is interrupted."""


BeginCheck = Callable[[InputT, str, "Target | None"], Check[InputT, ResultT]]
"""Begins a check of an input.

The other arguments are the normalised host of its URL (empty if the URL names none) and the parsed URL to ask
(None if it is invalid; :meth:`Check.failed` is called next).
"""
