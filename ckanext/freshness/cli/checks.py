"""Commands that check links, and that report: runs, and datasets by status."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import ckan.plugins.toolkit as tk
import click

from ..checking.selection import LEARNED, POLICIES
from ..ckan_adapter.core import model
from ..ckan_adapter.packages import SEARCH_FAULTS
from ..ckan_adapter.services import in_words
from ..dates import utc_now
from ..reporting import counts, report_tables, visibility
from ..reporting import runs as shown_runs
from ..reporting.labels import LABELS, counted, label
from ..reporting.tables import Row, Table
from ..runs import check_run
from ..translation import NN_
from ..web.urls import host_name
from . import check_progress, site_user


@click.command()
@click.argument("dataset", nargs=-1)
@click.option(
    "--policy",
    type=click.Choice(POLICIES),
    help="The rules for which URLs to check, by default the site's.",
)
@click.option("--host", help="Check only URLs of this host.")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Also check fresh datasets and recently checked URLs.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 1 if a checked URL failed.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Only print how many URLs would be checked.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(
    dataset: tuple[str, ...],
    policy: str | None,
    host: str | None,
    everything: bool,
    strict: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Check the links that are due, or those of each DATASET.

    DATASET is a name or an id. Run it every night. A run continues where a killed one stopped. Exits with 1
    if it could not do all its work.
    """
    if policy == LEARNED and (dataset or host or everything):
        raise click.UsageError(
            "--policy learned chooses from the whole catalogue. It cannot be combined with DATASET, --host or "
            "--all."
        )
    scope = check_run.CheckScope(_dataset_ids(dataset), _host(host), everything, policy)
    if scope.host is not None and not check_run.has_resources(scope.host, utc_now()):
        words = tk._("No resource has a URL on the host {host}. Nothing was checked.")
        raise click.ClickException(words.format(host=host))
    if dry_run:
        _print_plan(check_run.plan(scope, utc_now()), as_json)
    else:
        with check_progress() as show:
            run, done = check_run.check(scope, utc_now, progress=show)
        _print_result(run.id, done, as_json, strict)
        if dataset and not (done.counts.checks or done.counts.put_off):
            words = tk._("Nothing was checked: {names} has no link that this command checks.")
            raise click.ClickException(words.format(names=", ".join(dataset)))


def _host(name: str | None) -> str | None:
    if name is None:
        return None
    try:
        return host_name(name)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--host") from error


def _dataset_ids(names: Sequence[str]) -> tuple[str, ...] | None:
    """Return the ids of named datasets; None if no dataset was named.

    :raises click.ClickException: a dataset does not exist
    """
    if not names:
        return None
    found = {name: model.Package.get(name) for name in names}
    missing = [
        name
        for name, package in found.items()
        if package is None or package.state != model.State.ACTIVE
    ]
    if missing:
        words = tk._("There is no dataset {names}. Nothing was checked.")
        raise click.ClickException(words.format(names=", ".join(missing)))
    return tuple(sorted({package.id for package in found.values()}))


def _print_plan(selection: check_run.AnySelection, as_json: bool) -> None:
    checks, rotation = len(selection.chosen()), len(selection.rotation())
    if as_json:
        click.echo(json.dumps({"checks": checks, "rotation": rotation}))
        return
    click.echo(
        counted(NN_("{count} link would be checked", "{count} links would be checked"), checks)
    )
    click.echo(f"{rotation:>8}  {tk._('its turn in the regular check of all links')}")
    if days := selection.longest_days:
        click.echo(check_run.stretched_in_words(days))


def _print_result(run_id: str, done: check_run.RunResult, as_json: bool, strict: bool) -> None:
    counts, columns = done.counts, done.counts.columns()
    if as_json:
        plain = {
            "run": run_id,
            "checked": counts.checks,
            "errors": counts.errors,
            "put_off": counts.put_off,
            "resources": columns["resources"],
            "datasets": columns["datasets"],
        }
        click.echo(json.dumps(plain))
    else:
        click.echo(check_run.checked_in_words(done))
        for line in found_lines(columns["resources"]):
            click.echo(line)
    missing = check_run.missing_in_words(done)
    for words in missing:
        click.echo(words, err=True)
    if missing or (strict and counts.errors):
        raise click.exceptions.Exit(1)


