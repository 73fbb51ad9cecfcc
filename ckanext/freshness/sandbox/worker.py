"""Runs in the processes of :mod:`.processes`: opens one file after another, and may be lost at any of them.

The process has a socket as its standard input. A request is a line of JSON, then the request's bytes and the
file's, as many as this line names. An answer has the same form, without a file.

While content is open, the process can get no further descriptor: no socket, no file, no pipe. The system
enforces this, whatever a parser attempts. Therefore modules that a parser would import late must be imported
by the function's module.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import logging
import math
import os
import resource
import socket
import traceback
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from . import Unopened

_LONGEST_WORDS = 1000
_MOST_STDERR = 1024 * 1024
_FRAMES = 20


def main(memory: int, cpu_seconds: int) -> None:
    """Answer requests until the caller closes the socket.

    After an exception that is not about the content, such as a bug in the function, the process ends.
    """
    # Parsers log each odd value. The answer is enough.
    logging.disable()
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_AS, memory)
    _limit(resource.RLIMIT_FSIZE, _MOST_STDERR)
    # A new process inherits the peak of its parent.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with socket.socket(fileno=0) as channel, channel.makefile("rwb") as stream:
        while line := stream.readline():
            header = json.loads(line)
            request, content = (stream.read(size) for size in header["sizes"])
            usage = resource.getrusage(resource.RUSAGE_SELF)
            _limit(resource.RLIMIT_CPU, math.ceil(usage.ru_utime + usage.ru_stime) + cpu_seconds)
            reply, answer = _answer(header["function"], request, io.BytesIO(content), memory)
            del request, content
            if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak > memory / 1024 / 2:
                # Memory that the parser keeps would be missing for the next file.
                reply["last"] = True
            stream.write(json.dumps({**reply, "size": len(answer)}).encode() + b"\n" + answer)
            stream.flush()
            if reply.get("last"):
                return


def _answer(
    function: str, request: bytes, file: io.BytesIO, memory: int
) -> tuple[dict[str, Any], bytes]:
    """Return the header of the answer, and the answer.

    :param memory: the limit, for the message
    """
    module, _, name = function.partition(":")
    try:
        open_content = attrgetter(name)(importlib.import_module(module))
        with _no_descriptors():
            return {}, open_content(request, file)
    except Unopened as error:
        return {"unopened": str(error)[:_LONGEST_WORDS], "facts": error.facts}, b""
    except RecursionError:
        return {"unopened": "is nested too deeply"}, b""
    except MemoryError:
        # After a failed allocation, any object may be half initialised.
        return {"exceeded": f"needs more than {memory >> 20:,} MiB of memory", "last": True}, b""
    except BaseException as error:  # panics of Rust are no Exceptions
        frames = traceback.format_tb(error.__traceback__, -_FRAMES)
        return {
            "unopened": f"cannot be opened: {error!r}"[:_LONGEST_WORDS],
            "traceback": "".join([*frames, type(error).__name__]),
            "last": True,
        }, b""


@contextlib.contextmanager
def _no_descriptors() -> Iterator[None]:
    """Run a block with no descriptor free below the limit."""
    before, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    _limit(resource.RLIMIT_NOFILE, free)
    try:
        yield
    finally:
        _limit(resource.RLIMIT_NOFILE, before)


def _limit(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
    # macOS refuses some limits. The caller's time limit remains.
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(kind, (soft, hard))
