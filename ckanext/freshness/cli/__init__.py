"""The commands ``ckan freshness`` and ``ckan iati``."""

from __future__ import annotations

import click

from .checks import check
from .commands import ReportingGroup
from .harvests import preview, release
from .health import doctor
from .iati import iati
from .mails import notify
from .night import nightly, prune
from .report import report
from .runs import runs
from .statuses import refresh, set_frequency, uninstall

__all__ = ["freshness", "iati"]

COMMANDS = (
    *(preview, release, check, refresh, set_frequency, nightly, prune, report, runs, doctor),
    *(notify, uninstall),
)


@click.group(cls=ReportingGroup)
def freshness() -> None:
    """How fresh datasets are, what is really at their URLs, and harvests that can be trusted."""


for command in COMMANDS:
    freshness.add_command(command)
