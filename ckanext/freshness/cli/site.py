"""Commands about the whole site: the doctor, the nightly run and pruning."""

from __future__ import annotations

import json

import ckan.plugins.toolkit as tk
import click

from ..ckan_adapter.database import DatabaseLostError
from ..dates import utc_now
from ..doctor import Severity, examine
from ..runs import night


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
        for done in night.nightly(night.PARTS, utc_now):
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
    click.echo(night.prune(utc_now()).words)
