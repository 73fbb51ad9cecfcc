"""Commands that report: datasets by status, and runs."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import ckan.plugins.toolkit as tk
import click

from ..ckan_adapter.packages import SEARCH_FAULTS
from ..ckan_adapter.services import in_words
from ..dates import utc_now
from ..reporting import counts, metrics, report_tables, visibility
from ..reporting.labels import label
from . import found_lines, site_user


@click.command()
@click.option(
    "--since", metavar="DATE|RUN|last", help="Show status changes since then. Default: yesterday."
)
@click.option("--organization", metavar="NAME", help="Only datasets of this organization.")
@click.option("--hosts", "with_hosts", is_flag=True, help="Also count resources by host.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def report(since: str | None, organization: str | None, with_hosts: bool, as_json: bool) -> None:
    """Count datasets by status, and list status changes.

    Also stores today's counts for the dashboard. The printed counts include private datasets. The stored counts
    cover only public ones.
    """
    now = utc_now()
    try:
        found = _tables(since, organization, with_hosts, now)
        counts.record(now)
    except tk.ValidationError as error:
        words = (f"--{key}: {text}" for key, texts in error.error_dict.items() for text in texts)
        raise click.ClickException("; ".join(words)) from error
    except tk.ObjectNotFound as error:
        words = tk._("There is no organization {name}. Give its name or id.")
        raise click.ClickException(words.format(name=organization)) from error
    except SEARCH_FAULTS as error:
        words = tk._("Solr does not answer, so that nothing could be counted: {error}")
        raise click.ClickException(words.format(error=in_words(error))) from error
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    for line in _lines(found):
        click.echo(line)


def _tables(
    since: str | None, organization: str | None, with_hosts: bool, now: datetime
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for table in (report_tables.STATUSES, report_tables.CHANGES):
        asked = report_tables.request_for(
            visibility.SITE, table, {"since": since, "organization": organization}, now
        )
        found[table.name] = [
            {key: row.get(key) for key in table.fields} for row in table.read(asked)
        ]
    if with_hosts:
        hosts = counts.count_hosts(visibility.SITE, asked.organization)
        found["hosts"] = counts.rows_of_hosts(hosts)
    return found


def _percent(share: float | None) -> str:
    """Return a share as text; empty if it is of unknown freshness, of which there is none."""
    return "" if share is None else f"{share:>6} %"


def _lines(found: dict[str, Any]) -> list[str]:
    lines = [
        f"{label('status', row['status']):<18} {row['datasets']:>8} {_percent(row['percent'])}".rstrip()
        for row in found["statuses"]
    ]
    statuses = {row["status"]: row["datasets"] for row in found["statuses"]}
    lines += [counts.fresh_share(counts.StatusCounts(statuses)), ""]
    for row in found["changes"]:
        before, after = (label("status", row[key]) for key in ("from_status", "to_status"))
        why = label("cause", row["cause"])
        lines.append(f"{row['changed_at']}  {row['name']}  {before} -> {after}  ({why})")
    if not found["changes"]:
        lines.append(tk._("No status has changed."))
    if "hosts" in found:
        names = [label("host", row["name"]) for row in found["hosts"]]
        width = max(map(len, names))
        lines.append("")
        lines += [
            f"{name:<{width}} {row['resources']:>8} {row['percent']:>6} %"
            for name, row in zip(names, found["hosts"], strict=True)
        ]
    return lines


@click.command()
@click.argument("run", required=False)
@click.option(
    "--limit",
    type=click.IntRange(1, 1000),
    default=20,
    show_default=True,
    help="Number of runs to list.",
)
@click.option("--hdx", is_flag=True, help="Also print the counts in the layout of HDX's reports.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def runs(run: str | None, limit: int, hdx: bool, as_json: bool) -> None:
    """List the newest runs, or show RUN (an id, or last).

    The last run is the newest check of all links.
    """
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
    for line in (_line(shown), *found_lines(shown["resources"])):
        click.echo(line)
    if hdx:
        click.echo("\n\n".join(("", *metrics.in_layout_of_hdx(shown))))


def _line(run: dict[str, Any]) -> str:
    if run["error"]:
        state = tk._("ended early: {error}").format(error=run["error"])
    elif run["ended_at"] is None:
        state = tk._("not ended")
    else:
        state = tk._("{number} checked, ended {moment}").format(
            number=run["checked"] or 0, moment=run["ended_at"]
        )
    return f"{run['id']}  {run['started_at']}  {run['kind']}  {state}"
