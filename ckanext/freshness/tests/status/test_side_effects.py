"""An edit has the side effects that it has without this extension: no more, and no others."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from ckan import model
from ckan.tests import factories
from werkzeug.datastructures import FileStorage

from ckanext.freshness.ckan_adapter.core import IS_2_12
from ckanext.freshness.ckan_adapter.packages import package_extras
from ckanext.freshness.tests.clock import freeze_time
from ckanext.freshness.tests.status.measuring import activities, measured, without_freshness

pytestmark = pytest.mark.usefixtures("with_plugins", "clean_db", "clean_index")

Act = Callable[..., Any]

LIMIT = 6 if IS_2_12 else 8
"""Statements more; CKAN 2.11 reads the rows of extras again, and writes them one by one. A new dataset needs
two less: nobody else can write it, and nothing is remembered of it."""

NOON = datetime(2026, 11, 27, 12, 0, 0, 120_000, timezone.utc)
"""The moment of the edits, since their statements depend on it. CKAN finds the indexed package outdated, and
reads the tables, if it was modified in the first millisecond of a second: Solr returns that moment without a
fraction. And an edit in the second of the edit before changes no date among the extras."""

SHOWN = 3
"""How often an edit shows its package at most, to itself and to the caller. Each time the facts about its
URLs are looked up, by one statement."""


@dataclass(frozen=True)
class Effects:
    """What a call leaves behind, apart from what it was made for."""

    documents: int
    """Documents sent to Solr."""
    others: int
    """Documents of other packages."""
    activities: int
    moved: bool
    """Whether ``metadata_modified`` is another than before."""
    extras: dict[str, str]
    """All but this extension's."""


