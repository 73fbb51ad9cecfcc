"""The command ``ckan freshness refresh``."""

from __future__ import annotations

from uuid import uuid4

import ckan.plugins.toolkit as tk
import click

from ..aging.messages import NN_
from ..dates import utc_now
from ..reporting.labels import counted, refresh_summary
from ..status.indexing import SolrAwayError, solr_away_in_words
from ..status.own_fields import CHOICE, OwnFieldsError, in_words
from ..status.refresh import refresh as refresh_statuses
from .progress import progress_of

_HEALED = NN_(
    "Indexed {count} dataset whose document in the search index was old",
    "Indexed {count} datasets whose documents in the search index were old",
)
_REAPED = NN_(
    "Deleted the rows of {count} purged dataset", "Deleted the rows of {count} purged datasets"
)


@click.command()
@click.option("--all", "everything", is_flag=True, help="Compute the status of every dataset anew.")
def refresh(everything: bool) -> None:
    """Write the statuses that changed because time passed; call this every ten minutes by cron.

    Use --all once after installing this extension, and after changing its options. Two refreshes may run at
    once, and a refresh completes an interrupted one. Exits with 1 if a dataset could not be indexed.
    """
    try:
        with progress_of(tk._("datasets")) as progress:
            done = refresh_statuses(
                utc_now(),
                run_id=str(uuid4()),
                everything=everything,
                progress=progress,
            )
    except SolrAwayError as error:
        raise click.ClickException(solr_away_in_words(error)) from error
    except OwnFieldsError as error:
        raise click.ClickException(str(error)) from error
    click.echo(refresh_summary(done.datasets, done.changed, done.statuses))
    for forms, count in ((_HEALED, done.healed), (_REAPED, done.reaped)):
        if count:
            click.echo(counted(forms, count))
    if done.own_fields:
        found = in_words(done.own_fields)
        click.echo(f"{found}. Datasets without a status were left alone. {CHOICE}", err=True)
    for failure in done.failures:
        click.echo(failure.in_words(), err=True)
    if done.failures:
        raise click.exceptions.Exit(1)
