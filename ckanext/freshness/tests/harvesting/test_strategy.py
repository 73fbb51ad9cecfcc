"""The rules of classes and deletions, as tables and as properties."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from ckanext.freshness.dates import utc_words
from ckanext.freshness.harvesting.brake import BrakeLimits
from ckanext.freshness.harvesting.messages import MessageCode
from ckanext.freshness.harvesting.record import (
    Approval,
    Containers,
    KnownRecord,
    ReadOutcome,
    Refusal,
    RefusedAs,
    SeenRecord,
    guid_of,
)
from ckanext.freshness.harvesting.strategy import (
    AbsentResource,
    Decisions,
    Deletions,
    RecordClass,
    catalog_of,
    classify,
    decide_distribution,
    deletions,
    must_ask,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
A_DAY_AGO = NOW - timedelta(days=1)
LIMITS = BrakeLimits()
ROOT = "https://fdp.example.org"
A, B = f"{ROOT}/catalog/a", f"{ROOT}/catalog/b"


def dataset(name: object) -> str:
    return f"{ROOT}/dataset/{name}"


FORBIDDEN, GONE = ReadOutcome.FORBIDDEN, ReadOutcome.GONE
KINDS = {FORBIDDEN: RefusedAs.FORBIDDEN, GONE: RefusedAs.GONE}


def refused(
    answer: ReadOutcome | None, since: datetime | None, first: datetime | None = None
) -> Refusal | None:
    """Return how jobs have been refused a record since a moment; None without either."""
    if since is None or answer not in KINDS:
        return None
    return Refusal(KINDS[answer], since, first or since)


FORBIDDEN_A_DAY_AGO = refused(FORBIDDEN, A_DAY_AGO)
WALL_A_DAY_AGO = Refusal(RefusedAs.WALL, A_DAY_AGO, A_DAY_AGO)


def known(name: object, catalog: str = A, **fields: object) -> KnownRecord:
    url = dataset(name)
    return KnownRecord(url, guid_of(url, catalog), catalog, "hash", **fields)  # type: ignore[arg-type]


def seen(name: object, outcome: ReadOutcome, *listed_in: str, **fields: object) -> SeenRecord:
    return SeenRecord(dataset(name), outcome, listed_in, content_hash="hash", **fields)  # type: ignore[arg-type]


def present(*names: object, catalog: str = A) -> list[SeenRecord]:
    return [seen(name, ReadOutcome.PRESENT, catalog) for name in names]


def decide(
    current: list[KnownRecord],
    found: list[SeenRecord],
    unreadable: tuple[str, ...] = (),
    unproved: tuple[str, ...] = (),
    limits: BrakeLimits = LIMITS,
    **more: Any,
) -> Deletions:
    """Decide about records.

    :param more: those of Decisions, and ``has_own_documents`` and ``controls`` of the containers.
    """
    containers = Containers(
        ROOT,
        {A, B},
        {url: "answers 503" for url in unreadable},
        {url: "its page 2 repeats page 1" for url in unproved},
        listed={one.url for one in found if one.listed_in},
        has_own_documents=more.pop("has_own_documents", True),
        controls=list(more.pop("controls", ())),
    )
    return deletions(
        current,
        {one.url: one for one in found},
        containers,
        Decisions(**more),
        now=NOW,
        limits=limits,
    )


def deleted(outcome: Deletions) -> set[str]:
    return {verdict.known.url.rpartition("/")[2] for verdict in outcome.delete}


def test_the_form_of_a_guid_is_a_promise() -> None:
    host = "https://health-ri.sandbox.semlab-leiden.nl"
    catalog = f"{host}/catalog/e3faf7ad-050c-475f-8ce4-da7e2faa5cd0"
    record = f"{host}/dataset/d7129d28-b72a-437f-8db0-4f0258dd3c25"
    assert guid_of(record, catalog) == (
        "catalog=https://health-ri.sandbox.semlab-leiden.nl/catalog/"
        "e3faf7ad-050c-475f-8ce4-da7e2faa5cd0;dataset=https://health-ri.sandbox.semlab-leiden.nl/"
        "dataset/d7129d28-b72a-437f-8db0-4f0258dd3c25"
    )
    assert guid_of(catalog, None) == f"catalog={catalog}"


@pytest.mark.parametrize(
    ("guid", "content_hash", "current", "kind"),
    [
        ("g", "h", None, RecordClass.NEW),
        ("g", "h", KnownRecord("u", "g", A, "h"), RecordClass.UNCHANGED),
        ("g", "other", KnownRecord("u", "g", A, "h"), RecordClass.CHANGED),
        ("g", "h", KnownRecord("u", "g", A, None), RecordClass.CHANGED),
        ("g2", "h", KnownRecord("u", "g", A, "h"), RecordClass.MOVED),
        ("g2", "other", KnownRecord("u", "g", A, "h"), RecordClass.MOVED),
    ],
)
def test_classes(
    guid: str, content_hash: str, current: KnownRecord | None, kind: RecordClass
) -> None:
    assert classify(guid, content_hash, current) is kind


@pytest.mark.parametrize(
    ("found", "current", "unreadable", "catalog"),
    [
        (seen(1, ReadOutcome.PRESENT, A, B), None, (), A),
        (seen(1, ReadOutcome.PRESENT, B, A), None, (), A),
        (seen(1, ReadOutcome.PRESENT, A, part_of=B), None, (), B),
        (seen(1, ReadOutcome.PRESENT, A, part_of=f"{ROOT}/catalog/foreign"), None, (), A),
        # An unreadable catalog keeps its record, even if another catalog lists it.
        (seen(1, ReadOutcome.PRESENT, B), known(1, A), (A,), A),
        (seen(1, ReadOutcome.PRESENT, B), known(1, A), (), B),
        (seen(1, ReadOutcome.PRESENT, B, part_of=B), known(1, A), (A,), B),
    ],
)
def test_a_records_catalog(
    found: SeenRecord, current: KnownRecord | None, unreadable: tuple[str, ...], catalog: str
) -> None:
    containers = Containers(ROOT, {A, B}, dict.fromkeys(unreadable, "answers 503"))
    assert catalog_of(found, current, containers) == catalog


HOUR = timedelta(hours=1)
DISTRIBUTIONS = [
    # listed, outcome, hours since the first refusal, whether its resource stays, hours to remember
    (True, ReadOutcome.FAILED, None, True, None),
    (True, ReadOutcome.MALFORMED, None, True, None),
    (True, None, None, True, None),
    (True, ReadOutcome.FORBIDDEN, None, True, 0),
    (True, ReadOutcome.FORBIDDEN, 23, True, 23),
    (True, ReadOutcome.FORBIDDEN, 24, False, 24),
    (True, ReadOutcome.GONE, None, True, 0),
    (True, ReadOutcome.GONE, 23, True, 23),
    (True, ReadOutcome.GONE, 24, False, 24),
    (False, None, None, False, None),
    (False, ReadOutcome.GONE, None, False, None),
]


@pytest.mark.parametrize(("listed", "outcome", "hours", "stays", "since"), DISTRIBUTIONS)
def test_the_resource_of_a_distribution_that_cannot_be_read(
    listed: bool, outcome: ReadOutcome | None, hours: int | None, stays: bool, since: int | None
) -> None:
    before = None if hours is None else refused(outcome, NOW - hours * HOUR)
    decided = decide_distribution(listed=listed, outcome=outcome, refusal=before, now=NOW)
    after = None if since is None else refused(outcome, NOW - since * HOUR)
    assert decided == AbsentResource(stays, after)


LONG_AGO = NOW - timedelta(days=30)


@pytest.mark.parametrize(
    ("before", "outcome", "after"),
    [
        (FORBIDDEN, GONE, refused(GONE, NOW, LONG_AGO)),
        (GONE, FORBIDDEN, refused(FORBIDDEN, NOW, LONG_AGO)),
        (GONE, ReadOutcome.FAILED, refused(GONE, A_DAY_AGO, LONG_AGO)),
        (GONE, ReadOutcome.MALFORMED, refused(GONE, A_DAY_AGO, LONG_AGO)),
        (GONE, None, refused(GONE, A_DAY_AGO, LONG_AGO)),
    ],
)
def test_a_distribution_goes_only_if_two_jobs_get_the_same_refusal(
    before: ReadOutcome, outcome: ReadOutcome | None, after: Refusal
) -> None:
    """However long it has been refused in turn."""
    refusal = refused(before, A_DAY_AGO, LONG_AGO)
    decided = decide_distribution(listed=True, outcome=outcome, refusal=refusal, now=NOW)
    assert decided == AbsentResource(True, after)


@pytest.mark.parametrize(
    ("before", "outcome", "is_wall", "after"),
    [
        (RefusedAs.FORBIDDEN, FORBIDDEN, True, Refusal(RefusedAs.WALL, A_DAY_AGO, A_DAY_AGO)),
        (RefusedAs.GONE, GONE, True, Refusal(RefusedAs.WALL, A_DAY_AGO, A_DAY_AGO)),
        (RefusedAs.WALL, GONE, True, Refusal(RefusedAs.WALL, A_DAY_AGO, A_DAY_AGO)),
        (RefusedAs.WALL, GONE, False, Refusal(RefusedAs.GONE, NOW, NOW)),
    ],
)
def test_a_distribution_stays_while_most_are_refused(
    before: RefusedAs, outcome: ReadOutcome, is_wall: bool, after: Refusal
) -> None:
    refusal = Refusal(before, A_DAY_AGO, A_DAY_AGO)
    decided = decide_distribution(
        listed=True, outcome=outcome, refusal=refusal, now=NOW, is_wall=is_wall
    )
    assert decided == AbsentResource(True, after)


OTHERS = [known(name) for name in "opqrstu"]
HERE = present(*"opqrstu")

RESULTS = [
    # the crawl's result for record 1 of catalog A, unreadable containers, whether it is deleted
    ("read", seen(1, ReadOutcome.PRESENT, A), (), False),
    ("not listed, another catalog failed, own URL not asked", None, (B,), False),
    ("not listed, own URL answers", seen(1, ReadOutcome.PRESENT), (B,), False),
    ("not listed, own URL gone", seen(1, ReadOutcome.GONE), (B,), True),
    ("not listed, own URL fails", seen(1, ReadOutcome.FAILED), (B,), False),
    ("its catalog failed", None, (A,), False),
    ("its catalog failed, own URL gone", seen(1, ReadOutcome.GONE), (A,), False),
    ("the root failed", None, (ROOT,), False),
    ("the root failed, own URL gone", seen(1, ReadOutcome.GONE), (ROOT,), False),
    ("a page failed, not listed", None, (f"{A}/page/dataset?page=1",), False),
    ("a page failed, own URL gone", seen(1, ReadOutcome.GONE), (f"{A}/page/dataset?page=1",), True),
    ("listed, gone for the first time", seen(1, ReadOutcome.GONE, A), (), False),
    ("listed, failed", seen(1, ReadOutcome.FAILED, A), (), False),
    ("listed, malformed", seen(1, ReadOutcome.MALFORMED, A), (), False),
    ("listed, forbidden for the first time", seen(1, ReadOutcome.FORBIDDEN, A), (), False),
]


@pytest.mark.parametrize(
    ("case", "found", "unreadable", "gone"), RESULTS, ids=[row[0] for row in RESULTS]
)
def test_an_error_is_never_an_absence(
    case: str, found: SeenRecord | None, unreadable: tuple[str, ...], gone: bool
) -> None:
    current = [known(1), *OTHERS]
    outcome = decide(current, [*HERE, *([found] if found else [])], unreadable)
    assert deleted(outcome) == ({"1"} if gone else set())
    assert outcome.brake is None
    if found is None or found.outcome is not ReadOutcome.PRESENT or not found.listed_in:
        verdicts = [*outcome.delete, *outcome.keep]
        assert [verdict.known.url for verdict in verdicts if verdict.known.url == dataset(1)]
        assert all(verdict.reason for verdict in verdicts)


LEFT_OUT = [
    # what its own URL answers; hours since a job found the same, or None; what becomes of the record
    (ReadOutcome.GONE, None, "deleted"),
    (ReadOutcome.PRESENT, None, "held"),
    (ReadOutcome.PRESENT, 1000, "held"),
    (ReadOutcome.FORBIDDEN, None, "kept"),
    (ReadOutcome.FORBIDDEN, 23, "kept"),
    (ReadOutcome.FORBIDDEN, 24, "deleted"),
    (ReadOutcome.FAILED, None, "kept"),
    (ReadOutcome.FAILED, 19, "kept"),
    (ReadOutcome.FAILED, 20, "deleted"),
    (ReadOutcome.UNAVAILABLE, None, "kept"),
    (ReadOutcome.UNAVAILABLE, 19, "kept"),
    (ReadOutcome.UNAVAILABLE, 20, "held"),
    (ReadOutcome.UNAVAILABLE, 1000, "held"),
    (ReadOutcome.MALFORMED, None, "kept"),
    (ReadOutcome.MALFORMED, 20, "deleted"),
    (None, None, "kept"),
    (None, 19, "kept"),
    (None, 20, "deleted"),
]
"""A whole list leaves a record out: its own URL decides."""


def left_out(hours: float | None, answer: ReadOutcome | None) -> KnownRecord:
    """Return record 1, which a job some hours ago found left out, with this answer."""
    since = None if hours is None else NOW - hours * HOUR
    return known(1, absent_since=since, refusal=refused(answer, since))


def result_of(decided: Deletions) -> str:
    """Return what becomes of the only record that was not read."""
    if decided.brake is not None:
        return "held"
    return "deleted" if decided.delete else "kept"


@pytest.mark.parametrize(("answer", "hours", "becomes"), LEFT_OUT)
def test_a_list_that_leaves_a_record_out(
    answer: ReadOutcome | None, hours: int | None, becomes: str
) -> None:
    found = [*HERE, *([] if answer is None else [seen(1, answer)])]
    decided = decide([left_out(hours, answer), *OTHERS], found)
    assert result_of(decided) == becomes
    if becomes == "kept":
        since = NOW if hours is None else NOW - hours * HOUR
        one = decided.keep[0]
        assert one.refusal == refused(answer, since)
        assert one.refusal or one.absent_since == since


NEVER_READ_THERE = [
    # the answer of the record's own URL, hours since a job found the same, unproved, what becomes of it
    (ReadOutcome.GONE, None, (), "kept"),
    (ReadOutcome.GONE, 19, (), "kept"),
    (ReadOutcome.GONE, 20, (), "deleted"),
    (ReadOutcome.GONE, 23, (A,), "kept"),
    (ReadOutcome.GONE, 24, (A,), "held"),
    (ReadOutcome.FORBIDDEN, 23, (), "kept"),
    (ReadOutcome.FORBIDDEN, 24, (), "deleted"),
    (ReadOutcome.FORBIDDEN, 23, (A,), "kept"),
    (ReadOutcome.FORBIDDEN, 24, (A,), "held"),
    (ReadOutcome.FAILED, 1000, (A,), "kept"),
    (ReadOutcome.UNAVAILABLE, 20, (), "held"),
    (ReadOutcome.UNAVAILABLE, 1000, (A,), "kept"),
    (None, 1000, (A,), "kept"),
]
"""Records were read from lists: their own URLs may never have led anywhere."""


@pytest.mark.parametrize(("answer", "hours", "unproved", "becomes"), NEVER_READ_THERE)
def test_a_url_at_which_no_job_has_read_the_record(
    answer: ReadOutcome | None, hours: int | None, unproved: tuple[str, ...], becomes: str
) -> None:
    found = [*HERE, *([] if answer is None else [seen(1, answer)])]
    record = left_out(hours, answer)
    decided = decide([record, *OTHERS], found, (), unproved, has_own_documents=False)
    assert result_of(decided) == becomes
    if answer is ReadOutcome.GONE:
        # It answered with the record when its deletion was held: 404 now says that it is gone.
        guids = [record.guid]
        more: dict[str, Any] = {"has_own_documents": False, "held": guids, "answered": guids}
        decided = decide([record, *OTHERS], found, (), unproved, **more)
        assert result_of(decided) == "deleted"
    decided = decide([record, *OTHERS], found, (B,), has_own_documents=False)
    assert result_of(decided) == "kept"


@pytest.mark.parametrize(
    ("answer", "becomes"),
    [
        (ReadOutcome.GONE, "deleted"),
        (ReadOutcome.FORBIDDEN, "deleted"),
        (ReadOutcome.PRESENT, "held"),
        (ReadOutcome.FAILED, "held"),
        (ReadOutcome.MALFORMED, "held"),
        (None, "held"),
    ],
)
def test_a_record_that_answered_and_is_gone_now_needs_no_approval(
    answer: ReadOutcome | None, becomes: str
) -> None:
    """Only an answer of its own URL ends the hold, and not if the brake held the record, too."""
    record = left_out(48, answer)
    found = [*HERE, *([] if answer is None else [seen(1, answer)])]
    first = decide([known(1), *OTHERS], [*HERE, seen(1, ReadOutcome.PRESENT)])
    assert first.brake is not None and list(first.brake.answered) == [record.guid]
    decided = decide([record, *OTHERS], found, held=[record.guid], answered=first.brake.answered)
    assert result_of(decided) == becomes
    if decided.brake is not None:
        assert list(decided.brake.answered) == [record.guid]
    by_brake = decide([record, *OTHERS], found, held=[record.guid])
    assert by_brake.brake is not None and not by_brake.brake.answered


def test_the_brake_holds_records_that_answer_until_an_approval() -> None:
    current = [known(number) for number in range(4)]
    decided = decide(current, [seen(number, ReadOutcome.PRESENT) for number in range(4)])
    assert decided.brake is not None and not decided.brake.answered


@pytest.mark.parametrize("held", [False, True])
def test_an_answer_of_the_record_itself_ends_its_absence(held: bool) -> None:
    current = [known(1, absent_since=A_DAY_AGO), *OTHERS]
    more: dict[str, Any] = {"held": [current[0].guid]} if held else {"unproved": (A,)}
    for answer, since in ((ReadOutcome.PRESENT, None), (ReadOutcome.FAILED, A_DAY_AGO)):
        decided = decide(current, [*HERE, seen(1, answer)], **more)
        found = decided.brake.held if decided.brake else decided.keep
        assert [one.absent_since for one in found] == [since]


@pytest.mark.parametrize(
    "answer", [ReadOutcome.PRESENT, ReadOutcome.FAILED, ReadOutcome.UNAVAILABLE, None]
)
@pytest.mark.parametrize(("hours", "becomes"), [(None, "kept"), (19, "kept"), (20, "deleted")])
def test_a_source_that_datasets_may_leave(
    answer: ReadOutcome | None, hours: int | None, becomes: str
) -> None:
    """One list may have a hole: whatever its own URL says, a record goes after a second one."""
    record = left_out(hours, answer)
    found = [*HERE, *([] if answer is None else [seen(1, answer)])]
    decided = decide([record, *OTHERS], found, limits=BrakeLimits(delete_unlisted=True))
    assert result_of(decided) == becomes
    assert [one.absent_since for one in decided.keep] == [record.absent_since or NOW] * (
        becomes == "kept"
    )


WEEK = BrakeLimits(absent_for=timedelta(days=7))
KEEPING = BrakeLimits(deletes=False)
PATIENCE = [
    # the source's limits; days since a job found it absent, or None; the crawl's result; what becomes of it
    (WEEK, None, None, "kept"),
    (WEEK, None, seen(1, ReadOutcome.GONE), "kept"),
    (WEEK, 6, None, "kept"),
    (WEEK, 7, None, "deleted"),
    (WEEK, 7, seen(1, ReadOutcome.GONE), "deleted"),
    (WEEK, 9, seen(1, ReadOutcome.FAILED, A), "listed"),
    (WEEK, None, seen(1, ReadOutcome.PRESENT), "held"),
    (KEEPING, None, None, "kept"),
    (KEEPING, 900, None, "kept"),
    (KEEPING, 9, seen(1, ReadOutcome.FAILED, A), "listed"),
]
"""The keys ``absent_for`` and ``on_absence``."""


@pytest.mark.parametrize(("limits", "days", "found", "becomes"), PATIENCE)
def test_a_source_that_asks_for_patience(
    limits: BrakeLimits, days: int | None, found: SeenRecord | None, becomes: str
) -> None:
    since = None if days is None else NOW - timedelta(days=days)
    current, read = [known(1, absent_since=since), *OTHERS], [*HERE, *([found] if found else [])]
    decided = decide(current, read, limits=limits)
    assert result_of(decided) == ("kept" if becomes == "listed" else becomes)
    for one in decided.keep:
        assert one.absent_since == (None if becomes == "listed" else since or NOW)
        if becomes == "kept":
            code = MessageCode.ABSENT if limits is WEEK else MessageCode.KEPT
            assert one.reason.code is code
            date = utc_words((since or NOW) + WEEK.absent_for)
            assert one.reason.values == ({"date": date} if limits is WEEK else {})
    unproved = decide(current, HERE, unproved=(A,), limits=limits)
    assert [one.absent_since for one in unproved.keep] == [since]
    assert result_of(decide(current, HERE, limits=limits, released=[current[0].guid])) == "deleted"


@pytest.mark.parametrize("delete_unlisted", [False, True])
def test_a_list_without_a_proof_between_two_with_one(delete_unlisted: bool) -> None:
    """What answers is there for a source that does not delete what it leaves out."""
    limits = BrakeLimits(delete_unlisted=delete_unlisted)
    read = [*HERE, seen(1, ReadOutcome.PRESENT)]
    current = [known(1, absent_since=A_DAY_AGO), *OTHERS]
    (kept,) = decide(current, read, unproved=(A,), limits=limits).keep
    assert kept.absent_since == (A_DAY_AGO if delete_unlisted else None)
    current = [known(1, absent_since=kept.absent_since), *OTHERS]
    after = result_of(decide(current, read, limits=limits))
    assert after == ("deleted" if delete_unlisted else "held")


@pytest.mark.parametrize("answer", [*ReadOutcome, None])
@pytest.mark.parametrize("held", ["held", "released"])
def test_what_an_editor_has_to_decide_or_has_decided(answer: ReadOutcome | None, held: str) -> None:
    """A held deletion stays held, although its URL fails meanwhile; a released one waits for nothing."""
    record = known(1)
    found = [*HERE, *([] if answer is None else [seen(1, answer)])]
    decided = decide([record, *OTHERS], found, (), (), LIMITS, **{held: [record.guid]})
    assert result_of(decided) == (
        "held" if held == "held" else "deleted" if answer is not ReadOutcome.FORBIDDEN else "held"
    )


@pytest.mark.parametrize(
    ("answer", "is_new", "is_deleted"),
    [
        (None, True, False),
        (ReadOutcome.PRESENT, True, False),
        (ReadOutcome.GONE, True, True),
        (None, False, True),
    ],
)
def test_a_list_that_loses_all_others_carries_out_no_approval(
    answer: ReadOutcome | None, is_new: bool, is_deleted: bool
) -> None:
    """Not in the job that finds it so. Then editors know of all."""
    record, others = known(1), [known(2), known(3)]
    held = [] if is_new else [one.guid for one in others]
    found = [] if answer is None else [seen(1, answer)]
    decided = decide([record, *others], found, released=[record.guid], held=held)
    assert [one.known for one in decided.delete] == [record] * is_deleted
    assert decided.brake is not None and len(decided.brake.held) == 3 - is_deleted
    assert [one.known for one in decided.brake.verified] == others


@pytest.mark.parametrize(
    ("answer", "becomes"),
    [
        (None, "held"),
        (ReadOutcome.PRESENT, "held"),
        (ReadOutcome.FAILED, "held"),
        (ReadOutcome.GONE, "deleted"),
        (ReadOutcome.FORBIDDEN, "kept"),
    ],
)
@pytest.mark.parametrize("delete_unlisted", [False, True])
def test_a_container_that_lost_its_list(
    answer: ReadOutcome | None, becomes: str, delete_unlisted: bool
) -> None:
    containers = Containers(ROOT, {A, B}, without_list={A})
    found = [*HERE, *([] if answer is None else [seen(1, answer)])]
    decided = deletions(
        [known(1), *OTHERS],
        {one.url: one for one in found},
        containers,
        Decisions(),
        now=NOW,
        limits=BrakeLimits(delete_unlisted=delete_unlisted),
    )
    assert result_of(decided) == becomes


@pytest.mark.parametrize(("count", "becomes"), [(3, "kept"), (4, "held")])
def test_more_records_than_are_asked_for_are_held(count: int, becomes: str) -> None:
    records = [known(number) for number in range(count)]
    limits = BrakeLimits(max_delete_fraction=1.0, max_deletions=3)
    decided = decide([*records, *OTHERS], HERE, limits=limits)
    assert result_of(decided) == becomes
    released = [one.guid for one in records]
    decided = decide([*records, *OTHERS], HERE, limits=limits, released=released)
    assert len(decided.delete) == count


@pytest.mark.parametrize(
    ("found", "since", "gone"),
    [
        (None, None, False),
        (None, A_DAY_AGO, False),
        (seen(1, ReadOutcome.PRESENT), None, False),
        (seen(1, ReadOutcome.FAILED), A_DAY_AGO, False),
        (seen(1, ReadOutcome.FORBIDDEN), None, False),
        (seen(1, ReadOutcome.FORBIDDEN), A_DAY_AGO, True),
        (seen(1, ReadOutcome.GONE), None, True),
    ],
)
@pytest.mark.parametrize("container", [ROOT, A, B])
def test_a_container_without_a_proof_shows_no_absence(
    container: str, found: SeenRecord | None, since: datetime | None, gone: bool
) -> None:
    """Whichever container it is: only the record's own URL can tell that it is gone."""
    refusal = refused(found.outcome if found else None, since)
    current = [known(1, absent_since=since, refusal=refusal), *OTHERS]
    outcome = decide(current, [*HERE, *([found] if found else [])], unproved=(container,))
    assert deleted(outcome) == ({"1"} if gone else set())


