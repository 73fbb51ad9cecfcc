"""A preview shows what the next job does, for each change of a source, and writes nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone

import pytest
import sqlalchemy as sa
from ckan import model

from ckanext.freshness.harvesting.object_writer import STATUS
from ckanext.freshness.harvesting.preview import Preview, preview
from ckanext.freshness.harvesting.record_changes import FieldChange
from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source
from ckanext.freshness.tests.servers.faults import Status
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.harvest import model as harvest_model

pytestmark = pytest.mark.usefixtures("clean_site", "one_attempt")

TABLES = (
    "harvest_job",
    "harvest_object",
    "harvest_object_extra",
    "harvest_object_error",
    "harvest_gather_error",
    "freshness_harvest_hold",
    "freshness_harvest_document",
    "package",
)


def tables() -> dict[str, list[str]]:
    """Return all rows that a job could change."""
    model.Session.rollback()
    return {
        table: sorted(model.Session.execute(sa.text(f"SELECT t::text FROM {table} t")).scalars())
        for table in TABLES
    }


def filled(fdp: FdpServer, datasets: int = 4) -> None:
    """Two catalogs, with datasets in the first."""
    first = fdp.add_catalog(title="First")
    fdp.add_catalog(title="Second")
    for number in range(datasets):
        fdp.add_dataset(first, title=f"Dataset {number}")


# Changes of a source


def all_at_once(fdp: FdpServer) -> None:
    second = fdp.catalogs[1]
    edited, moved, removed = fdp.datasets[:3]
    fdp.change(edited, title="Edited")
    fdp.move(moved, second)
    fdp.remove(removed)
    fdp.add_dataset(second, title="Another")


def catalog_away(fdp: FdpServer) -> None:
    fdp.faults[fdp.catalogs[0].path] = Status(500)
    fdp.add_dataset(fdp.catalogs[1], title="Elsewhere")


def one_record_away(fdp: FdpServer) -> None:
    failing, removed = fdp.datasets[:2]
    fdp.faults[failing.path] = Status(500)
    fdp.remove(removed)


def all_gone(fdp: FdpServer) -> None:
    for record in fdp.datasets:
        fdp.remove(record)


@pytest.mark.parametrize(
    ("happens", "expected"),
    [
        (all_at_once, {"new": 1, "changed": 1, "moved": 1, "deleted": 1, "unchanged": 1}),
        (catalog_away, {"new": 1, "kept": 4, "unreadable": 4, "errors": 1}),
        (one_record_away, {"deleted": 1, "unchanged": 2, "failed": 1, "kept": 1, "unreadable": 1}),
        (all_gone, {"held": 4}),
    ],
)
def test_the_job_does_what_the_preview_said(
    fdp: FdpServer, happens: Callable[[FdpServer], None], expected: dict[str, int]
) -> None:
    filled(fdp)
    harvest = add_source(fdp.source_url)
    harvest.run()
    happens(fdp)

    before = tables()
    said = harvest.preview()
    assert tables() == before
    counts = said.as_dict()["counts"] | {
        "errors": len(said.survey.crawl.errors),
        "held": len(said.survey.brake.held) if said.survey.brake else 0,
    }
    assert {kind: count for kind, count in counts.items() if count} == expected
    agree(harvest, said)


def agree(harvest: Harvest, said: Preview) -> None:
    """Run a job and compare it with the preview."""
    current = dict(harvest.current())
    job = harvest.run()
    done = {
        (one.guid, one.extras.get("status") or one.report_status)
        for one in harvest.objects(job).values()
    }
    announced = {
        (entry.guid, STATUS[kind])
        for kind, entries in said.changes.items()
        for entry in entries
        if kind is not RecordClass.UNCHANGED
    }
    assert done == announced | {(entry.guid, "errored") for entry in said.failed}
    assert [str(error) for error in said.survey.crawl.errors] == [
        error
        for error, code in zip(job.gather_errors, job.codes, strict=True)
        if code is None or code["code"] != "deletions held"
    ]
    assert sorted(m for many in job.object_errors.values() for m in many) == sorted(
        entry.reason for entry in said.failed
    )
    gone = {entry.guid for entry in said.changes[RecordClass.DELETED]}
    now = dict(harvest.current())
    assert {current[guid] for guid in gone}.isdisjoint(now.values())
    assert job.stats["deleted"] == len(gone)
    assert job.stats["not modified"] == len(said.changes[RecordClass.UNCHANGED])
    if said.survey.brake:
        assert any(said.survey.brake.reason in one for one in job.gather_errors)
        assert {one["guid"] for one in harvest.hold()["held"]} == {
            one.known.guid for one in said.survey.brake.held
        }


def test_records_have_titles_and_changes_are_told(fdp: FdpServer) -> None:
    filled(fdp)
    harvest = add_source(fdp.source_url, keep_fields=["notes"])
    harvest.run()
    all_at_once(fdp)
    fdp.change(fdp.datasets[0], title="Edited", description="New words")
    progress: list[tuple[int, int | None]] = []
    source = harvest_model.HarvestSource.get(harvest.source["id"])
    said = preview(
        source,
        now=datetime.now(timezone.utc),
        tell=lambda read, listed: progress.append((read, listed)),
    )
    assert progress[-1] == (4, 4)
    assert {listed for _, listed in progress} == {4}
    (edited,), (moved,), (removed,) = (
        said.changes[kind] for kind in (RecordClass.CHANGED, RecordClass.MOVED, RecordClass.DELETED)
    )
    assert edited.changes == [FieldChange("title", before="Dataset 0", after="Edited")]
    assert (moved.title, removed.title) == ("Dataset 1", "Dataset 2")
    first, second = (fdp.iri_of(one) for one in fdp.catalogs)
    assert (moved.moved_from, moved.moved_to) == (first, second)


def test_released_deletions_are_announced_as_deletions(fdp: FdpServer) -> None:
    filled(fdp)
    harvest = add_source(fdp.source_url)
    harvest.run()
    all_gone(fdp)
    harvest.run()
    harvest.release()
    said = harvest.preview()
    assert said.survey.brake is None
    assert len(said.changes[RecordClass.DELETED]) == 4
    agree(harvest, said)
