"""The rules that turn news into mails. Pure: tables and small functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from ..aging.status import Status
from .kinds import COOLDOWN, KINDS, MailKind, Receivers


class MailOutcome(str, Enum):
    """The outcome of one message to one person."""

    WAITING = "waiting"
    CLAIMED = "claimed"
    """It is being sent, or the sending process has died."""
    SENT = "sent"
    REFUSED = "refused"
    """Sending failed too often."""
    UNKNOWN = "unknown"
    """It may have been sent, so it is not sent again."""
    FRESH_AGAIN = "fresh again"
    OPTED_OUT = "opted out"
    """All recipients, or their organization, have switched off such mails."""
    NOBODY = "nobody"
    """The dataset has no known maintainer who may see it."""
    GONE = "gone"


_AGES = (Status.FRESH, Status.DUE, Status.OVERDUE, Status.DELINQUENT)
_DATES = {
    Status.OVERDUE: (MailKind.NOT_FRESH, MailKind.COPY),
    Status.DELINQUENT: (MailKind.DELINQUENT,),
}
_NOT_BY_DATE = "recompute"
_STILL = {
    MailKind.NOT_FRESH: frozenset({Status.OVERDUE, Status.DELINQUENT}),
    MailKind.COPY: frozenset({Status.OVERDUE, Status.DELINQUENT}),
    MailKind.DELINQUENT: frozenset({Status.DELINQUENT}),
}
"""The present statuses for which a date that was crossed is still news."""


def kinds(before: str | None, after: str, cause: str) -> tuple[MailKind, ...]:
    """Return the kinds of mails that a change of status causes, by the dates that it crossed.

    A dataset's first status causes none, since it may be years old. Neither does a change of the site's
    thresholds, which could affect thousands of datasets.

    :param before: the previous status; None for the first
    :param cause: the transition's cause
    """
    if before is None or cause == _NOT_BY_DATE:
        return ()
    # If the freshness was unknown before, every date that has passed is news.
    from_age = _age(before) if before != Status.UNAVAILABLE.value else 0
    crossed = (
        found for status, found in _DATES.items() if from_age < _AGES.index(status) <= _age(after)
    )
    return tuple(kind for found in crossed for kind in found)


def _age(status: str) -> int:
    found = [number for number, age in enumerate(_AGES) if age.value == status]
    return found[0] if found else 0


@dataclass(frozen=True, slots=True)
class NewsItem:
    """One piece of news.

    :ivar about: its identity among those of its kind: a transition, a fault, or a problem of a run
    :ivar package_id: the id of the dataset whose facts decide about its recipients, if any
    """

    kind: MailKind
    about: str
    package_id: str | None = None


@dataclass(frozen=True, slots=True)
class News:
    """A piece of news that is not settled yet.

    :ivar waiting: addresses that still wait for the mail; None if recipients were not determined yet
    """

    item: NewsItem
    waiting: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class MailDataset:
    """A dataset as far as its mails depend on it.

    :ivar status: its present status
    :ivar keepers: addresses of its maintainers who may see it
    :ivar is_wanted: whether its organization wants such mails
    """

    status: Status
    keepers: tuple[str, ...]
    is_wanted: bool = True


@dataclass(frozen=True, slots=True)
class Person:
    """The choice of an address's owner, and the mails that they had.

    :ivar off: the kinds that they switched off
    :ivar told: the time of the last mail of each kind
    """

    off: frozenset[MailKind] = frozenset()
    told: Mapping[MailKind, datetime] = field(default_factory=dict)


_STRANGER = Person()


@dataclass(frozen=True, slots=True)
class Digest:
    """A mail with all news for one address."""

    address: str
    items: tuple[NewsItem, ...]

    def by_kind(self) -> dict[MailKind, list[NewsItem]]:
        """Return the news of each kind, in the order of :data:`.kinds.KINDS`."""
        found = {kind: [item for item in self.items if item.kind is kind] for kind in KINDS}
        return {kind: items for kind, items in found.items() if items}


@dataclass(slots=True)
class MailPlan:
    """A decision about everything that is not settled yet.

    :ivar digests: mails to send now
    :ivar waiting: news for addresses whose last mail is too recent
    :ivar settled: news that needs no mail, with the reason and the addresses that waited for it
    """

    digests: list[Digest] = field(default_factory=list)
    waiting: list[tuple[NewsItem, str]] = field(default_factory=list)
    settled: list[tuple[NewsItem, MailOutcome, frozenset[str]]] = field(default_factory=list)


def plan(
    news: Iterable[News],
    datasets: Mapping[str, MailDataset],
    operators: Iterable[str],
    people: Mapping[str, Person],
    now: datetime,
) -> MailPlan:
    """Decide what happens to each piece of news. A person gets at most one mail.

    :param datasets: active datasets by id
    :param operators: addresses of the site's operators
    :param people: by address; of all others nothing is known
    """
    result = MailPlan()
    found: dict[str, dict[NewsItem, None]] = {}
    operators = tuple(operators)
    for one in news:
        item, before = one.item, one.waiting
        concerned, reason = _concerned(item, datasets, operators)
        wanted = [address for address in concerned if before is None or address in before]
        willing = _willing(item.kind, wanted, people)
        if wanted and not willing:
            reason = MailOutcome.OPTED_OUT
        left = (before or frozenset()) - frozenset(willing)
        if not willing or left:
            # Addresses that waited but no longer look after the dataset are settled, even if others remain.
            result.settled.append((item, reason, left))
        for address in willing:
            if waits(item.kind, people.get(address, _STRANGER).told, now):
                result.waiting.append((item, address))
            else:
                found.setdefault(address, {})[item] = None
    result.digests = [Digest(address, tuple(items)) for address, items in found.items()]
    return result


def _concerned(
    item: NewsItem, datasets: Mapping[str, MailDataset], operators: tuple[str, ...]
) -> tuple[tuple[str, ...], MailOutcome]:
    """Return the recipients of a piece of news, and the reason that applies if there are none."""
    if item.package_id is None:
        return operators, MailOutcome.NOBODY
    dataset = datasets.get(item.package_id)
    if dataset is None:
        return (), MailOutcome.GONE
    if dataset.status not in _STILL.get(item.kind, Status):
        return (), MailOutcome.FRESH_AGAIN
    if KINDS[item.kind].receivers is Receivers.OPERATORS:
        return operators, MailOutcome.NOBODY
    if not dataset.is_wanted:
        return (), MailOutcome.OPTED_OUT
    return dataset.keepers, MailOutcome.NOBODY


def _willing(
    kind: MailKind, addresses: Iterable[str], people: Mapping[str, Person]
) -> tuple[str, ...]:
    return tuple(address for address in addresses if kind not in people.get(address, _STRANGER).off)


def asked(dataset: MailDataset, people: Mapping[str, Person]) -> tuple[str, ...]:
    """Return the addresses that are asked to update a dataset."""
    return _willing(MailKind.NOT_FRESH, dataset.keepers, people) if dataset.is_wanted else ()


def waits(kind: MailKind, told: Mapping[MailKind, datetime], now: datetime) -> bool:
    """Decide whether a person has had any mail too recently, or one of this kind.

    :param told: the time of the last mail of each kind
    """
    last = told.get(kind)
    return any(now - at < COOLDOWN for at in told.values()) or (
        last is not None and now - last < KINDS[kind].every
    )


@dataclass(frozen=True, slots=True)
class Contacts:
    """The addresses that a dataset names, and those of its organization's admins.

    :ivar may_be_used: whether the named addresses may be used; for harvested datasets the source decides
    """

    maintainer: tuple[str, ...] = ()
    author: tuple[str, ...] = ()
    admins: tuple[str, ...] = ()
    may_be_used: bool = True


def keepers(contacts: Contacts, sees: Collection[str]) -> tuple[str, ...]:
    """Return a dataset's recipients: its maintainer, else its author, else the admins of its organization.

    :param sees: those of these addresses that may see the dataset
    """
    named = (contacts.maintainer, contacts.author) if contacts.may_be_used else ()
    for step in (*named, contacts.admins):
        if found := tuple(dict.fromkeys(address for address in step if address in sees)):
            return found
    return ()


def in_turn(digests: Iterable[Digest], tries: Mapping[str, int]) -> list[Digest]:
    """Sort mails in the order of sending: mails that failed before come last, so that they delay no others.

    :param tries: numbers of failed attempts by address
    """
    return sorted(digests, key=lambda digest: (tries.get(digest.address, 0), digest.address))