def test_a_listed_record_that_was_not_met_is_kept() -> None:
    """Another record came in its place."""
    containers = Containers(ROOT, {A}, listed={dataset(1)})
    current = [known(1), known(2, absent_since=A_DAY_AGO)]
    decided = deletions(current, {}, containers, Decisions(), now=NOW, limits=BrakeLimits(1.0))
    assert [one.known.url for one in decided.keep] == [dataset(1)]


def test_a_listed_catalog_that_answers_404_is_kept() -> None:
    """It counts as a container that could not be read, not as a record that is gone."""
    catalog = KnownRecord(A, guid_of(A, None), None, "hash", refusal=refused(GONE, A_DAY_AGO))
    gone = SeenRecord(A, ReadOutcome.GONE, (ROOT,), is_catalog=True)
    assert decide([catalog, *OTHERS], [*HERE, gone], (A,)).delete == ()


@pytest.mark.parametrize("listed_in", [(A,), ()])
@pytest.mark.parametrize(("before", "answer"), [(FORBIDDEN, GONE), (GONE, FORBIDDEN)])
def test_another_refusal_begins_anew(
    before: ReadOutcome, answer: ReadOutcome, listed_in: tuple[str, ...]
) -> None:
    current = [known(1, refusal=refused(before, A_DAY_AGO)), *OTHERS]
    found = [*HERE, seen(1, answer, *listed_in)]
    decided = decide(current, found, has_own_documents=False)
    after = Refusal(KINDS[answer], NOW, A_DAY_AGO)
    assert [one.refusal for one in decided.keep] == [after]
    assert Refusal.parse(str(after)) == after
    assert Refusal.parse(f"{answer.value} {NOW.isoformat()}") == refused(answer, NOW)


