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
from ..ckan_adapter.services import patient_redis_url
from ..reporting import counts


@dataclass(frozen=True, slots=True)
class Part:
    """A child of ``serve``.

    :ivar command: the arguments of ``ckan``
    :ivar every: seconds between two calls of a command that ends; 0 if it keeps running
    :ivar at_night: whether it is called only until the last night is done
    """

    name: str
    command: tuple[str, ...]
    every: int = 0
    at_night: bool = False


PARTS = (
    Part("gather", ("harvester", "gather-consumer")),
    Part("fetch", ("harvester", "fetch-consumer")),
    Part("worker", ("jobs", "worker")),
    Part("harvests", ("harvester", "run"), every=300),
    Part("refresh", ("freshness", "refresh"), every=600),
    Part("nightly", ("freshness", "nightly"), every=60, at_night=True),
)

STEADY = 30
"""Seconds after which the end of a child is no failure to start."""

GIVES_UP = 10
"""Failures to start in a row, over some five minutes, after which ``serve`` ends."""


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
        self._running: list[asyncio.subprocess.Process] = []

    async def call(self, part: Part) -> int:
        """Run a child to its end, pass its lines on, and return its exit code (of a signal: below zero)."""
        child = await asyncio.create_subprocess_exec(
            *self._argv,
            *part.command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            limit=2**20,  # bytes of a line
            env={**os.environ, "PYTHONUNBUFFERED": "1", "CKAN_REDIS_URL": patient_redis_url()},
            start_new_session=True,  # Ctrl-C is for the parent, which ends its children in order
            preexec_fn=_end_with_parent,
        )
        self._running.append(child)
        lines = asyncio.create_task(_pass_on(part.name, child.stdout))
        # wait() would wait for those that have inherited the output, too.
        while (code := child.returncode) is None:
            await asyncio.sleep(0.1)
        self._running.remove(child)
        # A killed worker leaves RQ's scheduler behind, which would keep its lock for ever.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGTERM)
        # A process that the child left behind all the same may keep its output open.
        await asyncio.wait([lines], timeout=1)
        lines.cancel()
        return code

    async def stop(self) -> None:
        """End all within ten seconds.

        CKAN's worker finishes its job after the first signal, and leaves it after the second.
        """
        for number, patience in ((signal.SIGTERM, 3), (signal.SIGTERM, 2), (signal.SIGKILL, 2)):
            if not (alive := [child for child in self._running if child.returncode is None]):
                return
            for child in alive:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, number)
            await asyncio.wait([asyncio.create_task(one.wait()) for one in alive], timeout=patience)


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


def _end_with_parent() -> None:
    """Have the kernel end this child if its parent is killed. Only Linux can."""
    if _LIBC is not None:
        _LIBC.prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


Call = Callable[[Part], Awaitable[int]]
Pause = Callable[[int], Awaitable[None]]


async def keep_running(part: Part, call: Call, pause: Pause = asyncio.sleep) -> None:
    """Start a child again whenever it ends.

    :param pause: waits for some seconds
    :raises click.ClickException: it ended by itself, soon after its start, ten times in a row
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
                "{name} ended {count} times soon after its start: see its lines above. All were stopped."
            )
            raise click.ClickException(words.format(name=part.name, count=failures))
        seconds = pause_after(failures)
        say(part.name, f"ended with {code}, starts again in {seconds} s")
        await pause(seconds)


async def repeat(part: Part, call: Call, at: time, pause: Pause = asyncio.sleep) -> None:
    """Call a command that ends again and again; one of the night, until the last night is done.

    If the night fails, is killed, or another machine works on it, the pauses grow up to an hour.

    :param at: when nights begin, in local time
    """
    failures = 0
    while True:
        is_due = not (part.at_night and _is_done(last_due(datetime.now().astimezone(), at)))
        code = await call(part) if is_due else 0
        failures = failures + 1 if code else 0
        if code:
            say(part.name, f"ended with {code}")
        await pause(part.every * (pause_after(failures) if part.at_night else 1))


def _is_done(due: datetime) -> bool:
    """Whether a night has stored its figures since, here or on another machine."""
    try:
        return counts.made_since(due)
    except sa.exc.SQLAlchemyError as error:
        say("nightly", f"waits for the database: {error}")
        return True
    finally:
        model.Session.remove()


async def _serve(parts: Sequence[Part], argv: Sequence[str], at: time) -> None:
    """Run the parts until a signal, or until one of them keeps failing."""
    children, stop = Children(argv), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    call = children.call
    works = [repeat(one, call, at) if one.every else keep_running(one, call) for one in parts]
    tasks = [asyncio.create_task(work) for work in (*works, stop.wait())]
    ended, others = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in others:
        task.cancel()
    await children.stop()
    for task in ended:
        task.result()


_NAMES = click.Choice([part.name for part in PARTS])
_TIME = click.DateTime(["%H:%M"])


@click.command()
@click.option("--only", multiple=True, type=_NAMES, help="Run this part; may be repeated.")
@click.option("--without", multiple=True, type=_NAMES, help="Leave this part out; may be repeated.")
@click.option("--night-at", default="01:30", show_default=True, type=_TIME, help="Local time.")
def serve(only: tuple[str, ...], without: tuple[str, ...], night_at: datetime) -> None:
    """Run everything that a site needs beside its web server.

    These parts: both consumers and the run of harvests (if the plugin harvest is enabled), CKAN's
    background worker, refresh and nightly. Consumers and the worker are started again if they end. If one
    of them cannot be started, all are stopped, and the exit code is 1. Several machines may call it, with
    the same parts or others.
    """
    has_harvests = p.plugin_loaded("harvest")
    needed = [part for part in PARTS if has_harvests or part.command[0] != "harvester"]
    names = set(only or _NAMES.choices).difference(without)
    here = [part for part in needed if part.name in names]
    if not here:
        raise click.UsageError(tk._("No part is left to run."))
    say("serve", tk._("Runs here: {parts}").format(parts=", ".join(part.name for part in here)))
    if elsewhere := [part.name for part in needed if part not in here]:
        say("serve", tk._("Must run elsewhere: {parts}").format(parts=", ".join(elsewhere)))
    argv = [sys.executable, sys.argv[0], "-c", tk.config["__file__"]]
    asyncio.run(_serve(here, argv, night_at.time()))
    say("serve", tk._("Stopped."))
