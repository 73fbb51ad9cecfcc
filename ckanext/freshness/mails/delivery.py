"""The work of ``ckan freshness notify``: send each person one mail with all news, each piece once.

Before a mail is handed to the mail server, its rows are claimed and the claim is committed. Afterwards the
rows get their outcome. If the process is killed in between, the mail may have been sent: the next notify
reports it and does not send it again. If the mail server refused a mail, the next notify tries again, after
all other mails.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum

from .. import settings
from ..ckan_adapter.ckan_core import model
from ..ckan_adapter.locks import locked_if_free
from ..ckan_adapter.mailer import (
    MailFailure,
    MailSendError,
    MailServer,
    mailer_problem,
    page_context,
)
from . import findings, messages, outbox, recipients, rules
from .kinds import MailKind
from .messages import MailFacts
from .outbox import NotifyStart
from .rules import Digest, MailOutcome

LOCK = "notify"
TIMEOUT = 30.0
"""Seconds within which the mail server must accept a mail."""
_MOST_IN_A_ROW = {MailFailure.UNREACHABLE: 3, MailFailure.BROKEN_OFF: 20, MailFailure.UNKNOWN: 20}
"""Consecutive failures of a kind after which the other mails are left to the next notify."""

Clock = Callable[[], datetime]


class MailsRunningError(Exception):
    """Another notify is running, on this machine or another."""


class MailerNotConfigured(Exception):
    """CKAN is not configured to send mails. The text names the missing option."""


class DeliveryState(str, Enum):
    """The state of a notify at its end."""

    OFF = "off"
    """Mails are switched off."""
    BEGUN = "begun"
    """First notify after mails were switched on: nothing was sent."""
    DONE = "done"
    PLANNED = "planned"


@dataclass(frozen=True, slots=True)
class SentMail:
    """A mail and its outcome.

    :ivar about: a line for each of its rows, by kind
    :ivar outcome: None if the mail was only planned
    """

    address: str
    about: dict[MailKind, list[str]]
    outcome: MailOutcome | None = None
    error: str | None = None


@dataclass(slots=True)
class MailReport:
    """The results of a notify, or of a dry run.

    :ivar mails: in the order of sending
    :ivar waiting: number of pieces of news, times recipients, that wait for the recipient's next mail
    :ivar settled: number of datasets about which no mail was needed, by the reason
    :ivar orphans: addresses of mails that a killed process was sending
    :ivar left: number of mails left to the next notify because the mail server does not answer
    :ivar problem: the reason why CKAN cannot send mails, in a dry run
    """

    state: DeliveryState
    mails: list[SentMail] = field(default_factory=list)
    waiting: int = 0
    settled: dict[MailOutcome, int] = field(default_factory=dict)
    orphans: list[str] = field(default_factory=list)
    left: int = 0
    problem: str | None = None

    @property
    def is_complete(self) -> bool:
        """Whether all due mails were sent and no earlier mail is in doubt."""
        return not self.left and not self.orphans and not any(mail.error for mail in self.mails)


def notify_all(clock: Clock, *, dry_run: bool = False) -> MailReport:
    """Send a mail to everybody for whom there is news.

    The first notify after mails were switched on sends nothing, since it would report the site's old state.

    :param clock: returns the current time, aware
    :param dry_run: only report the mails that would be sent, even if mails are switched off
    :raises MailsRunningError: another notify is running
    :raises MailerNotConfigured: CKAN cannot send mails
    """
    operators = recipients.operators()
    if dry_run:
        return _planned(clock(), operators)
    with locked_if_free(LOCK) as is_locked:
        if not is_locked:
            raise MailsRunningError(
                "Another notify is running. Nothing was sent. Wait for it to end."
            )
        if not settings.flag("notify.enabled"):
            outbox.forget_start()
            model.Session.commit()
            return MailReport(DeliveryState.OFF)
        if problem := mailer_problem():
            raise MailerNotConfigured(problem)
        begun = outbox.start()
        if begun is None:
            outbox.begin(clock())
            model.Session.commit()
            return MailReport(DeliveryState.BEGUN)
        return _sent(begun, clock, operators)


def _planned(now: datetime, operators: tuple[str, ...]) -> MailReport:
    problem = mailer_problem()
    begun = outbox.start()
    if begun is None:
        is_on = settings.flag("notify.enabled")
        return MailReport(DeliveryState.BEGUN if is_on else DeliveryState.OFF, problem=problem)
    plan, facts = _plan(begun, now, operators)
    report = _report(DeliveryState.PLANNED, plan)
    report.problem = problem
    with page_context():
        report.mails = [
            SentMail(digest.address, _lines(messages.rows(digest, facts)))
            for digest in rules.in_turn(plan.digests, outbox.tries())
        ]
    model.Session.rollback()
    return report


def _sent(begun: NotifyStart, clock: Clock, operators: tuple[str, ...]) -> MailReport:
    now = clock()
    orphans = outbox.orphans(now)
    plan, facts = _plan(begun, now, operators)
    outbox.enter(plan, now)
    digests = rules.in_turn(plan.digests, outbox.tries())
    ids = outbox.person_ids(digest.address for digest in digests)
    model.Session.commit()
    report = _report(DeliveryState.DONE, plan)
    report.orphans = orphans
    in_a_row: dict[MailFailure, int] = {}
    with MailServer(TIMEOUT) as server:
        for number, digest in enumerate(digests):
            mail_id = str(uuid.uuid4())
            items = outbox.claim(digest, mail_id, clock())
            if not items:
                # Another notify, which took the lock, has claimed all of them.
                continue
            claimed = replace(digest, items=items)
            mail, failure = _send(server, mail_id, claimed, facts, ids[digest.address], clock)
            report.mails.append(mail)
            in_a_row = {} if failure is None else {failure: in_a_row.get(failure, 0) + 1}
            if failure and in_a_row[failure] >= _MOST_IN_A_ROW.get(failure, len(digests)):
                report.left = len(digests) - number - 1
                break
    model.Session.commit()
    outbox.forget(facts.findings)
    model.Session.commit()
    return report


def _plan(
    begun: NotifyStart, now: datetime, operators: tuple[str, ...]
) -> tuple[rules.MailPlan, MailFacts]:
    found = findings.current(begun, now)
    news = [*outbox.crossings(begun), *outbox.unsettled(found)]
    datasets = recipients.datasets(
        (one.item.package_id for one in news if one.item.package_id), now
    )
    people = outbox.people()
    plan = rules.plan(
        news,
        {dataset.id: dataset.for_rules for dataset in datasets.values()},
        operators,
        people,
        now,
    )
    editors = recipients.editors(digest.address for digest in plan.digests)
    return plan, MailFacts(datasets, found, people, editors, now)


def _report(state: DeliveryState, plan: rules.MailPlan) -> MailReport:
    settled: dict[MailOutcome, int] = {}
    for item, outcome, _ in plan.settled:
        if item.package_id is not None and item.kind is not MailKind.COPY:
            settled[outcome] = settled.get(outcome, 0) + 1
    return MailReport(state, waiting=len(plan.waiting), settled=settled)


def _send(
    server: MailServer,
    mail_id: str,
    digest: Digest,
    facts: MailFacts,
    person_id: int,
    clock: Clock,
) -> tuple[SentMail, MailFailure | None]:
    try:
        with page_context():
            rows = messages.rows(digest, facts)
            mail = SentMail(digest.address, _lines(rows), MailOutcome.SENT)
            server.send(messages.letter(digest, rows, facts, person_id))
    except MailSendError as error:
        outcome = _failed(mail_id, error, clock())
        return replace(mail, outcome=outcome, error=str(error)), error.failure
    outbox.end(mail_id, MailOutcome.SENT, clock())
    return mail, None


def _lines(rows: dict[MailKind, list[messages.Row]]) -> dict[MailKind, list[str]]:
    return {kind: [row["line"] for row in found] for kind, found in rows.items()}


def _failed(mail_id: str, error: MailSendError, now: datetime) -> MailOutcome:
    words = str(error)
    if error.failure is MailFailure.UNREACHABLE:
        outbox.give_back(mail_id, words)
        return MailOutcome.WAITING
    if error.failure is MailFailure.UNKNOWN:
        outbox.end(mail_id, MailOutcome.UNKNOWN, now, words)
        return MailOutcome.UNKNOWN
    given_up = outbox.end(mail_id, MailOutcome.WAITING, now, words)
    return MailOutcome.REFUSED if given_up else MailOutcome.WAITING