IN_TURN = [
    # the record's answer, hours since the first job that got it, hours since the first refusal, its fate
    (FORBIDDEN, 0, 0, "kept"),
    (FORBIDDEN, 23, 23, "kept"),
    (FORBIDDEN, 24, 24, "deleted"),
    (GONE, 0, 0, "kept"),
    (GONE, 23, 23, "kept"),
    (GONE, 24, 24, "deleted"),
    (FORBIDDEN, 0, 47, "kept"),
    (GONE, 0, 47, "kept"),
    (FORBIDDEN, 0, 48, "held"),
    (GONE, 0, 48, "held"),
    (FORBIDDEN, 23, 1000, "held"),
    (FORBIDDEN, 24, 1000, "deleted"),
    (GONE, 24, 1000, "deleted"),
    (ReadOutcome.FAILED, 1000, 1000, "kept"),
    (ReadOutcome.MALFORMED, 1000, 1000, "kept"),
    (ReadOutcome.PRESENT, 1000, 1000, "kept"),
]


@pytest.mark.parametrize(("answer", "hours", "first", "becomes"), IN_TURN)
def test_a_listed_record_that_is_refused(
    answer: ReadOutcome, hours: int, first: int, becomes: str
) -> None:
    """It goes if one refusal lasts for a day. An editor decides after two days. A failure is no refusal."""
    kind = KINDS.get(answer, RefusedAs.GONE)
    refusal = Refusal(kind, NOW - hours * HOUR, NOW - first * HOUR)
    current = [known(1, refusal=refusal), *OTHERS]
    decided = decide(current, [*HERE, seen(1, answer, A)])
    assert result_of(decided) == becomes
    if becomes == "kept" and answer is not ReadOutcome.PRESENT:
        assert [one.refusal for one in decided.keep] == [refusal]
    # The same of a record that no list has, if its URL may always have answered so.
    more: dict[str, Any] = {"unproved": (A,), "has_own_documents": False}
    unlisted = decide(current, [*HERE, seen(1, answer)], **more)
    assert result_of(unlisted) == ("held" if becomes == "deleted" else becomes)
    if becomes == "held":
        assert decided.brake is not None
        assert list(decided.brake.answered) == [current[0].guid]
        guids = [current[0].guid]
        lasting = replace(current[0], refusal=refused(answer, A_DAY_AGO))
        found = [*HERE, seen(1, answer, A)]
        after = decide([lasting, *OTHERS], found, held=guids, answered=guids)
        assert result_of(after) == "deleted"


