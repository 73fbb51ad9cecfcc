"""The command that visits URLs."""

from __future__ import annotations

import json
from collections.abc import Callable

import ckan.plugins.toolkit as tk
import click

from ..aging.messages import NN_
from ..checking import dataset_rows
from ..checking.rotation import Selection
from ..checking.run_records import LocksLostError
from ..ckan_adapter.lost_database import DatabaseLostError, telling_of_loss
from ..ckan_adapter.worker_processes import WorkerError
from ..dates import utc_now
from ..iati.cycle import sources
from ..reporting import metrics
from ..reporting.labels import counted
from ..runs import check_run, queued_run
from ..settings import dataset_types
from ..web.urls import host_name
from .iati import check_files
from .progress import visits_progress


@click.command()
@click.argument("dataset", nargs=-1)
@click.option(
    "--policy",
    type=click.Choice(["hdx", "iati"]),
    default="hdx",
    show_default=True,
    help="The rules of a visit; iati is for the datasets of IATI's registries alone.",
)
@click.option("--host", help="Only URLs of this host.")
@click.option(
    "--all", "everything", is_flag=True, help="Also what is fresh, or was visited just now."
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Processes that share the hosts.",
)
@click.option("--queue", is_flag=True, help="Leave the work to 'ckan jobs worker', on any machine.")
@click.option(
    "--strict",
    is_flag=True,
    help="End with 1 if a URL that was visited is in error; with iati ask what fails again now.",
)
@click.option(
    "--dry-run", is_flag=True, help="Only say what would be visited, and why the rest not."
)
@click.option("--json", "as_json", is_flag=True, help="For programs, on standard output.")
def check(
    dataset: tuple[str, ...],
    policy: str,
    host: str | None,
    everything: bool,
    workers: int,
    queue: bool,
    strict: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Visit the URLs of resources that are due, or all those of each DATASET (name or id).

    To be run every night. What a run was killed in the middle of, the next one goes on with. Ends with 1
    if not all was done.
    """
    if policy == "iati":
        if host or everything or workers > 1 or queue or dry_run:
            raise click.UsageError("--policy iati goes with DATASET, --strict and --json alone.")
        check_files(_ids(dataset, _not_of_a_registry), strict=strict, as_json=as_json)
        return
    if queue and (workers > 1 or strict or dry_run):
        raise click.UsageError(
            "--queue leaves the work to others: it cannot go with --workers, --strict or --dry-run."
        )
    try:
        with telling_of_loss():
            scope = check_run.CheckScope(_ids(dataset, _not_checked), _host(host), everything)
            if host is not None and not check_run.has_resources(scope, utc_now()):
                words = tk._("No resource is at the host {host}: nothing was visited")
                raise click.ClickException(words.format(host=host))
            if dry_run:
                _tell_plan(check_run.plan(scope, utc_now()), as_json)
            elif queue:
                _tell_queued(queued_run.enqueue(scope, utc_now()), as_json)
            else:
                with visits_progress() as tell:
                    run, done = check_run.check(scope, utc_now, workers=workers, tell=tell)
                _tell_done(run.id, done, as_json, strict)
    except _ERRORS as error:
        raise click.ClickException(str(error)) from error


_ERRORS = (WorkerError, LocksLostError, DatabaseLostError, queued_run.RedisAwayError)
"""What ends a run, in a sentence for people, besides what ends any command."""


def _host(name: str | None) -> str | None:
    if name is None:
        return None
    try:
        return host_name(name)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--host") from error


_Found = dict[str, dataset_rows.NamedDataset]


def _ids(names: tuple[str, ...], reasons: Callable[[_Found], list[str]]) -> tuple[str, ...] | None:
    """The ids of what was named.

    :param reasons: why some of what there is would not be visited
    :raises click.ClickException: one is not there, or would not be visited
    """
    if not names:
        return None
    found = dataset_rows.named(names)
    missing = [name for name in names if name not in found]
    said = reasons(found)
    if missing:
        words = tk._("There is no dataset {names}: nothing was visited")
        said.insert(0, words.format(names=", ".join(missing)))
    if said:
        raise click.ClickException("\n".join(said))
    return tuple(sorted({one.id for one in found.values()}))


def _not_checked(found: _Found) -> list[str]:
    types = dataset_types()
    said = []
    for name, one in found.items():
        if one.type not in types:
            words = tk._(
                "{name} is of the type {type}, whose URLs are not checked: nothing was visited"
            )
            said.append(words.format(name=name, type=one.type))
        elif one.is_registered:
            words = tk._(
                "{name} belongs to an IATI registry and is visited with --policy iati: nothing was "
                "visited"
            )
            said.append(words.format(name=name))
    return said


def _not_of_a_registry(found: _Found) -> list[str]:
    registered_ids = sources.in_registries([one.id for one in found.values()])
    words = tk._("{name} belongs to no IATI registry: nothing was visited")
    return [words.format(name=name) for name, one in found.items() if one.id not in registered_ids]


def _tell_plan(selection: Selection, as_json: bool) -> None:
    picked = selection.picked()
    why = dict(sorted((verdict.value, count) for verdict, count in selection.verdicts.items()))
    rotation = sum(one.hash_anyway for one in picked)
    if as_json:
        click.echo(json.dumps({"visits": len(picked), "rotation": rotation, "verdicts": why}))
        return
    for verdict, count in why.items():
        click.echo(f"{verdict}: {count}")
    forms = NN_(
        "{count} resource would be visited; read whole in their turn: {rotation}",
        "{count} resources would be visited; read whole in their turn: {rotation}",
    )
    click.echo(counted(forms, len(picked), rotation=rotation))


def _tell_queued(queued: queued_run.QueuedRun, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"run": queued.run_id, "jobs": queued.jobs, "queue": queued.queue}))
        return
    words = tk._(
        "{jobs} jobs wait in the queue {queue} for 'ckan jobs worker {queue}'. "
        "'ckan freshness runs {run}' will tell what they found."
    )
    click.echo(words.format(jobs=queued.jobs, queue=queued.queue, run=queued.run_id))


def _tell_done(run_id: str, done: check_run.CheckedCounts, as_json: bool, strict: bool) -> None:
    counting = done.counting
    made = metrics.RunMetrics(
        counting.resources(), counting.datasets(), counting.frequencies(), counting.hosts()
    )
    if as_json:
        plain = {
            "run": run_id,
            "visited": counting.visits,
            "errors": counting.errors,
            "put_off": counting.put_off,
        }
        click.echo(json.dumps({**plain, "resources": made.resources, "datasets": made.datasets}))
    else:
        click.echo("\n\n".join(filter(None, (metrics.text(made), metrics.headers(made)))))
        click.echo("\n" + check_run.visited(done))
    complete = True
    for words in check_run.missing(done):
        click.echo(words, err=True)
        complete = False
    if not complete or (strict and counting.errors):
        raise click.exceptions.Exit(1)
