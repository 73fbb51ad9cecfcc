"""The command that tells how fresh the catalogue is."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import ckan.plugins.toolkit as tk
import click

from ..ckan_adapter import SEARCH_FAULTS
from ..dates import utc_now
from ..reporting import lists, table_access
from ..reporting import report as tables
from ..reporting.counts import StatusCounts
from ..reporting.labels import fresh_share, hosts_label
from ..reporting.table_request import TableRequest

_EVERYBODY = {"ignore_auth": True, "user": "", "auth_user_obj": None}


@click.command()
@click.option("--since", metavar="DATE|RUN|last", help="Changes since then, not since yesterday.")
@click.option("--organization", metavar="NAME", help="Of this organization alone.")
@click.option("--hosts", "with_hosts", is_flag=True, help="Also where files are hosted.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def report(since: str | None, organization: str | None, with_hosts: bool, as_json: bool) -> None:
    """Tell how fresh the datasets are, and what changed; keep today's counts for the dashboard.

    All datasets are counted here, private ones too; what is kept is of public ones alone.
    """
    now = utc_now()
    try:
        told = _told(since, organization, with_hosts, now)
        table_access.record(now)
    except tk.ValidationError as error:
        words = (f"--{key}: {text}" for key, every in error.error_dict.items() for text in every)
        raise click.ClickException("; ".join(words)) from error
    except tk.ObjectNotFound as error:
        words = tk._("There is no organization {name}")
        raise click.ClickException(words.format(name=organization)) from error
    except SEARCH_FAULTS as error:
        words = tk._("Solr does not answer, so that nothing could be counted: {error}")
        raise click.ClickException(words.format(error=error)) from error
    if as_json:
        click.echo(json.dumps(told, indent=2))
        return
    for line in _lines(told):
        click.echo(line)


def _told(
    since: str | None, organization: str | None, with_hosts: bool, now: datetime
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for table in (tables.STATUSES, tables.CHANGES):
        asked = table_access.asked(
            _EVERYBODY, table, {"since": since, "organization": organization}, now
        )
        found[table.name] = [
            {key: row.get(key) for key in table.fields} for row in tables.rows(table, asked)
        ]
    if with_hosts:
        name = asked.organization
        datasets = (
            lists.datasets(TableRequest(_EVERYBODY, now, organization=name)) if name else None
        )
        ids = None if datasets is None else [row["id"] for row in datasets]
        found["hosts"] = lists.host_rows(lists.count_hosts(ids))
    return found


def _lines(told: dict[str, Any]) -> list[str]:
    lines = [
        f"{row['status']:<12} {row['datasets']:>8} {row['percent']:>6} %"
        for row in told["statuses"]
    ]
    lines.append(
        fresh_share(StatusCounts({row["status"]: row["datasets"] for row in told["statuses"]}))
    )
    lines.append("")
    for row in told["changes"]:
        lines.append(
            f"{row['changed_at']}  {row['name']}  {row['from_status']} -> {row['to_status']}"
            f"  ({row['cause']}{', ' + row['evidence'] if row['evidence'] else ''})"
        )
    if not told["changes"]:
        lines.append(tk._("No status has changed."))
    if "hosts" in told:
        names = [hosts_label(row["name"]) for row in told["hosts"]]
        width = max(map(len, names))
        lines.append("")
        lines += [
            f"{name:<{width}} {row['resources']:>8} {row['percent']:>6} %"
            for name, row in zip(names, told["hosts"], strict=True)
        ]
    return lines