@pytest.mark.parametrize("unproved", [(), (A,)])
def test_an_answer_ends_the_refusal_of_a_record_that_no_list_has(unproved: tuple[str, ...]) -> None:
    before = refused(FORBIDDEN, LONG_AGO)
    for answer, kept in ((ReadOutcome.PRESENT, None), (ReadOutcome.FAILED, before), (None, before)):
        found = [*HERE, *([] if answer is None else [seen(1, answer)])]
        limits = BrakeLimits(absent_for=timedelta(days=9), delete_unlisted=True)
        decided = decide([known(1, refusal=before), *OTHERS], found, (), unproved, limits)
        assert [one.refusal for one in decided.keep] == [kept], answer


@pytest.mark.parametrize(
    ("found", "gone"),
    [
        (None, False),
        (seen(1, ReadOutcome.GONE), False),
        (seen(1, ReadOutcome.GONE, A), True),
        (seen(1, ReadOutcome.FAILED, A), False),
    ],
)
def test_a_record_whose_url_is_unsure_goes_only_if_a_container_lists_it(
    found: SeenRecord | None, gone: bool
) -> None:
    current = [known(1, recognised=False, refusal=refused(GONE, A_DAY_AGO)), *OTHERS]
    decided = decide(current, [*HERE, *([found] if found else [])])
    assert deleted(decided) == ({"1"} if gone else set())


