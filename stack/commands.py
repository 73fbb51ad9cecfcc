"""Runs commands: those of the set-up quietly with a log, and the user's in the foreground."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from stack.messages import StackError, say
from stack.processes import Account

DROPPED_PREFIXES = ("CKAN_", "PG", "PYTHON")
"""Variables that would make CKAN, libpq or Python use files outside .dev/. In CKAN, CKAN_* variables win over
the ini file, and a test run empties its database."""
KEPT = ("PYTHONWARNINGS", "PYTHONUNBUFFERED", "PYTHONHASHSEED")
LOOPBACK = ("127.0.0.1", "localhost")

TERMINAL_GRACE = 2.0
"""Seconds for a child to react to a Ctrl-C which the terminal has sent to it as well as to us."""
STOP_PATIENCE = 30.0
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that ask us to end."""
LAST_LINES = 25


class Interrupted(KeyboardInterrupt):
    """A signal other than Ctrl-C asks us to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def end_on_signals() -> None:
    """Make the first SIGTERM, SIGHUP or Ctrl-C end the program in order, and ignore later ones.

    What unwinds stops services and processes. A second signal amid that, from somebody impatient or
    sent to the whole group as well as to us, would leave some of them running.
    """

    def unwind(number: int, frame: FrameType | None) -> NoReturn:
        for each in ENDING:
            signal.signal(each, _wait)
        raise KeyboardInterrupt if number == signal.SIGINT else Interrupted(number)

    for each in ENDING:
        signal.signal(each, unwind)


def exit_code(work: Callable[[], int]) -> int:
    """Do the work of a program, and return its exit code. Errors for people are told."""
    end_on_signals()
    try:
        return work()
    except StackError as error:
        say(f"\n{error}")
        return 1
    except Interrupted as signalled:
        return 128 + signalled.number
    except KeyboardInterrupt:
        return 130


def _wait(number: int, frame: FrameType | None) -> None:
    """Say that the program is ending.

    It writes directly, because a signal may interrupt a `print`, and because standard error may be closed.
    """
    with suppress(OSError):
        os.write(2, b"Stopping what was started; please wait.\n")


@contextmanager
def undisturbed() -> Iterator[None]:
    """Delay signals until the block ends, so that they do not interrupt a start or a stop."""
    arrived: list[int] = []
    # A handler, for ignored or blocked signals would stay so in the processes started meanwhile, and
    # Java then never ends on SIGTERM.
    before = {
        number: signal.signal(number, lambda number, frame: arrived.append(number))
        for number in ENDING
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if arrived:
            os.kill(os.getpid(), arrived[0])


def clean_environment(**extra: str) -> dict[str, str]:
    """Return this process's environment without disturbing variables, and with no proxy for loopback."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name in KEPT or not name.startswith(DROPPED_PREFIXES)
    }
    environment.pop("VIRTUAL_ENV", None)
    for name in ("no_proxy", "NO_PROXY"):
        before = environment.get(name, "").split(",")
        environment[name] = ",".join(filter(None, dict.fromkeys([*before, *LOOPBACK])))
    return environment | extra


def quiet(
    command: Sequence[str | Path],
    log: Path,
    *,
    what: str,
    advice: str,
    environment: Mapping[str, str],
    folder: Path | None = None,
    account: Account | None = None,
) -> None:
    """Run a command with its output in ``log``.

    Raises StackError with the log's last lines if it fails; ``what`` was being done, and ``advice`` is
    what to do about it.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out:
        done = subprocess.run(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            cwd=folder,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
        )
    if done.returncode:
        raise StackError(f"{what} failed:\n{last_lines(log)}\n(all of it: {log})\n{advice}")


def last_lines(log: Path) -> str:
    """Return the last lines of a log file, indented, for an error message."""
    lines = log.read_text(errors="replace").splitlines()[-LAST_LINES:]
    return "\n".join(f"    {line}" for line in lines)


def foreground(
    command: Sequence[str | Path], environment: Mapping[str, str], folder: Path | None = None
) -> int:
    """Run the user's command on the user's terminal and return its exit code, as a shell gives it.

    A signal that ends ``./dev`` is sent to the command as well, and ``./dev`` waits for it.
    """
    try:
        child = subprocess.Popen([str(part) for part in command], env=dict(environment), cwd=folder)
    except FileNotFoundError as error:
        raise StackError(f"There is no command {command[0]!s} in this environment.") from error
    try:
        code = child.wait()
    except KeyboardInterrupt as reason:
        with undisturbed():
            _end(child, reason)
        raise
    return code if code >= 0 else 128 - code


def _end(child: subprocess.Popen[bytes], reason: KeyboardInterrupt) -> None:
    """Wait for a child to end after Ctrl-C or a signal, and kill it if it takes too long."""
    number = getattr(reason, "number", signal.SIGINT)
    if number == signal.SIGINT:
        with suppress(subprocess.TimeoutExpired):
            child.wait(TERMINAL_GRACE)
    for each, seconds in ((number, STOP_PATIENCE), (signal.SIGKILL, STOP_PATIENCE)):
        # Of a child that has ended, it does nothing.
        child.send_signal(each)
        with suppress(subprocess.TimeoutExpired):
            child.wait(seconds)
            return
