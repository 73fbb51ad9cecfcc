"""A detector of another extension, for files that name the attack on it."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, BinaryIO

from ckanext.freshness.checking.content import MIB, ContentLimits, Detector

ACTIONS: dict[bytes, Callable[[], Any]] = {
    b"TEST killed": lambda: os.kill(os.getpid(), signal.SIGKILL),
    b"TEST mistake": lambda: [][1],
    b"TEST memory": lambda: bytearray(512 * MIB),
    b"TEST asleep": lambda: time.sleep(600),
    b"TEST busy": lambda: all(not one for one in iter(int, 1)),
    b"TEST process": lambda: os.getpid(),
    b"TEST ckan": lambda: [it for it in sys.modules if it.split(".")[0] == "ckan"],
    b"TEST own": lambda: "abc",
}


class Hostile(Detector):
    """Files whose hash is the result of an attack."""

    name = "test"
    magic = (b"TEST ",)

    @classmethod
    def digest(cls, file: BinaryIO, limits: ContentLimits) -> str:
        return str(ACTIONS[file.read()]())
