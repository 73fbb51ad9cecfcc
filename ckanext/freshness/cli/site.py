"""Commands about the whole site: the doctor, the nightly run, pruning and uninstalling."""

from __future__ import annotations

import json

import ckan.plugins.toolkit as tk
import click

from ..aging.messages import NN_
from ..ckan_adapter.lost_database import DatabaseLostError
from ..dates import utc_now
from ..doctor import Severity
from ..doctor.examination import examine
from ..reporting.labels import counted
from ..runs import night, night_parts
from ..status import removal
from .progress import ProgressCounter


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(as_json: bool) -> None:
    """Report what is wrong with this site, and which command helps.

    Checks harvests, runs, statuses, copies, mails, options, services and workers. Exits with 1 if it finds
    a problem. Changes nothing.
    """
    findings = list(examine(utc_now()))
    has_problem = any(finding.severity is Severity.PROBLEM for finding in findings)
    if as_json:
        plain = [
            {
                "severity": finding.severity.value,
                "what": finding.text,
                "advice": finding.advice,
            }
            for finding in findings
        ]
        result = {"ok": not has_problem, "findings": plain}
        click.echo(json.dumps(result, indent=2, ensure_ascii=False))
    else:
        for finding in findings:
            click.echo(f"{finding.severity.value.upper()}: {finding.text}")
            if finding.advice:
                click.echo(f"  -> {finding.advice}")
        if not has_problem:
            click.echo(tk._("No problems found."))
    if has_problem:
        raise click.exceptions.Exit(1)


@click.command()
def nightly() -> None:
    """Do all nightly work; call this by cron.

    Runs check, refresh, iati update, prune, report and notify. If one of them fails, the others still
    run. Exits with 1 if one failed, or if another nightly run is in progress.
    """
    failed = []
    try:
        for done in night.nightly(night_parts.PARTS, utc_now):
            report = done.report
            click.echo(f"{done.name}: {report.words}", err=not report.complete)
            if not report.complete:
                failed.append(done.name)
    except (night.NightRunningError, DatabaseLostError) as error:
        raise click.ClickException(str(error)) from error
    if failed:
        words = tk._("These parts of the nightly run failed: {parts}. Their lines above say why.")
        raise click.ClickException(words.format(parts=", ".join(failed)))


@click.command()
def prune() -> None:
    """Delete runs, status changes and data changes whose retention has ended."""
    click.echo(night_parts.prune(utc_now()).words)


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def uninstall(yes: bool) -> None:
    """Remove this extension's extras from all datasets.

    Run this before you remove the plugin from ckan.plugins, and stop edits until then: while the plugin is
    enabled, every edit of a dataset writes its extras again.
    """
    batches = removal.packages()
    count = sum(len(ids) for _, ids in batches)
    if not yes:
        forms = NN_(
            "Remove the extras from {count} dataset?", "Remove the extras from {count} datasets?"
        )
        click.confirm(counted(forms, count), abort=True)
    counter = ProgressCounter(tk._("datasets"))
    for done in removal.take_out(batches):
        counter.show(done)
    counter.end()
    forms = NN_(
        "Removed the extras from {count} dataset.", "Removed the extras from {count} datasets."
    )
    click.echo(counted(forms, count))
    click.echo(
        tk._(
            "Next: remove the tables with 'ckan db downgrade -p freshness', then remove the plugins from "
            "ckan.plugins."
        )
    )
