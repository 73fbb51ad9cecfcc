"""Commands about statuses and update frequencies."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import uuid4

import ckan.plugins.toolkit as tk
import click

from ..aging.messages import NN_
from ..ckan_adapter.solr import solr_commit, without_solr_commits
from ..dates import utc_now
from ..reporting.labels import counted, refresh_summary
from ..search.unindexed import SolrAwayError, solr_away_in_words
from ..status import frequency_table
from ..status.own_fields import CHOICE, OwnFieldsError, in_words
from ..status.refresh import refresh as refresh_statuses
from .commands import site_user
from .progress import ProgressCounter, progress_of

_HEALED = NN_(
    "Indexed {count} dataset whose document in the search index was old",
    "Indexed {count} datasets whose documents in the search index were old",
)
_REAPED = NN_(
    "Deleted the rows of {count} purged dataset", "Deleted the rows of {count} purged datasets"
)
_VALID = NN_("The file has {count} line and no error", "The file has {count} lines and no error")


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


@click.command("set-frequency")
@click.option(
    "--csv",
    "file",
    type=click.File(encoding="utf-8-sig"),
    required=True,
    help="A CSV file with the columns dataset (name or id) and frequency. Use - for standard input.",
)
@click.option("--dry-run", is_flag=True, help="Only report errors in the file.")
def set_frequency(file: Iterable[str], dry_run: bool) -> None:
    """Set the update frequency of many datasets.

    If a line has an error, nothing is written. Exits with 1 if a line could not be written.
    """
    try:
        lines = frequency_table.read(file)
    except (frequency_table.TableError, UnicodeDecodeError) as error:
        raise click.ClickException(str(error)) from error
    errors = [_line(line, words) for line, words in frequency_table.problems(lines)]
    if errors:
        heading = tk._("Nothing was written. Correct these lines and try again:")
        raise click.ClickException("\n".join([heading, *errors]))
    if dry_run:
        click.echo(counted(_VALID, len(lines)))
        return
    context = {"user": site_user(), "ignore_auth": True}
    counter, changed, refused = ProgressCounter(tk._("datasets")), 0, 0
    with without_solr_commits():
        for number, line in enumerate(lines, start=1):
            try:
                changed += frequency_table.write(dict(context), line)
            except tk.ValidationError as error:
                refused += 1
                click.echo(_line(line, str(error.error_summary or error.error_dict)), err=True)
            counter.show(number)
    counter.end()
    solr_commit()
    forms = NN_(
        "Changed {changed} of {count} dataset; already right: {same}; failed: {refused}",
        "Changed {changed} of {count} datasets; already right: {same}; failed: {refused}",
    )
    same = len(lines) - changed - refused
    click.echo(counted(forms, len(lines), changed=changed, same=same, refused=refused))
    if refused:
        raise click.exceptions.Exit(1)


def _line(line: frequency_table.FrequencyLine, words: str) -> str:
    text: str = tk._("Line {number} ({dataset}): {words}")
    return text.format(number=line.number, dataset=line.dataset, words=words)
