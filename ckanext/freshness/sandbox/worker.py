"""The process of :mod:`.processes`: opens one file after another, and may be lost at any of them.

It is started with a socket as its standard input. A request is a line of JSON and as many bytes as it
says, perhaps with an open file; so is an answer.

While content is open, the process can get no further descriptor: no socket, no file, no pipe. The system
sees to this, whatever a parser attempts. What a parser would import late has to be imported before.
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
from collections.abc import Iterator
from typing import Any, BinaryIO

from .errors import Unopened

_LONGEST_HEADER = 64 * 1024
_LONGEST_WORDS = 1000


def main(function: str, memory: int, cpu_seconds: int) -> None:
    """Answer requests until the other side closes.

    A fault that is not the content's, such as a mistake in the function, ends the process with a
    traceback.
    """
    # Parsers log each odd value; people are told once, by the answer.
    logging.disable()
    open_content = _named(function)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_AS, memory)
    # A process begins with the peak of the one that started it.
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
                reply["unopened"] = str(error)[:_LONGEST_WORDS]
            except RecursionError:
                reply["unopened"] = "is nested too deeply"
            except MemoryError:
                # What could not be allocated may leave anything half done.
                reply |= {"exceeded": f"needs more than {memory} bytes of memory", "last": True}
            body = b""
            if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak > memory / 1024 / 2:
                # The memory that it may keep would be missing for the next file.
                reply["last"] = True
            channel.sendall(json.dumps({**reply, "size": len(answer)}).encode() + b"\n")
            channel.sendall(answer)
            if reply.get("last"):
                return


def _receive(channel: socket.socket) -> tuple[dict[str, Any], bytes, BinaryIO | None] | None:
    """Return the next request's header, body and file; None when the other side has closed."""
    line, descriptors, _, _ = socket.recv_fds(channel, _LONGEST_HEADER, 1)
    if not line:
        return None
    file = os.fdopen(descriptors[0], "rb") if descriptors else None
    header, _, rest = line.partition(b"\n")
    asked = json.loads(header)
    body = bytearray(asked["size"])
    body[: len(rest)] = rest
    with memoryview(body) as view:
        received = len(rest)
        while received < len(view):
            size = channel.recv_into(view[received:])
            if not size:
                return None
            received += size
    return asked, bytes(body), file


def _named(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


@contextlib.contextmanager
def _no_descriptors() -> Iterator[None]:
    """A block in which all descriptors below the limit are taken."""
    before, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    _limit(resource.RLIMIT_NOFILE, free)
    try:
        yield
    finally:
        _limit(resource.RLIMIT_NOFILE, before)


def _limit(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
    # macOS refuses some limits; the other side's clock remains.
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(what, (soft, hard))