def own_dict(package: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """What a harvester writes: its own dict, with nothing of this extension in it."""
    return {
        "id": package["id"],
        "name": package["name"],
        "title": package["title"],
        "extras": [{"key": "zone", "value": "3"}, {"key": "frequency", "value": "monthly"}],
        "resources": [{"id": one["id"], "url": one["url"]} for one in package["resources"]],
        **changes,
    }


def shown(act: Act, package: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = act("package_show", id=package["id"])
    return result


def upload() -> FileStorage:
    return FileStorage(io.BytesIO(b"a,b\n1,2\n"), filename="data.csv")


CALLS: dict[str, Callable[[Act, dict[str, Any]], Any]] = {
    "update": lambda act, d: act("package_update", **own_dict(d, title="Other")),
    "update, nothing changed": lambda act, d: act("package_update", **shown(act, d)),
    "update, own dict, nothing changed": lambda act, d: act("package_update", **own_dict(d)),
    "patch": lambda act, d: act("package_patch", id=d["id"], title="Other"),
    "revise": lambda act, d: act(
        "package_revise", match={"id": d["id"]}, update={"title": "Other"}
    ),
    "resource_create": lambda act, d: act(
        "resource_create", package_id=d["id"], url="http://x.org/new"
    ),
    "resource_update": lambda act, d: act(
        "resource_update", id=d["resources"][0]["id"], url="http://x.org/other"
    ),
    "resource_patch": lambda act, d: act(
        "resource_patch", id=d["resources"][1]["id"], description="Other"
    ),
    "resource_patch with a file": lambda act, d: act(
        "resource_patch", id=d["resources"][1]["id"], upload=upload()
    ),
    "resource_delete": lambda act, d: act("resource_delete", id=d["resources"][0]["id"]),
    "reorder": lambda act, d: act(
        "package_resource_reorder",
        id=d["id"],
        order=[one["id"] for one in reversed(d["resources"])],
    ),
    "delete": lambda act, d: act("package_delete", id=d["id"]),
}


def new(act: Act, name: str, **more: Any) -> dict[str, Any]:
    result: dict[str, Any] = act(
        "package_create",
        **{
            "name": name,
            "title": "A title",
            "resources": [{"url": "http://x.org/1"}, {"url": "http://x.org/2"}],
            "extras": [{"key": "zone", "value": "3"}, {"key": "frequency", "value": "monthly"}],
            **more,
        },
    )
    return result


def effects(call: Callable[[], Any], package_id: str, monkeypatch: Any) -> Effects:
    model.Session.remove()
    package = model.Package.get(package_id)
    before = package.metadata_modified if package else None
    had = activities(package_id)
    with measured(monkeypatch) as found:
        call()
    model.Session.remove()
    package = model.Package.get(package_id)
    own = package_extras(package)
    return Effects(
        documents=len(found.documents),
        others=sum(one != package_id for one in found.documents),
        activities=activities(package_id) - had,
        moved=package.metadata_modified != before,
        extras={key: value for key, value in own.items() if not key.startswith("freshness")},
    )


def test_every_kind_of_edit(
    act: Act, monkeypatch: pytest.MonkeyPatch, ckan_config: Any, tmp_path: Any
) -> None:
    ckan_config["ckan.storage_path"] = str(tmp_path)
    owner = factories.Organization()["id"]

    def all_of(prefix: str) -> dict[str, Effects]:
        found = {}
        for number, (name, call) in enumerate(CALLS.items()):
            made = new(act, f"{prefix}-{number}", owner_org=owner)
            found[name] = effects(partial(call, act, made), made["id"], monkeypatch)
        creates: dict[str, dict[str, Any]] = {
            "create": {},
            "create, empty": {"resources": []},
            "create, empty and without extras": {"resources": [], "extras": []},
        }
        for name, more in creates.items():
            package_id = str(uuid4())
            call_new = partial(new, act, f"{prefix}-{package_id}", id=package_id, **more)
            found[name] = effects(call_new, package_id, monkeypatch)
        return found

    with without_freshness():
        plain = all_of("plain")
    with_us = all_of("ours")
    assert plain["update"].activities == 1 and plain["create"].documents, "it measures nothing"
    assert with_us == plain


def test_what_the_hooks_cost(act: Act, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few statements more, whatever the dataset; most of an edit's time goes into statements."""

    def all_of(prefix: str) -> list[list[str]]:
        made = new(act, f"{prefix}-warm")
        calls: tuple[Callable[[], Any], ...] = (
            lambda: new(act, f"{prefix}-many", resources=[{"url": "http://x.org/1"}] * 10),
            lambda: act("resource_create", package_id=made["id"], url="http://x.org/new"),
            lambda: act("package_patch", id=made["id"], title="Other"),
        )
        costs = []
        for minute, call in enumerate(calls):
            model.Session.remove()
            with freeze_time(NOON.replace(minute=minute)), measured(monkeypatch) as found:
                call()
            # Outside of requests, CKAN 2.11 looks its user up for each extra that it validates.
            others = [one for one in found.statements if 'FROM "user"' not in one]
            facts = [one for one in others if "freshness_copy" in one]
            assert len(facts) <= SHOWN, facts
            costs.append([one for one in others if one not in facts])
        return costs

    with without_freshness():
        plain = all_of("plain")
    limits = LIMIT - 2, LIMIT, LIMIT
    for ours, without, limit in zip(all_of("ours"), plain, limits, strict=True):
        more = Counter(ours) - Counter(without)
        assert len(ours) - len(without) <= limit, [
            (count, one[:200]) for one, count in more.items()
        ]


def test_a_search_reads_nothing_of_ours(act: Act, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search by CKAN alone reads one row of the database. To read what we know would double its time."""
    new(act, "found", owner_org=factories.Organization()["id"])

    def statements() -> list[str]:
        model.Session.remove()
        with measured(monkeypatch) as found:
            (one,) = act("package_search", q="name:found")["results"]
        assert len(one["resources"]) == 2
        return found.statements

    with without_freshness():
        plain = statements()
    assert statements() == plain
