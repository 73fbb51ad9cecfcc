"""The commands ``ckan iati``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import ckan.plugins.toolkit as tk
import click

from ckanext.freshness.ckan_adapter.database import require_tables
from ckanext.freshness.cli import ReportingGroup, check_progress, source_named
from ckanext.freshness.cli.checks import NamedDatasets, dataset_ids
from ckanext.freshness.dates import utc_now
from ckanext.freshness.harvesters import harvest_here

from . import cycle, datasets
from .report import CycleReport
from .source_type import SOURCE_TYPE


class _IatiCommands(ReportingGroup):
    expected = (*ReportingGroup.expected, cycle.CycleRunningError)


@click.group(cls=_IatiCommands)
def iati() -> None:
    """Update IATI registries: their datasets, and the last known good copies of their files."""


@iati.command()
@click.argument("source")
@click.option("--strict", is_flag=True, help="Check failing files without a pause.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
@require_tables
def update(source: str, strict: bool, as_json: bool) -> None:
    """Run an update cycle of SOURCE (id or name).

    Reads the registry, deletes what is gone, checks each dataset's file, then writes index files and bulk
    ZIPs. If it is killed, the next cycle completes its work. Exits with 1 if not everything was done; files
    that fail do not count.
    """
    row = source_named(source)
    if row.type != SOURCE_TYPE:
        words = tk._("{name} is no source of an IATI registry, but of the type {type}")
        raise click.ClickException(words.format(name=source, type=row.type))
    show_reports([run_cycle(row, strict=strict, harvest=harvest_here)], as_json=as_json)


def run_cycle(row: Any, **options: Any) -> CycleReport:
    """Run a cycle with its progress on the terminal.

    :raises CycleRunningError: another cycle of the source runs
    :raises LocksLostError: it lost its lock
    :raises settings.OptionError: the site has no place for copies
    :raises StoreError: the store cannot be used
    """
    with check_progress() as show:
        return cycle.run_cycle(row, utc_now, show, **options)


@iati.command()
@click.argument("dataset", nargs=-1)
@click.option("--strict", is_flag=True, help="Check failing files without a pause.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
@require_tables
def check(dataset: tuple[str, ...], strict: bool, as_json: bool) -> None:
    """Check the files of all sources, or those of each DATASET, without reading the registries.

    DATASET is a name or an id. Otherwise like update.
    """
    package_ids = dataset_ids(dataset, _not_of_a_registry)
    rows = datasets.sources()
    if not rows:
        click.echo(
            tk._("There is no source of an IATI registry: no file was checked."), err=as_json
        )
    reports = [run_cycle(row, strict=strict, package_ids=package_ids) for row in rows]
    show_reports(reports, as_json=as_json)


def _not_of_a_registry(found: NamedDatasets) -> list[str]:
    registered_ids = datasets.in_registries([dataset.id for dataset in found.values()])
    words = tk._("{name} does not belong to an IATI registry. Nothing was checked.")
    return [
        words.format(name=name)
        for name, dataset in found.items()
        if dataset.id not in registered_ids
    ]


def show_reports(reports: Iterable[CycleReport], *, as_json: bool) -> None:
    """Print the reports of cycles, and exit with 1 if one is not complete."""
    complete = True
    for report in reports:
        complete = complete and report.complete
        if as_json:
            plain = {
                "run": report.run_id,
                "source": report.source,
                **report.figures,
                "zips_made_anew": report.published,
                "stopped": report.stopped,
                "errors": report.errors,
                "remarks": report.remarks,
            }
            click.echo(json.dumps(plain, ensure_ascii=False))
            continue
        for line in report.lines():
            click.echo(line)
        for line in (*report.remarks, *report.complaints()):
            click.echo(line, err=True)
    if not complete:
        raise click.exceptions.Exit(1)
