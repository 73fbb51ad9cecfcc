"""The rules that turn status changes into mails: tables."""

from __future__ import annotations

import pytest

from ckanext.freshness.aging.status import Status
from ckanext.freshness.mails.rules import (
    Contacts,
    Crossing,
    Digest,
    MailDataset,
    MailKind,
    MailOutcome,
    MailPlan,
    NewsItem,
    in_turn,
    keepers,
    kinds,
    plan,
)

BOTH = (MailKind.NOT_FRESH, MailKind.DELINQUENT)
ONE, OTHER = "ann@example.org", "bob@example.org"
ADMIN = "admin@example.org"


@pytest.mark.parametrize(
    ("before", "after", "cause", "expected"),
    [
        ("due", "overdue", "time", (MailKind.NOT_FRESH,)),
        ("overdue", "delinquent", "time", (MailKind.DELINQUENT,)),
        ("fresh", "due", "time", ()),
        ("fresh", "overdue", "edit", (MailKind.NOT_FRESH,)),
        ("fresh", "overdue", "check", (MailKind.NOT_FRESH,)),
        ("due", "delinquent", "time", BOTH),
        ("unavailable", "overdue", "edit", (MailKind.NOT_FRESH,)),
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


def crossing(
    kind: MailKind = MailKind.NOT_FRESH, about: str = "1", waiting: frozenset[str] | None = None
) -> Crossing:
    return Crossing(NewsItem(kind, about, "p"), waiting)


def planned(
    *crossings: Crossing,
    dataset: MailDataset | None = None,
    gone: bool = False,
    opted_out: frozenset[str] = frozenset(),
    lately: frozenset[tuple[MailKind, str]] = frozenset(),
    operators: tuple[str, ...] = (ADMIN,),
) -> MailPlan:
    shown = dataset or MailDataset(Status.OVERDUE, (ONE, OTHER))
    datasets = {} if gone else {"p": shown}
    return plan(crossings, datasets, operators, opted_out=opted_out, lately=lately)


def told(made: MailPlan) -> dict[str, list[str]]:
    return {one.address: [item.about for item in one.items] for one in made.digests}


def settled(made: MailPlan) -> list[tuple[str, MailOutcome, frozenset[str]]]:
    return [(item.about, outcome, addresses) for item, outcome, addresses in made.settled]


def test_all_who_look_after_it_are_told_in_one_mail_each() -> None:
    made = planned(crossing(about="1"), crossing(about="2"), crossing(about="1"))
    assert told(made) == {ONE: ["1", "2"], OTHER: ["1", "2"]}
    assert (made.waiting, made.settled) == ([], [])


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
    made = planned(crossing(), dataset=dataset)
    assert (told(made), settled(made)) == ({}, [("1", outcome, frozenset())])


def test_what_is_gone_is_settled() -> None:
    assert settled(planned(crossing(), gone=True)) == [("1", MailOutcome.GONE, frozenset())]


def test_a_delinquent_dataset_is_still_to_be_updated() -> None:
    made = planned(crossing(), dataset=MailDataset(Status.DELINQUENT, (ONE,)))
    assert told(made) == {ONE: ["1"]}


def test_operators_are_told_of_what_is_delinquent_even_where_its_organization_wants_no_mails() -> (
    None
):
    shown = MailDataset(Status.DELINQUENT, (), is_wanted=False)
    assert told(planned(crossing(MailKind.DELINQUENT), dataset=shown)) == {ADMIN: ["1"]}
    made = planned(crossing(MailKind.DELINQUENT), dataset=MailDataset(Status.OVERDUE, (ONE,)))
    assert settled(made) == [("1", MailOutcome.FRESH_AGAIN, frozenset())]
    made = planned(crossing(MailKind.DELINQUENT), dataset=shown, operators=())
    assert settled(made) == [("1", MailOutcome.NOBODY, frozenset())]


def test_who_opted_out_is_not_told_and_nobody_instead() -> None:
    assert told(planned(crossing(), opted_out=frozenset({ONE}))) == {OTHER: ["1"]}
    made = planned(crossing(), opted_out=frozenset({ONE, OTHER}))
    assert (told(made), settled(made)) == ({}, [("1", MailOutcome.OPTED_OUT, frozenset())])


def test_who_had_a_mail_lately_waits() -> None:
    made = planned(crossing(), lately=frozenset({(MailKind.NOT_FRESH, ONE), (MailKind.RUN, OTHER)}))
    assert told(made) == {OTHER: ["1"]}
    assert made.waiting == [(NewsItem(MailKind.NOT_FRESH, "1", "p"), ONE)]
    assert made.settled == []


def test_only_those_who_waited_are_told_later() -> None:
    made = planned(crossing(waiting=frozenset({OTHER})))
    assert (told(made), made.settled) == ({OTHER: ["1"]}, [])


def test_who_waited_and_is_concerned_no_more_is_settled() -> None:
    stranger = frozenset({"left@example.org"})
    made = planned(crossing(waiting=stranger | {ONE}))
    assert told(made) == {ONE: ["1"]}
    assert settled(made) == [("1", MailOutcome.NOBODY, stranger)]
    made = planned(crossing(waiting=frozenset({ONE})), opted_out=frozenset({ONE}))
    assert settled(made) == [("1", MailOutcome.OPTED_OUT, frozenset({ONE}))]
    made = planned(crossing(waiting=frozenset({ONE})), dataset=MailDataset(Status.FRESH, (ONE,)))
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
    digests = [Digest(MailKind.NOT_FRESH, one, ()) for one in ("a@b", "c@d", "e@f")]
    found = in_turn(digests, {(MailKind.NOT_FRESH, "a@b"): 2, (MailKind.RUN, "c@d"): 1})
    assert [one.address for one in found] == ["c@d", "e@f", "a@b"]
