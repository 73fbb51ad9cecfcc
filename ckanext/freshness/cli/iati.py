"""The command ``ckan iati``: update cycles of IATI registries."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import click

from ..checking import run_records
from ..ckan_adapter.database import DatabaseLostError, required
from ..dates import utc_now
from ..iati.cycle import cycle
from ..iati.cycle.report import CycleReport
from ..iati.cycle.sources import sources
from ..iati.registry.source_type import SOURCE_TYPE
from .commands import ReportingGroup, source_named
from .progress import check_progress


@click.group(cls=ReportingGroup)
def iati() -> None:
    """Update IATI registries: their datasets, and the last known good copies of their files."""


@iati.command()
@click.argument("source")
@click.option("--strict", is_flag=True, help="Check failing files without a pause.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
@required
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
    show_reports([run_cycle(row, strict=strict)], as_json=as_json)


def run_cycle(row: Any, **options: Any) -> CycleReport:
    """Run a cycle with its progress on the terminal.

    :raises click.ClickException: the cycle cannot run, or it lost its lock or the database
    :raises settings.OptionError: the site has no place for copies
    :raises StoreError: the store cannot be used
    """
    try:
        with _progress() as show:
            return cycle.run_cycle(row, utc_now, show, **options)
    except _ERRORS as error:
        raise click.ClickException(str(error)) from error


_ERRORS = (cycle.CycleRunningError, run_records.LocksLostError, DatabaseLostError)
"""Errors that end a cycle, besides those that end any command."""


def check_files(package_ids: Sequence[str] | None, *, strict: bool, as_json: bool) -> None:
    """Check the files of all sources: ``ckan freshness check --policy iati``.

    :param package_ids: check the files of these datasets only
    :raises click.ClickException: a cycle cannot run
    """
    options = {"strict": strict, "harvest": False, "package_ids": package_ids}
    rows = sources() if p.plugin_loaded("harvest") else []
    if not rows:
        click.echo("There is no source of an IATI registry: no file was checked.", err=as_json)
    show_reports([run_cycle(row, **options) for row in rows], as_json=as_json)


def show_reports(reports: Iterable[CycleReport], *, as_json: bool) -> None:
    """Print the reports of cycles, and exit with 1 if one is not complete."""
    complete = True
    for report in reports:
        complete = complete and report.complete
        if as_json:
            plain = {
                "run": report.run_id,
                "source": report.source,
                **report.figures.as_dict(),
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


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[str, tuple[int, ...]], None]]:
    """Show the harvest as a count, and the checks as a bar."""
    with check_progress() as show_checks:

        def show(part: str, numbers: tuple[int, ...]) -> None:
            if part == cycle.FILES:
                show_checks(numbers)
            elif sys.stderr.isatty() and numbers[0]:
                click.echo(f"\r{part}: {numbers[0]}\033[K", err=True, nl=False)

        yield show
