"""The command ``ckan freshness report``."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import ckan.plugins.toolkit as tk
import click

from ..ckan_adapter.packages import SEARCH_FAULTS
from ..dates import utc_now
from ..reporting import dataset_tables, history, report_tables, visibility
from ..reporting.counts import StatusCounts
from ..reporting.labels import fresh_share, label
from ..reporting.tables import TableRequest


@click.command()
@click.option(
    "--since", metavar="DATE|RUN|last", help="Show status changes since then. Default: yesterday."
)
@click.option("--organization", metavar="NAME", help="Only datasets of this organization.")
@click.option("--hosts", "with_hosts", is_flag=True, help="Also count resources by host.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def report(since: str | None, organization: str | None, with_hosts: bool, as_json: bool) -> None:
    """Count datasets by status, list status changes, and store today's counts for the dashboard.

    The printed counts include private datasets. The stored counts cover only public ones.
    """
    now = utc_now()
    try:
        found = _tables(since, organization, with_hosts, now)
        history.record(now)
    except tk.ValidationError as error:
        words = (f"--{key}: {text}" for key, texts in error.error_dict.items() for text in texts)
        raise click.ClickException("; ".join(words)) from error
    except tk.ObjectNotFound as error:
        words = tk._("There is no organization {name}. Give its name or id.")
        raise click.ClickException(words.format(name=organization)) from error
    except SEARCH_FAULTS as error:
        words = tk._("Solr does not answer, so that nothing could be counted: {error}")
        raise click.ClickException(words.format(error=error)) from error
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
        name = asked.organization
        datasets = (
            dataset_tables.DATASETS.rows(TableRequest(visibility.SITE, now, organization=name))
            if name
            else None
        )
        ids = None if datasets is None else [row["id"] for row in datasets]
        found["hosts"] = history.host_rows(history.count_hosts(ids))
    return found


def _lines(found: dict[str, Any]) -> list[str]:
    lines = [
        f"{row['status']:<12} {row['datasets']:>8} {row['percent']:>6} %"
        for row in found["statuses"]
    ]
    lines.append(
        fresh_share(StatusCounts({row["status"]: row["datasets"] for row in found["statuses"]}))
    )
    lines.append("")
    for row in found["changes"]:
        lines.append(
            f"{row['changed_at']}  {row['name']}  {row['from_status']} -> {row['to_status']}"
            f"  ({row['cause']}{', ' + row['evidence'] if row['evidence'] else ''})"
        )
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
