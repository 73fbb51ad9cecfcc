"""The command ``ckan iati``: the update cycle of IATI's registries."""

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
from ..ckan_adapter.lost_database import DatabaseLostError
from ..dates import utc_now
from ..iati.cycle import cycle, registered_sources
from ..iati.cycle.report import CycleReport
from .commands import ReportingGroup, source_named
from .progress import visits_progress


@click.group(cls=ReportingGroup)
def iati() -> None:
    """IATI's registries: what they list, and the last known good copies of it."""


@iati.command()
@click.argument("source")
@click.option("--strict", is_flag=True, help="Ask files that fail again now, whatever they did.")
@click.option("--json", "as_json", is_flag=True, help="For programs, on standard output.")
def update(source: str, strict: bool, as_json: bool) -> None:
    """Do a whole update cycle of SOURCE (id or name).

    The registry's organisations and datasets, what is gone, each dataset's file, then the index files
    and the bulk ZIPs. What one was killed in the middle of, the next one makes good. Ends with 1 if not
    all was done; a file that fails is its publisher's affair.
    """
    row = source_named(source)
    if row.type != registered_sources.SOURCE_TYPE:
        words = tk._("{name} is no source of an IATI registry, but of the type {type}")
        raise click.ClickException(words.format(name=source, type=row.type))
    tell_all([run_cycle(row, strict=strict)], as_json=as_json)


def run_cycle(row: Any, **options: Any) -> CycleReport:
    """A cycle with its progress on the terminal.

    :raises click.ClickException: it could not be done
    :raises settings.OptionError: the site has no place for copies
    :raises StoreError: the store is out of reach
    """
    try:
        with _progress() as tell:
            return cycle.update(row, utc_now, tell, **options)
    except _ERRORS as error:
        raise click.ClickException(str(error)) from error


_ERRORS = (cycle.CycleRunningError, run_records.LocksLostError, DatabaseLostError)
"""What ends a cycle, in a sentence for people, besides what ends any command."""


def check_files(package_ids: Sequence[str] | None, *, strict: bool, as_json: bool) -> None:
    """Do the files' part of each source's cycle: ``ckan freshness check --policy iati``.

    Without any source that is said, to programs on standard error.

    :param package_ids: only of these datasets
    :raises click.ClickException: a cycle could not be done
    """
    options = {"strict": strict, "harvest": False, "package_ids": package_ids}
    sources = registered_sources.sources() if p.plugin_loaded("harvest") else []
    if not sources:
        click.echo("There is no source of an IATI registry: no file was looked at.", err=as_json)
    tell_all([run_cycle(one, **options) for one in sources], as_json=as_json)


def tell_all(reports: Iterable[CycleReport], *, as_json: bool) -> None:
    """Say what cycles have done, and end with 1 if not all was."""
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
    """The registry's part as a count, the files' part as a bar."""
    with visits_progress() as visits:

        def tell(what: str, numbers: tuple[int, ...]) -> None:
            if what == cycle.FILES:
                visits(numbers)
            elif sys.stderr.isatty() and numbers[0]:
                click.echo(f"\r{what}: {numbers[0]}\033[K", err=True, nl=False)

        yield tell
