"""The command ``ckan freshness notify``."""

from __future__ import annotations

import json

import ckan.plugins.toolkit as tk
import click

from ..dates import utc_now
from ..mails import digests
from ..mails.digests import MailReport, NotifyState


@click.command()
@click.option(
    "--dry-run", is_flag=True, help="Only print the mails that would be sent, and their recipients."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def notify(dry_run: bool, as_json: bool) -> None:
    """Mail maintainers about datasets and links that need them, and sysadmins about problems.

    Each person gets at most one mail a day, with all news. Each piece of news is sent once. If the mail
    server is away, the next notify tries again. The first notify after mails were switched on sends
    nothing. Exits with 1 if a mail was not sent.
    """
    try:
        report = digests.notify_all(utc_now, dry_run=dry_run)
    except digests.NotifyError as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps(_plain(report), indent=2, ensure_ascii=False))
    else:
        _print(report)
    if not report.is_complete:
        raise click.exceptions.Exit(1)


def _print(report: MailReport) -> None:
    for mail in report.mails:
        click.echo(digests.mail_line(mail), err=mail.failure is not None)
        if report.state is NotifyState.PLANNED:
            for kind, lines in mail.about.items():
                if len(mail.about) > 1:
                    click.echo(f"  {digests.kind_words(kind, len(lines))}:")
                for line in lines:
                    click.echo(f"  {line}")
    done, *left = digests.report_lines(report)
    click.echo(done)
    for line in left:
        click.echo(line, err=True)
    if report.state is NotifyState.PLANNED:
        click.echo(tk._("Nothing was sent."))
    if report.problem:
        click.echo(tk._("Warning: {problem}").format(problem=report.problem), err=True)


def _plain(report: MailReport) -> dict[str, object]:
    return {
        "state": report.state.value,
        "mails": [
            {
                "address": mail.address,
                "about": mail.about,
                "failure": None if mail.failure is None else mail.failure.value,
                "error": mail.error,
            }
            for mail in report.mails
        ],
        "waiting": report.waiting,
        "left": report.left,
        "problem": report.problem,
    }
