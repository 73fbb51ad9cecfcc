"""Shows progress: a line with running seconds on a terminal, plain lines elsewhere."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from stack.commands import Interrupted

TICK_TERMINAL = 0.5
TICK_PLAIN = 30.0


def say(text: str) -> None:
    """Print one line of progress on standard error, where it does not mix with a result.

    :raises Interrupted: the reader has closed the pipe, as in ``2>&1 | head -1``; see `tell`.
    """
    _write(f"{text}\n", sys.stderr)


def tell(text: str) -> None:
    """Print a result on standard output.

    :raises Interrupted: the reader has closed the pipe. SIGPIPE itself would end this program and leave the
        processes that it started.
    """
    _write(f"{text}\n", sys.stdout)


def let_go() -> None:
    """Flush standard output and standard error, unless their readers have closed them. Call it last."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Interrupted):
            _write("", stream)


def _write(text: str, stream: TextIO) -> None:
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.EIO):  # EIO: of a terminal that has been closed
            raise
        # Later output, such as Python's at exit, must not fail again.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        raise Interrupted(signal.SIGPIPE) from None


@contextmanager
def step(text: str) -> Iterator[None]:
    """Show ``text`` while the block runs, with the seconds it has taken so far."""
    started = time.monotonic()
    terminal = sys.stderr.isatty()
    done = threading.Event()

    def line(end: str) -> str:
        return f"{text} ... {time.monotonic() - started:.1f} s{end}"

    def tick() -> None:
        while not done.wait(TICK_TERMINAL if terminal else TICK_PLAIN):
            # If nobody reads any more, the main thread finds out and ends us.
            with suppress(OSError):
                text = f"\r\x1b[K{line('')}" if terminal else f"{line(' so far')}\n"
                print(text, end="", file=sys.stderr, flush=True)

    _write(f"{text} ..." if terminal else f"{text} ...\n", sys.stderr)
    ticker = threading.Thread(target=tick, daemon=True)
    ticker.start()
    outcome = " (failed)"
    try:
        yield
        outcome = ""
    finally:
        done.set()
        ticker.join()
        if terminal:
            say(f"\r\x1b[K{line(outcome)}")
        elif outcome or time.monotonic() - started >= 1:
            say(line(outcome or " (done)"))
