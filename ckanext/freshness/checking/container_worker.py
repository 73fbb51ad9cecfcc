"""The part of :mod:`.sandbox` that runs in a process of the sandbox."""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
from encodings import aliases
from operator import attrgetter
from typing import Any, BinaryIO

from ..sandbox.errors import Unopened
from .content import fingerprint
from .detectors import ContainerLimits, Unreadable

for _codec in set(aliases.aliases.values()):
    # expat and zipfile look codecs up when they meet one, too late to import it.
    with contextlib.suppress(ImportError):
        importlib.import_module(f"encodings.{_codec}")


def fingerprint_of(request: bytes, file: BinaryIO) -> bytes:
    """Return the hash of a file by the detectors that the request names, as JSON.

    :raises Unopened: the file cannot be read
    """
    asked = json.loads(request)
    detectors = [_detector(name) for name in asked["detectors"]]
    try:
        found = fingerprint(file, detectors, ContainerLimits(**asked["limits"]))
    except Unreadable as error:
        raise Unopened(str(error)) from error
    return json.dumps(found).encode()


def _detector(name: str) -> Any:
    module, _, qualified = name.partition(":")
    return attrgetter(qualified)(sys.modules[module])
