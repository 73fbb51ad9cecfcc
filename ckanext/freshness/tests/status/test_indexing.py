"""Documents that are sent for datasets that were written by SQL: CKAN's own, and none of what is gone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
import sqlalchemy as sa
from ckan.lib import search
from ckan.lib.search.common import make_connection
from ckan.tests import factories

from ckanext.freshness.ckan_adapter.core import IS_2_12, model
from ckanext.freshness.status import indexing
from ckanext.freshness.tests.status.meddling import MeddlingPlugin

pytestmark = pytest.mark.usefixtures("with_plugins", "clean_db", "clean_index")


def documents(query: str = "*:*") -> list[dict[str, Any]]:
    found = make_connection().search(q=query, rows=100, sort="id asc").docs
    return [
        {key: value for key, value in one.items() if key not in ("indexed_ts", "_version_")}
        for one in found
    ]


def catalogue() -> dict[str, datetime]:
    """Datasets of all that CKAN 2.12 can index (of relationships it cannot), marked."""
    group = factories.Group()
    owner = factories.Organization()["id"]
    vocabulary = factories.Vocabulary()
    tags = [{"name": "free"}, {"name": "bound", "vocabulary_id": vocabulary["id"]}]
    first = factories.Dataset(
        owner_org=owner,
        groups=[{"name": group["name"]}],
        tags=tags,
        resources=[
            {"url": "http://example.org/a", "format": "csv", "own": "x", "size": 5},
            {"url": "example.org/b", "parts": ["one", "two"]},
        ],
        extras=[{"key": "data_update_frequency", "value": "7"}, {"key": "b_date", "value": "2020"}],
    )
    second = factories.Dataset(owner_org=owner, private=True, license_id="cc-by")
    other = factories.Dataset(type="custom")
    return mark([first["id"], second["id"], other["id"]])


def mark(ids: list[str]) -> dict[str, datetime]:
    marks = indexing.mark(ids)
    model.Session.commit()
    return marks


def rename_all(dataset: dict[str, Any]) -> None:
    """What hooks do: change what is shown, in depth."""
    dataset["title"] = "Shown"
    dataset["added"] = "Added"
    dataset["extras"].append({"key": "shown", "value": "yes"})
    dataset["tags"].reverse()
    for resource in dataset["resources"]:
        resource["name"] = "Shown"
        resource.setdefault("parts", []).append("three")
    if dataset["organization"]:
        dataset["organization"]["title"] = "Shown"


@pytest.mark.parametrize("hook", [lambda dataset: None, rename_all])
def test_documents_are_those_of_a_rebuild(
    meddling: MeddlingPlugin, hook: Callable[[dict[str, Any]], None]
) -> None:
    marks = catalogue()
    meddling.show = hook
    model.Session.expire_all()
    search.clear_all()
    search.rebuild(quiet=True)
    search.commit()
    expected = documents()
    search.clear_all()
    assert indexing.index(marks) == []
    assert len(expected) == 3
    for ours, theirs in zip(documents(), expected, strict=True):
        for key in {*ours, *theirs}:
            assert ours.get(key) == theirs.get(key), key


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_nothing_is_left_of_what_is_purged(meddling: MeddlingPlugin, when: str) -> None:
    ids = sorted(factories.Dataset()["id"] for _ in range(2))
    marks = mark(ids)

    def purge(document: dict[str, Any]) -> None:
        meddling.meddle = lambda document: None
        with model.meta.engine.begin() as other:
            if not IS_2_12:
                other.execute(
                    sa.text("DELETE FROM package_extra WHERE package_id = :id"), {"id": ids[0]}
                )
            other.execute(sa.text("DELETE FROM package WHERE id = :id"), {"id": ids[0]})

    if when == "before":
        purge({})
    else:
        meddling.meddle = purge
    assert indexing.index(marks) == []
    assert [one["id"] for one in documents()] == [ids[1]]
