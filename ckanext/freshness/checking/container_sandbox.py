"""Hashes containers, and reads the shapes of files, in processes of the sandbox."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import BinaryIO

from ..sandbox import Unopened
from ..sandbox.processes import ProcessLimits, Sandbox
from .detectors import ContainerLimits, Detector
from .shapes import Shape, from_json


@dataclass(frozen=True, slots=True)
class OpenedContainer:
    """The result of parsing a file.

    :ivar hash: None if no detector takes the file
    :ivar reason: why a detector cannot read the file, in words
    """

    hash: str | None = None
    reason: str | None = None


class ContainerSandbox(Sandbox):
    """A sandbox that hashes containers and reads the shapes of files.

    :param workers: the largest number of processes
    """

    def __init__(self, workers: int = 2, limits: ContainerLimits | None = None) -> None:
        self.limits = limits or ContainerLimits()
        super().__init__(
            "ckanext.freshness.checking.container_worker:open_file",
            ProcessLimits(self.limits.seconds, self.limits.cpu_seconds, self.limits.memory),
            workers,
        )

    async def parse(self, file: BinaryIO, detectors: Sequence[type[Detector]]) -> OpenedContainer:
        """Return the hash of a file by the first detector that takes it. No file raises an exception.

        :param file: a real file, flushed; its position changes
        """
        request = {
            "detectors": [
                f"{detector.__module__}:{detector.__qualname__}" for detector in detectors
            ],
            "limits": asdict(self.limits),
        }
        try:
            modules = sorted({detector.__module__ for detector in detectors})
            answer = await self.run(json.dumps(request).encode(), file, modules)
        except Unopened as error:
            return OpenedContainer(reason=str(error))
        return OpenedContainer(hash=json.loads(answer))

    async def shape(self, file: BinaryIO, kind: str) -> Shape:
        """Return the shape of a file; empty if it is uncertain. No file raises an exception.

        :param file: a real file, flushed; its position changes
        :param kind: see :func:`.shapes.read`
        """
        request = {"shape": kind, "limits": asdict(self.limits)}
        try:
            answer = await self.run(json.dumps(request).encode(), file)
        except Unopened:
            return []
        return from_json(json.loads(answer))
