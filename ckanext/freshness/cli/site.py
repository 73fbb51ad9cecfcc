"""Commands about the whole site: doctor, nightly, refresh, prune, notify; and the group with all commands."""

from __future__ import annotations

from textwrap import indent
from typing import Any
from uuid import uuid4

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import click

from ..ckan_adapter.database import require_tables
from ..dates import utc_now
from ..doctor import checks, examine
from ..doctor.findings import Severity
from ..interfaces import IFreshnessOperations, NightPart
from ..mails import digests
from ..mails.report import NotifyState, mail_line, report_lines
from ..reporting.labels import counted, refresh_summary
from ..runs import night
from ..status.indexing import SolrAwayError, solr_away_in_words
from ..status.refresh import refresh as refresh_statuses
from ..translation import NN_
from . import ReportingGroup, progress_of
from .checks import check, report, runs
from .serve import serve
from .sources import preview, release


@click.command()
def doctor() -> None:
    """Report what is wrong with this site, and what helps.

    Checks harvests, runs, statuses, copies, mails, services and workers. Exits with 1 if it finds
    a problem. Changes nothing.
    """
    findings = list(examine(utc_now()))
    has_problem = any(finding.severity is Severity.PROBLEM for finding in findings)
    worst_first = list(Severity)
    for finding in sorted(findings, key=lambda one: worst_first.index(one.severity)):
        click.echo(f"{finding.severity.value.upper()}: {finding.text}")
        if finding.advice:
            click.echo(f"  -> {finding.advice}")
    warnings = sum(finding.severity is Severity.WARNING for finding in findings)
    if not has_problem and warnings:
        forms = NN_("No problems, but {count} warning.", "No problems, but {count} warnings.")
        click.echo(counted(forms, warnings))
    elif not has_problem:
        click.echo(tk._("No problems found."))
    click.echo(tk._("Looked at: {subjects}").format(subjects=", ".join(checks())))
    if has_problem:
        raise click.exceptions.Exit(1)


def parts() -> list[NightPart]:
    """Return the parts of the nightly run in their order: later parts use results of earlier ones."""
    return [
        NightPart("check", night.check, writes="check"),
        NightPart("refresh", night.statuses),
        *(
            part
            for plugin in p.PluginImplementations(IFreshnessOperations)
            for part in plugin.night_parts()
        ),
        NightPart("prune", night.prune),
        NightPart("report", night.report),
        # A failure of the mails is not stored, because the stored ones are reported by mail.
        NightPart("notify", night.mails, is_noted=False),
    ]


@click.command()
def nightly() -> None:
    """Do all nightly work; serve or cron calls this.

    Runs check, refresh, the parts of other plugins, prune, report and notify. If one of them fails, the
    others still run. Exits with 1 if one failed, or if another nightly run is in progress.
    """
    failed = []
    for name, done in night.nightly(parts(), utc_now):
        click.echo(f"{name}: {done.words}", err=not done.complete)
        if not done.complete:
            failed.append(name)
    if failed:
        words = tk._("These parts of the nightly run failed: {parts}. Their lines above say why.")
        raise click.ClickException(words.format(parts=", ".join(failed)))


@click.command()
def prune() -> None:
    """Delete runs and changes that are kept no longer."""
    click.echo(night.prune(utc_now()).words)


_HEALED = NN_(
    "Indexed {count} dataset whose document in the search index was old",
    "Indexed {count} datasets whose documents in the search index were old",
)
_REAPED = NN_(
    "Deleted the rows of {count} purged dataset", "Deleted the rows of {count} purged datasets"
)


@click.command()
@click.option("--all", "everything", is_flag=True, help="Compute the status of every dataset anew.")
def refresh(everything: bool) -> None:
    """Write the statuses that time has changed.

    Call it every ten minutes: serve does so, or cron. Use --all once after installing this extension, and
    after changing its options. Two refreshes may run at once, and a refresh completes an interrupted one.
    Exits with 1 if a dataset could not be indexed.
    """
    try:
        with progress_of(tk._("datasets")) as progress:
            done = refresh_statuses(
                utc_now(),
                run_id=str(uuid4()),
                everything=everything,
                progress=progress,
            )
    except SolrAwayError as error:
        raise click.ClickException(solr_away_in_words(error)) from error
    click.echo(refresh_summary(done.datasets, done.changed, done.statuses))
    _tell_at_once()
    for forms, count in ((_HEALED, done.healed), (_REAPED, done.reaped)):
        if count:
            click.echo(counted(forms, count))
    for failure in done.failures:
        click.echo(failure.in_words(), err=True)
    if done.failures:
        raise click.exceptions.Exit(1)


def _tell_at_once() -> None:
    """Send the mails that wait for no night. If that fails, the refresh goes on."""
    try:
        report = digests.notify_at_once(utc_now)
    except digests.NotifyError as error:
        click.echo(str(error), err=True)
        return
    for mail in report.mails if report is not None else ():
        click.echo(mail_line(mail), err=mail.failure is not None)


@click.command()
@click.option(
    "--dry-run",
    is_flag=True,
    help="Only print the mails that would be sent, also before mails are on.",
)
def notify(dry_run: bool) -> None:
    """Mail people about the datasets and links that need them.

    Sysadmins get a mail about problems of the site. Each person gets at most one mail a day, with all news.
    Each piece of news is sent once. If the mail server is away, the next notify tries again. The first
    notify after mails were switched on sends nothing. Exits with 1 if a mail was not sent.
    """
    report = digests.notify_all(utc_now, dry_run=dry_run)
    for mail in report.mails:
        click.echo(mail_line(mail), err=mail.failure is not None)
        if mail.planned is not None:
            click.echo(tk._("Subject: {subject}").format(subject=mail.planned.subject))
            click.echo(indent(mail.planned.text, "  "))
    done, *left = report_lines(report)
    click.echo(done)
    for line in left:
        click.echo(line, err=True)
    if report.state is NotifyState.PLANNED:
        click.echo(tk._("Nothing was sent."))
    if report.problem:
        click.echo(tk._("Warning: {problem}").format(problem=report.problem), err=True)
    if not report.is_complete:
        raise click.exceptions.Exit(1)


@click.group(cls=ReportingGroup)
def freshness() -> None:
    """Harvest safely, check URLs, and report how fresh datasets are."""


freshness.add_command(doctor)
for _command in (preview, release, check, refresh, nightly, prune, report, runs, notify, serve):
    _callback: Any = _command.callback
    _command.callback = require_tables(_callback)
    freshness.add_command(_command)
