"""Sentences about a notify, for the command line and the nightly run."""

from __future__ import annotations

from collections.abc import Iterator

import ckan.plugins.toolkit as tk

from ..aging.messages import N_, NN_
from ..reporting.labels import counted
from .delivery import DeliveryState, MailReport, SentMail
from .kinds import KINDS, MailKind
from .rules import MailOutcome

_STATES = {
    DeliveryState.OFF: N_(
        "Mails are off. To switch them on, set ckanext.freshness.notify.enabled = true."
    ),
    DeliveryState.BEGUN: N_("Mails begin now. Datasets that already need an update cause no mail."),
}

_FAILED = {
    MailOutcome.WAITING: N_("not sent, the next notify tries again: {error}"),
    MailOutcome.REFUSED: N_("not sent, and not tried again: {error}"),
    MailOutcome.UNKNOWN: N_("possibly sent, and not sent again: {error}"),
}

_SETTLED = {
    MailOutcome.FRESH_AGAIN: NN_(
        "{count} dataset was updated meanwhile", "{count} datasets were updated meanwhile"
    ),
    MailOutcome.OPTED_OUT: NN_(
        "{count} dataset whose recipients have switched off mails",
        "{count} datasets whose recipients have switched off mails",
    ),
    MailOutcome.NOBODY: NN_(
        "{count} dataset without a known recipient", "{count} datasets without a known recipient"
    ),
    MailOutcome.GONE: NN_("{count} dataset was deleted", "{count} datasets were deleted"),
}


def mail_line(mail: SentMail) -> str:
    """Return a line about a mail: its recipient, its contents and its failure."""
    contents = (kind_words(kind, len(lines)) for kind, lines in mail.about.items())
    text = f"{mail.address}: {', '.join(contents)}"
    if mail.outcome in _FAILED:
        return f"{text}; {tk._(_FAILED[mail.outcome]).format(error=mail.error)}"
    return text


def kind_words(kind: MailKind, count: int) -> str:
    """Return the contents of a section of a mail in words."""
    rule = KINDS[kind]
    return counted(rule.counted or rule.subject, count)


def report_line(report: MailReport) -> str:
    """Return a line about everything that a notify did."""
    if report.state in _STATES:
        return str(tk._(_STATES[report.state]))
    if report.state is DeliveryState.PLANNED:
        forms = NN_("{count} mail would be sent", "{count} mails would be sent")
        parts = [counted(forms, len(report.mails))]
    else:
        sent = sum(mail.outcome is MailOutcome.SENT for mail in report.mails)
        parts = [counted(NN_("{count} mail sent", "{count} mails sent"), sent)]
    if report.waiting:
        forms = NN_(
            "{count} message waits for its recipient's next mail",
            "{count} messages wait for their recipients' next mails",
        )
        parts.append(counted(forms, report.waiting))
    parts += [counted(_SETTLED[outcome], count) for outcome, count in report.settled.items()]
    return "; ".join(parts)


def problems(report: MailReport) -> Iterator[str]:
    """Yield the problems of a notify, without those of single mails."""
    if report.left:
        forms = NN_(
            "The mail server does not answer. The next notify sends {count} more mail. Check smtp.server.",
            "The mail server does not answer. The next notify sends {count} more mails. Check smtp.server.",
        )
        yield counted(forms, report.left)
    if report.orphans:
        words = tk._(
            "An earlier notify was killed while it sent mails to {addresses}. These mails may have been sent, "
            "so they are not sent again."
        )
        yield words.format(addresses=", ".join(report.orphans))
