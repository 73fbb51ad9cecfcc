"""Rows of the report, and a small site with something of everything."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

import sqlalchemy as sa
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.aging.evidence import Evidence
from ckanext.freshness.checking import data_changes
from ckanext.freshness.checking.data_changes import DataChange
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.harvesting.messages import HarvestMessage, MessageCode, to_column
from ckanext.freshness.model import CheckRun, FreshnessTransition, HarvestHold
from ckanext.freshness.reporting import counts
from ckanext.freshness.reporting.counts import of_statuses
from ckanext.freshness.status.refresh import refresh
from ckanext.freshness.tests.pages.datasets import break_link
from ckanext.freshness.tests.reporting.test_hdx_layout import FIRST, FREQUENCIES
from ckanext.harvest import model as harvest_model

NOW = datetime.now(timezone.utc).replace(microsecond=0)
PLAIN = NOW.replace(tzinfo=None)
DAY = timedelta(days=1)


def make(name: str, age: float = 1, **more: Any) -> dict[str, Any]:
    """Create a weekly dataset of an age in days, with one resource."""
    dataset = factories.Dataset(
        **{
            "name": name,
            "title": f"About {name}",
            "extras": [{"key": "frequency", "value": "7"}],
            "resources": [
                {"url": f"http://user:secret@{name}.example.org/{name}.csv", "name": name}
            ],
            **more,
        }
    )
    old = PLAIN - age * DAY
    for table, column in (("resource", "created"), ("freshness_evidence", "happened_at")):
        statement = f"UPDATE {table} SET {column} = :old WHERE package_id = :id"
        model.Session.execute(sa.text(statement), {"old": old, "id": dataset["id"]})
    model.Session.commit()
    return dict(dataset)


def judge() -> None:
    """Write and index the present statuses."""
    refresh(NOW, everything=True)
    model.Session.remove()


def visited(dataset: dict[str, Any], **more: Any) -> None:
    """Add the row of a broken link, whose changes cannot be detected, for a dataset's resource."""
    known: dict[str, Any] = {
        "host": f"{dataset['name']}.example.org",
        "known": {"promised": dataset["resources"][0]["format"], "found": "a ZIP archive"},
        "failed_at": PLAIN - DAY,
        "tried_at": PLAIN - DAY,
        "undetermined": "blocked",
        "attempts": [{"status": 404, "words": "answered 404 (Not Found)"}],
    }
    break_link(dataset, **{**known, **more})


WORKS: dict[str, Any] = {
    "failures": 0,
    "failing_since": None,
    "failed_at": None,
    "undetermined": None,
    "known": {},
    "attempts": [{"status": 200, "outcome": "same hash"}],
}
"""What :func:`visited` writes about a link that works."""


def changed(dataset: dict[str, Any], ago: timedelta = DAY / 2, **more: Any) -> None:
    """Add a change of a dataset's status."""
    row = {"from_status": "fresh", "to_status": "due", "cause": "time", "evidence": "created"}
    moved = FreshnessTransition(package_id=dataset["id"], changed_at=PLAIN - ago, **{**row, **more})
    model.Session.add(moved)
    model.Session.commit()


def data_changed(dataset: dict[str, Any], ago: timedelta = DAY / 2, **more: Any) -> None:
    """Add a change of the data of a dataset's resource."""
    seen = NOW - ago
    change = DataChange(
        **{
            "package_id": dataset["id"],
            "resource_id": dataset["resources"][0]["id"],
            "evidence": Evidence.HASH,
            "seen_at": seen,
            "changed_before": seen,
            "changed_after": seen - DAY,
            **more,
        }
    )
    data_changes.write([change])
    model.Session.commit()


def add_run(**more: Any) -> None:
    """Add a check of all datasets, an hour ago."""
    row: dict[str, Any] = {
        "id": "first",
        "kind": "check",
        "started_at": PLAIN - DAY / 24,
        "ended_at": PLAIN - DAY / 48,
        "options": {},
        "resources": FIRST,
        "datasets": {"0: Fresh, Updated nothing": 22160},
        "frequencies": FREQUENCIES,
        "checked": 490,
        "version": "1.0",
    }
    model.Session.add(CheckRun(**{**row, **more}))
    model.Session.commit()


