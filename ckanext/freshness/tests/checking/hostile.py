"""A detector of another extension, for files that name the attack on it."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, BinaryIO

from ckanext.freshness.checking.detectors import ContainerLimits, Detector

DEEDS: dict[bytes, Callable[[ContainerLimits], Any]] = {
    b"TEST killed": lambda limits: os.kill(os.getpid(), signal.SIGKILL),
    b"TEST mistake": lambda limits: [][1],
    b"TEST memory": lambda limits: bytearray(limits.memory),
    b"TEST asleep": lambda limits: time.sleep(600),
    b"TEST busy": lambda limits: all(not one for one in iter(int, 1)),
    b"TEST process": lambda limits: os.getpid(),
    b"TEST ckan": lambda limits: [it for it in sys.modules if it.split(".")[0] == "ckan"],
    b"TEST own": lambda limits: "abc",
}


class Hostile(Detector):
    """Files whose hash is the result of an attack."""

    name = "test"
    magic = (b"TEST ",)

    @classmethod
    def digest(cls, file: BinaryIO, limits: ContainerLimits) -> str:
        return str(DEEDS[file.read()](limits))
