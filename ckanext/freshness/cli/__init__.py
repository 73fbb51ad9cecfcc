"""The commands ``ckan freshness``.

Here are the parts of all of them, and of other plugins' commands: the base of the groups, the user that acts,
and progress on standard error. Progress is a bar or a count on a terminal, and a line every 30 seconds in logs.
"""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile
from time import monotonic
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import click

from ..ckan_adapter.database import (
    DatabaseLostError,
    LocksLostError,
    TablesMissingError,
    telling_of_loss,
)
from ..copies.store import StoreError
from ..harvesting.source_config import ConfigError
from ..harvesting.sources import ForeignSource
from ..logic.harvest_actions import harvest_source
from ..mails.digests import NotifyError
from ..runs.night import NightRunningError
from ..runs.requested import RedisAwayError
from ..settings import OptionError


class ReportingGroup(click.Group):
    """Commands that report expected errors in one sentence, without a traceback.

    :cvar expected: errors whose text says all that an operator needs
    """

    expected: tuple[type[Exception], ...] = (
        *(ConfigError, ForeignSource, OptionError, StoreError, TablesMissingError),
        *(NightRunningError, NotifyError),
        *(DatabaseLostError, LocksLostError, RedisAwayError),
    )

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with harvest_log_apart(), telling_of_loss():
                return super().invoke(ctx)
        except self.expected as error:
            raise click.ClickException(str(error)) from error


@contextlib.contextmanager
def harvest_log_apart() -> Iterator[None]:
    """Write the log of ckanext-harvest to a file on a terminal, and print the file's name at the end.

    Its lines would stand between those of the command, and some look like failures that are none. Elsewhere,
    such as in cron and systemd, they go where the ini file says.
    """
    if not sys.stderr.isatty():
        yield
        return
    log = logging.getLogger("ckanext.harvest")
    with NamedTemporaryFile("w", prefix="ckanext-harvest-", suffix=".log", delete=False) as file:
        handler = logging.StreamHandler(file)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
        log.addHandler(handler)
        goes_on, log.propagate = log.propagate, False
        try:
            yield
        finally:
            log.removeHandler(handler)
            log.propagate = goes_on
            is_empty = not file.tell()
    if is_empty:
        Path(file.name).unlink()
    else:
        words = tk._("The log of ckanext-harvest is in {file}")
        click.echo(words.format(file=file.name), err=True)


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


Progress = Callable[..., None]
"""Called with the number of things that are done, the number of all (None if it is not known), and a note."""


@contextlib.contextmanager
def progress_of(noun: str) -> Iterator[Progress]:
    """Yield a function that shows the progress.

    :param noun: the plural of the counted things
    """
    on_terminal = sys.stderr.isatty()
    began = shown_at = monotonic()
    with contextlib.ExitStack() as stack:
        bars: list[Any] = []

        def line(done: int, total: int | None, note: str) -> None:
            nonlocal shown_at
            if monotonic() - shown_at >= 30:
                shown_at = monotonic()
                count = f"{done}" if total is None else f"{done} of {total}"
                click.echo(f"{count} {noun}{note}", err=True)

        def show(done: int, total: int | None = None, note: str = "") -> None:
            if total is None or not on_terminal:
                line(done, total, note)
                return
            if not bars:
                bar: Any = click.progressbar(
                    length=total, file=sys.stderr, show_pos=True, item_show_func=lambda words: words
                )
                bars.append(stack.enter_context(bar))
            bars[0].length = total
            rate = done / max(monotonic() - began, 0.001)
            bars[0].update(done - bars[0].pos, f"{rate:.0f}/s{note}")

        yield show


@contextlib.contextmanager
def check_progress() -> Iterator[Callable[[tuple[int, ...]], None]]:
    """Yield a function that shows the progress of checks, given the numbers done, failed and in total."""
    with progress_of("checks") as show:
        yield lambda numbers: show(numbers[0], numbers[2], f", {numbers[1]} errors")
