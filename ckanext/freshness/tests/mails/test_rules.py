"""The rules that turn status changes into mails: tables."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from ckanext.freshness.aging.status import Status
from ckanext.freshness.mails.kinds import KINDS, MailKind, Receivers
from ckanext.freshness.mails.rules import (
    Contacts,
    Digest,
    MailDataset,
    MailOutcome,
    MailPlan,
    News,
    NewsItem,
    Person,
    asked,
    in_turn,
    keepers,
    kinds,
    plan,
    waits,
)

OVERDUE = (MailKind.NOT_FRESH, MailKind.COPY)
BOTH = (*OVERDUE, MailKind.DELINQUENT)
NOW = datetime(2026, 3, 10, 3, tzinfo=timezone.utc)
ONE, OTHER = "ann@example.org", "bob@example.org"
ADMIN = "admin@example.org"


@pytest.mark.parametrize(
    ("before", "after", "cause", "expected"),
    [
        ("due", "overdue", "time", OVERDUE),
        ("overdue", "delinquent", "time", (MailKind.DELINQUENT,)),
        ("fresh", "due", "time", ()),
        ("fresh", "overdue", "edit", OVERDUE),
        ("fresh", "overdue", "check", OVERDUE),
        ("due", "delinquent", "time", BOTH),
        ("unavailable", "overdue", "edit", OVERDUE),
        ("unavailable", "delinquent", "edit", BOTH),
        ("delinquent", "overdue", "edit", ()),
        ("overdue", "fresh", "edit", ()),
        ("overdue", "unavailable", "edit", ()),
        # A first status, and changes of options, cross no date.
        (None, "overdue", "recompute", ()),
        (None, "delinquent", "edit", ()),
        ("fresh", "overdue", "recompute", ()),
    ],
)
def test_dates_that_are_crossed(
    before: str | None, after: str, cause: str, expected: tuple[MailKind, ...]
) -> None:
    assert kinds(before, after, cause) == expected


def news(
    kind: MailKind = MailKind.NOT_FRESH, about: str = "1", waiting: frozenset[str] | None = None
) -> News:
    return News(NewsItem(kind, about, "p"), waiting)


def planned(
    *found: News,
    dataset: MailDataset | None = None,
    gone: bool = False,
    people: dict[str, Person] | None = None,
    operators: tuple[str, ...] = (ADMIN,),
) -> MailPlan:
    shown = dataset or MailDataset(Status.OVERDUE, (ONE, OTHER))
    datasets = {} if gone else {"p": shown}
    return plan(found, datasets, operators, people or {}, NOW)


def off(*addresses: str, kind: MailKind = MailKind.NOT_FRESH) -> dict[str, Person]:
    return {address: Person(frozenset({kind})) for address in addresses}


def told(made: MailPlan) -> dict[str, list[str]]:
    return {one.address: [item.about for item in one.items] for one in made.digests}


def settled(made: MailPlan) -> list[tuple[str, MailOutcome, frozenset[str]]]:
    return [(item.about, outcome, addresses) for item, outcome, addresses in made.settled]


def test_all_who_look_after_it_are_told_in_one_mail_each() -> None:
    made = planned(news(about="1"), news(about="2"), news(MailKind.BROKEN, "3"), news(about="1"))
    assert told(made) == {ONE: ["1", "2", "3"], OTHER: ["1", "2", "3"]}
    assert (made.waiting, made.settled) == ([], [])
    by_kind = made.digests[0].by_kind()
    assert {kind: len(items) for kind, items in by_kind.items()} == {
        MailKind.NOT_FRESH: 2,
        MailKind.BROKEN: 1,
    }


@pytest.mark.parametrize("kind", MailKind)
def test_each_kind_has_its_receivers(kind: MailKind) -> None:
    shown = MailDataset(Status.DELINQUENT, (ONE,))
    expected = ADMIN if KINDS[kind].receivers is Receivers.OPERATORS else ONE
    assert told(planned(news(kind), dataset=shown)) == {expected: ["1"]}


@pytest.mark.parametrize(
    ("dataset", "outcome"),
    [
        (MailDataset(Status.FRESH, (ONE,)), MailOutcome.FRESH_AGAIN),
        (MailDataset(Status.DUE, (ONE,)), MailOutcome.FRESH_AGAIN),
        (MailDataset(Status.UNAVAILABLE, (ONE,)), MailOutcome.FRESH_AGAIN),
        (MailDataset(Status.OVERDUE, ()), MailOutcome.NOBODY),
        (MailDataset(Status.OVERDUE, (ONE,), is_wanted=False), MailOutcome.OPTED_OUT),
    ],
)
def test_what_needs_no_mail_is_settled(dataset: MailDataset, outcome: MailOutcome) -> None:
    made = planned(news(), dataset=dataset)
    assert (told(made), settled(made)) == ({}, [("1", outcome, frozenset())])


def test_what_is_gone_is_settled() -> None:
    assert settled(planned(news(), gone=True)) == [("1", MailOutcome.GONE, frozenset())]


def test_a_delinquent_dataset_is_still_to_be_updated() -> None:
    made = planned(news(), dataset=MailDataset(Status.DELINQUENT, (ONE,)))
    assert told(made) == {ONE: ["1"]}


def test_operators_are_told_of_what_is_delinquent_even_where_its_organization_wants_no_mails() -> (
    None
):
    shown = MailDataset(Status.DELINQUENT, (), is_wanted=False)
    assert told(planned(news(MailKind.DELINQUENT), dataset=shown)) == {ADMIN: ["1"]}
    made = planned(news(MailKind.DELINQUENT), dataset=MailDataset(Status.OVERDUE, (ONE,)))
    assert settled(made) == [("1", MailOutcome.FRESH_AGAIN, frozenset())]
    made = planned(news(MailKind.DELINQUENT), dataset=shown, operators=())
    assert settled(made) == [("1", MailOutcome.NOBODY, frozenset())]


def test_who_opted_out_is_not_told_and_nobody_instead() -> None:
    assert told(planned(news(), people=off(ONE))) == {OTHER: ["1"]}
    made = planned(news(), people=off(ONE, OTHER))
    assert (told(made), settled(made)) == ({}, [("1", MailOutcome.OPTED_OUT, frozenset())])


def test_only_the_kinds_that_are_switched_off_are_left_out() -> None:
    made = planned(news(), news(MailKind.BROKEN, "2"), people=off(ONE, kind=MailKind.BROKEN))
    assert told(made) == {ONE: ["1"], OTHER: ["1", "2"]}


def test_who_had_a_mail_lately_waits() -> None:
    had = Person(told={MailKind.RUN: NOW - timedelta(hours=19)})
    made = planned(news(), people={ONE: had})
    assert told(made) == {OTHER: ["1"]}
    assert made.waiting == [(NewsItem(MailKind.NOT_FRESH, "1", "p"), ONE)]
    assert made.settled == []


@pytest.mark.parametrize(
    ("kind", "told", "expected"),
    [
        (MailKind.NOT_FRESH, {}, False),
        (MailKind.NOT_FRESH, {MailKind.NOT_FRESH: 19}, True),
        (MailKind.NOT_FRESH, {MailKind.NOT_FRESH: 20}, False),
        # One mail a day, whatever its kinds.
        (MailKind.NOT_FRESH, {MailKind.BROKEN: 19}, True),
        (MailKind.RUN, {MailKind.COPY: 19}, True),
        (MailKind.NOT_FRESH, {MailKind.BROKEN: 20}, False),
        # Some kinds are sent once a week, on the same night.
        (MailKind.BROKEN, {MailKind.BROKEN: 6 * 24}, True),
        (MailKind.BROKEN, {MailKind.BROKEN: 7 * 24 - 4}, False),
        (MailKind.BROKEN, {MailKind.NOT_FRESH: 20}, False),
        (MailKind.NO_ADDRESS, {MailKind.NO_ADDRESS: 6 * 24}, True),
        (MailKind.NO_RESOURCES, {MailKind.NO_RESOURCES: 6 * 24}, True),
    ],
)
def test_who_waits(kind: MailKind, told: dict[MailKind, float], expected: bool) -> None:
    at = {before: NOW - timedelta(hours=hours) for before, hours in told.items()}
    assert waits(kind, at, NOW) is expected


@pytest.mark.parametrize(
    ("is_wanted", "people", "expected"),
    [(True, {}, (ONE, OTHER)), (True, off(ONE), (OTHER,)), (False, {}, ())],
)
def test_who_is_asked_to_update(
    is_wanted: bool, people: dict[str, Person], expected: tuple[str, ...]
) -> None:
    assert asked(MailDataset(Status.OVERDUE, (ONE, OTHER), is_wanted), people) == expected


def test_only_those_who_waited_are_told_later() -> None:
    made = planned(news(waiting=frozenset({OTHER})))
    assert (told(made), made.settled) == ({OTHER: ["1"]}, [])


def test_who_waited_and_is_concerned_no_more_is_settled() -> None:
    stranger = frozenset({"left@example.org"})
    made = planned(news(waiting=stranger | {ONE}))
    assert told(made) == {ONE: ["1"]}
    assert settled(made) == [("1", MailOutcome.NOBODY, stranger)]
    made = planned(news(waiting=frozenset({ONE})), people=off(ONE))
    assert settled(made) == [("1", MailOutcome.OPTED_OUT, frozenset({ONE}))]
    made = planned(news(waiting=frozenset({ONE})), dataset=MailDataset(Status.FRESH, (ONE,)))
    assert settled(made) == [("1", MailOutcome.FRESH_AGAIN, frozenset({ONE}))]


@pytest.mark.parametrize(
    ("contacts", "sees", "expected"),
    [
        (Contacts((ONE,), (OTHER,), (ADMIN,)), {ONE, OTHER, ADMIN}, (ONE,)),
        (Contacts((), (OTHER,), (ADMIN,)), {ONE, OTHER, ADMIN}, (OTHER,)),
        (Contacts((), (), (ADMIN,)), {ADMIN}, (ADMIN,)),
        (Contacts((ONE, OTHER), (), (ADMIN,)), {ONE, OTHER}, (ONE, OTHER)),
        # Only people who may see a private dataset receive mails about it.
        (Contacts((ONE,), (OTHER,), (ADMIN,)), {OTHER, ADMIN}, (OTHER,)),
        (Contacts((ONE,), (OTHER,), (ADMIN,)), {ADMIN}, (ADMIN,)),
        (Contacts((ONE,), (OTHER,), (ADMIN,)), set(), ()),
        # Contacts of a harvested dataset receive mails only if its source permits it.
        (Contacts((ONE,), (OTHER,), (ADMIN,), False), {ONE, OTHER, ADMIN}, (ADMIN,)),
        (Contacts((ONE,), (OTHER,), (), False), {ONE, OTHER}, ()),
    ],
)
def test_who_looks_after_a_dataset(
    contacts: Contacts, sees: set[str], expected: tuple[str, ...]
) -> None:
    assert keepers(contacts, sees) == expected


def test_what_failed_before_comes_last() -> None:
    digests = [Digest(one, ()) for one in ("a@b", "e@f", "c@d")]
    assert [one.address for one in in_turn(digests, {"a@b": 2})] == ["c@d", "e@f", "a@b"]
