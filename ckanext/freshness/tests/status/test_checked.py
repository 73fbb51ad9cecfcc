"""What checks say of datasets: what they conclude, and which changes of data they show."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
import sqlalchemy as sa
from ckan.tests.helpers import changed_config
from msgspec import structs

from ckanext.freshness import settings
from ckanext.freshness.aging.evidence import DatedEvidence, Evidence
from ckanext.freshness.checking import check_rows, data_changes, fields, result_writer
from ckanext.freshness.checking.decisions import (
    Attempt,
    CheckResult,
    KnownContent,
    Outcome,
    ResourceToCheck,
)
from ckanext.freshness.checking.formats import TableShape
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.ckan_adapter.packages import rebuild, solr_commit
from ckanext.freshness.dates import utc_text
from ckanext.freshness.mails import news
from ckanext.freshness.reporting import links
from ckanext.freshness.runs import requested
from ckanext.freshness.status import conclusions
from ckanext.freshness.status.assessment import update_packages
from ckanext.freshness.status.changes import Occasion, TransitionCause, changes_of_data
from ckanext.freshness.status.judgement import Judgement, counting
from ckanext.freshness.status.snapshot import DatasetSnapshot, ResourceSnapshot
from ckanext.freshness.tests import datasets
from ckanext.freshness.tests.clock import freeze_time
from ckanext.freshness.tests.datasets import Act, ours

pytestmark = pytest.mark.usefixtures("kept_db")

Dataset = dict[str, Any]

MADE = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
FRESH = MADE + timedelta(days=1)
LATE = MADE + timedelta(days=20)
"""A weekly dataset is fresh then, and overdue."""
WEEKLY = {"data_update_frequency": "7"}


def new(act: Act, *urls: str) -> Dataset:
    with freeze_time(MADE):
        resources = [{"url": url} for url in urls or ("http://x.org/a.csv",)]
        made = datasets.new(act, resources=resources, extras=WEEKLY)
    check_rows.sync(MADE, settings.aging().dataset_types)
    return made


def findings_of(
    dataset: Dataset,
    now: datetime,
    *outcomes: Outcome | None,
    modified: datetime | None = None,
    **more: Any,
) -> list[CheckResult]:
    """Return results for the resources of a dataset in turn, except those without an outcome."""
    findings = []
    for resource, outcome in zip(dataset["resources"], outcomes, strict=False):
        if outcome is not None:
            visit = ResourceToCheck(resource["id"], dataset["id"], resource["url"])
            attempt = Attempt(now, outcome, modified=modified)
            findings.append(
                CheckResult(visit, "x.org", KnownContent(hash="sha256:a"), attempt, **more)
            )
    return findings


def check(dataset: Dataset, now: datetime, *outcomes: Outcome | None, **more: Any) -> None:
    """Write what a run of now found, resource by resource, as the run does."""
    written = result_writer.write(findings_of(dataset, now, *outcomes, **more), now)
    fields.write_found(written, settings.resource_fields())
    update_packages([dataset["id"]], Occasion(now, TransitionCause.CHECK))
    model.Session.commit()
    model.Session.expire_all()
    rebuild([dataset["id"]])
    solr_commit()


def undetermined(act: Act, dataset: Dataset, now: datetime = LATE) -> str | None:
    with freeze_time(now):
        return ours(act("package_show", id=dataset["id"])).get("freshness_undetermined")


def edit(act: Act, dataset: Dataset, now: datetime, **changes: Any) -> Dataset:
    with freeze_time(now):
        result: Dataset = act("package_patch", id=dataset["id"], **changes)
        return result


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([Outcome.API], "api"),
        ([Outcome.CANNOT_TELL, Outcome.API], "api"),
        ([Outcome.SAME_HASH, Outcome.CANNOT_TELL], "blocked"),
        ([Outcome.PAGE, Outcome.PAGE], "page"),
        ([Outcome.PAGE, Outcome.API], "api"),
        # Many datasets have a page beside their data.
        ([Outcome.PAGE, Outcome.SAME_HASH], None),
    ],
)
def test_what_cannot_be_determined_is_told_where_it_matters(
    act: Act, outcomes: list[Outcome], expected: str | None
) -> None:
    dataset = new(act, "http://x.org/1", "http://x.org/2")
    check(dataset, FRESH, *outcomes)
    assert undetermined(act, dataset, FRESH) is None
    edit(act, dataset, LATE, notes="edited")
    assert undetermined(act, dataset) == expected
    check(dataset, LATE, *[Outcome.SAME_HASH] * 2)
    assert undetermined(act, dataset) is None


def test_links_that_break_and_work_again_are_counted_once(act: Act) -> None:
    dataset = new(act, "http://x.org/breaks", "http://x.org/fine")
    turns = []
    for day, outcome in enumerate([Outcome.ERROR] * 4 + [Outcome.SAME_HASH] * 2):
        now = LATE + timedelta(days=day)
        results = [
            *findings_of(dataset, now, outcome),
            *findings_of(dataset, now, None, Outcome.SAME_HASH),
        ]
        concluded = conclusions.write(results, "run", now, now)
        turns.append((concluded.newly_broken, concluded.repaired))
    # A link is broken after three failures, spread over a day.
    assert turns == [(0, 0), (0, 0), (1, 0), (0, 0), (0, 1), (0, 0)]


def test_a_date_of_the_server_outweighs_the_day_on_which_a_link_was_added(act: Act) -> None:
    dataset = new(act)
    with freeze_time(FRESH):
        shown = act("freshness_show", id=dataset["id"])
        assert (shown["status"], shown["evidence"]) == ("fresh", "created")
    old = datetime(2019, 3, 5, tzinfo=timezone.utc)
    results = findings_of(dataset, FRESH, Outcome.FIRST_HASH, modified=old)
    conclusions.write(results, "run", FRESH, FRESH)
    with freeze_time(FRESH):
        shown = act("freshness_show", id=dataset["id"])
    assert (shown["status"], shown["evidence"]) == ("delinquent", "http header")
    assert shown["last_modified"] == "2019-03-05T00:00:00Z"
    assert dataset["id"] not in {one.package_id for one in news.overdue(FRESH)}, "it is old"


def test_dates_that_lie_are_withdrawn(act: Act) -> None:
    dataset = new(act, "http://x.org/lies", "http://x.org/fine")
    first = [Outcome.FIRST_HASH] * 2
    conclusions.write(findings_of(dataset, LATE, *first, modified=LATE), "run", LATE, LATE)
    # The file of the other link has moved: the dates that counted are of another server.
    lies = findings_of(dataset, LATE, Outcome.SAME_HASH, Outcome.REPEAT_HASH)
    lies = [one._replace(known=KnownContent(hash="sha256:a", dates_lie=True)) for one in lies]
    conclusions.write(lies, "run", LATE, LATE)
    with freeze_time(LATE):
        pieces = act("freshness_show", id=dataset["id"])["pieces"]
    dated = [piece["resource_id"] for piece in pieces if piece["evidence"] == "http header"]
    assert dated == [dataset["resources"][1]["id"]]


@pytest.mark.parametrize(
    ("outcome", "found", "is_news"),
    [
        (Outcome.FIRST_HASH, None, True),
        (Outcome.API, None, True),
        # The file of the URL before
        (Outcome.REPEAT_HASH, None, False),
        (Outcome.PAGE, None, False),
        (Outcome.FIRST_HASH, "an HTML page", False),
        (Outcome.ERROR, None, False),
        (Outcome.CANNOT_TELL, None, False),
    ],
)
@pytest.mark.parametrize("number", [1, 2])
def test_another_url_is_news_once_a_file_was_found_there(
    act: Act, outcome: Outcome, found: str | None, is_news: bool, number: int
) -> None:
    """Whether a check has seen the old URL or not: a mistyped URL makes no data fresh."""
    dataset = new(act, *(f"http://x.org/{one}.csv" for one in range(number)))
    if number > 1:
        check(dataset, MADE, Outcome.FIRST_HASH)
    resource_id = dataset["resources"][0]["id"]
    with freeze_time(LATE):
        act("resource_patch", id=resource_id, url="http://x.org/other.csv")
        shown = act("freshness_show", id=dataset["id"])
        assert (shown["status"], shown["evidence"]) == ("overdue", "created")
    assert requested.is_checking(dataset["id"]), "it is checked at once"
    dataset["resources"][0]["url"] = "http://x.org/other.csv"
    later = LATE + timedelta(hours=1)
    check_rows.sync(later, settings.aging().dataset_types)
    (result,) = findings_of(dataset, later, outcome)
    result = result._replace(known=structs.replace(result.known, found=found))
    conclusions.write([result], "run", later, later)
    with freeze_time(later):
        shown = act("freshness_show", id=dataset["id"])
        assert (shown["status"] == "fresh") is is_news
        assert shown["evidence"] == ("url" if is_news else "created")
        changed = [one["evidence"] for one in shown["data_changes"]]
        assert changed == (["url"] if is_news else [])


@pytest.mark.parametrize("outcome", [Outcome.API, Outcome.PAGE])
def test_data_behind_pages_and_interfaces_are_never_called_late(act: Act, outcome: Outcome) -> None:
    dataset = new(act, "http://x.org/live", "http://x.org/also")
    check(dataset, LATE, outcome, Outcome.FIRST_HASH)
    with freeze_time(LATE):
        assert act("freshness_show", id=dataset["id"])["status"] == "overdue"
    check(dataset, LATE, outcome, outcome)
    with freeze_time(LATE + timedelta(days=400)):
        shown = act("freshness_show", id=dataset["id"])
        assert (shown["status"], shown["undetermined"]) == ("unavailable", outcome.value)
        act("freshness_confirm", id=dataset["id"])
        assert act("freshness_show", id=dataset["id"])["status"] == "fresh"


def test_resources_made_anew_keep_reasons_and_fields(act: Act) -> None:
    dataset = new(act)
    check(dataset, LATE, Outcome.API, size=7, mimetype="text/csv")
    for number in range(2):
        changed = edit(
            act, dataset, LATE, resources=[{"url": "http://x.org/a.csv", "name": str(number)}]
        )
        assert changed["resources"][0]["id"] != dataset["resources"][0]["id"]
        assert undetermined(act, dataset) == "api"
        assert fields_of(act, dataset) == {"size": 7, "mimetype": "text/csv"}
    # What an editor states stays.
    stated = {"url": "http://x.org/a.csv", "size": 3, "mimetype": "a/b"}
    edit(act, dataset, LATE, resources=[stated])
    assert fields_of(act, dataset) == {"size": 3, "mimetype": "a/b"}


def fields_of(act: Act, dataset: Dataset) -> dict[str, Any]:
    (shown,) = act("package_show", id=dataset["id"])["resources"]
    model.Session.expire_all()
    (kept,) = act("package_show", id=dataset["id"], use_default_schema=True)["resources"]
    names = ("last_modified", "size", "mimetype", "hash")
    assert [shown[name] for name in names] == [kept[name] for name in names]
    return {name: shown[name] for name in names if shown[name]}


def moved(dataset: Dataset) -> list[Any]:
    """What must not move when the checker writes."""
    statement = """
    SELECT p.metadata_modified, r.metadata_modified, (SELECT count(*) FROM activity)
    FROM package p JOIN resource r ON r.package_id = p.id WHERE p.id = :id"""
    rows = model.Session.execute(sa.text(statement), {"id": dataset["id"]}).all()
    model.Session.commit()
    result: list[Any] = rows
    return result


FOUND = {"modified": MADE - timedelta(days=3), "size": 7, "mimetype": "text/csv"}
WRITTEN = {"last_modified": "2025-12-29T12:00:00", "size": 7, "mimetype": "text/csv"}


def test_empty_fields_are_filled_in(act: Act) -> None:
    dataset = new(act)
    before = moved(dataset)
    check(dataset, FRESH, Outcome.SAME_HASH, **FOUND)
    assert fields_of(act, dataset) == WRITTEN
    assert moved(dataset) == before
    with changed_config("ckanext.freshness.check.resource_fields", ["hash"]):
        check(dataset, FRESH, Outcome.SAME_HASH, size=8)
    assert fields_of(act, dataset) == WRITTEN | {"hash": "sha256:a"}


@pytest.mark.parametrize("modified", [FRESH, MADE - timedelta(days=300)])
def test_what_the_checker_wrote_is_no_evidence(act: Act, modified: datetime) -> None:
    dataset = new(act)
    check(dataset, FRESH, Outcome.SAME_HASH, **FOUND | {"modified": modified})
    edit(act, dataset, FRESH, notes="edited")
    kinds = model.Session.execute(
        sa.text("SELECT DISTINCT evidence FROM freshness_evidence WHERE package_id = :id"),
        {"id": dataset["id"]},
    ).scalars()
    assert set(kinds) == {"created"}
    # What a person writes is.
    resource = dataset["resources"][0]
    with freeze_time(LATE):
        changed = act("resource_patch", id=resource["id"], last_modified="2026-01-15T00:00:00")
    assert changed["last_modified"] == "2026-01-15T00:00:00"
    extras = ours(act("package_show", id=dataset["id"]))
    assert extras["freshness_last_modified"] == "2026-01-15T00:00:00Z"
    assert extras["freshness_evidence"] == "upload"


DAY = timedelta(days=1)
OLD = KnownContent(hash="sha256:old")
NEW = KnownContent(hash="sha256:new")


def result(
    dataset: Dataset,
    now: datetime,
    outcome: Outcome,
    before: KnownContent,
    after: KnownContent,
    modified: datetime | None = None,
    **more: Any,
) -> CheckResult:
    resource = dataset["resources"][0]
    asked = ResourceToCheck(resource["id"], dataset["id"], resource["url"], before)
    attempt = Attempt(now, outcome, modified=modified)
    return CheckResult(asked, "x.org", after, attempt, **more)


def conclude(now: datetime, *results: CheckResult) -> None:
    conclusions.write(results, "run", now, now)


def changes(dataset: Dataset) -> list[dict[str, Any]]:
    model.Session.remove()
    rows = model.Session.execute(
        sa.text("SELECT * FROM freshness_change WHERE package_id = :id ORDER BY seen_at"),
        {"id": dataset["id"]},
    )
    return [dict(row) for row in rows.mappings()]


def at(moment: datetime) -> datetime:
    return moment.replace(tzinfo=None)


def test_a_check_writes_a_confirmed_change_with_both_states(act: Act) -> None:
    dataset = new(act)
    first: dict[str, Any] = {"size": 10, "mimetype": "text/csv"}
    conclude(
        MADE + DAY, result(dataset, MADE + DAY, Outcome.FIRST_HASH, KnownContent(), OLD, **first)
    )
    for day, outcome in ((2, Outcome.NOT_MODIFIED), (3, Outcome.ERROR)):
        conclude(MADE + day * DAY, result(dataset, MADE + day * DAY, outcome, OLD, OLD))
    assert changes(dataset) == []
    seen = MADE + 4 * DAY
    second: dict[str, Any] = {"size": 12, "mimetype": "application/json", "changed_at": seen}
    conclude(seen, result(dataset, seen, Outcome.CHANGED, OLD, NEW, **second))
    (change,) = changes(dataset)
    wanted = {
        "resource_id": dataset["resources"][0]["id"],
        "seen_at": at(seen),
        "changed_after": at(MADE + 2 * DAY),
        "changed_before": at(seen),
        "stated_at": None,
        "evidence": "hash",
        "hash_before": "sha256:old",
        "hash_after": "sha256:new",
        "size_before": 10,
        "size_after": 12,
        "media_type_before": "text/csv",
        "media_type_after": "application/json",
    }
    assert {key: change[key] for key in wanted} == wanted


def test_a_change_says_what_changed_in_the_tables(act: Act) -> None:
    dataset = new(act)
    old, more, most = (
        [TableShape(None, rows, columns)]
        for rows, columns in ((3, ["a"]), (5, ["a", "b"]), (9, ["a", "b"]))
    )
    outdated = structs.replace(NEW, outdated=True)
    steps: list[tuple[Outcome, KnownContent, KnownContent, Any]] = [
        (Outcome.FIRST_HASH, KnownContent(), OLD, old),
        (Outcome.SAME_HASH, OLD, OLD, None),
        (Outcome.CHANGED, OLD, NEW, more),
        # A newer date, whose file is read later: it is not known which of both changes did what.
        (Outcome.FIRST_HASH, outdated, OLD, most),
        (Outcome.REPEAT_HASH, OLD, NEW, None),
        (Outcome.CHANGED, NEW, OLD, old),
        (Outcome.CHANGED, OLD, NEW, []),
        (Outcome.CHANGED, NEW, OLD, old),
    ]
    for day, (outcome, before, after, shape) in enumerate(steps, 1):
        now = MADE + day * DAY
        dates = {"changed_at": now} if outcome is Outcome.CHANGED else {"modified": now}
        conclude(now, result(dataset, now, outcome, before, after, shape=shape, **dates))
        newest = [utc_text(one["seen_at"]) for one in changes(dataset)[-1:]] or [None]
        link = links.of_resource(dataset["resources"][0]["id"])
        assert link and [link["changed_at"]] == newest, "the link on the page says the same"
    assert [one["summary"] for one in changes(dataset)] == [
        {"tables": [{"name": None, "rows": [3, 5], "added": ["b"]}]},
        *([None] * 4),
    ]


# The rules for dates that a source or a script states, without a site.


def piece(evidence: Evidence, day: int, resource: str | None = "r") -> DatedEvidence:
    return DatedEvidence(MADE + day * DAY, evidence, resource)


def snapshot(*pieces: DatedEvidence, is_known: bool = True, **more: Any) -> DatasetSnapshot:
    class Row:
        judge_anew = False

    resource = ResourceSnapshot(
        *("r", "", "http://x.org/", None, "", MADE, None, {}, is_known, None, None),
        *(None, None, False, False, None, None, (), None, (), None),
    )
    dataset = DatasetSnapshot("p", "dataset", {}, True, None, {}, Row(), [resource], [], pieces)
    return replace(dataset, **more)


HARVEST = piece(Evidence.HARVEST, 1)
WHOLE = piece(Evidence.HARVEST, 1, None)
STATED: list[tuple[str, DatasetSnapshot, list[DatedEvidence], list[str | None]]] = [
    ("a newer date", snapshot(HARVEST), [piece(Evidence.HARVEST, 2)], ["r"]),
    ("the first date", snapshot(), [HARVEST], []),
    (
        "a date of a new resource",
        snapshot(HARVEST, is_known=False),
        [piece(Evidence.HARVEST, 2)],
        [],
    ),
    (
        "a date before a change that a check has seen",
        snapshot(HARVEST, piece(Evidence.HASH, 5)),
        [piece(Evidence.HARVEST, 4), piece(Evidence.HASH, 5)],
        [],
    ),
    (
        "of the dataset and its resource",
        snapshot(HARVEST, WHOLE),
        [piece(Evidence.HARVEST, 2), replace(WHOLE, when=MADE + 2 * DAY)],
        ["r"],
    ),
    ("a review", snapshot(WHOLE), [WHOLE, piece(Evidence.REVIEW, 9, None)], []),
]


@pytest.mark.parametrize(
    ("before", "after", "expected"), [one[1:] for one in STATED], ids=[one[0] for one in STATED]
)
def test_stated_dates_that_show_a_change(
    before: DatasetSnapshot, after: list[DatedEvidence], expected: list[str | None]
) -> None:
    rest: Any = {"rules": None, "frequency": None, "newest": None, "change": None}
    judgement = Judgement(before, MADE + 9 * DAY, pieces=counting(after, before), **rest)
    found = changes_of_data(judgement, [])
    assert [one.resource_id for one in found] == expected
    assert changes_of_data(judgement, after) == []


def test_old_changes_are_pruned(act: Act) -> None:
    dataset = new(act)
    for name, day in (("old", 1), ("kept", 2)):
        seen = MADE + day * DAY
        data_changes.write(
            [data_changes.DataChange(dataset["id"], name, Evidence.HASH, seen, seen)]
        )
    model.Session.commit()
    assert data_changes.prune(MADE + 1.5 * DAY + data_changes.KEEP) == 1
    assert [one["resource_id"] for one in changes(dataset)] == ["kept"]
