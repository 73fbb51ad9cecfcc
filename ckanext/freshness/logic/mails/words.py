"""What a notify has done, in words for the command line and for the night's work."""

from __future__ import annotations

from collections.abc import Iterator

import ckan.plugins.toolkit as tk

from ...aging.messages import N_
from ...reporting.notify import Kind, Outcome
from .sending import Report, State, Told

_STATES = {
    State.OFF: N_("Mails are off: ckanext.freshness.notify.enabled switches them on"),
    State.BEGUN: N_(
        "Mails begin here: what is known by now is what the site is like, and nobody is told of it"
    ),
}

_KINDS = {
    Kind.NOT_FRESH: N_("{address}: {count} to update"),
    Kind.DELINQUENT: N_("{address}: {count} whose providers are to be contacted"),
    Kind.RUN: N_("{address}: {count} wrong with the checks"),
}

_FAILED = {
    Outcome.WAITING: N_("not sent, to be tried again: {error}"),
    Outcome.REFUSED: N_("not sent, and given up: {error}"),
    Outcome.UNKNOWN: N_("it may have been sent, and is not sent again: {error}"),
}

_SETTLED = {
    Outcome.FRESH_AGAIN: N_("{count} were updated meanwhile"),
    Outcome.OPTED_OUT: N_("for {count} nobody wants mails"),
    Outcome.NOBODY: N_("for {count} there is nobody to write to"),
    Outcome.GONE: N_("{count} are gone"),
}


def of_mail(mail: Told) -> str:
    """A mail in a line."""
    told = tk._(_KINDS[mail.kind]).format(address=mail.address, count=len(mail.about))
    if mail.outcome in _FAILED:
        return f"{told}; {tk._(_FAILED[mail.outcome]).format(error=mail.error)}"
    return told


def of_report(report: Report) -> str:
    """What a notify did, in a line."""
    if report.state in _STATES:
        return tk._(_STATES[report.state])
    if report.state is State.PLANNED:
        told = [tk._("{count} mails would be sent").format(count=len(report.mails))]
    else:
        sent = sum(mail.outcome is Outcome.SENT for mail in report.mails)
        told = [tk._("{count} mails sent").format(count=sent)]
    if report.waiting:
        words = tk._("{count} wait for the end of a cool-down")
        told.append(words.format(count=report.waiting))
    told += [
        tk._(_SETTLED[outcome]).format(count=count) for outcome, count in report.settled.items()
    ]
    return "; ".join(told)


def troubles(report: Report) -> Iterator[str]:
    """What did not go as it should, but for single mails."""
    if report.left:
        words = tk._(
            "The mail server is away: {count} more mails are left to the next notify. Look at smtp.server."
        )
        yield words.format(count=report.left)
    if report.orphans:
        words = tk._(
            "An earlier notify died while it was writing to {addresses}: nobody knows whether these mails "
            "have gone, and they are not sent again"
        )
        yield words.format(addresses=", ".join(report.orphans))
