"""Commands about statuses and update frequencies."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import uuid4

import ckan.plugins.toolkit as tk
import click

from ..aging.messages import NN_
from ..ckan_adapter import solr_commit, without_solr_commits
from ..ckan_adapter.worker_processes import WorkerError
from ..dates import utc_now
from ..reporting.labels import counted, looked_at
from ..search.unindexed import SolrAwayError, solr_away_in_words
from ..status import frequency_table, removal
from ..status.refresh import refresh as bring_up_to_date
from .commands import site_user
from .progress import ProgressCounter, progress_of

_HEALED = NN_(
    "Indexed {count} dataset of a run that was interrupted",
    "Indexed {count} datasets of a run that was interrupted",
)
_REAPED = NN_("Forgot {count} dataset that is gone", "Forgot {count} datasets that are gone")
_WRITABLE = NN_("{count} line, which can be written", "{count} lines, all of them can be written")
_TO_BE_TAKEN_OUT = NN_(
    "Take the extras out of {count} dataset?", "Take the extras out of {count} datasets?"
)
_TAKEN_OUT = NN_("{count} dataset has none any more.", "{count} datasets have none any more.")


@click.command()
@click.option("--all", "everything", is_flag=True, help="Judge every dataset anew.")
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Processes that share the work.",
)
def refresh(everything: bool, workers: int) -> None:
    """Write the statuses that changed because time passed; run it every ten minutes.

    With --all for a catalogue that existed before this extension, and after a change of its options.
    It may run twice at once, and what was interrupted is made good by the next run. Ends with 1 if
    something could not be indexed.
    """
    try:
        with progress_of(tk._("datasets")) as progress:
            done = bring_up_to_date(
                utc_now(),
                run_id=str(uuid4()),
                everything=everything,
                workers=workers,
                progress=progress,
            )
    except SolrAwayError as error:
        raise click.ClickException(solr_away_in_words(error)) from error
    except WorkerError as error:
        raise click.ClickException(str(error)) from error
    click.echo(looked_at(done.datasets, done.changed, done.statuses))
    for forms, count in ((_HEALED, done.healed), (_REAPED, done.reaped)):
        if count:
            click.echo(counted(forms, count))
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
    help="A file with the columns dataset (name or id) and frequency; - is standard input.",
)
@click.option("--dry-run", is_flag=True, help="Only say what is wrong with the file.")
def set_frequency(file: Iterable[str], dry_run: bool) -> None:
    """Set the update frequency of many datasets.

    Nothing is written while a line is wrong. Ends with 1 if a line could not be written.
    """
    try:
        lines = frequency_table.read(file)
    except (frequency_table.TableError, UnicodeDecodeError) as error:
        raise click.ClickException(str(error)) from error
    wrong = [_line(line, words) for line, words in frequency_table.problems(lines)]
    if wrong:
        raise click.ClickException("\n".join([tk._("Nothing was written:"), *wrong]))
    if dry_run:
        click.echo(counted(_WRITABLE, len(lines)))
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
    words = tk._("Changed: {changed}; as they were: {same}; refused: {refused}")
    same = len(lines) - changed - refused
    click.echo(words.format(changed=changed, same=same, refused=refused))
    if refused:
        raise click.exceptions.Exit(1)


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
def uninstall(yes: bool) -> None:
    """Take this extension's extras out of all datasets.

    To be run before the plugin is taken out of ckan.plugins: every later edit writes them again.
    """
    batches = removal.packages()
    count = sum(len(ids) for _, ids in batches)
    if not yes:
        click.confirm(counted(_TO_BE_TAKEN_OUT, count), abort=True)
    counter = ProgressCounter(tk._("datasets"))
    for done in removal.take_out(batches):
        counter.show(done)
    counter.end()
    click.echo(counted(_TAKEN_OUT, count))
    click.echo(
        tk._(
            "Next: 'ckan db downgrade -p freshness' removes the tables; then take the plugins out of "
            "ckan.plugins."
        )
    )


def _line(line: frequency_table.FrequencyLine, words: str) -> str:
    where = tk._("Line {number} ({dataset}): {words}")
    return where.format(number=line.number, dataset=line.dataset, words=words)
