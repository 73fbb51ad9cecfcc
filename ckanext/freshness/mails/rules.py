"""The rules that turn status changes into mails. Pure: tables and small functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from ..aging.status import Status


class MailKind(str, Enum):
    """The subject of a mail."""

    NOT_FRESH = "overdue"
    """Datasets that have become overdue, to their maintainers."""
    DELINQUENT = "delinquent"
    """Datasets that have become delinquent, to the sysadmins, who contact maintainers themselves."""
    RUN = "run"
    """Problems of runs, to the sysadmins."""


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
_DATES = {Status.OVERDUE: MailKind.NOT_FRESH, Status.DELINQUENT: MailKind.DELINQUENT}
_NOT_BY_DATE = "recompute"
_STILL = {
    MailKind.NOT_FRESH: frozenset({Status.OVERDUE, Status.DELINQUENT}),
    MailKind.DELINQUENT: frozenset({Status.DELINQUENT}),
}


def kinds(before: str | None, after: str, cause: str) -> tuple[MailKind, ...]:
    """Return the kinds of mails that a change of status causes: one for each date that it crossed.

    A dataset's first status causes none, since it may be years old. Neither does a change of the site's
    thresholds, which could affect thousands of datasets.

    :param before: the previous status; None for the first
    :param cause: the transition's cause
    """
    if before is None or cause == _NOT_BY_DATE:
        return ()
    # If the freshness was unknown before, every date that has passed is news.
    from_age = _age(before) if before != Status.UNAVAILABLE.value else 0
    return tuple(
        kind for status, kind in _DATES.items() if from_age < _AGES.index(status) <= _age(after)
    )


def _age(status: str) -> int:
    found = [number for number, age in enumerate(_AGES) if age.value == status]
    return found[0] if found else 0


@dataclass(frozen=True, slots=True)
class NewsItem:
    """One piece of news.

    :ivar about: its identity among those of its kind: a transition, or a problem of a run
    :ivar package_id: the id of the dataset that it is about, if any
    """

    kind: MailKind
    about: str
    package_id: str | None = None


@dataclass(frozen=True, slots=True)
class Crossing:
    """A date that a dataset has crossed and that is not settled yet.

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
class Digest:
    """A mail with all news of one kind for one address."""

    kind: MailKind
    address: str
    items: tuple[NewsItem, ...]


@dataclass(slots=True)
class MailPlan:
    """A decision about everything that is not settled yet.

    :ivar digests: mails to send now
    :ivar waiting: news for addresses that had a mail within the cool-down
    :ivar settled: news that needs no mail, with the reason and the addresses that waited for it
    """

    digests: list[Digest] = field(default_factory=list)
    waiting: list[tuple[NewsItem, str]] = field(default_factory=list)
    settled: list[tuple[NewsItem, MailOutcome, frozenset[str]]] = field(default_factory=list)


def plan(
    crossings: Iterable[Crossing],
    datasets: Mapping[str, MailDataset],
    operators: Iterable[str],
    *,
    opted_out: Collection[str] = (),
    lately: Collection[tuple[MailKind, str]] = (),
) -> MailPlan:
    """Decide what happens to each crossing.

    :param datasets: active datasets by id
    :param operators: addresses that are told of delinquent datasets
    :param opted_out: addresses that want no mails
    :param lately: kinds and addresses with a mail within the cool-down, which must wait
    """
    result = MailPlan()
    news: dict[tuple[MailKind, str], dict[NewsItem, None]] = {}
    operators = tuple(operators)
    for crossing in crossings:
        item = crossing.item
        concerned, reason = _concerned(item, datasets.get(item.package_id or ""), operators)
        before = crossing.waiting
        wanted = [address for address in concerned if before is None or address in before]
        willing = [address for address in wanted if address not in opted_out]
        if wanted and not willing:
            reason = MailOutcome.OPTED_OUT
        left = (before or frozenset()) - frozenset(willing)
        if not willing or left:
            # Addresses that waited but no longer look after the dataset are settled, even if others remain.
            result.settled.append((item, reason, left))
        for address in willing:
            if (item.kind, address) in lately:
                result.waiting.append((item, address))
            else:
                news.setdefault((item.kind, address), {})[item] = None
    result.digests = [
        Digest(kind, address, tuple(items)) for (kind, address), items in news.items()
    ]
    return result


def _concerned(
    item: NewsItem, dataset: MailDataset | None, operators: tuple[str, ...]
) -> tuple[tuple[str, ...], MailOutcome]:
    """Return the recipients of a piece of news, and the reason that applies if there are none."""
    if dataset is None:
        return (), MailOutcome.GONE
    if dataset.status not in _STILL[item.kind]:
        return (), MailOutcome.FRESH_AGAIN
    if item.kind is MailKind.DELINQUENT:
        return operators, MailOutcome.NOBODY
    if not dataset.is_wanted:
        return (), MailOutcome.OPTED_OUT
    return dataset.keepers, MailOutcome.NOBODY


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


def in_turn(digests: Iterable[Digest], tries: Mapping[tuple[MailKind, str], int]) -> list[Digest]:
    """Sort mails in the order of sending: those that failed before come last and delay no others."""
    return sorted(
        digests,
        key=lambda digest: (
            tries.get((digest.kind, digest.address), 0),
            digest.kind.value,
            digest.address,
        ),
    )
