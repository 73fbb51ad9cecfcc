"""What PostgreSQL, Redis and Solr have in common."""

from __future__ import annotations

import signal
from abc import ABC, abstractmethod
from pathlib import Path

from stack.commands import clean_environment
from stack.processes import Account


class Service(ABC):
    """A server that runs as one process and listens on one port of loopback."""

    name: str
    stop_signal = signal.SIGTERM
    account: Account | None = None
    """By whom it is run; None for whoever runs ``./dev``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"

    @property
    def working_folder(self) -> Path:
        """A folder that its account can enter."""
        return self.folder

    def environment(self) -> dict[str, str]:
        """Its environment."""
        return clean_environment(LC_ALL="C", TZ="UTC")

    @abstractmethod
    def prepare(self) -> None:
        """Make what it needs to start, unless that is there."""

    @abstractmethod
    def command(self, port: int) -> list[str | Path]:
        """Its command line."""

    @abstractmethod
    def ready(self, port: int) -> bool:
        """Whether it answers."""

    # Not abstract: most leave nothing behind.
    def stopped(self) -> None:  # noqa: B027
        """Clear up after it has ended."""
