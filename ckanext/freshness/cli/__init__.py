"""The commands ``ckan freshness`` and ``ckan iati``."""

from __future__ import annotations

import click

from ..ckan_adapter.database import require_tables
from .checks import check
from .commands import ReportingGroup
from .reports import changes, report, runs
from .site import doctor, nightly, notify, prune, refresh
from .sources import iati, preview, release

__all__ = ["freshness", "iati"]

COMMANDS = (
    *(preview, release, check, refresh, nightly, prune, report, runs, doctor),
    *(changes, notify),
)


@click.group(cls=ReportingGroup)
def freshness() -> None:
    """Harvest safely, check URLs, and report how fresh datasets are."""


for command in COMMANDS:
    if command is not doctor and command.callback is not None:
        command.callback = require_tables(command.callback)
    freshness.add_command(command)
