"""The command ``ckan freshness notify``."""

from __future__ import annotations

import json

import ckan.plugins.toolkit as tk
import click

from ..dates import utc_now
from ..mails import delivery, summary
from ..mails.delivery import DeliveryState, MailReport


@click.command()
@click.option(
    "--dry-run", is_flag=True, help="Only print the mails that would be sent, and their recipients."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def notify(dry_run: bool, as_json: bool) -> None:
    """Mail maintainers about datasets and links that need them, and sysadmins about problems.

    Each person gets at most one mail a day, with all news. Each piece of news is sent once. If the mail
    server refuses a mail, the next notify tries again. The first notify after mails were switched on sends
    nothing. Exits with 1 if a mail was not sent.
    """
    try:
        report = delivery.notify_all(utc_now, dry_run=dry_run)
    except (delivery.MailsRunningError, delivery.MailerNotConfigured) as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps(_plain(report), indent=2, ensure_ascii=False))
    else:
        _print(report)
    if not report.is_complete:
        raise click.exceptions.Exit(1)


def _print(report: MailReport) -> None:
    for mail in report.mails:
        click.echo(summary.mail_line(mail), err=mail.error is not None)
        if report.state is DeliveryState.PLANNED:
            for kind, lines in mail.about.items():
                if len(mail.about) > 1:
                    click.echo(f"  {summary.kind_words(kind, len(lines))}:")
                for line in lines:
                    click.echo(f"  {line}")
    click.echo(summary.report_line(report))
    for line in summary.problems(report):
        click.echo(line, err=True)
    if report.state is DeliveryState.PLANNED:
        click.echo(tk._("Nothing was sent."))
    if report.problem:
        click.echo(tk._("Warning: {problem}").format(problem=report.problem), err=True)


def _plain(report: MailReport) -> dict[str, object]:
    return {
        "state": report.state.value,
        "mails": [
            {
                "address": mail.address,
                "about": {kind.value: lines for kind, lines in mail.about.items()},
                "outcome": None if mail.outcome is None else mail.outcome.value,
                "error": mail.error,
            }
            for mail in report.mails
        ],
        "waiting": report.waiting,
        "settled": {outcome.value: count for outcome, count in report.settled.items()},
        "orphans": report.orphans,
        "left": report.left,
        "problem": report.problem,
    }
