"""What a notify has done, in words for the command line and for the night's work."""

from __future__ import annotations

from collections.abc import Iterator

import ckan.plugins.toolkit as tk

from ..aging.messages import N_, NN_
from ..reporting.labels import counted
from .delivery import DeliveryState, MailReport, SentMail
from .rules import MailKind, MailOutcome

_STATES = {
    DeliveryState.OFF: N_("Mails are off: ckanext.freshness.notify.enabled switches them on"),
    DeliveryState.BEGUN: N_(
        "Mails begin here: what is known by now is what the site is like, and nobody is told of it"
    ),
}

_KINDS = {
    MailKind.NOT_FRESH: NN_(
        "{address}: {count} dataset to update", "{address}: {count} datasets to update"
    ),
    MailKind.DELINQUENT: NN_(
        "{address}: {count} dataset whose provider is to be contacted",
        "{address}: {count} datasets whose providers are to be contacted",
    ),
    MailKind.RUN: NN_(
        "{address}: {count} thing that went wrong at night",
        "{address}: {count} things that went wrong at night",
    ),
}

_FAILED = {
    MailOutcome.WAITING: N_("not sent, to be tried again: {error}"),
    MailOutcome.REFUSED: N_("not sent, and given up: {error}"),
    MailOutcome.UNKNOWN: N_("it may have been sent, and is not sent again: {error}"),
}

_SETTLED = {
    MailOutcome.FRESH_AGAIN: NN_(
        "{count} dataset was updated meanwhile", "{count} datasets were updated meanwhile"
    ),
    MailOutcome.OPTED_OUT: NN_(
        "for {count} dataset nobody wants mails", "for {count} datasets nobody wants mails"
    ),
    MailOutcome.NOBODY: NN_(
        "for {count} dataset there is nobody to write to",
        "for {count} datasets there is nobody to write to",
    ),
    MailOutcome.GONE: NN_("{count} dataset is gone", "{count} datasets are gone"),
}


def of_mail(mail: SentMail) -> str:
    """A mail in a line."""
    told = counted(_KINDS[mail.kind], len(mail.about), address=mail.address)
    if mail.outcome in _FAILED:
        return f"{told}; {tk._(_FAILED[mail.outcome]).format(error=mail.error)}"
    return told


def of_report(report: MailReport) -> str:
    """What a notify did, in a line."""
    if report.state in _STATES:
        return tk._(_STATES[report.state])
    if report.state is DeliveryState.PLANNED:
        forms = NN_("{count} mail would be sent", "{count} mails would be sent")
        told = [counted(forms, len(report.mails))]
    else:
        sent = sum(mail.outcome is MailOutcome.SENT for mail in report.mails)
        told = [counted(NN_("{count} mail sent", "{count} mails sent"), sent)]
    if report.waiting:
        forms = NN_(
            "{count} dataset waits for the end of a cool-down",
            "{count} datasets wait for the end of a cool-down",
        )
        told.append(counted(forms, report.waiting))
    told += [counted(_SETTLED[outcome], count) for outcome, count in report.settled.items()]
    return "; ".join(told)


def troubles(report: MailReport) -> Iterator[str]:
    """What did not go as it should, but for single mails."""
    if report.left:
        forms = NN_(
            "The mail server is away: {count} more mail is left to the next notify. Look at smtp.server.",
            "The mail server is away: {count} more mails are left to the next notify. Look at smtp.server.",
        )
        yield counted(forms, report.left)
    if report.orphans:
        words = tk._(
            "An earlier notify died while it was writing to {addresses}: nobody knows whether these mails "
            "have gone, and they are not sent again"
        )
        yield words.format(addresses=", ".join(report.orphans))
