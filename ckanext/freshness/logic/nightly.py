"""What a site does once a night: parts, none of which keeps the others from being done."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from ..checking.runs import LocksLostError
from ..ckan_adapter import model
from ..harvesting.locks import locked_if_free
from ..settings import OptionError
from .lost import DatabaseLostError, telling_of_loss

log = logging.getLogger(__name__)

LOCK = "nightly"

_IN_SENTENCES = (DatabaseLostError, LocksLostError, OptionError)
"""What says all that there is to say: nobody looks for a fault of ours behind it."""


class AlreadyRunningError(Exception):
    """Another nightly run is under way, on this machine or another."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a part has done, for people.

    :ivar complete: whether it did all that it says it does
    """

    words: str
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the nightly work.

    :ivar name: of the command that does it alone
    :ivar work: does it, at a moment (aware)
    """

    name: str
    work: Callable[[datetime], Told]


@dataclass(frozen=True, slots=True)
class Done:
    """A part that was done, or that failed."""

    name: str
    told: Told


def nightly(parts: Sequence[Part], clock: Callable[[], datetime]) -> Iterator[Done]:
    """Do the parts one after the other, each at its own moment; what has failed is told as it fails.

    Nobody else does so meanwhile.

    :raises AlreadyRunningError: somebody else does so now.
    :raises DatabaseLostError: there is no database to begin with.
    """
    with telling_of_loss(), locked_if_free(LOCK) as is_ours:
        if not is_ours:
            raise AlreadyRunningError("Another nightly run is under way: nothing was done")
        for part in parts:
            yield Done(part.name, _told(part, clock()))


def _told(part: Part, now: datetime) -> Told:
    try:
        with telling_of_loss():
            return part.work(now)
    except _IN_SENTENCES as error:
        log.error("The nightly %s failed: %s", part.name, error)
        model.Session.remove()
        return Told(str(error), complete=False)
    except Exception as error:
        # The parts have nothing to do with each other: a night without all of them would be worse.
        log.exception("The nightly %s failed", part.name)
        model.Session.rollback()
        return Told(f"{type(error).__name__}: {error}", complete=False)
