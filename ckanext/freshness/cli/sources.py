"""Commands about harvest sources: preview the next job, release held deletions, update an IATI registry."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import click

from ckanext.freshness_iati import cycle
from ckanext.freshness_iati.cycle import update_all
from ckanext.freshness_iati.datasets import sources
from ckanext.freshness_iati.report import CycleReport
from ckanext.freshness_iati.source_type import SOURCE_TYPE

from ..aging.messages import NN_
from ..ckan_adapter.database import require_tables
from ..dates import utc_now
from ..harvesting.job_report import not_harvested, nothing_found
from ..harvesting.messages import with_code
from ..harvesting.preview import Preview, PreviewEntry
from ..harvesting.preview import preview as make_preview
from ..harvesting.strategy import RecordClass
from ..reporting import harvests
from ..reporting.labels import counted
from ..runs.night import PartReport
from . import ReportingGroup, check_progress, progress_of, site_user, source_named


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
    if not shown.survey.crawled.has_answered:
        raise click.exceptions.Exit(1)


@click.command()
@click.argument("source")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--undo", is_flag=True, help="Take the release back, until a job reads the source.")
def release(source: str, yes: bool, undo: bool) -> None:
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
        reason = with_code(record["reason"], record["reason_code"])
        click.echo(_deletion(record["url"], reason, record.get("own_url"), record["title"]))
    if undo:
        _decide("freshness_harvest_take_back", context, hold)
        forms = NN_("Held again: {count} dataset", "Held again: {count} datasets")
        click.echo(counted(forms, hold["count"]))
        return
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
    _decide("freshness_harvest_release", context, hold)
    forms = NN_("Released: {count} dataset", "Released: {count} datasets")
    click.echo(counted(forms, hold["count"]))


def _decide(action: str, context: dict[str, Any], hold: dict[str, Any]) -> None:
    try:
        tk.get_action(action)(dict(context), {"id": hold["source_id"], "list_id": hold["list_id"]})
    except tk.ValidationError as error:
        raise click.ClickException(" ".join(error.error_dict["list_id"])) from error


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
    if not shown.survey.crawled.has_answered:
        lines.append(tk._("The source could not be read. A job would change nothing."))
    lines += [
        tk._("Could not be read: {error}").format(error=error)
        for error in shown.survey.crawled.errors
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
    lines += [
        tk._("No field for {property}").format(property=name) for name in shown.survey.unmapped
    ]
    if brake := shown.survey.brake:
        held = len(brake.held)
        forms = NN_(
            "The brake would hold {count} deletion: {reason}",
            "The brake would hold {count} deletions: {reason}",
        )
        lines.append(counted(forms, held, reason=brake.reason))
        lines += [_deletion_of(entry) for entry in shown.held]
    return lines


def _deletion_of(entry: PreviewEntry) -> str:
    return _deletion(
        entry.url, with_code(entry.reason, entry.reason_code), entry.own_url, entry.title
    )


def _deletion(url: str, reason: str, answer: str | None, title: str | None) -> str:
    """Return the line of a record that would be deleted: its title, its URL, why, and what the URL answered."""
    return f"{_record(url, reason, title)} {harvests.own_url(reason, answer)}".rstrip()


def _record(url: str, reason: str, title: str | None) -> str:
    """Return the line of a record: its title, its URL, and why it is listed. Reasons may begin with the URL."""
    about = f"{title} ({url})" if title else url
    why = harvests.reason(reason).removeprefix(f"{url}: ")
    return f"  {about}: {why}" if why else f"  {about}"


def _entries(
    label: str, entries: list[PreviewEntry], *, is_listed: bool = True, is_deletion: bool = False
) -> list[str]:
    lines = [f"{label}: {len(entries)}"]
    if is_listed:
        lines += map(_deletion_of if is_deletion else _kept_or_written, entries)
    return lines


def _kept_or_written(entry: PreviewEntry) -> str:
    return _record(entry.url, with_code(entry.reason, entry.reason_code), entry.title)


@click.group(cls=ReportingGroup)
def iati() -> None:
    """Update IATI registries: their datasets, and the last known good copies of their files."""


@iati.command()
@click.argument("source")
@click.option("--strict", is_flag=True, help="Check failing files without a pause.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
@require_tables
def update(source: str, strict: bool, as_json: bool) -> None:
    """Run an update cycle of SOURCE (id or name).

    Reads the registry, deletes what is gone, checks each dataset's file, then writes index files and bulk
    ZIPs. If it is killed, the next cycle completes its work. Exits with 1 if not everything was done; files
    that fail do not count.
    """
    row = source_named(source)
    if row.type != SOURCE_TYPE:
        words = tk._("{name} is no source of an IATI registry, but of the type {type}")
        raise click.ClickException(words.format(name=source, type=row.type))
    if not p.plugin_loaded("iati_harvester"):
        raise click.ClickException(tk._("Add iati_harvester to ckan.plugins"))
    from ..harvesters import harvest_here

    show_reports([run_cycle(row, strict=strict, harvest=harvest_here)], as_json=as_json)


def update_registries(now: datetime) -> PartReport:
    """Run a cycle of each source, as a part of the nightly run."""
    if not p.plugin_loaded("iati_harvester"):
        return PartReport(tk._("There is no source of an IATI registry"))
    from ..harvesters import harvest_here

    return update_all(harvest_here)


def run_cycle(row: Any, **options: Any) -> CycleReport:
    """Run a cycle with its progress on the terminal.

    :raises CycleRunningError: another cycle of the source runs
    :raises LocksLostError: it lost its lock
    :raises settings.OptionError: the site has no place for copies
    :raises StoreError: the store cannot be used
    """
    with check_progress() as show:
        return cycle.run_cycle(row, utc_now, show, **options)


def check_files(package_ids: Sequence[str] | None, *, strict: bool, as_json: bool) -> None:
    """Check the files of all sources: ``ckan freshness check --policy iati``.

    :param package_ids: check the files of these datasets only
    """
    options = {"strict": strict, "package_ids": package_ids}
    rows = sources()
    if not rows:
        click.echo("There is no source of an IATI registry: no file was checked.", err=as_json)
    show_reports([run_cycle(row, **options) for row in rows], as_json=as_json)


def show_reports(reports: Iterable[CycleReport], *, as_json: bool) -> None:
    """Print the reports of cycles, and exit with 1 if one is not complete."""
    complete = True
    for report in reports:
        complete = complete and report.complete
        if as_json:
            plain = {
                "run": report.run_id,
                "source": report.source,
                **report.figures,
                "zips_made_anew": report.published,
                "stopped": report.stopped,
                "errors": report.errors,
                "remarks": report.remarks,
            }
            click.echo(json.dumps(plain, ensure_ascii=False))
            continue
        for line in report.lines():
            click.echo(line)
        for line in (*report.remarks, *report.complaints()):
            click.echo(line, err=True)
    if not complete:
        raise click.exceptions.Exit(1)
