"""The other side of :mod:`.sandbox`: a process that opens one file after another and may be lost.

It is started by nothing but its socket and imports next to nothing. Each line asks for a file, which comes
as an open descriptor, and is answered by a line.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import socket
import sys
from typing import Any

from .content import fingerprint
from .detectors import ContainerLimits, Detector, Unreadable

LONGEST = 64 * 1024


def main(descriptor: int) -> None:
    """Answer until the other side closes.

    What is no fault of the file, a mistake in a detector say, ends the process, with a traceback.
    """
    with socket.socket(fileno=descriptor) as channel:
        while True:
            line, descriptors, _, _ = socket.recv_fds(channel, LONGEST, 1)
            if not line:
                return
            answer = _answer(json.loads(line), descriptors[0])
            channel.sendall(json.dumps(answer).encode() + b"\n")
            if answer.get("last"):
                return


def _answer(request: dict[str, Any], descriptor: int) -> dict[str, Any]:
    limits = ContainerLimits(**request["limits"])
    with os.fdopen(descriptor, "rb") as file:
        try:
            detectors = [_detector(name) for name in request["detectors"]]
            _restrict(limits)
            return {"hash": fingerprint(file, detectors, limits)}
        except Unreadable as error:
            return {"reason": str(error)}
        except (MemoryError, RecursionError):
            # Memory that could not be had may leave anything behind: a new process goes on.
            return {"reason": f"needs more than {limits.memory} bytes of memory", "last": True}


def _detector(name: str) -> type[Detector]:
    module, _, qualified = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in qualified.split("."):
        found = getattr(found, part)
    return found


def _restrict(limits: ContainerLimits) -> None:
    """Let the system end what goes beyond the limits; processor time counts from here."""
    if sys.platform == "win32":
        return
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    used = math.ceil(usage.ru_utime + usage.ru_stime)
    for what, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_AS, limits.memory),
        (resource.RLIMIT_CPU, used + limits.cpu_seconds),
    ):
        _, hard = resource.getrlimit(what)
        soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(what, (soft, hard))
        except (OSError, ValueError):
            # macOS refuses some of them; the other side's clock remains.
            continue
