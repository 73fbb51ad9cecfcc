"""``ckan freshness serve``: all processes of a site beside its web server, as children of one."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from time import monotonic
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import click
import sqlalchemy as sa

from ..ckan_adapter.core import model
from ..reporting import counts


@dataclass(frozen=True, slots=True)
class Part:
    """A child of ``serve``.

    :ivar command: the arguments of ``ckan``
    :ivar every: the pause between two calls of a command that ends; None if it keeps running
    :ivar at_night: whether it is called once a day instead
    :ivar harvests: whether it is of no use without harvests
    """

    name: str
    command: tuple[str, ...]
    every: timedelta | None = None
    at_night: bool = False
    harvests: bool = False


PARTS = (
    Part("gather", ("harvester", "gather-consumer"), harvests=True),
    Part("fetch", ("harvester", "fetch-consumer"), harvests=True),
    Part("worker", ("jobs", "worker")),
    Part("harvests", ("harvester", "run"), every=timedelta(minutes=5), harvests=True),
    Part("refresh", ("freshness", "refresh"), every=timedelta(minutes=10)),
    Part("nightly", ("freshness", "nightly"), at_night=True),
)

STEADY = 30
"""Seconds after which the end of a child is no failure to start."""

GIVES_UP = 10
"""Failures to start in a row, over some five minutes, after which ``serve`` ends."""

LONGEST_LINE = 2**20


class KeepsFailingError(Exception):
    """Raised if a child ends again and again, soon after its start."""


def pause_after(failures: int) -> int:
    """Return the seconds until a child is started again."""
    return min(1 << max(failures - 1, 0), 60)


def last_due(now: datetime, at: time) -> datetime:
    """Return the newest moment at which a night was due.

    :param at: of the day, in the time zone of ``now``
    """
    today = now.replace(hour=at.hour, minute=at.minute, second=0, microsecond=0)
    return today if today <= now else today - timedelta(days=1)


class Children:
    """The running children.

    :param argv: how ``ckan`` is called
    """

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = argv
        self._running: set[asyncio.subprocess.Process] = set()

    async def call(self, part: Part) -> int:
        """Run a child to its end, pass its lines on, and return its exit code (of a signal: below zero)."""
        child = await asyncio.create_subprocess_exec(
            *self._argv,
            *part.command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            limit=LONGEST_LINE,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            start_new_session=True,  # Ctrl-C is for the parent, which ends its children in order
            preexec_fn=_end_with_parent,
        )
        self._running.add(child)
        lines = asyncio.create_task(_pass_on(part.name, child.stdout))
        try:
            code = await child.wait()
            # A process that the child started and left behind may keep its output open.
            await asyncio.wait([lines], timeout=1)
            return code
        finally:
            lines.cancel()
            if child.returncode is not None:
                self._running.discard(child)

    async def stop(self) -> None:
        """End all within ten seconds.

        CKAN's worker finishes its job after the first signal, and leaves it after the second.
        """
        for number, patience in ((signal.SIGTERM, 4), (signal.SIGTERM, 3), (signal.SIGKILL, 2)):
            alive = [child for child in self._running if child.returncode is None]
            if not alive:
                return
            for child in alive:
                with contextlib.suppress(ProcessLookupError):
                    if number is signal.SIGKILL:
                        os.killpg(child.pid, number)
                    else:
                        child.send_signal(number)
            waits = [asyncio.ensure_future(child.wait()) for child in alive]
            await asyncio.wait(waits, timeout=patience)


async def _pass_on(name: str, stream: Any) -> None:
    while True:
        try:
            line = await stream.readline()
        except ValueError:
            line = b"(A line was too long to be shown.)"
        if not line:
            return
        say(name, line.decode(errors="replace").rstrip())


def say(name: str, line: str) -> None:
    """Write a line of a child, or about it."""
    click.echo(f"{name:<8}| {line}")


_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
_PR_SET_PDEATHSIG = 1


def _end_with_parent() -> None:
    """Have the kernel end this child if its parent is killed. Only Linux can."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


