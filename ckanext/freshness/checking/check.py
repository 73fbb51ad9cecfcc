"""What :mod:`.engine` asks of the conversations that it holds, whatever their policy.

A policy is a factory (:data:`Begin`) of objects with these methods: which request comes first, what an
answer means, and whether there is another question. When a request is made, how long its host is waited
for and how often it is attempted are not its affair.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Protocol, TypeVar

from ..web.attempts import RequestAttempts
from ..web.client import Answer, FetchError
from ..web.urls import Target


class NextStep(Enum):
    """How a conversation goes on."""

    END = "end"
    ASK_NOW = "ask now"
    """Another request has taken the place of the last one (:meth:`Talk.begin`)."""
    CONFIRM = "confirm"
    """Likewise, after :attr:`.engine.Options.confirm_after`."""


class CheckInput(Protocol):
    """Somebody who wants to know of a URL.

    :ivar start_at: where to ask, if it is not ``url``: see :meth:`Talk.handed`
    """

    @property
    def url(self) -> str: ...

    @property
    def start_at(self) -> str | None: ...


V = TypeVar("V", bound=CheckInput)
F = TypeVar("F")
V_contra = TypeVar("V_contra", bound=CheckInput, contravariant=True)
F_co = TypeVar("F_co", covariant=True)


class Check(Protocol[V_contra, F_co]):
    """One URL, and those who want to know. Each of them gets one finding, however it ends."""

    def takes(self, visit: V_contra, /) -> bool:
        """Whether that one wants to know the same, and is now answered here as well.

        Only asked before the first request, of visits with the same ``url``.
        """

    def begin(self) -> RequestAttempts:
        """The request that is to be made, or is on its way.

        :raises FetchError: the URL cannot be asked for: ends the run, as a fault of ours
        """

    async def answered(self, answer: Answer, sink: Callable[[F_co], None], /) -> NextStep:
        """Draw the conclusions from an answer, whatever its status."""

    def failed(self, error: FetchError, sink: Callable[[F_co], None], /) -> NextStep:
        """There was no answer, and no attempt is left. Before the first request (the URL is none)
        nothing can follow."""

    def handed(self, sink: Callable[[F_co], None], /) -> None:
        """The URL redirects to a host of another worker's: it goes on from ``begin().target`` there."""

    def close(self) -> None:
        """It is left as it is: nothing on disk is kept."""


Begin = Callable[[V, str, "Target | None"], Check[V, F]]
"""Begins a conversation: for a visit; its URL's host, normalised (empty where the URL names none); and
what the URL to be asked is, parsed (None where it is none, and :meth:`Talk.failed` is called at once)."""
