"""The work of ``ckan freshness notify``: what has come up is told, once, and nobody holds up anybody.

A mail's rows are claimed, and that committed, before it is handed to the mail server, and get their end
afterwards. A process that dies in between leaves them claimed: the next notify says so, and does not send
them again, since nobody knows whether they have gone. What the mail server did not take is tried again by
the next notify, after all the others.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum

from .. import settings
from ..ckan_adapter import MailError, MailFailure, mailer_problem, model, page_context, send_mail
from ..dates import utc
from ..harvesting.locks import locked_if_free
from ..reporting import run_problems, run_tables
from . import messages, outbox, recipients, rules
from .messages import MailFacts
from .outbox import NotifyStart
from .rules import Crossing, Digest, MailKind, MailOutcome, NewsItem

LOCK = "notify"
COOLDOWN = timedelta(hours=20)
"""Between two mails of one kind to one address."""
TIMEOUT = 30.0
"""Seconds that the mail server has for each mail."""
_MOST_IN_A_ROW = {MailFailure.UNREACHABLE: 3, MailFailure.BROKEN_OFF: 20, MailFailure.UNKNOWN: 20}
"""After so many failures of a kind, one after the other, the rest is left to the next notify."""

Clock = Callable[[], datetime]


class MailsRunningError(Exception):
    """Another notify is under way, on this machine or another."""


class MailerError(Exception):
    """CKAN is not able to send mails as it is configured; the text says what to set."""


class DeliveryState(str, Enum):
    """What a notify came to."""

    OFF = "off"
    """Mails are switched off."""
    BEGUN = "begun"
    """Mails begin here: nothing was sent."""
    DONE = "done"
    PLANNED = "planned"


@dataclass(frozen=True, slots=True)
class SentMail:
    """A mail, and what became of it.

    :ivar about: what stands in it, a line each
    :ivar outcome: None where it was only planned
    """

    kind: MailKind
    address: str
    about: list[str]
    outcome: MailOutcome | None = None
    error: str | None = None


@dataclass(slots=True)
class MailReport:
    """What a notify has done, or would do.

    :ivar mails: in the order in which they were sent
    :ivar waiting: how many mails' worth of items wait for a cool-down
    :ivar settled: how many items needed no mail, by the reason
    :ivar orphans: addresses of mails that an earlier process was sending when it died
    :ivar left: how many mails were left to the next notify, because the mail server is away
    :ivar problem: where it was only planned: why CKAN could send none of them
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
        """Whether all mails that were due were sent, and none of earlier ones is in doubt."""
        return not self.left and not self.orphans and all(not one.error for one in self.mails)


@dataclass(frozen=True, slots=True)
class _Ours:
    """A mail that nobody else sends."""

    mail_id: str
    digest: Digest


def notify_all(clock: Clock, *, dry_run: bool = False) -> MailReport:
    """Tell people what has come up since the last time.

    The first time after mails were switched on nothing is sent: what is found then is what the site is like.

    :param clock: the time, aware.
    :param dry_run: only say what would be sent, to whom; also where mails are switched off.
    :raises AlreadySendingError: somebody else does so now.
    :raises MailerError: CKAN can send no mails.
    """
    operators = recipients.operators()
    if dry_run:
        return _planned(clock(), operators)
    with locked_if_free(LOCK) as is_ours:
        if not is_ours:
            raise MailsRunningError("Another notify is under way: nothing was sent")
        if not settings.flag("notify.enabled"):
            outbox.forget_start()
            model.Session.commit()
            return MailReport(DeliveryState.OFF)
        if problem := mailer_problem():
            raise MailerError(problem)
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
            SentMail(one.kind, one.address, messages.titles(one, facts)) for one in plan.digests
        ]
    model.Session.rollback()
    return report


