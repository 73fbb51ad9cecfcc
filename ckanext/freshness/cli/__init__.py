"""The commands ``ckan freshness`` and ``ckan iati``."""

from __future__ import annotations

import click

from ..ckan_adapter.database import required
from .checks import check
from .commands import ReportingGroup
from .data_changes import changes
from .harvests import preview, release
from .iati import iati
from .mails import notify
from .report import report
from .runs import runs
from .site import doctor, nightly, prune
from .statuses import refresh

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
        command.callback = required(command.callback)
    freshness.add_command(command)
