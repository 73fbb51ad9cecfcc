"""What ``./dev`` tells people: its one error, and lines of progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class StackError(Exception):
    """A part that is missing or does not work. The message names it and the next step."""


def say(text: str) -> None:
    """Print a line of progress on standard error, where it does not mix with a result."""
    # What is stopped at the end is stopped even if nobody reads any more.
    with suppress(BrokenPipeError):
        print(text, file=sys.stderr, flush=True)


@contextmanager
def step(text: str) -> Iterator[None]:
    """Say what the block does, and how long it took."""
    started = time.monotonic()
    say(f"{text} ...")
    outcome = "failed after"
    try:
        yield
        outcome = "done in"
    finally:
        say(f"{text}: {outcome} {time.monotonic() - started:.1f} s")