@pytest.mark.parametrize(
    ("forbidden", "readable", "wall"),
    [(1, 1, False), (2, 1, True), (2, 2, False), (3, 2, True), (1, 0, True)],
)
@pytest.mark.parametrize("answer", [FORBIDDEN, GONE])
def test_a_wall_is_no_withdrawal(
    answer: ReadOutcome, forbidden: int, readable: int, wall: bool
) -> None:
    before = WALL_A_DAY_AGO if wall else refused(answer, A_DAY_AGO)
    current = [known(number, refusal=before) for number in range(forbidden + readable)]
    found = [
        *(seen(number, answer, A) for number in range(forbidden)),
        *present(*range(forbidden, forbidden + readable)),
    ]
    current += [known(number, B) for number in range(100, 140)]
    found += present(*range(100, 140), catalog=B)
    outcome = decide(current, found)
    assert len(outcome.delete) == (0 if wall else forbidden)
    # An editor decides, from 24 hours on.
    assert len(outcome.brake.held if outcome.brake else ()) == (forbidden if wall else 0)
    released = [one.guid for one in current[:forbidden]]
    assert len(decide(current, found, released=released).delete) == forbidden
    current = [replace(one, refusal=None) for one in current]
    outcome = decide(current, found)
    assert not outcome.delete and outcome.brake is None


