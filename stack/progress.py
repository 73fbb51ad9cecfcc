"""Says what is going on: a ticking line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

TICK_TERMINAL = 0.5
TICK_PLAIN = 30.0


def say(text: str) -> None:
    """Print one line of progress on standard error, where it does not mix with a result."""
    print(text, file=sys.stderr, flush=True)


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
            if terminal:
                print(f"\r\x1b[K{line('')}", end="", file=sys.stderr, flush=True)
            else:
                say(line(" so far"))

    if terminal:
        print(f"{text} ...", end="", file=sys.stderr, flush=True)
    else:
        say(f"{text} ...")
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
            print(f"\r\x1b[K{line(outcome)}", file=sys.stderr, flush=True)
        elif outcome or time.monotonic() - started >= 1:
            say(line(outcome or " (done)"))
