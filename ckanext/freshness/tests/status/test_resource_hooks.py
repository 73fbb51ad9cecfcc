"""The resource hooks: what they note of an edit ends up in the dataset's extras and in its history."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from ckan.plugins import toolkit as tk
from werkzeug.datastructures import FileStorage

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.model import FreshnessTransition
from ckanext.freshness.tests.clock import freeze_time
from ckanext.freshness.tests.status.measuring import without_freshness

pytestmark = pytest.mark.usefixtures("kept_db")

Act = Callable[..., Any]
Dataset = dict[str, Any]

CREATED = datetime(2026, 1, 1, 12)
ADDED = CREATED + timedelta(days=39)
"""When a second resource was added."""
EDITED = CREATED + timedelta(days=40)
"""When a dataset that should change weekly was edited."""


def new(act: Act) -> Dataset:
    result: Dataset = act(
        "package_create",
        name=f"d-{uuid4()}",
        extras=[{"key": "frequency", "value": "7"}],
        resources=[{"url": "http://x.org/1", "name": "first"}],
    )
    return result


def a_file() -> FileStorage:
    return FileStorage(io.BytesIO(b"a,b\n1,2\n"), filename="data.csv")


def first(dataset: Dataset) -> str:
    result: str = dataset["resources"][0]["id"]
    return result


def known(act: Act, dataset: Dataset) -> tuple[str, str, str]:
    """The status, the last modification and its evidence, as the extras have them."""
    shown = act("package_show", id=dataset["id"])
    extras = {one["key"]: one["value"] for one in shown["extras"]}
    return tuple(
        extras[key] for key in ("freshness", "freshness_last_modified", "freshness_evidence")
    )


def newest(dataset: Dataset) -> FreshnessTransition:
    query = model.Session.query(FreshnessTransition).filter_by(package_id=dataset["id"])
    found: FreshnessTransition = query.order_by(FreshnessTransition.id.desc()).first()
    return found


def edit_of(transition: FreshnessTransition) -> tuple[Any, ...]:
    return tuple(
        getattr(transition, key) for key in ("to_status", "action", "change", "resource_name")
    )


def at(moment: datetime) -> str:
    return f"{moment.isoformat()}Z"


@dataclass(frozen=True)
class Case:
    edit: Callable[[Act, Dataset], Any]
    history: tuple[Any, ...]
    """Status, action, change and the resource's name, as the newest transition has them."""
    known: tuple[str, str, str]
    before: Callable[[Act, Dataset], Any] = lambda act, d: None
    """What is done a day before."""


PASSED = ("delinquent", None, None, None)
OLD = ("delinquent", at(CREATED), "created")
CASES = {
    "upload of a new resource": Case(
        lambda act, d: act("resource_create", package_id=d["id"], name="file", upload=a_file()),
        ("fresh", "resource_create", "added", "file"),
        ("fresh", at(EDITED), "upload"),
    ),
    "upload in place of a link": Case(
        lambda act, d: act("resource_patch", id=first(d), upload=a_file()),
        ("fresh", "resource_update", "replaced", "first"),
        ("fresh", at(EDITED), "upload"),
    ),
    "link to a new resource, by the dataset's name": Case(
        lambda act, d: act("resource_create", package_id=d["name"], url="http://x.org/2"),
        ("fresh", "resource_create", "added", "http://x.org/2"),
        ("fresh", at(EDITED), "created"),
    ),
    "another link": Case(
        lambda act, d: act("resource_update", id=first(d), name="first", url="http://x.org/2"),
        ("fresh", "resource_update", "replaced", "first"),
        ("fresh", at(EDITED), "url"),
    ),
    "a stated date": Case(
        lambda act, d: act("resource_patch", id=first(d), last_modified=EDITED.isoformat()),
        ("fresh", "resource_update", "edited", "first"),
        ("fresh", at(EDITED), "upload"),
    ),
    "another field": Case(
        lambda act, d: act("resource_patch", id=first(d), description="Other"), PASSED, OLD
    ),
    "delete": Case(
        lambda act, d: act(
            "resource_delete", id=act("package_show", id=d["id"])["resources"][1]["id"]
        ),
        ("delinquent", "resource_delete", "removed", "second"),
        OLD,
        before=lambda act, d: act(
            "resource_create", package_id=d["id"], name="second", url="http://x.org/2"
        ),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_an_edit(act: Act, case: Case, ckan_config: Any, tmp_path: Any) -> None:
    ckan_config["ckan.storage_path"] = str(tmp_path)
    with freeze_time(CREATED):
        dataset = new(act)
    with freeze_time(ADDED):
        case.before(act, dataset)
    with freeze_time(EDITED):
        case.edit(act, dataset)
        assert known(act, dataset) == case.known
        transition = newest(dataset)
    assert edit_of(transition) == case.history
    before_and_after = {
        one["id"]
        for shown in (dataset, act("package_show", id=dataset["id"]))
        for one in shown["resources"]
    }
    change = case.history[2]
    if change == "removed":
        assert transition.resource_id not in before_and_after
    elif change is not None:
        assert transition.resource_id in before_and_after


def test_a_note_ends_with_a_refused_write(act: Act) -> None:
    with freeze_time(CREATED):
        refused, other = new(act), new(act)
    with freeze_time(EDITED):
        with pytest.raises(tk.ValidationError):
            act("resource_patch", id=first(refused), url="http://x.org/2", last_modified="no date")
        assert known(act, refused) == OLD
        never = [{"key": "frequency", "value": "-1"}]
        for dataset in (other, refused):
            act("package_patch", id=dataset["id"], extras=never)
            assert edit_of(newest(dataset)) == ("fresh", "package_update", None, None)


def test_a_link_that_was_never_seen_is_replaced(act: Act) -> None:
    with freeze_time(CREATED):
        dataset = new(act)
        with without_freshness():
            unseen = act("resource_create", package_id=dataset["id"], url="http://x.org/2")
    with freeze_time(EDITED):
        act("resource_patch", id=unseen["id"], url="http://x.org/3")
        assert known(act, dataset) == ("fresh", at(EDITED), "url")
