"""Commands about harvest sources: preview the next job, release held deletions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import ckan.plugins.toolkit as tk
import click

from ..dates import utc_now
from ..harvesting.job_report import not_harvested, nothing_found
from ..harvesting.preview import Preview, PreviewEntry
from ..harvesting.preview import preview as make_preview
from ..harvesting.strategy import RecordClass
from ..reporting import harvests
from ..reporting.labels import counted
from ..translation import NN_
from . import progress_of, site_user, source_named


@click.command()
@click.argument("source")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def preview(source: str, as_json: bool) -> None:
    """Show what the next job of SOURCE would do.

    SOURCE is a name or an id. Nothing is written. Exits with 1 if the source could not be read.
    """
    row = source_named(source)
    with progress_of(tk._("records read")) as progress:
        shown = make_preview(row, now=utc_now(), tell=progress)
    if as_json:
        click.echo(json.dumps(shown.as_dict(), indent=2, ensure_ascii=False))
    else:
        for line in preview_lines(shown):
            click.echo(line)
    if not shown.survey.crawl.has_answered:
        raise click.exceptions.Exit(1)


@click.command()
@click.argument("source")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def release(source: str, yes: bool) -> None:
    """Let the next job of SOURCE delete the held datasets.

    SOURCE is a name or an id. Shows the list and asks for confirmation. The release applies only to this
    list and to the next job.
    """
    context = {"user": site_user(), "ignore_auth": True}
    source_id = source_named(source).id
    hold = tk.get_action("freshness_harvest_hold_show")(dict(context), {"id": source_id})
    if hold is None:
        raise click.ClickException(
            tk._("This source has no held deletions. There is nothing to release.")
        )
    click.echo(f"{hold['held_at']}: {hold['reason']}")
    for record in hold["held"]:
        click.echo(_deletion(record))
    if hold["released_at"]:
        click.echo(
            tk._("Already released by {user} on {moment}").format(
                user=hold["released_by"], moment=hold["released_at"]
            )
        )
        return
    if not yes:
        forms = NN_(
            "Let the next job delete this {count} dataset?",
            "Let the next job delete these {count} datasets?",
        )
        click.confirm(counted(forms, hold["count"]), abort=True)
    try:
        tk.get_action("freshness_harvest_release")(
            dict(context), {"id": source_id, "list_id": hold["list_id"]}
        )
    except tk.ValidationError as error:
        raise click.ClickException(" ".join(error.error_dict["list_id"])) from error
    forms = NN_("Released: {count} dataset", "Released: {count} datasets")
    click.echo(counted(forms, hold["count"]))


def preview_lines(shown: Preview) -> list[str]:
    """Return the lines of a preview: totals, and each record that is not unchanged."""
    labels = {
        RecordClass.NEW: tk._("New"),
        RecordClass.CHANGED: tk._("Changed"),
        RecordClass.MOVED: tk._("Moved"),
        RecordClass.DELETED: tk._("Deleted"),
        RecordClass.UNCHANGED: tk._("Unchanged"),
    }
    source = shown.source
    lines = [
        f"{source.title} ({source.url})",
        tk._("Currently harvested: {count}").format(count=shown.survey.current),
        *source.warnings,
    ]
    if not shown.survey.crawl.has_answered:
        lines.append(tk._("The source could not be read. A job would change nothing."))
    lines += [
        tk._("Could not be read: {error}").format(error=error)
        for error in shown.survey.crawl.errors
    ]
    if (nothing := nothing_found(shown.survey)) is not None:
        lines.append(str(nothing))
    lines += map(str, shown.source_warnings)
    for others in not_harvested(shown.survey):
        words = tk._("Listed, but not harvested: {kind}, for example {url}")
        kind = f"{others['count']} x {harvests.kind(others['kind'])}"
        lines.append(words.format(kind=kind, url=others["examples"][0]))
    for record_class, label in labels.items():
        is_listed = record_class is not RecordClass.UNCHANGED
        lines += _entries(
            label,
            shown.changes[record_class],
            is_listed=is_listed,
            is_deletion=record_class is RecordClass.DELETED,
        )
    lines += _entries(tk._("Couldn't be read"), shown.failed)
    # What could not be read is among the records that are kept.
    failed = {entry.guid for entry in shown.failed}
    unseen = [entry for entry in shown.kept if entry.guid not in failed]
    lines += _entries(tk._("Kept for another reason"), unseen)
    lines += _entries(tk._("No longer in the source, kept"), shown.absent)
    if shown.held and (brake := shown.survey.brake):
        forms = NN_(
            "The brake would hold {count} deletion: {reason}",
            "The brake would hold {count} deletions: {reason}",
        )
        lines.append(counted(forms, len(shown.held), reason=brake.reason))
        lines += [_deletion(asdict(entry)) for entry in shown.held]
    return lines


def _line(record: Mapping[str, Any], why: str) -> str:
    """Return the line of a record: its title, its URL, and why it is listed. Reasons may begin with the URL."""
    url, title = record["url"], record["title"]
    about = f"{title} ({url})" if title else url
    why = why.removeprefix(f"{url}: ")
    return f"  {about}: {why}" if why else f"  {about}"


def _deletion(record: Mapping[str, Any]) -> str:
    return _line(record, harvests.deletion(record))


def _kept_or_written(record: Mapping[str, Any]) -> str:
    return _line(record, harvests.reason(record["reason"], record["reason_code"]))


def _entries(
    label: str, entries: list[PreviewEntry], *, is_listed: bool = True, is_deletion: bool = False
) -> list[str]:
    lines = [f"{label}: {len(entries)}"]
    if is_listed:
        lines += map(_deletion if is_deletion else _kept_or_written, map(asdict, entries))
    return lines