@pytest.mark.parametrize(
    ("refusing", "before", "becomes"),
    [
        (0, FORBIDDEN_A_DAY_AGO, "deleted"),
        (1, FORBIDDEN_A_DAY_AGO, "deleted"),
        (2, WALL_A_DAY_AGO, "held"),
        # One of the two jobs saw a wall: the other alone tells of this record. With it, editors can decide.
        (2, FORBIDDEN_A_DAY_AGO, "held"),
        (1, WALL_A_DAY_AGO, "kept"),
    ],
)
def test_a_wall_before_all_own_urls(refusing: int, before: Refusal, becomes: str) -> None:
    """Listed records that were not read at their own URLs tell of it."""
    controls = (*[ReadOutcome.FORBIDDEN] * refusing, *[ReadOutcome.PRESENT] * (3 - refusing))
    current = [known(1, refusal=before), *OTHERS]
    decided = decide(current, [*HERE, seen(1, ReadOutcome.FORBIDDEN)], controls=controls)
    assert result_of(decided) == becomes


@pytest.mark.parametrize("answer", [FORBIDDEN, GONE])
def test_a_wall_that_comes_and_goes_is_no_refusal_in_turn(answer: ReadOutcome) -> None:
    """The record always answers the same: it goes when it has done so for a day since the last wall."""
    refusal, became = None, []
    for day, is_wall in enumerate([False, True, False, True, False, False]):
        now = NOW + timedelta(days=day)
        others = [seen(2, answer, A)] if is_wall else present(2)
        found = {one.url: one for one in (seen(1, answer, A), *others, *HERE)}
        current = [known(1, refusal=refusal), known(2), *(known(one, B) for one in "opqrstu")]
        containers = Containers(ROOT, {A, B}, listed=set(found))
        decided = deletions(current, found, containers, Decisions(), now=now, limits=LIMITS)
        held = decided.brake.held if decided.brake else ()
        (one,) = (
            one for one in (*decided.delete, *decided.keep, *held) if one.known.url == dataset(1)
        )
        refusal = one.refusal
        became.append((result_of(decided), one.reason.code))
    early, late = {
        FORBIDDEN: (MessageCode.ACCESS_REFUSED, MessageCode.WITHDRAWN),
        GONE: (MessageCode.STILL_LISTED, MessageCode.GONE),
    }[answer]
    wall = ("held", MessageCode.CATALOG_REFUSED)
    kept = ("kept", early)
    assert became == [kept, wall, kept, wall, kept, ("deleted", late)]


BEHIND_A_WALL = known(1, B, refusal=WALL_A_DAY_AGO)
AFTER_A_WALL = [
    # the record's answer after a wall has held its deletion, whether it is listed, own documents, its fate
    (ReadOutcome.PRESENT, True, True, "kept"),
    (GONE, False, True, "deleted"),
    (GONE, False, False, "held"),
    (GONE, True, True, "held"),
    (FORBIDDEN, False, True, "held"),
    (FORBIDDEN, True, True, "held"),
    (ReadOutcome.FAILED, False, True, "held"),
    (ReadOutcome.FAILED, True, True, "held"),
    (None, False, True, "held"),
]


