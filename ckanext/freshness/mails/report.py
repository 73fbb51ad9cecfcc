"""The results of a notify, and their words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

import ckan.plugins.toolkit as tk

from ..ckan_adapter.mailer import MailFailure
from ..reporting.labels import counted
from ..translation import N_, NN_
from .kinds import KINDS
from .mail_text import SentMail


class NotifyState(str, Enum):
    """The state of a notify at its end."""

    OFF = "off"
    """Mails are switched off."""
    BEGUN = "begun"
    """First notify after mails were switched on: nothing was sent."""
    DONE = "done"
    PLANNED = "planned"


@dataclass(slots=True)
class MailReport:
    """The results of a notify, or of a dry run.

    :ivar left: number of mails left to the next notify because the mail server does not answer
    :ivar problem: the reason why CKAN cannot send mails, in a dry run
    :ivar is_begun: false in a dry run before mails begin, which tells all that is so already
    """

    state: NotifyState
    mails: list[SentMail] = field(default_factory=list)
    left: int = 0
    problem: str | None = None
    is_begun: bool = True

    @property
    def is_complete(self) -> bool:
        """Whether all due mails were sent."""
        return not self.left and not any(mail.failure for mail in self.mails)


_STATES = {
    NotifyState.OFF: N_(
        "Mails are off. To switch them on, set ckanext.freshness.notify.enabled = true."
    ),
    NotifyState.BEGUN: N_("Mails begin now. Datasets that already need an update cause no mail."),
}
_FAILED = {
    MailFailure.UNREACHABLE: N_("not sent, the next notify tries again: {error}"),
    MailFailure.LATER: N_("not sent, the next notify tries again: {error}"),
    MailFailure.REFUSED: N_("not sent, and not tried again: {error}"),
    MailFailure.UNKNOWN: N_("possibly sent, and not sent again: {error}"),
}


def mail_line(mail: SentMail) -> str:
    """Return a line about a mail: its recipient, its contents and its failure."""
    contents = (counted(KINDS[kind].subject, len(lines)) for kind, lines in mail.about.items())
    text = f"{mail.address}: {', '.join(contents)}"
    if mail.failure is not None:
        return f"{text}; {tk._(_FAILED[mail.failure]).format(error=mail.error)}"
    return text


def report_lines(report: MailReport) -> Iterator[str]:
    """Yield a line about everything that a notify did, and one about what it could not do."""
    if report.state in _STATES:
        yield str(tk._(_STATES[report.state]))
        return
    if report.state is NotifyState.PLANNED:
        forms = NN_("{count} mail would be sent", "{count} mails would be sent")
        text = counted(forms, len(report.mails))
    else:
        sent = sum(mail.failure is None for mail in report.mails)
        text = counted(NN_("{count} mail sent", "{count} mails sent"), sent)
    yield text
    if not report.is_begun:
        yield tk._(
            "Mails have not begun. This preview treats everything that is wrong today as news. Once mails are "
            "on, people are told only of what happens from then on."
        )
    if report.left:
        forms = NN_(
            "The mail server does not answer. The next notify sends {count} more mail. Check smtp.server.",
            "The mail server does not answer. The next notify sends {count} more mails. Check smtp.server.",
        )
        yield counted(forms, report.left)
