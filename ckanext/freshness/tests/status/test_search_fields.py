"""Documents, searches and what is shown, in CKAN with a real Solr."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from ckan.lib import search as ckan_search
from ckan.lib.search.common import make_connection
from ckan.tests import factories, helpers

from ckanext.freshness.aging.status import Status
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.status import indexing
from ckanext.freshness.status.refresh import refresh
from ckanext.freshness.tests.clock import freeze_time
from ckanext.freshness.tests.datasets import ours

pytestmark = pytest.mark.usefixtures("with_plugins", "clean_db", "clean_index")

AGES = {"fresh": 0, "due": 10, "overdue": 16, "delinquent": 30}
"""Days since the last modification of data that should change weekly."""


def write(action: str, **data: Any) -> Any:
    """An action by somebody who may do anything."""
    user = helpers.call_action("get_site_user")["name"]
    return helpers.call_action(action, {"user": user}, **data)


def text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def datasets(*wanted: dict[str, Any]) -> dict[str, str]:
    """Datasets that were made long ago and got their extras just now; ids by name.

    A review counts as of the time when it was first seen, if that was before.
    """
    with freeze_time(datetime.now(timezone.utc) - timedelta(days=100)):
        made = {
            one["name"]: write(
                "package_create",
                resources=[{"url": "http://example.org/a.csv"}],
                **{key: value for key, value in one.items() if key != "extras"},
            )["id"]
            for one in wanted
        }
    for one in wanted:
        extras = {"data_update_frequency": "7", **one["extras"]}
        write(
            "package_patch",
            id=one["name"],
            extras=[{"key": key, "value": value} for key, value in extras.items()],
        )
    return made


@pytest.fixture
def five() -> dict[str, str]:
    """A dataset of each status, called after it, in an organization and a group; ids by status."""
    shared = {
        "owner_org": factories.Organization(name="org")["id"],
        "groups": [{"name": factories.Group(name="group")["name"]}],
    }
    now = datetime.now(timezone.utc)
    extras = {
        **{name: {"review_date": text(now - timedelta(days=age))} for name, age in AGES.items()},
        "unavailable": {"data_update_frequency": "every now and then"},
    }
    made = datasets(
        *({"name": f"a-{name}", "extras": more, **shared} for name, more in extras.items())
    )
    return {name.removeprefix("a-"): dataset_id for name, dataset_id in made.items()}


def found(**parameters: Any) -> list[str]:
    result = helpers.call_action("package_search", **{"rows": 100, **parameters})
    return sorted(one["name"].removeprefix("a-") for one in result["results"])


def documents() -> list[dict[str, Any]]:
    """All that Solr has stored, but for when it was stored."""
    result: list[dict[str, Any]]
    result = make_connection().search(q="*:*", rows=100, sort="id asc").docs
    for document in result:
        for field in ("indexed_ts", "_version_"):
            document.pop(field, None)
        for field in ("data_dict", "validated_data_dict"):
            package = document[field] = json.loads(document[field])
            # As written by the caller, and later as the database sorts them.
            package["extras"].sort(key=lambda extra: extra["key"])
    return result


def facet(field: str = "freshness") -> dict[str, int]:
    found = helpers.call_action("package_search", rows=0, **{"facet.field": [field]})
    counts: dict[str, int] = found["facets"].pop(field)
    assert not found["facets"], "facets that were not asked for"
    return counts


def test_documents_tell_the_status_and_the_boundaries(five: dict[str, str]) -> None:
    shown = ours(helpers.call_action("package_show", id="a-overdue"))
    document = ckan_search.show("a-overdue")
    fields = {key: value for key, value in document.items() if key.startswith("freshness")}
    assert fields == {
        "freshness_due_date": shown["freshness_due"],
        "freshness_overdue_date": shown["freshness_overdue"],
        "freshness_delinquent_date": shown["freshness_delinquent"],
        "freshness_last_modified_date": shown["freshness_last_modified"],
    }
    assert not [key for key in document if key.startswith("extras_freshness")]
    assert document["extras_review_date"]
    assert facet() == dict.fromkeys(five, 1)
    assert facet("freshness_group") == {"up_to_date": 1, "needs_update": 3, "unknown": 1}
    assert found(fq="freshness_group:needs_update") == ["delinquent", "due", "overdue"]
    dated = make_connection().search(q="freshness_due_date:[* TO *]", rows=0)
    assert dated.hits == 4


def test_the_status_is_not_among_the_words(five: dict[str, str]) -> None:
    datasets({"name": "a-library", "notes": "Books that are overdue", "extras": {}})
    assert found(q="overdue") == ["library", "overdue"]
    write("package_patch", id=five["overdue"], name="an-old-one", title="An old one")
    assert found(q="overdue") == ["library"]
    assert found(q="fresh") == ["fresh"]
    assert found(q="review") == []


def send_marked() -> None:
    """As a refresh does, which writes by SQL."""
    marks = indexing.mark([package_id for (package_id,) in model.Session.query(model.Package.id)])
    assert indexing.index(marks) == []


@pytest.mark.parametrize("send", [lambda: ckan_search.rebuild(quiet=True), send_marked])
def test_a_rebuild_and_a_refresh_give_the_same_documents(
    five: dict[str, str], send: Callable[[], None]
) -> None:
    before, counted = documents(), facet()
    ckan_search.clear_all()
    send()
    ckan_search.commit()
    for after, old in zip(documents(), before, strict=True):
        for key in {*after, *old}:
            assert after.get(key) == old.get(key), (old["name"], key)
    assert facet() == counted


@pytest.mark.parametrize(
    ("value", "indexed"),
    [
        ("2026-01-01T02:00:00+02:00", "2026-01-01T00:00:00Z"),
        ("2026-01-01", "2026-01-01T00:00:00Z"),
        ("0001-01-01T00:00:00+05:00", "0001-01-01T00:00:00Z"),
        ("soon", None),
    ],
)
def test_a_review_is_indexed_in_utc(value: str, indexed: str | None) -> None:
    assert indexing.document({"type": "dataset", "review_date": value})["review_date"] == indexed


def test_pages_and_their_links(app: Any, five: dict[str, str]) -> None:
    heading = re.compile(r"</i>\s*Freshness\s*</h2>")
    for page in ("/dataset/", "/organization/org", "/group/group"):
        for status in five:
            body = app.get(page, query_string={"freshness": status}, status=200).body
            assert [name for name in five if f'/dataset/a-{name}"' in body] == [status], page
        body = app.get(page, status=200).body
        assert [name for name in five if f"freshness={name}" in body] == list(five)[1:4], page
        for group in ("up_to_date", "needs_update", "unknown"):
            assert f"freshness_group={group}" in body, page
        assert heading.search(body), page
    assert not heading.search(app.get("/harvest", status=200).body)


def stored() -> dict[str, set[str]]:
    """The datasets that search shows with each status; facet and filters must agree with their badges."""
    result = helpers.call_action("package_search", rows=100)["results"]
    badges: dict[str, set[str]] = {}
    for one in result:
        badges.setdefault(ours(one)["freshness"], set()).add(one["name"].removeprefix("a-"))
    for status in Status:
        assert set(found(fq=f"freshness:{status.value}")) == badges.get(status.value, set())
    assert {key: count for key, count in facet().items() if count} == {
        status: len(names) for status, names in badges.items()
    }
    return badges


def test_searches_show_the_stored_status_and_single_datasets_the_computed_one(
    five: dict[str, str],
) -> None:
    due = ours(helpers.call_action("package_show", id="a-fresh"))["freshness_due"]
    boundary = datetime.fromisoformat(due.replace("Z", "+00:00"))
    as_written = {name: {name} for name in five}
    moments = {
        boundary - timedelta(seconds=1): "fresh",
        boundary: "due",
        boundary + timedelta(days=7): "overdue",
        boundary + timedelta(days=14): "delinquent",
    }
    for moment, expected in moments.items():
        with freeze_time(moment):
            shown = helpers.call_action("package_show", id="a-fresh")
            assert ours(shown)["freshness"] == expected
            assert helpers.call_action("freshness_show", id="a-fresh")["status"] == expected
            assert stored() == as_written
    with freeze_time(boundary):
        # Whoever rebuilds the index writes the stored status, too.
        ckan_search.rebuild()
        ckan_search.commit()
        assert stored() == as_written
        refresh(datetime.now(timezone.utc))
        assert stored()["due"] == {"fresh"}
