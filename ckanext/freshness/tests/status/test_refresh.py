"""Statuses that changed because time passed: written, indexed, and made good after a kill."""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from threading import Thread
from typing import Any

import pytest
import sqlalchemy as sa
from ckan.lib import search
from ckan.tests import factories, helpers
from click.testing import CliRunner

from ckanext.freshness.ckan_adapter.core import IS_2_12, NAMES, model
from ckanext.freshness.ckan_adapter.packages import write_extras
from ckanext.freshness.cli.site import freshness
from ckanext.freshness.status import indexing
from ckanext.freshness.status import refresh as module
from ckanext.freshness.status.indexing import SolrAwayError
from ckanext.freshness.status.refresh import RefreshCounts, refresh
from ckanext.freshness.tests.clock import freeze_time
from ckanext.freshness.tests.datasets import ours
from ckanext.freshness.tests.harvesting.test_killed import waits_for_a_lock
from ckanext.freshness.tests.processes import disconnect, killed_at, until
from ckanext.freshness.tests.status.meddling import MeddlingPlugin

pytestmark = pytest.mark.usefixtures("with_plugins", "clean_db", "clean_index")

OURS = ("dataset", "evidence", "resource", "transition", "unindexed")


def write(action: str, **data: Any) -> Any:
    user = helpers.call_action("get_site_user")["name"]
    return helpers.call_action(action, {"user": user}, **data)


def dataset(name: str, frequency: str = "7") -> str:
    result: str = write(
        "package_create",
        name=name,
        resources=[{"url": "http://example.org/a.csv"}],
        extras=[{"key": "data_update_frequency", "value": frequency}],
    )["id"]
    return result


def many(count: int) -> list[str]:
    return sorted(dataset(f"a-{number}") for number in range(count))


def rows(table: str, columns: str = "*", order: str = "1") -> list[Any]:
    found = model.Session.execute(sa.text(f"SELECT {columns} FROM {table} ORDER BY {order}")).all()
    model.Session.rollback()
    return [tuple(row) for row in found]


def stored() -> dict[str, dict[str, str]]:
    """All extras that are ours, as the database has them, by the dataset's name."""
    model.Session.expire_all()
    found = {
        one.name: {key: value for key, value in one.extras.items() if key in NAMES.extras}
        for one in model.Session.query(model.Package)
    }
    model.Session.rollback()
    return found


def statuses() -> dict[str, str | None]:
    return {name: extras.get("freshness") for name, extras in stored().items()}


def facet() -> dict[str, int]:
    found = helpers.call_action("package_search", rows=0, **{"facet.field": ["freshness"]})
    counts: dict[str, int] = found["facets"]["freshness"]
    return counts


def transitions() -> list[Any]:
    return rows(
        "freshness_transition",
        "from_status, to_status, changed_at, cause, run_id",
        "changed_at, id",
    )


def later(**ages: int) -> datetime:
    return datetime.now(timezone.utc) + timedelta(**ages)


def at(moment: datetime, **options: Any) -> RefreshCounts:
    """A refresh as if it were another time."""
    with freeze_time(moment):
        return refresh(datetime.now(timezone.utc), **options)


@contextlib.contextmanager
def solr_away() -> Iterator[None]:
    """Nobody listens where Solr should be."""
    nowhere = "http://127.0.0.1:9/solr/none"
    if IS_2_12:
        with helpers.changed_config("solr_url", nowhere):
            yield
        return
    settings = search.common.SolrSettings
    before = settings.get()
    settings.init(nowhere)
    try:
        yield
    finally:
        settings.init(*before)


