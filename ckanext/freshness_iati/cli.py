"""The commands ``ckan iati``."""

from __future__ import annotations

import ckan.plugins.toolkit as tk
import click

from ckanext.freshness.ckan_adapter.database import require_tables
from ckanext.freshness.cli import ReportingGroup, check_progress, source_named
from ckanext.freshness.dates import utc_now
from ckanext.freshness.harvesters import harvest_here

from . import cycle
from .source_type import SOURCE_TYPE


class _IatiCommands(ReportingGroup):
    expected = (*ReportingGroup.expected, cycle.CycleRunningError)


@click.group(cls=_IatiCommands)
def iati() -> None:
    """Update IATI registries: their datasets, and the last known good copies of their files."""


@iati.command()
@click.argument("source")
@click.option("--strict", is_flag=True, help="Check failing files without a pause.")
@require_tables
def update(source: str, strict: bool) -> None:
    """Run an update cycle of SOURCE (id or name).

    Reads the registry, deletes what is gone, checks each dataset's file, then writes index files and bulk
    ZIPs. If it is killed, the next cycle completes its work. Exits with 1 if not everything was done; files
    that fail do not count.
    """
    row = source_named(source)
    if row.type != SOURCE_TYPE:
        words = tk._("{name} is no source of an IATI registry, but of the type {type}")
        raise click.ClickException(words.format(name=source, type=row.type))
    with check_progress() as show:
        report = cycle.run_cycle(row, utc_now, show, strict=strict, harvest=harvest_here)
    for line in report.lines():
        click.echo(line)
    for line in report.complaints():
        click.echo(line, err=True)
    if not report.complete:
        raise click.exceptions.Exit(1)
