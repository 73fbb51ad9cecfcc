"""Commands for every night: all of its work, and what is forgotten."""

from __future__ import annotations

import ckan.plugins.toolkit as tk
import click

from ..ckan_adapter.lost_database import DatabaseLostError
from ..dates import utc_now
from ..runs import night as nights
from ..runs import night_parts


@click.command()
def prune() -> None:
    """Forget runs and changes of statuses that are older than the options say."""
    click.echo(night_parts.prune(utc_now()).words)


@click.command()
def nightly() -> None:
    """Do all that is to be done every night: for cron.

    One part's failure does not keep the others from being done. Ends with 1 if one failed, or if
    another nightly run is under way.
    """
    failed = []
    try:
        for done in nights.nightly(night_parts.PARTS, utc_now):
            told = done.told
            click.echo(f"{done.name}: {told.words}", err=not told.complete)
            if not told.complete:
                failed.append(done.name)
    except (nights.NightRunningError, DatabaseLostError) as error:
        raise click.ClickException(str(error)) from error
    if failed:
        words = tk._("Not all was done: {parts}")
        raise click.ClickException(words.format(parts=", ".join(failed)))
