"""What an edit does: the evidence that it gives, its place in the history, and the changes of data."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from ckan.tests import factories
from ckan.tests.helpers import changed_config
from werkzeug.datastructures import FileStorage

from ckanext.freshness.aging.evidence import Evidence, observe
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.model import FreshnessChange, FreshnessTransition
from ckanext.freshness.status.assessment import assess_packages
from ckanext.freshness.status.changes import Occasion, TransitionCause
from ckanext.freshness.tests import datasets
from ckanext.freshness.tests.clock import freeze_time
from ckanext.freshness.tests.datasets import Act, ours
from ckanext.freshness.tests.datasets import one_extra as extra

pytestmark = pytest.mark.usefixtures("kept_db")

Dataset = dict[str, Any]

CREATED = datetime(2026, 1, 1, 12)
EDITED = CREATED + timedelta(days=40)
"""When a dataset was made that should change weekly, and when somebody edited it."""
MD5 = {"one": "a" * 32, "other": "b" * 32}


def at(moment: datetime) -> str:
    return f"{moment.isoformat()}Z"


def known(dataset: Dataset) -> tuple[str | None, str | None]:
    """The last modification and its evidence, as the extras have them."""
    found = ours(dataset)
    return found.get("freshness_last_modified"), found.get("freshness_evidence")


def new(act: Act, **more: Any) -> Dataset:
    return datasets.new(act, **{**extra("frequency", "7"), **more})


def shown(act: Act, dataset: Dataset) -> Dataset:
    result: Dataset = act("package_show", id=dataset["id"])
    return result


def first(dataset: Dataset) -> str:
    result: str = dataset["resources"][0]["id"]
    return result


def history(dataset: Dataset) -> FreshnessTransition:
    """The newest change of status."""
    query = model.Session.query(FreshnessTransition).filter_by(package_id=dataset["id"])
    found: FreshnessTransition = query.order_by(FreshnessTransition.id.desc()).first()
    return found


def edit_of(change: FreshnessTransition) -> tuple[Any, ...]:
    return change.to_status, change.action, change.change, change.resource_name


def a_file() -> FileStorage:
    return FileStorage(io.BytesIO(b"a,b\n1,2\n"), filename="data.csv")


def stated(when: datetime) -> dict[str, Any]:
    return {"resources": [{"url": "http://x.org/1", "last_modified": when.isoformat()}]}


def anew(dataset: Dataset, *links: dict[str, str]) -> Dataset:
    """A dataset as clients send it who know no ids of resources: CKAN makes all of them anew."""
    return {**dataset, "title": "Other", "resources": list(links)}


def link(url: str, name: str = "", uri: str = "") -> dict[str, str]:
    return {"url": f"http://{url}", "name": name, "format": "CSV", "uri": uri}


def links(*made: dict[str, str]) -> dict[str, Any]:
    return {"resources": list(made)}


@dataclass(frozen=True)
class Case:
    """A dataset, what is done to it, and what is known of it then.

    :ivar history: the status, action, change and resource's name of the newest change of status
    :ivar changes: the evidence of the changes of data in the stream
    :ivar confirmed: when an editor last confirmed the data
    """

    edit: Callable[[Act, Dataset], Any]
    known: tuple[str, str]
    made: dict[str, Any] = field(default_factory=dict)
    history: tuple[Any, ...] | None = None
    changes: tuple[str, ...] = ()
    confirmed: str | None = None


MADE = (at(CREATED), "created")
STATED = datetime(2025, 3, 4, 5, 6, 7)
"""A date that somebody gives a resource, long before it was made here."""
NOTHING = lambda act, d: None  # noqa: E731
TWO = links(link("x.org/1"), link("x.org/2"))

CASES = {
    "as it was made": Case(NOTHING, MADE),
    "another description": Case(
        lambda act, d: act("resource_patch", id=first(d), description="Other"),
        MADE,
        history=("delinquent", None, None, None),
    ),
    # Another URL is no news of the data before a check has found a file there (test_checked.py).
    "another url, resource_patch": Case(
        lambda act, d: act("resource_patch", id=first(d), url="http://x.org/o"), MADE
    ),
    "a new link": Case(
        # By the name of the dataset.
        lambda act, d: act("resource_create", package_id=d["name"], url="http://x.org/o"),
        (at(EDITED), "created"),
        history=("fresh", "resource_create", "added", "http://x.org/o"),
    ),
    "a file in place of a link": Case(
        lambda act, d: act("resource_patch", id=first(d), upload=a_file()),
        (at(EDITED), "upload"),
        history=("fresh", "resource_update", "replaced", "http://x.org/1"),
        changes=("upload",),
    ),
    "the same links, without their ids": Case(
        lambda act, d: act("package_update", **anew(d, link("x.org/2"), link("x.org/1"))),
        MADE,
        TWO,
    ),
    "the same links and one more, without their ids": Case(
        lambda act, d: act("package_update", **anew(d, link("x.org/1"), link("x.org/1"))),
        (at(EDITED), "created"),
    ),
    "another url under the same title, without its id": Case(
        lambda act, d: act("package_update", **anew(d, link("y.org/o", "Data"))),
        MADE,
        links(link("x.org/1", "Data")),
    ),
    "another url and title under the same URI, without its id": Case(
        lambda act, d: act("package_update", **anew(d, link("y.org/o", "Other", "urn:1"))),
        MADE,
        links(link("x.org/1", "Data", "urn:1")),
    ),
    "another server, without its id": Case(
        lambda act, d: act("package_update", **anew(d, link("y.org/1"))),
        MADE,
        links(link("x.org/1")),
    ),
    "another url under a title that two have, without its id": Case(
        lambda act, d: act("package_update", **anew(d, link("y.org/o", "Data"))),
        (at(EDITED), "created"),
        links(link("x.org/1", "Data"), link("x.org/2", "Data")),
    ),
    "the date of today": Case(
        lambda act, d: act("resource_patch", id=first(d), last_modified=EDITED.isoformat()),
        (at(EDITED), "upload"),
        history=("fresh", "resource_update", "edited", "http://x.org/1"),
        changes=("upload",),
    ),
    "an earlier date than the one stated before": Case(
        lambda act, d: act("resource_patch", id=first(d), last_modified="2020-01-01T00:00:00"),
        (at(STATED), "upload"),
        stated(STATED),
    ),
    "another url, and its date": Case(
        lambda act, d: act(
            "resource_patch",
            id=first(d),
            url="http://x.org/o",
            last_modified=(STATED + timedelta(days=1)).isoformat(),
        ),
        (at(STATED + timedelta(days=1)), "upload"),
        stated(STATED),
        changes=("upload",),
    ),
    "that date corrected": Case(
        lambda act, d: act("resource_patch", id=first(d), last_modified="2025-06-07T00:00:00"),
        ("2025-06-07T00:00:00Z", "upload"),
        {"resources": [{"url": "http://x.org/1", "last_modified": "2099-01-01T00:00:00"}]},
    ),
    "a review": Case(
        lambda act, d: act("package_patch", id=d["id"], **extra("review_date", "2026-01-05")),
        MADE,
        confirmed="2026-01-05T00:00:00Z",
    ),
    "a script": Case(
        lambda act, d: act(
            "package_patch",
            id=d["id"],
            **extra("updated_by_script", "Scraper: WHO (2026-01-06T07:08:09.123456)"),
        ),
        ("2026-01-06T07:08:09Z", "script"),
    ),
    "dates of a source, in a dataset that nobody harvested": Case(
        lambda act, d: act("package_patch", id=d["id"], **extra("modified", "2026-01-09")), MADE
    ),
}


@pytest.fixture(autouse=True)
def storage(with_plugins: None, tmp_path: Any) -> Iterator[None]:
    with changed_config("ckan.storage_path", str(tmp_path)):
        yield


@pytest.mark.parametrize("name", CASES)
def test_an_edit(act: Act, name: str) -> None:
    case = CASES[name]
    with freeze_time(CREATED):
        dataset = new(act, **case.made)
    with freeze_time(EDITED):
        case.edit(act, dataset)
        # An edit of something else shows nothing anew.
        left = act("package_patch", id=dataset["id"], notes="Edited again")
        assert known(shown(act, dataset)) == case.known
        (row,) = act("freshness_report", table="datasets", q=dataset["name"])["rows"]
        assert (row["last_modified"], row["evidence"]) == case.known
        assert row["confirmed_at"] == case.confirmed
    if case.history is not None:
        newest = history(dataset)
        assert edit_of(newest) == case.history
        is_of_resource = newest.change is not None
        assert is_of_resource == (newest.resource_id in {one["id"] for one in left["resources"]})
    found = model.Session.query(FreshnessChange).filter_by(package_id=dataset["id"]).all()
    assert tuple(one.evidence for one in found) == case.changes
    assert {one.seen_at for one in found} <= {EDITED}


def test_all_that_a_dataset_has_of_ours(act: Act) -> None:
    with freeze_time(CREATED):
        made = new(act, **extra("frequency", "monthly"))
        found = ours(made)
        assert found == {
            "freshness": "fresh",
            "freshness_delinquent": at(CREATED + timedelta(days=60)),
            "freshness_due": at(CREATED + timedelta(days=30)),
            "freshness_evidence": "created",
            "freshness_frequency": "30",
            "freshness_last_modified": at(CREATED),
            "freshness_overdue": at(CREATED + timedelta(days=44)),
        }
        assert ours(shown(act, made)) == found
        (hit,) = act("package_search", q=f"name:{made['name']}")["results"]
        assert ours(hit) == found


def test_the_newest_resource_goes_and_the_rest_decides(act: Act) -> None:
    with freeze_time(CREATED):
        dataset = new(act)
    with freeze_time(EDITED):
        link = {"url": "http://x.org/2", "name": "second"}
        later = act("resource_create", package_id=dataset["id"], **link)
        assert known(shown(act, dataset)) == (at(EDITED), "created")
    with freeze_time(EDITED + timedelta(days=1)):
        act("resource_delete", id=later["id"])
        assert known(shown(act, dataset)) == MADE
        newest = history(dataset)
        assert edit_of(newest) == ("delinquent", "resource_delete", "removed", "second")
        assert newest.resource_id == later["id"]
        act("resource_delete", id=first(dataset))
        assert ours(shown(act, dataset)) == {
            "freshness": "unavailable",
            "freshness_frequency": "7",
        }


@pytest.mark.parametrize(
    ("old", "new_hash", "same_writer", "counts"),
    [
        (MD5["one"], MD5["other"], True, True),
        (MD5["one"], MD5["other"], False, False),
        (MD5["one"], MD5["one"], True, False),
        ("", MD5["one"], True, False),
        (f"md5:{MD5['one']}", f"md5:{MD5['other']}", True, True),
        (f"md5:{MD5['one']}", f"sha:{MD5['other']}", True, False),
    ],
)
def test_another_hash(act: Act, old: str, new_hash: str, same_writer: bool, counts: bool) -> None:
    other = factories.Sysadmin()["name"]
    with freeze_time(CREATED):
        dataset = new(act, resources=[{"url": "http://x.org/1", "hash": old}])
        resource_id = dataset["resources"][0]["id"]
        # What somebody else does to the rest of the dataset says nothing of who wrote the hash.
        act("package_patch", by=other, id=dataset["id"], title="Other")
    with freeze_time(EDITED):
        who = {} if same_writer else {"by": other}
        act("resource_patch", id=resource_id, hash=new_hash, **who)
        found = known(shown(act, dataset))
    assert found == ((at(EDITED), "hash") if counts else MADE)


def test_resources_that_are_made_anew_inherit_what_is_known(act: Act) -> None:
    """What a check found, what was claimed, and who wrote the hash."""
    with freeze_time(CREATED):
        link = {
            "url": "http://x.org/1",
            "hash": MD5["one"],
            "created": "2025-12-01T00:00:00",
            "last_modified": "2099-01-01T00:00:00",
        }
        dataset = new(act, resources=[link])
        old = dataset["resources"][0]["id"]
        now = datetime.now(timezone.utc)
        seen = observe(now - timedelta(days=1), Evidence.HTTP_HEADER, now, old)
        assess_packages(
            [dataset["id"]], Occasion(now, TransitionCause.CHECK), found={dataset["id"]: [seen]}
        )
        model.Session.commit()

    def pieces() -> set[tuple[str, str, str | None, bool]]:
        return {
            (one["evidence"], one["date"], one["claimed"], one["resource_id"] == old)
            for one in act("freshness_show", id=dataset["id"])["pieces"]
        }

    before = pieces()
    with freeze_time(EDITED):
        act("package_update", **anew(dataset, {"url": "http://x.org/1"}))
        assert pieces() == {(*one, False) for *one, _ in before}
        sent = {**link, "hash": MD5["one"], "created": EDITED.isoformat()}
        act("package_update", **{**dataset, "resources": [dict(sent)]})
        act("package_patch", id=dataset["id"], title="Another")
        assert pieces() == {(*one, False) for *one, _ in before}
    with freeze_time(EDITED + timedelta(days=1)):
        sent["hash"] = MD5["other"]
        found = act("package_update", **{**dataset, "resources": [dict(sent)]})
    assert known(found) == (at(EDITED + timedelta(days=1)), "hash")