def add_source(
    name: str, user: str, owner: str, *, errors: int = 0, held: int = 0, datasets: Any = ()
) -> str:
    """Create a harvest source with a finished job, and return its id."""
    made = call_action(
        "harvest_source_create",
        {"user": user},
        **{"name": name, "title": f"About {name}", "url": f"http://{name}.example.org"},
        **{"source_type": "fdp", "owner_org": owner},
    )
    source = harvest_model.HarvestSource.get(made["id"])
    job = harvest_model.HarvestJob(source=source, status="Finished", finished=PLAIN - DAY / 4)
    job.save()
    for number in range(errors):
        harvest_model.HarvestGatherError(message=f"Error {number}", job=job).save()
    for dataset in datasets:
        harvest_model.HarvestObject(
            guid=dataset["id"], job=job, source=source, package_id=dataset["id"], current=True
        ).save()
        call_action("package_patch", {"user": user}, id=dataset["id"], notes="Index it")
    if held:
        records = [
            {
                "guid": f"{name}-{number}",
                "url": "",
                "package_id": None,
                "reason": "",
                "released": None,
            }
            for number in range(held)
        ]
        hold = HarvestHold(
            source_id=made["id"], job_id=job.id, held_at=PLAIN, reason="many", held=records
        )
        model.Session.add(hold)
        told = HarvestMessage(MessageCode.DELETIONS_HELD, {"count": held})
        harvest_model.HarvestGatherError(message=to_column(told), job=job).save()
    model.Session.commit()
    return str(made["id"])


def record(days: int, **statuses: int) -> None:
    """Store counts of an earlier day."""
    counts.store(NOW - days * DAY, of_statuses(statuses))


@dataclass(frozen=True, slots=True)
class World:
    """A site with something of everything.

    :ivar people: users with tokens by role: ``nobody`` (None), ``sysadmin`` and :data:`ROLES`
    :ivar datasets: by name
    """

    people: dict[str, Any]
    datasets: dict[str, dict[str, Any]]


AGES = {"wells": 6.5, "bridges": 1, "highways": 9, "clinics": 16, "camps": 30}
"""The ages of the datasets, in days: two are fresh, then due, overdue and delinquent."""
OF_ROADS = ("highways",)
PRIVATE = ("clinics",)
ROLES = ("stranger", "member", "editor", "both")
"""Users: without an organization, member and editor of the first organization, editor of both."""


def make_world() -> World:
    """Make the site: two organizations with datasets, one without, sources, checks, changes, history."""
    people: dict[str, Any] = {
        "nobody": None,
        **{role: dict(factories.UserWithToken()) for role in ROLES},
        "sysadmin": dict(factories.SysadminWithToken()),
    }
    member, editor, both = (people[role]["name"] for role in ("member", "editor", "both"))
    editors = [{"name": name, "capacity": "editor"} for name in (editor, both)]
    users = [{"name": member, "capacity": "member"}, *editors]
    relief = factories.Organization(name="relief", title="Relief Works", users=users)["id"]
    roads = factories.Organization(name="roads", title="Road Office", users=editors[1:])["id"]
    factories.Organization(name="alone", title="Nothing Yet")
    datasets = {
        name: make(
            name, age, owner_org=roads if name in OF_ROADS else relief, private=name in PRIVATE
        )
        for name, age in AGES.items()
    }
    datasets["unknown"] = make("unknown", extras=[])
    datasets["hidden"] = make("hidden", extras=[], owner_org=relief, private=True)
    root = people["sysadmin"]["name"]
    add_source("harvested", root, roads, datasets=[datasets["unknown"], datasets["hidden"]])
    add_source("holding", root, relief, held=3)
    add_source("failing", root, roads, errors=2)
    concealed = add_source("concealed", root, relief)
    call_action("package_patch", {"user": root}, id=concealed, private=True)
    judge()
    for name in ("wells", "clinics"):
        visited(datasets[name])
        data_changed(datasets[name])
    visited(datasets["highways"], **WORKS)
    for name in ("camps", "clinics"):
        changed(datasets[name], from_status="overdue", to_status="delinquent")
    changed(datasets["highways"])
    changed(datasets["bridges"], cause="recompute")
    add_run()
    record(40, fresh=2, due=3)
    counts.record(NOW)
    model.Session.remove()
    return World(people, datasets)


def rows_of(answer: Any) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    return list(csv.DictReader(io.StringIO(answer.get_data(as_text=True))))


def text_of(page: Any) -> str:
    """Return the words of a page with single blanks."""
    return " ".join(page.get_text(" ").split())


def undo(page: Any) -> dict[str, str]:
    """Return the button that undoes what was just done, and the rows of its form."""
    (button,) = (one for one in page.select("button[name=do]") if text_of(one).startswith("Undo"))
    rows = button.parent.select("[name=rows], [name=all]")
    return {field["name"]: str(field["value"]) for field in (button, *rows)}
