"""The parts of all commands: the base of the groups, the user that acts, and progress on standard error.

Progress is a bar or a count on a terminal, and a line every 30 seconds in logs.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import click

from ..ckan_adapter.database import DatabaseLostError, TablesMissingError, telling_of_loss
from ..copies.store import StoreError
from ..logic.harvest_actions import harvest_source
from ..settings import OptionError

_EXPECTED = (OptionError, StoreError, DatabaseLostError, TablesMissingError)
"""Errors of any command whose text says all that an operator needs."""


class ReportingGroup(click.Group):
    """Commands that report expected errors in one sentence, without a traceback.

    These are: the database was lost or lacks our tables; an option or the store of copies is unusable.
    """

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with telling_of_loss():
                return super().invoke(ctx)
        except _EXPECTED as error:
            raise click.ClickException(str(error)) from error


def source_named(name: str) -> Any:
    """Return the row of a harvest source by its id or name.

    :raises click.ClickException: there is none
    """
    if not p.plugin_loaded("harvest"):
        raise click.ClickException(
            tk._("This command needs ckanext-harvest: install it and add harvest to ckan.plugins")
        )
    try:
        return harvest_source(name)
    except tk.ObjectNotFound as error:
        words = tk._("There is no harvest source {name}. List them with: ckan harvester sources")
        raise click.ClickException(words.format(name=name)) from error


def site_user() -> str:
    """Return the name of the site's own user."""
    return str(tk.get_action("get_site_user")({"ignore_auth": True}, {})["name"])


@contextlib.contextmanager
def progress_of(noun: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows the progress, given the numbers done and in total.

    :param noun: the plural of the counted things
    """
    if not sys.stderr.isatty():
        counter = ProgressCounter(noun)
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
def check_progress() -> Iterator[Callable[[tuple[int, ...]], None]]:
    """Yield a function that shows the progress of checks, given the numbers done, failed and in total.

    On a terminal, the bar also shows the rate and the remaining time.
    """
    if not sys.stderr.isatty():
        shown_at = monotonic()

        def line(numbers: tuple[int, ...]) -> None:
            nonlocal shown_at
            done, errors, total = numbers
            if monotonic() - shown_at >= 30:
                shown_at = monotonic()
                click.echo(f"{done} of {total} checks, {errors} with an error", err=True)

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
    """A count that is rewritten in place on a terminal, and printed every 30 seconds in logs."""

    def __init__(self, noun: str) -> None:
        self._noun = noun
        self._on_terminal = sys.stderr.isatty()
        self._pause = 0.1 if self._on_terminal else 30.0
        self._shown_at = monotonic()
        self._line_is_open = False

    def show(self, count: int) -> None:
        """Print the count, unless it was printed just before."""
        if monotonic() - self._shown_at >= self._pause:
            self._shown_at = monotonic()
            self._line_is_open = self._on_terminal
            start = "\r" if self._on_terminal else ""
            click.echo(f"{start}{count} {self._noun}", nl=not self._on_terminal, err=True)

    def end(self) -> None:
        """End the line on a terminal."""
        if self._line_is_open:
            click.echo(err=True)