async def keep_running(
    part: Part,
    call: Callable[[Part], Awaitable[int]],
    pause: Callable[[int], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Start a child again whenever it ends.

    :param pause: waits for some seconds
    :raises KeepsFailingError: it ended by itself, soon after its start, ten times in a row
    """
    failures = 0
    while True:
        began = monotonic()
        code = await call(part)
        if monotonic() - began >= STEADY:
            failures = 0
        # Who kills a child wants it to be started again: only one that ends by itself cannot run.
        failures += code >= 0
        if failures >= GIVES_UP:
            words = tk._(
                "{name} ended {count} times soon after its start, its lines above say why. All parts "
                "were stopped."
            )
            raise KeepsFailingError(words.format(name=part.name, count=failures))
        seconds = pause_after(failures)
        say(part.name, f"ended with {code}, starts again in {seconds} s")
        await pause(seconds)


async def repeat(part: Part, call: Callable[[Part], Awaitable[int]]) -> None:
    """Call a command that ends, again and again."""
    assert part.every is not None
    while True:
        await _once(part, call)
        await asyncio.sleep(part.every.total_seconds())


async def each_night(part: Part, call: Callable[[Part], Awaitable[int]], at: time) -> None:
    """Call a command once a day, and at once if the last night was missed or has not ended."""
    tried: datetime | None = None
    while True:
        due = last_due(datetime.now().astimezone(), at)
        if due != tried and not _is_done(due):
            tried = due
            await _once(part, call)
        await asyncio.sleep(60)


async def _once(part: Part, call: Callable[[Part], Awaitable[int]]) -> None:
    if code := await call(part):
        say(part.name, f"ended with {code}")


def _is_done(due: datetime) -> bool:
    """Whether a night has stored its figures since, here or on another machine."""
    try:
        return counts.made_since(due)
    except sa.exc.SQLAlchemyError as error:
        say("nightly", f"waits for the database: {error}")
        return True
    finally:
        model.Session.remove()


async def _serve(parts: Sequence[Part], argv: Sequence[str], night_at: time) -> None:
    """Run the parts until a signal, or until one of them keeps failing."""
    children, stop = Children(argv), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    tasks: list[asyncio.Future[Any]] = [asyncio.ensure_future(stop.wait())]
    for part in parts:
        if part.at_night:
            work = each_night(part, children.call, night_at)
        elif part.every is not None:
            work = repeat(part, children.call)
        else:
            work = keep_running(part, children.call)
        tasks.append(asyncio.ensure_future(work))
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await children.stop()


_NAMES = click.Choice([part.name for part in PARTS])


@click.command()
@click.option("--only", multiple=True, type=_NAMES, help="Run this part; may be repeated.")
@click.option("--without", multiple=True, type=_NAMES, help="Leave this part out; may be repeated.")
@click.option(
    "--night-at",
    default="01:30",
    show_default=True,
    type=click.DateTime(["%H:%M"]),
    help="When the nightly work begins, in local time.",
)
def serve(only: tuple[str, ...], without: tuple[str, ...], night_at: datetime) -> None:
    """Run everything that a site needs beside its web server.

    These parts: both consumers and the run of harvests (if the plugin harvest is enabled), CKAN's
    background worker, refresh and nightly. Consumers and the worker are started again if they end. If one
    of them cannot be started, all are stopped, and the exit code is 1. Several machines may call it, with
    the same parts or others.
    """
    needed = [part for part in PARTS if p.plugin_loaded("harvest") or not part.harvests]
    here = [
        part
        for part in needed
        if part.name in (only or _NAMES.choices) and part.name not in without
    ]
    if not here:
        raise click.UsageError(tk._("No part is left to run."))
    say("serve", tk._("Runs here: {parts}").format(parts=", ".join(part.name for part in here)))
    if elsewhere := [part.name for part in needed if part not in here]:
        say("serve", tk._("Must run elsewhere: {parts}").format(parts=", ".join(elsewhere)))
    argv = [sys.executable, sys.argv[0], "-c", tk.config["__file__"]]
    try:
        asyncio.run(_serve(here, argv, night_at.time()))
    except KeepsFailingError as error:
        raise click.ClickException(str(error)) from error
    say("serve", tk._("Stopped."))
