"""The paths of the checkout, and of the files that ``./dev`` makes under its .dev/ folder."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

RELEASES = {"2.12": "2.12.0", "2.11": "2.11.6"}
"""CKAN's series as given to --ckan, and the release that stack/ckan-<series>.txt pins."""

DEFAULT_SERIES = "2.12"


def python_label() -> str:
    """Return the version of the running Python as part of a folder's name, such as ``py3.11``."""
    return f"py{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of one checkout."""

    root: Path

    @property
    def dev(self) -> Path:
        """The folder of all files that ``./dev`` makes. ``./dev clean`` removes it."""
        return self.root / ".dev"

    @property
    def cache(self) -> Path:
        """Downloads: wheels and jars."""
        return self.dev / "cache"

    @property
    def compiled(self) -> Path:
        """Modules that Python has compiled."""
        return self.dev / "compiled"

    @property
    def tools(self) -> Path:
        """The environment that holds uv and the services' wheels."""
        return self.dev / f"tools-{python_label()}"

    @property
    def services(self) -> Path:
        """Data, logs and state of PostgreSQL, Redis and Solr."""
        return self.dev / "services"

    def environment(self, series: str) -> Path:
        """Return the folder of one CKAN series on the running Python: venv, ini files, storage, locks."""
        return self.dev / f"{series}-{python_label()}"