def test_only_what_has_passed_a_boundary_is_touched() -> None:
    for name, frequency in {"weekly": "7", "monthly": "30", "live": "0", "unknown": "?"}.items():
        dataset(name, frequency)
    before = stored()
    modified = rows("package", "id, metadata_modified")
    done = rows("activity", "id")
    (first,) = rows("freshness_dataset WHERE frequency_days = 7", "due")[0]
    transitions_before = len(transitions())

    assert refresh(datetime.now(timezone.utc)) == RefreshCounts()
    assert at(first.replace(tzinfo=timezone.utc) - timedelta(seconds=1)) == RefreshCounts()
    result = at(first.replace(tzinfo=timezone.utc), run_id="a run")
    assert result == RefreshCounts(datasets=1, changed=1, statuses=1)
    assert stored() == {**before, "weekly": {**before["weekly"], "freshness": "due"}}
    assert transitions()[transitions_before:] == [("fresh", "due", first, "time", "a run")]
    assert facet() == {"fresh": 2, "due": 1, "unavailable": 1}
    assert rows("package", "id, metadata_modified") == modified
    assert rows("activity", "id") == done
    assert rows("freshness_unindexed") == []

    assert at(first.replace(tzinfo=timezone.utc) + timedelta(hours=1)) == RefreshCounts()
    shown = helpers.call_action("package_show", id="weekly")
    assert ours(shown)["freshness_due"]


def test_who_has_passed_several_boundaries_gets_each_at_its_time() -> None:
    dataset("a-dataset")
    (bounds,) = rows("freshness_dataset", "due, overdue, delinquent")
    before = len(transitions())
    assert at(later(days=22)).changed == 1
    assert transitions()[before:] == [
        ("fresh", "due", bounds[0], "time", None),
        ("due", "overdue", bounds[1], "time", None),
        ("overdue", "delinquent", bounds[2], "time", None),
    ]
    assert statuses() == {"a-dataset": "delinquent"}
    assert rows("freshness_dataset", "next_boundary") == [(None,)]


def test_when_solr_is_away_the_next_run_indexes() -> None:
    many(3)
    with solr_away(), pytest.raises(SolrAwayError):
        at(later(days=8))
    assert set(statuses().values()) == {"due"}
    assert len(rows("freshness_unindexed")) == 3
    assert facet() == {"fresh": 3}
    written = transitions()
    assert at(later(days=8)) == RefreshCounts(healed=3)
    assert facet() == {"due": 3}
    assert rows("freshness_unindexed") == []
    assert transitions() == written


def forked(work: Callable[[], object]) -> Any:
    """A process that starts as a copy of this one."""
    disconnect()
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    return process


@pytest.mark.parametrize("number", [1, 3])
def test_a_run_that_is_killed_is_made_good_by_the_next(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(module, "BATCH", 2)
    many(4)
    moment = later(days=8)
    killed_at(indexing, "_send", number, lambda: at(moment))
    marked = len(rows("freshness_unindexed"))
    assert marked == 2
    result = at(moment)
    assert result.healed == marked
    assert facet() == {"due": 4}
    assert set(statuses().values()) == {"due"}
    assert len([one for one in transitions() if one[1] == "due"]) == 4
    assert rows("freshness_unindexed") == []


def test_documents_that_solr_has_lost_or_should_not_have() -> None:
    lost, gone, _ = many(3)
    now = datetime.now(timezone.utc)
    refresh(now)
    search.clear(lost)
    search.commit()
    assert refresh(now) == RefreshCounts(healed=1)
    assert facet() == {"fresh": 3}
    assert refresh(now) == RefreshCounts()

    # As many documents as datasets, but not of the same.
    search.clear(lost)
    search.commit()
    model.Session.execute(
        sa.text("UPDATE package SET state = 'deleted' WHERE id = :id"), {"id": gone}
    )
    model.Session.commit()
    assert refresh(now) == RefreshCounts()
    assert refresh(now, compares_index=True) == RefreshCounts(healed=2)
    assert facet() == {"fresh": 2}


def test_two_at_once_share_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 1)
    many(6)
    moment = later(days=16)
    processes = [forked(lambda: at(moment)) for _ in range(2)]
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert facet() == {"overdue": 6}
    assert set(statuses().values()) == {"overdue"}
    assert len([one for one in transitions() if one[3] == "time"]) == 12
    assert rows("freshness_unindexed") == []


def test_an_edit_while_documents_are_sent_is_not_lost(meddling: MeddlingPlugin) -> None:
    """The edit waits for the older document to be sent, and sends a newer one."""
    (dataset_id,) = many(1)
    edits: list[Thread] = []

    def patch() -> None:
        try:
            write("package_patch", id=dataset_id, title="Edited meanwhile")
        finally:
            model.Session.remove()

    def edit(document: dict[str, Any]) -> None:
        if not edits:
            edits.append(Thread(target=patch))
            edits[0].start()
            until(lambda: waits_for_a_lock() or not edits[0].is_alive())

    meddling.meddle = edit
    at(later(days=8))
    edits[0].join(60)
    assert search.show(dataset_id)["title"] == "Edited meanwhile"