def _sent(begun: NotifyStart, clock: Clock, operators: tuple[str, ...]) -> MailReport:
    now = clock()
    orphans = outbox.orphans(now)
    plan, facts = _plan(begun, now, operators)
    outbox.enter(plan, now)
    digests = rules.in_turn(plan.digests, outbox.tries())
    ids = outbox.person_ids(one.address for one in digests)
    model.Session.commit()
    report = _report(DeliveryState.DONE, plan)
    report.orphans = orphans
    in_a_row: dict[MailFailure, int] = {}
    for number, digest in enumerate(digests):
        ours = _claimed(digest, clock())
        if ours is None:
            continue
        told, failure = _send(ours, facts, ids[digest.address], clock)
        report.mails.append(told)
        in_a_row = {} if failure is None else {failure: in_a_row.get(failure, 0) + 1}
        if failure is not None and in_a_row[failure] >= _MOST_IN_A_ROW.get(failure, len(digests)):
            report.left = len(digests) - number - 1
            break
    outbox.forget()
    model.Session.commit()
    return report


def _plan(
    begun: NotifyStart, now: datetime, operators: tuple[str, ...]
) -> tuple[rules.MailPlan, MailFacts]:
    crossings: list[Crossing] = outbox.crossings(begun)
    known = recipients.datasets((one.item.package_id or "" for one in crossings), now)
    opted_out = outbox.opted_out()
    plan = rules.plan(
        crossings,
        {one.id: one.decides for one in known.values()},
        operators,
        opted_out=opted_out,
        lately=outbox.lately(now - COOLDOWN),
    )
    since = begun.at
    findings = {
        one.key: one
        for one in run_problems.findings(run_tables.newest(), now)
        if utc(one.at) > since
    }
    waiting = outbox.waiting_findings(findings)
    for address in operators:
        # Who became an operator later, or wants mails again, is not told of what is long over.
        news = (key for key in findings if address in waiting.get(key, {address}))
        items = tuple(NewsItem(MailKind.RUN, key) for key in news)
        if items and address not in opted_out:
            plan.digests.append(Digest(MailKind.RUN, address, items))
    return plan, MailFacts(known, findings)


def _report(state: DeliveryState, plan: rules.MailPlan) -> MailReport:
    settled: dict[MailOutcome, int] = {}
    for _, outcome, _ in plan.settled:
        settled[outcome] = settled.get(outcome, 0) + 1
    return MailReport(state, waiting=len(plan.waiting), settled=settled)


def _claimed(digest: Digest, now: datetime) -> _Ours | None:
    """What of a mail is still to be sent; None if another notify, which took the lock, has claimed all."""
    mail_id = str(uuid.uuid4())
    items = outbox.claim(digest, mail_id, now)
    return _Ours(mail_id, replace(digest, items=items)) if items else None


def _send(
    ours: _Ours, facts: MailFacts, person_id: int, clock: Clock
) -> tuple[SentMail, MailFailure | None]:
    mail_id, digest = ours.mail_id, ours.digest
    with page_context():
        letter = messages.letter(digest, facts, person_id)
        about = messages.titles(digest, facts)
    told = SentMail(digest.kind, digest.address, about, MailOutcome.SENT)
    try:
        with page_context():
            send_mail(letter, TIMEOUT)
    except MailError as error:
        outcome = _failed(mail_id, error, clock())
        return replace(told, outcome=outcome, error=str(error)), error.failure
    outbox.end(mail_id, MailOutcome.SENT, clock())
    return told, None


def _failed(mail_id: str, error: MailError, now: datetime) -> MailOutcome:
    words = str(error)
    if error.failure is MailFailure.UNREACHABLE:
        outbox.give_back(mail_id, words)
        return MailOutcome.WAITING
    if error.failure is MailFailure.UNKNOWN:
        outbox.end(mail_id, MailOutcome.UNKNOWN, now, words)
        return MailOutcome.UNKNOWN
    given_up = outbox.end(mail_id, MailOutcome.WAITING, now, words)
    return MailOutcome.REFUSED if given_up else MailOutcome.WAITING
