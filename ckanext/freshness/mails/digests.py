"""The work of ``ckan freshness notify``: send each person one mail with all their news, each piece once.

When a fact is first seen, each of its recipients gets a row. Before a mail is sent, its rows are marked as
sent but not confirmed, and committed: if the process is killed, the mail is not sent again, unless all of its
kind may be repeated. If the mail server surely has not taken it, the rows wait for the next notify.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from .. import settings
from ..ckan_adapter import mailer
from ..ckan_adapter.core import model
from ..ckan_adapter.database import locked_if_free
from ..ckan_adapter.mailer import MailFailure, MailSendError
from ..dates import utc
from ..model import Mail, MailPerson
from . import recipients
from .kinds import AT_ONCE, COOLDOWN, KINDS, MailFacts
from .mail_text import SentMail, written
from .news import News
from .recipients import Person, Receivers
from .report import MailReport, NotifyState

LOCK = "notify"
TIMEOUT = 30.0
"""Seconds within which a mail must be sent."""
UNCONFIRMED = "notify was killed before the mail server confirmed it"
"""The error of a mail that is being sent. It is replaced by the outcome, unless the process is killed."""
_MOST_DOUBTFUL = 3
"""Mails without a clear answer of the mail server, after which the others are left to the next notify."""

Key = tuple[str, str]
"""A kind, and what a piece of news is about."""
_BEGUN: Key = ("begun", "")
"""The row that says that mails have begun."""


class NotifyError(Exception):
    """Nothing can be sent: another notify is running, or CKAN is not configured to send mails."""


@dataclass(slots=True)
class _Plan:
    """The mails to send now.

    :ivar digests: the news of each mail, by address
    :ivar entries: new news with their recipients, of which there may be none
    :ivar gone: news that does not last any more
    """

    facts: MailFacts
    news: dict[Key, News]
    digests: dict[str, list[Key]] = field(default_factory=dict)
    entries: dict[Key, tuple[str, ...]] = field(default_factory=dict)
    gone: set[Key] = field(default_factory=set)

    def of(self, keys: Iterable[Key]) -> list[tuple[str, News]]:
        """Return pieces of news, each with its kind."""
        return [(key[0], self.news[key]) for key in keys]


def notify_at_once(clock: Callable[[], datetime]) -> MailReport | None:
    """Send the mails that wait for no night; None if there is nothing to do, or another notify does it.

    :raises NotifyError: CKAN cannot send mails
    """
    kinds = [kind for kind, rule in KINDS.items() if rule.every == AT_ONCE]
    if not (settings.flag("notify.enabled") and _has_begun()):
        return None
    with locked_if_free(LOCK) as is_locked:
        if not is_locked:
            return None
        if problem := mailer.mailer_problem():
            raise NotifyError(problem)
        return _sent(clock, kinds)


def notify_all(clock: Callable[[], datetime], *, dry_run: bool = False) -> MailReport:
    """Send a mail to everybody for whom there is news.

    The first notify after mails were switched on sends nothing, since it would report the site's old state.

    :param clock: returns the current time, aware
    :param dry_run: only report the mails that would be sent, even if mails are switched off
    :raises NotifyError: another notify is running, or CKAN cannot send mails
    """
    is_on, problem = settings.flag("notify.enabled"), mailer.mailer_problem()
    if dry_run:
        return replace(_planned(clock(), is_begun=is_on and _has_begun()), problem=problem)
    with locked_if_free(LOCK) as is_locked:
        if not is_locked:
            raise NotifyError("Another notify is running. Nothing was sent. Wait for it to end.")
        if is_on and problem:
            raise NotifyError(problem)
        if is_on and _has_begun():
            return _sent(clock)
        # If mails are switched on again, they begin anew.
        model.Session.query(Mail).filter_by(address="").delete()
        if is_on:
            _enter(dict.fromkeys([_BEGUN, *_current(clock(), KINDS)], ()), clock())
        model.Session.commit()
        return MailReport(NotifyState.BEGUN if is_on else NotifyState.OFF)


def _planned(now: datetime, *, is_begun: bool) -> MailReport:
    """Return the mails of a dry run, whose links are not signed."""
    plan = _plan(now, is_begun=is_begun)
    editors = recipients.editors(plan.digests)
    mails = [
        written(address, plan.of(keys), plan.facts, has_tasks=address in editors)
        for address, keys in sorted(plan.digests.items())
    ]
    model.Session.rollback()
    return MailReport(NotifyState.PLANNED, mails, is_begun=is_begun)


def _sent(clock: Callable[[], datetime], kinds: Collection[str] = KINDS) -> MailReport:
    _repeat(clock())
    plan = _plan(clock(), kinds)
    _enter(plan.entries, clock())
    # News that does not last any more is news again if it returns.
    model.Session.execute(sa.delete(_MAILS).where(_of(plan.gone)))
    model.Session.commit()
    report = MailReport(NotifyState.DONE)
    editors = recipients.editors(plan.digests)
    digests = sorted(plan.digests.items())
    for number, (address, keys) in enumerate(digests):
        # Another notify may have sent some of them, if the database lost this one's lock.
        taken = _take(address, keys, clock())
        if not taken:
            continue
        mail = _send(address, taken, plan, has_tasks=address in editors)
        _end(mail, taken, clock())
        report.mails.append(mail)
        doubtful = sum(sent.failure is MailFailure.UNKNOWN for sent in report.mails)
        if mail.failure is MailFailure.UNREACHABLE or doubtful >= _MOST_DOUBTFUL:
            report.left = len(digests) - number - 1
            break
    return report


# The plan


def _concerned(
    one: News,
    dataset: recipients.DatasetFacts | None,
    editors: Mapping[str, tuple[str, ...]],
    operators: tuple[str, ...],
) -> tuple[str, ...]:
    """Return the addresses of the people whom a piece of news concerns.

    :param editors: of organizations with sources, by id
    """
    if one.receivers is Receivers.EDITORS:
        found = (*editors.get(one.details["owner_org"], ()), *operators)
        return tuple(dict.fromkeys(found))
    if dataset is None or one.receivers is Receivers.OPERATORS:
        return operators
    if one.receivers is Receivers.FOLLOWERS:
        assert one.at is not None
        return tuple(address for address, since in dataset.followers.items() if since <= one.at)
    return dataset.keepers


def _current(now: datetime, kinds: Collection[str]) -> dict[Key, News]:
    """Return all news of some kinds that lasts."""
    return {(kind, one.about): one for kind in kinds for one in KINDS[kind].news(now)}


def _plan(now: datetime, kinds: Collection[str] = KINDS, *, is_begun: bool = True) -> _Plan:
    current = _current(now, kinds)
    stored = sa.select(_MAILS).where(_MAILS.c.kind.in_(list(kinds)))
    rows = model.Session.execute(stored).all() if is_begun else []
    known = {(row.kind, row.about) for row in rows}
    waiting = [((row.kind, row.about), row.address) for row in rows if row.sent_at is None]
    asked = (current.keys() - known) | {key for key, _ in waiting if key in current}
    open_keys = {key for key in asked if current[key].is_open}
    ids = (current[key].package_id for key in open_keys)
    datasets = recipients.datasets((id for id in ids if id is not None), now)
    owners = (current[key].details.get("owner_org") for key in open_keys)
    editors = recipients.editors_of({one for one in owners if one is not None})
    operators = recipients.operators()
    concerned: dict[Key, tuple[str, ...]] = {}
    for key in open_keys:
        one = current[key]
        dataset = datasets.get(one.package_id or "")
        # A dataset may have been deleted, or have no status yet.
        if one.package_id is None or dataset is not None:
            found = _concerned(one, dataset, editors, operators)
            told = one.details.get("told", found)
            concerned[key] = tuple(address for address in found if address in told)
    people = recipients.people({address for found in concerned.values() for address in found})
    plan = _Plan(MailFacts(datasets, now), current, gone=known - current.keys())
    for key, found in concerned.items():
        if key not in known:
            plan.entries[key] = tuple(
                address for address in found if people[address].wants(current[key].receivers)
            )
            waiting += [(key, address) for address in plan.entries[key]]
    for key, address in waiting:
        # Who looks after a dataset, who may see it and who wants mails may have changed since it was news.
        is_concerned = address in concerned.get(key, ())
        if (
            is_concerned
            and people[address].wants(current[key].receivers)
            and not waits(key[0], people[address], now)
        ):
            plan.digests.setdefault(address, []).append(key)
    return plan


def waits(kind: str, person: Person, now: datetime) -> bool:
    """Decide whether a person has had any mail too recently, or one of this kind."""
    every, last = KINDS[kind].every, person.told.get(kind)
    digests = (at for name, at in person.told.items() if name in KINDS and KINDS[name].every)
    return bool(every) and (
        any(now - at < COOLDOWN for at in digests) or (last is not None and now - last < every)
    )


# The rows

_MAILS = Mail.__table__


def _of(keys: Collection[Key]) -> Any:
    return sa.tuple_(_MAILS.c.kind, _MAILS.c.about).in_(list(keys))


def _enter(entries: Mapping[Key, tuple[str, ...]], now: datetime) -> None:
    """Write a row for each recipient of new news. News without a recipient is settled: its row is sent."""
    rows = [
        {"kind": kind, "about": about, "address": one, "sent_at": None if one else utc(now)}
        for (kind, about), found in entries.items()
        for one in found or ("",)
    ]
    if rows:
        model.Session.execute(postgresql.insert(_MAILS).on_conflict_do_nothing(), rows)


def _take(address: str, keys: Collection[Key], now: datetime) -> list[Key]:
    """Mark the waiting news of a person as sent, and commit.

    :returns: the news that is marked, which is all that the mail may contain
    """
    rows = model.Session.execute(
        sa.update(_MAILS)
        .where(_of(keys), _MAILS.c.address == address, _MAILS.c.sent_at.is_(None))
        .values(sent_at=utc(now), error=UNCONFIRMED)
        .returning(_MAILS.c.kind, _MAILS.c.about)
    )
    taken = set(map(tuple, rows))
    model.Session.commit()
    return [key for key in keys if key in taken]


def _end(mail: SentMail, keys: Collection[Key], now: datetime) -> None:
    """Store the outcome of a mail, and commit. Its news waits again if the mail may be sent again."""
    is_sent_again = mail.failure in _AGAIN
    own = sa.update(_MAILS).where(_of(keys), _MAILS.c.address == mail.address)
    again = {"sent_at": None} if is_sent_again else {}
    model.Session.execute(own.values(error=mail.error, **again))
    if not is_sent_again:
        person = model.Session.query(MailPerson).filter_by(address=mail.address).one()
        person.told_at = {**person.told_at, **dict.fromkeys(mail.about, utc(now).isoformat())}
    model.Session.commit()


def _repeat(now: datetime) -> None:
    """Let news wait again whose mail a killed notify was sending, if its kind may be repeated."""
    repeated = [kind for kind, rule in KINDS.items() if rule.is_repeated]
    killed = sa.update(_MAILS).where(
        _MAILS.c.kind.in_(repeated),
        _MAILS.c.error == UNCONFIRMED,
        # A notify that lost its lock may still be sending.
        _MAILS.c.sent_at < utc(now - timedelta(seconds=2 * TIMEOUT)),
    )
    model.Session.execute(killed.values(sent_at=None, error=None))


def doubtful(since: datetime) -> dict[str, str]:
    """Return the errors of the mails since a moment that may not have arrived, by address."""
    found = sa.select(_MAILS.c.address, sa.func.max(_MAILS.c.error)).where(
        _MAILS.c.error.is_not(None), _MAILS.c.sent_at >= utc(since)
    )
    return dict(map(tuple, model.Session.execute(found.group_by(_MAILS.c.address))))


_AGAIN = (MailFailure.UNREACHABLE, MailFailure.LATER)
"""Failures after which a mail is sent again."""


def _has_begun() -> bool:
    return model.Session.query(Mail).filter_by(kind=_BEGUN[0]).first() is not None


def _send(address: str, keys: list[Key], plan: _Plan, *, has_tasks: bool) -> SentMail:
    facts = replace(plan.facts, reader=(recipients.number_of(address), address))
    mail = written(address, plan.of(keys), facts, has_tasks=has_tasks)
    assert mail.planned is not None
    # Sending takes long, and needs no open transaction.
    model.Session.commit()
    try:
        mailer.send(mail.planned, TIMEOUT)
    except MailSendError as error:
        return replace(mail, planned=None, failure=error.failure, error=str(error))
    return replace(mail, planned=None)