@pytest.mark.parametrize(("answer", "is_listed", "own", "becomes"), AFTER_A_WALL)
def test_a_record_that_a_wall_has_held(
    answer: ReadOutcome | None, is_listed: bool, own: bool, becomes: str
) -> None:
    """Its own URL's 404 needs no approval; an approval ends with the deletion or an answer of the record."""
    listed_in = (B,) if is_listed else ()
    current = [BEHIND_A_WALL, known(2, B), *OTHERS]
    controls = [FORBIDDEN] * 3
    others = present(2, catalog=B)
    wall = [*HERE, *others, seen(1, FORBIDDEN, *listed_in)]
    first = decide(current, wall, has_own_documents=own, controls=controls)
    assert first.brake is not None
    guids = [BEHIND_A_WALL.guid]
    assert list(first.brake.answered) == (guids if own else [])
    found = [*HERE, *others, *([] if answer is None else [seen(1, answer, *listed_in)])]
    more: dict[str, Any] = {"held": guids, "answered": first.brake.answered}
    assert result_of(decide(current, found, has_own_documents=own, **more)) == becomes
    approved = decide(current, found, has_own_documents=own, released=guids)
    if becomes == "kept":
        assert approved.brake is None
    elif approved.brake is not None:
        assert [one.known.guid for one in approved.brake.held] == guids
        assert list(approved.brake.answered) == []
    else:
        assert deleted(approved) == {"1"}


def test_drafts_that_never_were_ours_say_nothing_of_a_wall() -> None:
    drafts = [seen(f"draft{number}", ReadOutcome.FORBIDDEN, A) for number in range(9)]
    current = [known(1, refusal=FORBIDDEN_A_DAY_AGO), known(2), known(3)]
    found = [seen(1, ReadOutcome.FORBIDDEN, A), *present(2, 3), *drafts]
    assert deleted(decide(current, found)) == {"1"}


def test_new_readable_records_count_against_a_wall() -> None:
    found = [seen(1, ReadOutcome.FORBIDDEN, A), *present(*range(10, 15)), *present(2, 3, catalog=B)]
    current = [known(1, refusal=FORBIDDEN_A_DAY_AGO), known(2, B), known(3, B)]
    assert deleted(decide(current, found)) == {"1"}


BRAKES = [
    # current, still listed, max_delete_fraction, max_deletions, released, deleted, held
    (20, 16, 0.2, 500, 0, 4, 0),
    (20, 15, 0.2, 500, 0, 0, 5),
    (20, 15, 0.25, 500, 0, 5, 0),
    # The share counts from 10 records on.
    (9, 2, 0.2, 500, 0, 7, 0),
    (10, 2, 0.2, 500, 0, 0, 8),
    # All, or all but one, whatever their number.
    (12, 0, 1.0, 500, 0, 0, 12),
    (12, 1, 1.0, 500, 0, 0, 11),
    (12, 2, 1.0, 500, 0, 10, 0),
    (3, 1, 1.0, 500, 0, 0, 2),
    (1, 0, 1.0, 500, 0, 0, 1),
    # The number.
    (50, 43, 1.0, 7, 0, 7, 0),
    (50, 42, 1.0, 7, 0, 0, 8),
    (12, 11, 1.0, 0, 0, 0, 1),
    # Released deletions do not raise what the others may take.
    (12, 1, 0.2, 500, 11, 11, 0),
    (12, 1, 0.2, 500, 5, 5, 6),
    (20, 12, 0.2, 500, 5, 8, 0),
    (20, 12, 0.2, 500, 4, 4, 4),
]


@pytest.mark.parametrize(
    ("current", "listed", "fraction", "most", "released", "gone", "held"), BRAKES
)
def test_the_brake(
    current: int, listed: int, fraction: float, most: int, released: int, gone: int, held: int
) -> None:
    records = [known(number, absent_since=A_DAY_AGO) for number in range(current)]
    outcome = decide(
        records,
        present(*range(listed)),
        limits=BrakeLimits(fraction, most),
        released=[one.guid for one in records[listed : listed + released]],
    )
    assert len(outcome.delete) == gone
    assert len(outcome.brake.held if outcome.brake else ()) == held
    if outcome.brake:
        of_all = f"{held} of {current - released} record"
        assert of_all in outcome.brake.reason or f"but {current} record" in outcome.brake.reason


@pytest.mark.parametrize(("answers", "gone"), [(1, 1), (2, 0), (3, 0)])
def test_a_source_that_lists_none_of_the_known_records_deletes_nothing(
    answers: int, gone: int
) -> None:
    """Not even a part of them, while others are kept for another reason."""
    records = [
        known(number, absent_since=A_DAY_AGO)
        if number < answers
        else known(number, recognised=False)
        for number in range(6)
    ]
    outcome = decide(records, present("new", "newer"))
    assert len(outcome.delete) == gone
    assert len(outcome.brake.held if outcome.brake else ()) == (0 if gone else answers)
    if outcome.brake:
        assert outcome.brake.reason == "the source lists none of the 6 current records any more"


def test_a_source_that_lists_only_empty_catalogs_lists_nothing() -> None:
    catalogs = [KnownRecord(url, guid_of(url, None)) for url in (A, B)]
    found = [SeenRecord(one.url, ReadOutcome.PRESENT, (ROOT,), is_catalog=True) for one in catalogs]
    datasets = [known(number, absent_since=A_DAY_AGO) for number in range(3)]
    decided = decide([*catalogs, *datasets], found)
    assert decided.brake is not None and len(decided.brake.held) == 3


@pytest.mark.parametrize("answer", [None, ReadOutcome.PRESENT, ReadOutcome.GONE])
def test_records_of_another_harvester_wait_for_an_approval(answer: ReadOutcome | None) -> None:
    """However few they are, and whatever their own URLs answer: no job of this source has read them."""
    records = [known(1, foreign=True), known(2, absent_since=A_DAY_AGO), *OTHERS]
    found = [*HERE, *([seen(1, answer)] if answer else [])]
    outcome = decide(records, found)
    assert deleted(outcome) == {"2"}
    assert outcome.brake is not None
    assert [one.known.url for one in outcome.brake.held] == [dataset(1)]
    assert [one.own_url for one in outcome.brake.held] == [answer]
    assert list(outcome.brake.answered) == []
    assert outcome.brake.reason.startswith(
        "1 of 9 records would be deleted that only another harvester has read, "
    )
    released = decide(records, found, released=[records[0].guid])
    assert deleted(released) == {"1", "2"}


