"""The command that says what is wrong with a site."""

from __future__ import annotations

import json

import ckan.plugins.toolkit as tk
import click

from ..dates import utc_now
from ..doctor import Severity
from ..doctor.examination import examine


@click.command()
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def doctor(as_json: bool) -> None:
    """Say what is wrong with this site's harvests, checks, copies and mails, and which command helps.

    Ends with 1 if something is wrong.
    """
    findings = list(examine(utc_now()))
    wrong = any(one.severity is Severity.PROBLEM for one in findings)
    if as_json:
        plain = [
            {"severity": one.severity.value, "what": one.what, "advice": one.advice}
            for one in findings
        ]
        click.echo(json.dumps({"ok": not wrong, "findings": plain}, indent=2, ensure_ascii=False))
    else:
        for one in findings:
            click.echo(f"{one.severity.value.upper()}: {one.what}")
            if one.advice:
                click.echo(f"  -> {one.advice}")
        if not wrong:
            click.echo(tk._("Nothing is wrong."))
    if wrong:
        raise click.exceptions.Exit(1)