def found_lines(resources: Mapping[str, int]) -> list[str]:
    """Return what the checks of a run found, a line for each kind of result.

    :param resources: numbers of resources by label
    """
    found = shown_runs.outcomes(resources)
    return [f"{found[key]:>8}  {label('found', key)}" for key in LABELS["found"] if found[key]]


@click.command()
@click.option(
    "--since", metavar="DATE|RUN|last", help="Show status changes since then. Default: yesterday."
)
def report(since: str | None) -> None:
    """Count datasets by status, and list status changes.

    Also stores today's counts for the dashboard. The printed counts include private datasets. The stored counts
    cover only public ones.
    """
    now = utc_now()
    try:
        statuses, transitions = (
            _rows(table, since, now) for table in (report_tables.STATUSES, report_tables.CHANGES)
        )
        counts.record(now)
    except tk.ValidationError as error:
        words = (f"--{key}: {text}" for key, texts in error.error_dict.items() for text in texts)
        raise click.ClickException("; ".join(words)) from error
    except SEARCH_FAULTS as error:
        words = tk._("Solr does not answer, so that nothing could be counted: {error}")
        raise click.ClickException(words.format(error=in_words(error))) from error
    for row in statuses:
        click.echo(f"{label('status', row['status']):<18} {row['datasets']:>8}")
    numbers = counts.of_statuses({row["status"]: row["datasets"] for row in statuses})
    click.echo(f"{counts.fresh_share(numbers)}\n")
    for row in transitions:
        before, after = (label("status", row[key]) for key in ("from_status", "to_status"))
        why = label("cause", row["cause"])
        click.echo(f"{row['changed_at']}  {row['name']}  {before} -> {after}  ({why})")
    if not transitions:
        click.echo(tk._("No status has changed."))


def _rows(table: Table, since: str | None, now: datetime) -> list[Row]:
    return list(
        table.read(report_tables.request_for(visibility.SITE, table, {"since": since}, now))
    )


@click.command()
@click.argument("run", required=False)
@click.option("--hdx", is_flag=True, help="Also print the counts in the layout of HDX's reports.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def runs(run: str | None, hdx: bool, as_json: bool) -> None:
    """List the newest runs, or show RUN (an id, or last).

    The last run is the newest check of all links.
    """
    context = {"user": site_user(), "ignore_auth": True}
    if run is None:
        listed = tk.get_action("freshness_run_list")(context, {})
        if as_json:
            click.echo(json.dumps(listed, indent=2))
            return
        for row in listed:
            click.echo(_run_line(row))
        if not listed:
            click.echo(tk._("There has been no run yet."))
        return
    try:
        shown = tk.get_action("freshness_run_show")(context, {} if run == "last" else {"id": run})
    except tk.ObjectNotFound as error:
        words = tk._("There is no run {run}. List all runs with: ckan freshness runs")
        raise click.ClickException(words.format(run=run)) from error
    if as_json:
        click.echo(json.dumps(shown, indent=2))
        return
    for line in (_run_line(shown), *found_lines(shown["resources"])):
        click.echo(line)
    if hdx:
        click.echo(f"\n{shown['text']}")


def _run_line(run: dict[str, Any]) -> str:
    if run["error"]:
        state = tk._("ended early: {error}").format(error=run["error"])
    elif run["ended_at"] is None:
        state = tk._("not ended")
    else:
        state = tk._("{number} checked, ended {moment}").format(
            number=run["checked"] or 0, moment=run["ended_at"]
        )
    return f"{run['id']}  {run['started_at']}  {run['kind']}  {state}"
