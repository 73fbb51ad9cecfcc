"""The command ``ckan freshness changes``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ckan.plugins.toolkit as tk
import click

from ..reporting import tables
from ..reporting.change_stream import FIELDS, change_label
from ..reporting.tables import Row
from .commands import site_user

_PAGE = 1000


@click.command()
@click.option("--since", metavar="DATE", help="Only changes that were noticed then or later.")
@click.option("--organization", metavar="NAME", help="Only datasets of this organization.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
def changes(since: str | None, organization: str | None, as_json: bool, as_csv: bool) -> None:
    """List changes of data, in the order in which they were stored. Includes private datasets."""
    if as_json and as_csv:
        raise click.UsageError("Give --json or --csv, not both.")
    rows = _all(since, organization)
    if as_json or as_csv:
        for piece in (tables.as_json if as_json else tables.as_csv)(rows, FIELDS):
            click.echo(piece, nl=False)
        return
    row = None
    for row in rows:
        about = row["name"] if row["resource_id"] is None else f"{row['name']}/{row['resource']}"
        click.echo(f"{row['seen_at']}  {about}  {change_label(row)}")
    if row is None:
        click.echo(tk._("No data have changed."))


def _all(since: str | None, organization: str | None) -> Iterator[Row]:
    """Yield all changes.

    :raises click.ClickException: an option has an impossible value
    """
    context = {"user": site_user(), "ignore_auth": True}
    asked: dict[str, Any] = {"since": since, "organization": organization, "limit": _PAGE}
    more = True
    while more:
        try:
            answer = tk.get_action("freshness_change_list")(dict(context), dict(asked))
        except tk.ValidationError as error:
            words = (
                f"--{key}: {text}" for key, texts in error.error_dict.items() for text in texts
            )
            raise click.ClickException("; ".join(words)) from error
        except tk.ObjectNotFound as error:
            text = tk._("There is no organization {name}. Give its name or id.")
            raise click.ClickException(text.format(name=organization)) from error
        yield from answer["changes"]
        asked["cursor"], more = answer["cursor"], answer["more"]
