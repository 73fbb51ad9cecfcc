"""Runs in the processes of :mod:`.processes`: opens one file after another, and may be lost at any of them.

The process has a socket as its standard input. A request is a line of JSON, the number of bytes that this line
names, and perhaps an open file. An answer has the same form, without a file.

While content is open, the process can get no further descriptor: no socket, no file, no pipe. The system
enforces this, whatever a parser attempts. Therefore modules that a parser would import late must be imported
before.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import math
import os
import resource
import socket
import traceback
from collections.abc import Iterator
from typing import Any, BinaryIO

from . import Unopened

_LONGEST_HEADER = 64 * 1024
_LONGEST_WORDS = 1000
_MOST_STDERR = 1024 * 1024
_FRAMES = 20


def main(function: str, memory: int, cpu_seconds: int) -> None:
    """Answer requests until the caller closes the socket.

    After an exception that is not about the content, such as a bug in the function, the process ends.
    """
    # Parsers log each odd value. The answer is enough.
    logging.disable()
    open_content = _named(function)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_AS, memory)
    _limit(resource.RLIMIT_FSIZE, _MOST_STDERR)
    # A new process inherits the peak of its parent.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with socket.socket(fileno=0) as channel:
        while request := _receive(channel):
            header, body, file = request
            for module in header["imports"]:
                importlib.import_module(module)
            usage = resource.getrusage(resource.RUSAGE_SELF)
            _limit(resource.RLIMIT_CPU, math.ceil(usage.ru_utime + usage.ru_stime) + cpu_seconds)
            reply: dict[str, Any] = {}
            answer = b""
            try:
                with file or contextlib.nullcontext(), _no_descriptors():
                    answer = open_content(body, file)
            except Unopened as error:
                reply |= {"unopened": str(error)[:_LONGEST_WORDS], "facts": error.facts}
            except RecursionError:
                reply["unopened"] = "is nested too deeply"
            except MemoryError:
                # After a failed allocation, any object may be half initialised.
                reply |= {"exceeded": f"needs more than {memory} bytes of memory", "last": True}
            except BaseException as error:  # panics of Rust are no Exceptions
                words = f"cannot be opened: {error!r}"
                reply |= {"unopened": words[:_LONGEST_WORDS], "last": True}
                frames = traceback.format_tb(error.__traceback__, -_FRAMES)
                reply["traceback"] = "".join([*frames, type(error).__name__])
            body = b""
            if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak > memory / 1024 / 2:
                # Memory that the parser keeps would be missing for the next file.
                reply["last"] = True
            channel.sendall(json.dumps({**reply, "size": len(answer)}).encode() + b"\n")
            channel.sendall(answer)
            if reply.get("last"):
                return


def _receive(channel: socket.socket) -> tuple[dict[str, Any], bytes, BinaryIO | None] | None:
    """Return the next request's header, body and file; None if the caller has closed the socket."""
    line, descriptors, _, _ = socket.recv_fds(channel, _LONGEST_HEADER, 1)
    if not line:
        return None
    file = os.fdopen(descriptors[0], "rb") if descriptors else None
    header, _, rest = line.partition(b"\n")
    fields = json.loads(header)
    body = bytearray(fields["size"])
    body[: len(rest)] = rest
    with memoryview(body) as view:
        received = len(rest)
        while received < len(view):
            size = channel.recv_into(view[received:])
            if not size:
                return None
            received += size
    return fields, bytes(body), file


def _named(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


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