def test_one_that_cannot_be_indexed_does_not_stop_the_others(
    meddling: MeddlingPlugin,
) -> None:
    ids = many(3)

    def stumble(document: dict[str, Any]) -> None:
        if document["id"] == ids[0]:
            raise LookupError("a plugin stumbled")
        if document["id"] == ids[1]:
            document["metadata_created"] = "no date"

    meddling.meddle = stumble
    with freeze_time(later(days=8)):
        result = CliRunner().invoke(freshness, ["refresh"])
    assert result.exit_code == 1
    assert "statuses of 3 datasets: 3 new" in result.output
    assert "a plugin stumbled" in result.output
    assert ids[1] in result.output
    assert facet() == {"fresh": 2, "due": 1}
    assert [one for (one,) in rows("freshness_unindexed", "package_id")] == ids[:2]
    meddling.meddle = lambda document: None
    with freeze_time(later(days=8)):
        result = CliRunner().invoke(freshness, ["refresh"])
    assert result.exit_code == 0
    assert facet() == {"due": 3}


def forget(ids: list[str]) -> None:
    """A catalogue as it was before the extension."""
    write_extras({one: {} for one in ids}, NAMES.extras)
    for table in OURS:
        model.Session.execute(sa.text(f"DELETE FROM freshness_{table}"))
    model.Session.commit()
    model.Session.expire_all()
    search.rebuild(quiet=True)
    search.commit()


def test_a_catalogue_that_existed_before_is_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 2)
    ids = many(5)
    factories.Dataset(name="other", type="custom")
    expected, modified = stored(), rows("package", "id, metadata_modified")
    done = rows("activity", "id")
    forget(ids)
    assert facet() == {}
    told: list[tuple[int, int]] = []
    result = refresh(
        datetime.now(timezone.utc),
        everything=True,
        progress=lambda done, total: told.append((done, total)),
    )
    assert result == RefreshCounts(datasets=5, changed=5)
    assert told[-1] == (5, 5)
    assert [count for count, _total in told] == sorted(count for count, _total in told)
    assert facet() == {"fresh": 5}
    assert {name: set(extras) for name, extras in stored().items()} == {
        name: set(extras) for name, extras in expected.items()
    }
    assert rows("package", "id, metadata_modified") == modified
    assert rows("activity", "id") == done
    again = refresh(datetime.now(timezone.utc), everything=True)
    assert again == RefreshCounts(datasets=5)


def test_after_a_pause_of_the_plugin() -> None:
    """CKAN wrote these datasets while the plugin was not enabled."""
    factories.Dataset(name="other", type="custom")
    kept, edited, tampered, created, deleted = many(5)
    expected = stored()
    before, history = rows("freshness_evidence"), transitions()
    write("package_delete", id=deleted)
    write_extras({edited: {}, deleted: {}}, NAMES.extras)
    write_extras({tampered: {"freshness": "ripe"}}, ["freshness"])
    forget_one(created)
    model.Session.commit()
    model.Session.remove()
    search.rebuild(quiet=True)
    search.commit()
    assert facet() == {"fresh": 1, "ripe": 1}
    assert refresh(datetime.now(timezone.utc)) == RefreshCounts(datasets=3, changed=3)
    names = {one.id: one.name for one in model.Session.query(model.Package)}
    found = stored()
    for package_id in (kept, edited, tampered):
        assert found[names[package_id]] == expected[names[package_id]]
    assert found[names[created]]["freshness"] == "fresh"
    assert found[names[deleted]] == {}
    assert facet() == {"fresh": 4}
    assert {row[0] for row in transitions()} == {None}
    assert len(rows("freshness_evidence")) == len(before) and len(transitions()) == len(history)
    assert refresh(datetime.now(timezone.utc)) == RefreshCounts()


def forget_one(package_id: str) -> None:
    write_extras({package_id: {}}, NAMES.extras)
    for table in OURS:
        model.Session.execute(
            sa.text(f"DELETE FROM freshness_{table} WHERE package_id = :id"), {"id": package_id}
        )