@pytest.mark.parametrize("answer", [None, ReadOutcome.PRESENT, GONE, ReadOutcome.FAILED])
@pytest.mark.parametrize("unlisted", [False, True])
def test_an_approval_ends_if_a_record_answers_that_did_not(
    answer: ReadOutcome | None, unlisted: bool
) -> None:
    """The editor has approved the deletion of something that seemed gone."""
    records = [known(number) for number in range(4)]
    found = [seen(number, answer) for number in range(4)] if answer else []
    guids = [one.guid for one in records]
    limits = BrakeLimits(delete_unlisted=unlisted)
    decided = decide(records, found, limits=limits, released=guids, unanswered=guids[1:])
    gone = {"0"} if answer is ReadOutcome.PRESENT else {"0", "1", "2", "3"}
    assert deleted(decided) == gone
    assert len(decided.brake.held if decided.brake else ()) == 4 - len(gone)


@pytest.mark.parametrize("as_what", ["held", "released"])
def test_what_is_held_and_cannot_be_read_stays_held(as_what: str) -> None:
    records = [known(number, absent_since=A_DAY_AGO) for number in range(4)]
    held = [record.guid for record in records[:3]]
    outcome = decide(records, present(3), (A,), (), LIMITS, **{as_what: held})
    assert not outcome.delete
    assert outcome.brake is not None
    assert {one.known.guid for one in outcome.brake.held} == set(held)


def test_a_release_that_the_records_object_keeps_is_on_no_list() -> None:
    """The import that was to delete the record has failed."""
    records = [known(1, approval=Approval.UNANSWERED), *OTHERS]
    guids = [records[0].guid]
    assert result_of(decide(records, HERE, unproved=(A,), released=guids)) == "kept"
    assert result_of(decide(records, HERE, released=guids)) == "deleted"


@pytest.mark.parametrize(
    ("answer", "is_listed", "refusal", "approval", "becomes", "stays"),
    [
        (ReadOutcome.PRESENT, False, None, Approval.UNANSWERED, "held", False),
        (ReadOutcome.PRESENT, False, None, Approval.ANSWERED, "deleted", True),
        (ReadOutcome.FORBIDDEN, False, None, Approval.UNANSWERED, "kept", True),
        (ReadOutcome.FAILED, True, None, Approval.ANSWERED, "kept", False),
        (ReadOutcome.FAILED, True, refused(GONE, A_DAY_AGO), Approval.ANSWERED, "kept", True),
    ],
)
def test_a_release_that_the_records_object_keeps_ends_as_any_other(
    answer: ReadOutcome,
    is_listed: bool,
    refusal: Refusal | None,
    approval: Approval,
    becomes: str,
    stays: bool,
) -> None:
    record = known(1, refusal=refusal, approval=approval)
    guids = [record.guid]
    unanswered = guids if approval is Approval.UNANSWERED else []
    found = [*HERE, seen(1, answer, *([A] if is_listed else []))]
    decided = decide([record, *OTHERS], found, released=guids, unanswered=unanswered)
    assert result_of(decided) == becomes
    absent = decided.delete or decided.keep or (decided.brake.held if decided.brake else ())
    assert [one.approval for one in absent] == [approval if stays else None]


@pytest.mark.parametrize("as_what", ["held", "released"])
@pytest.mark.parametrize("outcome", list(ReadOutcome))
def test_what_is_listed_again_is_no_longer_held(as_what: str, outcome: ReadOutcome) -> None:
    """Whether or not it can be read."""
    records = [known(number, absent_since=A_DAY_AGO) for number in range(12)]
    again = seen(0, outcome, A)
    earlier = {as_what: [records[0].guid]}
    decided = decide(records, [again, *present(*range(1, 12))], (), (), LIMITS, **earlier)
    assert (deleted(decided), decided.brake) == (set(), None)


def test_nothing_listed_holds_beside_an_unreadable_catalog() -> None:
    records = [known(number, absent_since=A_DAY_AGO) for number in range(6)]
    gone = [seen(number, ReadOutcome.GONE) for number in range(6)]
    outcome = decide(records, gone, (B,))
    assert not outcome.delete
    assert outcome.brake is not None


def test_who_is_asked_for_himself() -> None:
    readable = Containers(ROOT, {A, B})
    assert must_ask(known(1), set(), readable)
    assert not must_ask(known(1), {dataset(1)}, readable)
    broken = Containers(ROOT, {A, B}, {B: "answers 503"})
    assert must_ask(known(1, A), set(), broken)
    assert not must_ask(known(1, A), {dataset(1)}, broken)
    assert not must_ask(known(1, B), set(), broken)
    assert not must_ask(known(1, A, recognised=False), set(), broken)
    catalog = KnownRecord(B, guid_of(B, None))
    assert not must_ask(catalog, set(), broken)
    assert not must_ask(known(1, A), set(), Containers(ROOT, {A}, {ROOT: "answers 503"}))


@pytest.mark.parametrize(
    ("count", "left", "is_held"), [(10, 0, True), (10, 1, True), (10, 2, False), (9, 0, False)]
)
def test_no_job_empties_a_catalog(count: int, left: int, is_held: bool) -> None:
    """Ten of a hundred records are few, but all of their catalog's."""
    others = [known(f"b{number}", B) for number in range(90)]
    mine = [known(f"a{number}", absent_since=A_DAY_AGO) for number in range(count)]
    found = present(*(f"b{number}" for number in range(90)), catalog=B)
    found += present(*(f"a{number}" for number in range(left)))
    outcome = decide([*mine, *others], found)
    assert (outcome.brake is not None) is is_held
    assert len(outcome.delete) == (0 if is_held else count - left)
    if outcome.brake:
        words = (
            f"{count - left} of {count} datasets"
            if left
            else f"none of the {count} current datasets"
        )
        assert f"{words} of {A}" in outcome.brake.reason
        guids = [one.guid for one in mine]
        assert len(decide([*mine, *others], found, released=guids).delete) == count - left
