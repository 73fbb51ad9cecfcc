"""Which changes of statuses become which mails, to whom and when.

Pure: tables and small functions. Who looks after a dataset, and who may see it, is found out by
:mod:`ckanext.freshness.logic.mails`, which also remembers what was sent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from ..aging.status import Status


class Kind(str, Enum):
    """What a mail is about."""

    NOT_FRESH = "overdue"
    """Datasets whose overdue date has come, to those who look after them."""
    DELINQUENT = "delinquent"
    """Datasets whose delinquent date has come, to the sysadmins, who write to people themselves."""
    RUN = "run"
    """Something is wrong with the runs, to the sysadmins."""


class Outcome(str, Enum):
    """What became of telling one person one thing."""

    WAITING = "waiting"
    CLAIMED = "claimed"
    """It is being sent; or the process that did so has died."""
    SENT = "sent"
    REFUSED = "refused"
    """It was tried often enough."""
    UNKNOWN = "unknown"
    """Nobody knows whether it was sent: it is not sent again."""
    FRESH_AGAIN = "fresh again"
    OPTED_OUT = "opted out"
    """All who would have been told want no mails, or their organization wants none."""
    NOBODY = "nobody"
    """Nobody is known who looks after the dataset and may see it."""
    GONE = "gone"


_AGES = (Status.FRESH, Status.DUE, Status.OVERDUE, Status.DELINQUENT)
_DATES = {Status.OVERDUE: Kind.NOT_FRESH, Status.DELINQUENT: Kind.DELINQUENT}
_NOT_BY_DATE = "recompute"
_STILL = {
    Kind.NOT_FRESH: frozenset({Status.OVERDUE, Status.DELINQUENT}),
    Kind.DELINQUENT: frozenset({Status.DELINQUENT}),
}


def kinds(before: str | None, after: str, cause: str) -> tuple[Kind, ...]:
    """The mails that a change of status asks for: one for each date that it crossed.

    The first status of a dataset crosses nothing: it may have been so for years. Nor does what changed
    because the site judges by another table now: thousands would be written to for an option.

    :param before: the status before; None for the first.
    :param cause: why it changed, as transitions have it.
    """
    if before is None or cause == _NOT_BY_DATE:
        return ()
    # Where nothing was known before, all that has passed by now is news.
    from_age = _age(before) if before != Status.UNAVAILABLE.value else 0
    return tuple(
        kind for status, kind in _DATES.items() if from_age < _AGES.index(status) <= _age(after)
    )


def _age(status: str) -> int:
    found = [number for number, one in enumerate(_AGES) if one.value == status]
    return found[0] if found else 0


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that somebody is to be told.

    :ivar about: names it among those of its kind: the transition, or the finding of a run
    :ivar package_id: the dataset, if it is about one
    """

    kind: Kind
    about: str
    package_id: str | None = None


@dataclass(frozen=True, slots=True)
class Crossing:
    """A date that a dataset has crossed, and that is not settled yet.

    :ivar waiting: the addresses that wait to be told; None if nobody has been thought of yet
    """

    item: Item
    waiting: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Dataset:
    """What decides about the mails of a dataset.

    :ivar status: as of now
    :ivar keepers: the addresses of those who look after it and may see it
    :ivar is_wanted: whether its organization wants such mails
    """

    status: Status
    keepers: tuple[str, ...]
    is_wanted: bool = True


@dataclass(frozen=True, slots=True)
class Digest:
    """A mail: all of one kind for one address."""

    kind: Kind
    address: str
    items: tuple[Item, ...]


@dataclass(slots=True)
class Plan:
    """What is to be done about all that is open.

    :ivar digests: mails to be sent now
    :ivar waiting: what waits because the person had a mail a short while ago
    :ivar settled: what needs no mail, and why; with the addresses that were waiting for it
    """

    digests: list[Digest] = field(default_factory=list)
    waiting: list[tuple[Item, str]] = field(default_factory=list)
    settled: list[tuple[Item, Outcome, frozenset[str]]] = field(default_factory=list)


def plan(
    crossings: Iterable[Crossing],
    datasets: Mapping[str, Dataset],
    operators: Iterable[str],
    *,
    opted_out: Collection[str] = (),
    lately: Collection[tuple[Kind, str]] = (),
) -> Plan:
    """Decide what happens to each crossing.

    :param datasets: those that are there and active, by id.
    :param operators: the addresses of those who are told of delinquent datasets.
    :param opted_out: addresses that want no mails.
    :param lately: the addresses that had a mail of a kind within the cool-down: theirs wait.
    """
    made = Plan()
    told: dict[tuple[Kind, str], dict[Item, None]] = {}
    operators = tuple(operators)
    for crossing in crossings:
        item = crossing.item
        concerned, why = _concerned(item, datasets.get(item.package_id or ""), operators)
        before = crossing.waiting
        heirs = [one for one in concerned if before is None or one in before]
        willing = [one for one in heirs if one not in opted_out]
        if heirs and not willing:
            why = Outcome.OPTED_OUT
        left = (before or frozenset()) - frozenset(willing)
        if not willing or left:
            # Who waited for it, and is concerned no more, is settled even where others remain.
            made.settled.append((item, why, left))
        for address in willing:
            if (item.kind, address) in lately:
                made.waiting.append((item, address))
            else:
                told.setdefault((item.kind, address), {})[item] = None
    made.digests = [Digest(kind, address, tuple(items)) for (kind, address), items in told.items()]
    return made


def _concerned(
    item: Item, dataset: Dataset | None, operators: tuple[str, ...]
) -> tuple[tuple[str, ...], Outcome]:
    """Who is to be told of something, and why nobody is if nobody is."""
    if dataset is None:
        return (), Outcome.GONE
    if dataset.status not in _STILL[item.kind]:
        return (), Outcome.FRESH_AGAIN
    if item.kind is Kind.DELINQUENT:
        return operators, Outcome.NOBODY
    if not dataset.is_wanted:
        return (), Outcome.OPTED_OUT
    return dataset.keepers, Outcome.NOBODY


@dataclass(frozen=True, slots=True)
class Contacts:
    """Whom a dataset names, and who looks after its organization: addresses.

    :ivar may_be_used: whether those whom it names may be written to: of harvested datasets, only where
        the source says so
    """

    maintainer: tuple[str, ...] = ()
    author: tuple[str, ...] = ()
    admins: tuple[str, ...] = ()
    may_be_used: bool = True


def keepers(contacts: Contacts, sees: Collection[str]) -> tuple[str, ...]:
    """Who is told of a dataset: its maintainer, else its author, else the admins of its organization.

    :param sees: those of all these addresses that may know of the dataset.
    """
    named = (contacts.maintainer, contacts.author) if contacts.may_be_used else ()
    for step in (*named, contacts.admins):
        if found := tuple(dict.fromkeys(one for one in step if one in sees)):
            return found
    return ()


def in_turn(digests: Iterable[Digest], tries: Mapping[tuple[Kind, str], int]) -> list[Digest]:
    """Mails in the order in which they are sent: what failed before comes last, and holds up nobody."""
    return sorted(
        digests,
        key=lambda one: (tries.get((one.kind, one.address), 0), one.kind.value, one.address),
    )
