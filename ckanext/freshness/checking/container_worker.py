"""The part of :mod:`.container_sandbox` that runs in a process of the sandbox."""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
from encodings import aliases
from operator import attrgetter
from typing import Any, BinaryIO

from ..sandbox import Unopened
from . import shapes
from .content import fingerprint
from .detectors import ContainerLimits, Unreadable

for _codec in set(aliases.aliases.values()):
    # expat and zipfile look up codecs while they parse, when no module can be imported any more.
    with contextlib.suppress(ImportError):
        importlib.import_module(f"encodings.{_codec}")


def open_file(request: bytes, file: BinaryIO) -> bytes:
    """Return the hash of a file by the detectors in the request, or its shape, as JSON.

    :raises Unopened: the file cannot be hashed
    """
    options = json.loads(request)
    if "shape" in options:
        limits = ContainerLimits(**options["limits"])
        return json.dumps(shapes.read(options["shape"], file, limits)).encode()
    detectors = [_detector(name) for name in options["detectors"]]
    try:
        hash_ = fingerprint(file, detectors, ContainerLimits(**options["limits"]))
    except Unreadable as error:
        raise Unopened(str(error)) from error
    return json.dumps(hash_).encode()


def _detector(name: str) -> Any:
    module, _, qualified = name.partition(":")
    return attrgetter(qualified)(sys.modules[module])
