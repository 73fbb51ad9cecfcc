"""Facts about each resource's URL in package_show and resource_show, which are never stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from ckan.lib import search
from freezegun import freeze_time

from ckanext.activity.model import Activity
from ckanext.freshness.checking.decisions import Outcome
from ckanext.freshness.ckan_adapter.core import IS_2_12, model
from ckanext.freshness.reporting import links
from ckanext.freshness.reporting.links import KEY
from ckanext.freshness.tests.status.measuring import measured
from ckanext.freshness.tests.status.test_checked import FRESH, check, new

pytestmark = pytest.mark.usefixtures("kept_db")

Act = Callable[..., Any]
NOTHING = dict.fromkeys(
    ("broken_since", "cached_url", "cached_zip_url", "cached_at", "cached_size")
)


def facts(act: Act, dataset: dict[str, Any]) -> list[Any]:
    """Return the facts, which both reading actions must show alike."""
    shown = act("package_show", id=dataset["id"])["resources"]
    singly = [act("resource_show", id=one["id"]) for one in shown]
    said = [one.get(KEY) for one in shown]
    assert said == [one.get(KEY) for one in singly]
    return said


def test_facts(act: Act) -> None:
    dataset = new(act, "http://x.org/1", "http://x.org/2", "http://x.org/3")
    assert facts(act, dataset) == [None] * 3
    for day in range(4):
        now = FRESH + timedelta(days=day)
        check(dataset, now, Outcome.SAME_HASH, Outcome.ERROR)
        broken = {**dataset, "resources": dataset["resources"][1:]}
        check(broken, now, Outcome.ERROR)
        if day == 0:
            assert facts(act, dataset)[1]["broken_since"] is None, "it has failed once"
    last = "2026-01-05T12:00:00Z"
    assert facts(act, dataset) == [
        {"checked_at": last, "outcome": "same hash", **NOTHING},
        {
            "checked_at": last,
            "outcome": "error",
            **NOTHING,
            "broken_since": "2026-01-02T12:00:00Z",
        },
        None,
    ]
    # Results for another URL are not shown.
    act("resource_patch", id=dataset["resources"][0]["id"], url="http://x.org/other")
    found = facts(act, dataset)
    assert found[0] is None and found[1]["broken_since"]
    # Resources that are written without their ids get new ones, and are the same.
    links = [{"url": one["url"]} for one in act("package_show", id=dataset["id"])["resources"]]
    act("package_patch", id=dataset["id"], resources=links)
    assert facts(act, dataset) == found


def test_they_are_stored_nowhere(act: Act, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = new(act, "http://x.org/1", "http://x.org/2")
    check(dataset, FRESH, Outcome.SAME_HASH, Outcome.SAME_HASH)
    with freeze_time(FRESH), measured(monkeypatch) as unchanged:
        shown = act("package_show", id=dataset["id"])
        assert shown["resources"][0][KEY]
        act("package_update", **shown)
        act("package_patch", id=dataset["id"], title=shown["title"])
    if IS_2_12:
        assert unchanged.documents == [], "CKAN sees that nothing changed"
        modified = act("package_show", id=dataset["id"])["metadata_modified"]
        assert modified == shown["metadata_modified"]
    first, second = shown["resources"]
    act("package_update", **{**shown, "title": "Another"})
    act("package_patch", id=dataset["id"], resources=shown["resources"], notes="Another")
    act("resource_update", **{**first, "name": "Another"})
    act("resource_patch", id=second["id"], name="Another", **{KEY: second[KEY]})
    act("resource_create", **{**first, "id": "", "url": "http://x.org/3"})
    act("package_revise", match={"id": dataset["id"]}, update__resources__0={KEY: first[KEY]})
    act("package_resource_reorder", id=dataset["id"], order=[second["id"]])
    copied = [{"url": one["url"], KEY: one[KEY]} for one in (first, second)]
    act("package_create", name=f"{shown['name']}-copy", resources=copied)
    model.Session.expire_all()
    for resource in model.Session.query(model.Resource):
        assert KEY not in (resource.extras or {})
    document = search.show(dataset["id"])
    for kept in (document["data_dict"], document["validated_data_dict"]):
        assert KEY not in kept
    for activity in model.Session.query(Activity).filter_by(object_id=dataset["id"]):
        assert KEY not in json.dumps(activity.data)
    assert act("package_show", id=dataset["id"])["resources"][0][KEY]


_ELSEWHERE = """SELECT id AS resource_id, CAST(:tried_at AS timestamp) AS tried_at, 0 AS failures,
    CAST(NULL AS timestamp) AS failing_since, CAST(NULL AS timestamp) AS failed_at,
    CAST(NULL AS timestamp) AS succeeded_at, CAST(NULL AS timestamp) AS changed_at,
    CAST('[]' AS jsonb) AS attempts FROM resource"""


@pytest.mark.parametrize("has_tried", [False, True])
def test_another_check_counts_once_it_has_tried(
    act: Act, monkeypatch: pytest.MonkeyPatch, has_tried: bool
) -> None:
    dataset = new(act, "http://x.org/1")
    for day in range(4):
        check(dataset, FRESH + timedelta(days=day), Outcome.ERROR)
    tried_at = f"'{FRESH:%Y-%m-%d}'" if has_tried else "NULL"
    sql = _ELSEWHERE.replace(":tried_at", tried_at)
    monkeypatch.setattr(links, "checked_elsewhere", lambda: sql)
    assert links.with_broken_link([dataset["id"]]) == (set() if has_tried else {dataset["id"]})
    (fact,) = facts(act, dataset)
    assert (fact["broken_since"] is None) == has_tried
