"""The base class of PostgreSQL, Redis and Solr."""

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
    """The account that runs it; None for the user who runs ``./dev``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"

    @property
    def working_folder(self) -> Path:
        """The folder in which it runs, which its account can enter."""
        return self.folder

    def environment(self) -> dict[str, str]:
        """Return its environment variables."""
        return clean_environment(LC_ALL="C", TZ="UTC")

    @abstractmethod
    def prepare(self) -> None:
        """Make the files that it needs to start, unless they exist."""

    @abstractmethod
    def command(self, port: int) -> list[str | Path]:
        """Return its command line."""

    @abstractmethod
    def ready(self, port: int) -> bool:
        """Return whether it answers."""

    # Not abstract: most leave nothing behind.
    def stopped(self) -> None:  # noqa: B027
        """Clean up after it has ended."""
