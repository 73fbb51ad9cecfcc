"""Rows that a job leaves in ckanext-harvest's tables, and its report."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.harvesting.known_records import current_records
from ckanext.freshness.harvesting.source_memory import SourceMemory
from ckanext.freshness.model import HarvestDocument
from ckanext.freshness.reporting import harvests
from ckanext.freshness.tests.harvesting.conftest import (
    Harvest,
    add_source,
    extras,
    indexed,
    sysadmin,
    written,
)
from ckanext.freshness.tests.servers.fdp import FdpServer

pytestmark = pytest.mark.usefixtures("clean_site")

CURRENT = """
    SELECT harvest_object.guid, harvest_object.package_id
    FROM harvest_object
    WHERE harvest_object.current = true AND harvest_object.harvest_source_id = :source
"""


def current(harvest: Harvest) -> list[tuple[str, str]]:
    rows = model.Session.execute(sa.text(CURRENT), {"source": harvest.source["id"]})
    return sorted((guid, package_id) for guid, package_id in rows)


@pytest.mark.usefixtures("sandbox")
def test_one_object_for_each_record_that_is_not_unchanged(fdp: FdpServer) -> None:
    fdp.shuffle = True
    first, second = fdp.add_catalog(), fdp.add_catalog()
    kept, edited, moving, leaving, broken = (
        fdp.add_dataset(first, title=title)
        for title in ("Kept", "Edited", "Moving", "Leaving", "Broken")
    )
    names = {fdp.iri_of(record): record.label for record in (kept, edited, moving, leaving, broken)}
    harvest = add_source(fdp.source_url)
    before = harvest.objects(harvest.run())
    assert set(before) == set(names)
    for url, one in before.items():
        assert (one.state, one.report_status, one.current) == ("COMPLETE", "added", True)
        assert one.guid == f"catalog={fdp.iri_of(first)};dataset={url}"
        told = {key: one.extras.get(key) for key in ("status", "dataset_url", "catalog_url")}
        assert told == {"status": "new", "dataset_url": url, "catalog_url": fdp.iri_of(first)}
        assert one.content
    assert current(harvest) == sorted((one.guid, one.package_id) for one in before.values())
    packages, as_it_was = harvest.datasets(), (written(), indexed())
    assert harvest.run().stats["not modified"] == 5
    assert (written(), indexed()) == as_it_was

    fdp.change(edited, description="Edited again")
    fdp.move(moving, second)
    fdp.remove(leaving)
    fdp.break_turtle(broken)
    added = fdp.add_dataset(second, title="Added")
    names[fdp.iri_of(added)] = added.label
    job = harvest.run()
    after = harvest.objects(job)
    table = {
        names[url]: (one.state, one.report_status, one.current, one.extras.get("status"))
        for url, one in after.items()
    }
    assert table == {
        "Edited": ("COMPLETE", "updated", True, "change"),
        "Moving": ("COMPLETE", "updated", True, "change"),
        "Leaving": ("COMPLETE", "deleted", False, "delete"),
        "Broken": ("ERROR", "errored", False, None),
        "Added": ("COMPLETE", "added", True, "new"),
    }
    assert job.stats == {"added": 1, "updated": 2, "not modified": 1, "errored": 1, "deleted": 1}
    moved = after[fdp.iri_of(moving)]
    assert moved.extras["catalog_url"] == fdp.iri_of(second)
    assert moved.guid == f"catalog={fdp.iri_of(second)};dataset={fdp.iri_of(moving)}"
    assert (
        after[fdp.iri_of(leaving)].extras["reason"]
        == "The source says that it is gone: its own URL answers 404 or 410"
    )
    assert set(job.object_errors) == {before[fdp.iri_of(broken)].guid}
    (words,) = job.errors
    assert words.startswith(f"{fdp.iri_of(broken)}: Its metadata file has a syntax error: ")

    found = harvest.datasets()
    for url in map(fdp.iri_of, (kept, edited, moving, broken)):
        assert (found[url]["id"], found[url]["name"]) == (
            packages[url]["id"],
            packages[url]["name"],
        )
        assert [one["id"] for one in found[url]["resources"]] == [
            one["id"] for one in packages[url]["resources"]
        ]
    assert extras(found[moved.extras["dataset_url"]])["guid"] == moved.guid
    # The documented query, the harvester and the search agree on the current records.
    remaining = [fdp.iri_of(one) for one in (kept, edited, moving, broken, added)]
    known = {one.url: one for one in current_records(harvest.source["id"])}
    assert set(known) == set(remaining) == set(harvest.datasets())
    assert current(harvest) == sorted((one.guid, one.package_id) for one in known.values())
    states = dict(model.Session.query(model.Package.id, model.Package.state))
    assert states[before[fdp.iri_of(leaving)].package_id] == "deleted"


def test_nobody_adopts_what_belongs_to_another_organization(fdp: FdpServer) -> None:
    """Otherwise editors could overwrite packages that they may not even see."""
    fdp.add_dataset(fdp.add_catalog(), title="Theirs")
    old = add_source(fdp.source_url)
    old.run()
    ((_, package_id),) = old.current()
    call_action("harvest_source_delete", {"user": sysadmin()}, id=old.source["id"])

    other = add_source(fdp.source_url, owner_org=factories.Organization()["id"], language="en")
    job = other.run()
    assert (job.errors, job.stats["added"]) == ([], 1)
    ((_, own_id),) = other.current()
    assert own_id != package_id
    assert call_action("package_show", id=package_id)["owner_org"] == old.source["owner_org"]


def rows() -> dict[str, int]:
    """Return the sizes of the tables that could grow."""
    tables = (
        "harvest_object",
        "harvest_object_extra",
        "harvest_object_error",
        "freshness_harvest_document",
    )
    return {
        table: model.Session.execute(sa.text(f"SELECT count(*) FROM {table}")).scalar_one()
        for table in tables
    }


def test_unchanged_runs_do_not_let_tables_grow_and_stay_counted(fdp: FdpServer) -> None:
    catalog = fdp.add_catalog()
    for _ in range(3):
        fdp.add_dataset(catalog)
    harvest, other = add_source(fdp.source_url), add_source(f"{fdp.source_url}/", language="en")
    harvest.run()
    other.run()
    other.run()
    first = harvest.run()
    grown = rows()
    for _ in range(3):
        job = harvest.run()
        assert job.stats["not modified"] == 3
        assert rows() == grown
    source_id = harvest.source["id"]
    jobs = call_action("harvest_job_list", source_id=source_id)
    assert sorted(one["stats"]["not modified"] for one in jobs) == [0, 3, 3, 3, 3]
    last = call_action("harvest_source_show_status", id=source_id)["last_job"]
    for shown in (last, call_action("harvest_job_show", id=first.id)):
        assert shown["stats"]["not modified"] == 3
    words = [one.figures for one in harvests.jobs([source_id], 9)]
    assert words == [["3 unchanged"]] * 4 + [["3 new"]]
    assert len(current(harvest)) == len(current(other)) == 3


def test_what_is_expected_is_read_at_once_and_as_it_was_remembered_last(fdp: FdpServer) -> None:
    source_id = add_source(fdp.source_url).source["id"]
    keys = [f"{number:03}" for number in range(3 * SourceMemory.BATCH)]
    memory = SourceMemory(source_id)
    for key in keys:
        memory.remember(key, "first", key)
    memory.finish(forget_others=True)
    statements: list[str] = []

    def count(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        statements.append(statement)

    memory = SourceMemory(source_id)
    memory.expect(keys)
    sa.event.listen(model.meta.engine, "before_cursor_execute", count)
    try:
        assert [memory.recall(key, "first") for key in reversed(keys)] == keys[::-1]
    finally:
        sa.event.remove(model.meta.engine, "before_cursor_execute", count)
    assert len(statements) < 10

    memory = SourceMemory(source_id)
    memory.expect([*keys, "missing"])
    assert memory.recall("missing", "first") is None
    for key in keys:
        memory.remember(key, "second", "another")
    assert {memory.recall(key, "second") for key in keys} == {"another"}


def test_documents_are_remembered_by_their_bytes(fdp: FdpServer) -> None:
    """The test changes the memory. The job believes it, so it did not parse the bytes."""
    catalog = fdp.add_catalog()
    fdp.add_dataset(catalog)
    harvest = add_source(fdp.source_url)
    harvest.run()

    def rows() -> list[HarvestDocument]:
        found = model.Session.query(HarvestDocument)
        return list(found.filter_by(source_id=harvest.source["id"]))

    learnt = {row.url: row.digest for row in rows()}
    assert len([url for url in learnt if "#" not in url]) == 3  # root, catalog, page
    harvest.run()
    assert {row.url: row.digest for row in rows()} == learnt

    (row,) = (one for one in rows() if one.url == fdp.iri_of(catalog))
    row.outline = {**row.outline, "datasets": [*row.outline["datasets"], f"{fdp.url}/made-up"]}  # type: ignore[assignment]
    model.Session.commit()
    fdp.reset()
    assert harvest.run().errors == []
    assert fdp.count("/made-up") == 1
