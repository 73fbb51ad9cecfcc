"""The command ``ckan freshness runs``."""

from __future__ import annotations

import json
from typing import Any

import ckan.plugins.toolkit as tk
import click

from ..reporting import metrics
from .commands import site_user


@click.command()
@click.argument("run", required=False)
@click.option(
    "--limit",
    type=click.IntRange(1, 1000),
    default=20,
    show_default=True,
    help="Number of runs to list.",
)
@click.option("--hosts", is_flag=True, help="Also show the numbers of each host.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def runs(run: str | None, limit: int, hosts: bool, as_json: bool) -> None:
    """List the newest runs, or show the counts of RUN (an id, or last)."""
    context = {"user": site_user(), "ignore_auth": True}
    if run is None:
        listed = tk.get_action("freshness_run_list")(context, {"limit": limit})
        if as_json:
            click.echo(json.dumps(listed, indent=2))
            return
        for row in listed:
            click.echo(_line(row))
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
    click.echo("\n\n".join(filter(None, (_line(shown), shown["text"], shown["headers"]))))
    if hosts:
        click.echo()
        for line in _hosts(shown):
            click.echo(line)


def _line(run: dict[str, Any]) -> str:
    if run["error"]:
        state = tk._("ended early: {error}").format(error=run["error"])
    elif run["ended_at"] is None:
        state = tk._("not ended")
    else:
        state = tk._("{visited} checked, ended {moment}").format(
            visited=run["visited"] or 0, moment=run["ended_at"]
        )
    return f"{run['id']}  {run['started_at']}  {run['kind']}  {state}"


_COLUMNS = ("visits", "errors", "blocked", "last_modified", "etag", "agreed", "missed", "moved")


def _hosts(run: dict[str, Any]) -> list[str]:
    """Return the lines of a table of hosts, whose names are cut at 60 characters."""
    rows = metrics.hosts(metrics.RunMetrics(hosts=run["hosts"]))
    width = min(60, max([4, *(len(name) for name, _ in rows)]))
    lines = ["".join([f"{'host':{width}}", *(f"  {column:>13}" for column in _COLUMNS)])]
    for name, numbers in rows:
        cells = (f"  {numbers[column]:>13.0f}" for column in _COLUMNS)
        lines.append("".join([f"{name[:width]:{width}}", *cells]))
    return lines
