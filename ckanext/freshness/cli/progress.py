"""How far something has come, on a terminal and elsewhere."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

import click


@contextlib.contextmanager
def progress_of(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal; elsewhere a line every 30 seconds."""
    if not sys.stderr.isatty():
        counter = ProgressCounter(what)
        yield lambda done, total: counter.show(done)
        return
    with contextlib.ExitStack() as stack:
        bars: list[Any] = []

        def show(done: int, total: int) -> None:
            if not bars:
                bars.append(stack.enter_context(click.progressbar(length=total, file=sys.stderr)))
            bars[0].update(done - bars[0].pos)

        yield show


@contextlib.contextmanager
def visits_progress() -> Iterator[Callable[[tuple[int, ...]], None]]:
    """A bar with rate, errors and time left on a terminal; elsewhere a line every 30 seconds.

    Takes how many visits are done, how many of them met an error, and of how many.
    """
    if not sys.stderr.isatty():
        told = [monotonic()]

        def line(numbers: tuple[int, ...]) -> None:
            done, errors, total = numbers
            if monotonic() - told[0] >= 30:
                told[0] = monotonic()
                click.echo(f"{done} of {total} visits, {errors} with an error", err=True)

        yield line
        return
    with contextlib.ExitStack() as stack:
        bars: list[Any] = []
        began = monotonic()

        def show(numbers: tuple[int, ...]) -> None:
            done, errors, total = numbers
            if not bars:
                bar: Any = click.progressbar(
                    length=total, file=sys.stderr, show_pos=True, item_show_func=lambda words: words
                )
                bars.append(stack.enter_context(bar))
            bars[0].length = total
            rate = done / max(monotonic() - began, 0.001)
            bars[0].update(done - bars[0].pos, f"{rate:.0f}/s, {errors} errors")

        yield show


class ProgressCounter:
    """Counts on a terminal while something goes on; elsewhere says so every 30 seconds."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._live = sys.stderr.isatty()
        self._pause = 0.1 if self._live else 30.0
        self._told = monotonic()
        self._open = False

    def show(self, count: int) -> None:
        """Tell a number, if it is time."""
        if monotonic() - self._told >= self._pause:
            self._told = monotonic()
            self._open = self._live
            click.echo(
                f"\r{count} {self._what}" if self._live else f"{count} {self._what}",
                nl=not self._live,
                err=True,
            )

    def end(self) -> None:
        """End the line."""
        if self._open:
            click.echo(err=True)
