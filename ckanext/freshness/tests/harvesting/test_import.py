"""Import: identity, names and types of datasets, values that are kept, failures, resources that come back."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from ckan.tests import factories
from ckan.tests.helpers import call_action, changed_config

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.harvesting.record import Refusal
from ckanext.freshness.reporting import harvests
from ckanext.freshness.tests.harvesting.conftest import (
    Harvest,
    Job,
    add_source,
    extras,
    stored,
    sysadmin,
    written,
)
from ckanext.freshness.tests.harvesting.stumbling import StumblingPlugin
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind, Record
from ckanext.freshness.tests.servers.turtle import agent
from ckanext.harvest import model as harvest_model
from ckanext.harvest import queue

pytestmark = pytest.mark.usefixtures("clean_site")


# Identity


def test_messages_that_come_again_after_their_job_has_ended(fdp: FdpServer) -> None:
    """An imported object stays imported, and later changes stay too, however often the message comes."""
    catalog = fdp.add_catalog()
    _kept, edited, gone = [fdp.add_dataset(catalog, title=title) for title in ("K", "E", "G")]
    harvest = add_source(fdp.source_url, delete_unlisted=True)
    first = harvest.run()
    fdp.unlist(gone, catalog)
    harvest.run()
    harvest.wait_a_day()
    fdp.change(edited, title="E changed")
    second = harvest.run()
    fdp.list_also(gone, catalog)
    harvest.run()
    report = {job.id: harvest.objects(job) for job in (first, second)}
    objects = [one for each in report.values() for one in each.values()]
    assert {one.report_status for one in objects} == {"added", "updated", "deleted"}
    before = harvest.datasets(), harvest.current(), written()
    for _ in range(5):
        for one in objects:
            queue.get_fetch_publisher().send({"harvest_object_id": one.id})
        harvest.fetch()
    assert {job.id: harvest.objects(job) for job in (first, second)} == report
    assert (harvest.datasets(), harvest.current(), written()) == before


def test_imports_that_end_after_the_next_gather(fdp: FdpServer, harvest: Harvest) -> None:
    """PostgreSQL may commit them when their consumer is dead already. No record gets a second dataset."""
    harvest.run()
    before = harvest.current()
    for hidden in (
        "UPDATE harvest_object SET current = false, package_id = NULL",
        "UPDATE package SET state = 'deleted' WHERE type = 'dataset'",
    ):
        model.Session.execute(sa.text(hidden))
    job_id = harvest.start()
    harvest.gather()
    written = "UPDATE harvest_object SET current = true, package_id = :id WHERE guid = :guid AND {}"
    rows = [{"guid": guid, "id": package_id} for guid, package_id in before]
    model.Session.execute(sa.text(written.format("report_status = 'added'")), rows)
    model.Session.execute(sa.text("UPDATE package SET state = 'active' WHERE type = 'dataset'"))
    model.Session.commit()
    harvest.fetch()
    assert harvest.finish(job_id).stats["errored"] == len(before)
    assert harvest.run().errors == []
    assert harvest.current() == before and len(harvest.datasets()) == len(before)


TITLES = {
    "plain": ("Rainfall in Kenya", "rainfall-in-kenya"),
    "accents": ("Enquête de santé", "enquete-de-sante"),
    "arabic": ("بيانات السكان", None),
    "chinese": ("人口数据", None),
    "emoji": ("🌍🔥", None),
    "one letter": ("X", None),
    "reserved": ("New", None),
    "long": ("Very " * 60, None),
    "none": (None, None),
}


def test_names_come_from_titles_and_stay(fdp: FdpServer) -> None:
    catalog = fdp.add_catalog()
    records = {
        case: fdp.add_dataset(catalog, title=title, distributions=0)
        for case, (title, _) in TITLES.items()
    }
    twins = [fdp.add_dataset(catalog, title="Twins", distributions=0) for _ in range(2)]
    harvest = add_source(fdp.source_url)
    job = harvest.run()
    assert job.errors == []
    before = {url: one["name"] for url, one in harvest.datasets().items()}
    assert len(before) == len(set(before.values())) == len(TITLES) + 2
    for case, (title, name) in TITLES.items():
        given = before[fdp.iri_of(records[case])]
        assert re.fullmatch(r"[a-z0-9_-]{2,100}", given), title
        assert name in (None, given)
    assert before[fdp.iri_of(records["reserved"])].startswith("new-")
    first, second = sorted(before[fdp.iri_of(twin)] for twin in twins)
    assert first == "twins"
    assert re.fullmatch("twins-[0-9a-f]{8}", second)

    for record in (*records.values(), *twins):
        fdp.change(record, title="Another title")
    job = harvest.run()
    assert job.stats["updated"] == len(before)
    after = harvest.datasets()
    assert {url: one["name"] for url, one in after.items()} == before
    assert {one["title"] for one in after.values()} == {"Another title"}


# Values that are not the source's


def test_what_editors_wrote_stays(fdp: FdpServer) -> None:
    """Protected fields, for the source or for the site, and everything that the source does not state.

    ``ckan harvester import`` repeats an import, as the queue does if a consumer was killed after it.
    """
    distributions = [{"description": "The source's"}]
    words: dict[str, Any] = {"description": "The source's words", "keyword": ["source"]}
    record = fdp.add_dataset(fdp.add_catalog(), **words, distributions=distributions)
    harvest = add_source(fdp.source_url, keep_fields=["notes", "resources.description"])
    with changed_config("ckan.harvest.not_overwrite_fields", "tags"):
        harvest.run()
        dataset = harvest.dataset(record, fdp)
        assert [tag["name"] for tag in dataset["tags"]] == ["source"]
        own_file = {"name": "Mine", "url": "https://example.org/mine.csv"}
        edited = {
            "notes": "",
            "tags": [{"name": "edited"}],
            "extras": [*dataset["extras"], {"key": "documentation", "value": "On paper"}],
            "resources": [
                *({**one, "description": "Better", "shelf": "3"} for one in dataset["resources"]),
                own_file,
            ],
        }
        call_action("package_patch", {"user": sysadmin()}, id=dataset["id"], **edited)
        fdp.change(record, title="A new title", description="New words", keyword=["new"])
        (distribution,) = fdp.records(Kind.DISTRIBUTION)
        fdp.change(distribution, description="New", title="A new file")
        assert harvest.run().stats["updated"] == 1
        again = {"session": model.Session}
        call_action("harvest_objects_import", again, source_id=harvest.source["id"])
    after = harvest.dataset(record, fdp)
    resource, added = after["resources"]
    assert (after["title"], after["notes"] or "") == ("A new title", "")
    assert [tag["name"] for tag in after["tags"]] == ["edited"]
    assert extras(after)["documentation"] == "On paper"
    assert (resource["name"], resource["description"]) == ("A new file", "Better")
    assert resource["shelf"] == "3" and added["url"] == own_file["url"]


# Coming and going


@pytest.fixture
def three(fdp: FdpServer) -> tuple[Record, ...]:
    """Three datasets in a catalog: two that stay, and one that the test changes."""
    catalog = fdp.add_catalog()
    return tuple(fdp.add_dataset(catalog, title=title) for title in ("Stays", "Too", "Goes"))


def test_a_record_that_comes_back_gets_its_old_dataset(
    fdp: FdpServer, three: tuple[Record, ...]
) -> None:
    (catalog,), (*_, goes) = fdp.catalogs, three
    group = factories.Group()
    harvest = add_source(fdp.source_url, default_groups=[group["name"]], delete_unlisted=True)
    harvest.run()
    before = harvest.dataset(goes, fdp)
    more = [*before["extras"], {"key": "documentation", "value": "On paper"}]
    call_action("package_patch", {"user": sysadmin()}, id=before["id"], extras=more)
    fdp.unlist(goes, catalog)
    assert harvest.two_jobs().stats["deleted"] == 1
    assert harvest.dataset(goes, fdp)["state"] == "deleted"
    assert fdp.iri_of(goes) not in harvest.datasets()

    fdp.list_also(goes, catalog)
    job = harvest.run()
    assert job.errors == []
    after = harvest.datasets()[fdp.iri_of(goes)]
    assert (after["id"], after["name"], after["state"]) == (before["id"], before["name"], "active")
    assert after["organization"]["id"] == harvest.source["owner_org"]
    assert [one["name"] for one in after["groups"]] == [group["name"]]
    assert [r["id"] for r in after["resources"]] == [r["id"] for r in before["resources"]]
    assert extras(after)["documentation"] == "On paper"
    assert harvest.run().stats["not modified"] == 3


def test_what_an_admin_deleted_stays_deleted_and_what_was_purged_is_made_anew(
    fdp: FdpServer, three: tuple[Record, ...]
) -> None:
    (catalog,), (*_, goes) = fdp.catalogs, three
    purged = fdp.add_dataset(catalog, title="Purged")
    harvest = add_source(fdp.source_url)
    harvest.run()
    dataset, old = harvest.dataset(goes, fdp), harvest.dataset(purged, fdp)
    call_action("package_delete", {"user": sysadmin()}, id=dataset["id"])
    call_action("dataset_purge", {"user": sysadmin()}, id=old["id"])
    job = harvest.run()
    assert job.errors == []
    assert job.stats == {"added": 1, "updated": 0, "not modified": 3, "errored": 0, "deleted": 0}
    new = harvest.dataset(purged, fdp)
    assert new["id"] != old["id"]
    assert (new["name"], new["state"]) == (old["name"], "active")
    assert len(harvest.current()) == 4

    fdp.change(goes, title="Changed")
    job = harvest.run()
    assert job.errors == []
    assert stored(dataset["id"])["state"] == "deleted"
    assert fdp.iri_of(goes) not in harvest.datasets()

    fdp.remove(goes)
    job = harvest.run()
    assert job.errors == []
    assert (job.stats["deleted"], job.stats["not modified"]) == (1, 3)
    assert len(harvest.current()) == 3


# Failures


def test_a_failing_hook_is_the_error_of_one_record(
    fdp: FdpServer, three: tuple[Record, ...], stumbling: StumblingPlugin
) -> None:
    """The next job tries the creation, the change or the deletion again."""
    *stay, goes = three
    stumbling.writes["Goes"] = 1
    harvest = add_source(fdp.source_url)
    job = harvest.run()
    assert job.stats == {"added": 2, "updated": 0, "not modified": 0, "errored": 1, "deleted": 0}
    (guid,) = job.object_errors
    assert guid.endswith(f";dataset={fdp.iri_of(goes)}")
    (words,) = job.errors
    assert words.startswith("An unexpected error of this portal. Tell its operator: ")
    assert "stumbled" not in words
    assert set(harvest.datasets()) == {fdp.iri_of(one) for one in stay}
    assert len(written()) == 2

    job = harvest.run()
    assert job.stats == {"added": 1, "updated": 0, "not modified": 2, "errored": 0, "deleted": 0}
    fdp.change(goes, title="Goes on")
    stumbling.writes["Goes on"] = 1
    stumbling.cancels_statement = True
    assert harvest.run().stats["errored"] == 1
    assert harvest.dataset(goes, fdp)["title"] == "Goes"
    assert harvest.run().stats["updated"] == 1, "what failed is tried again though nothing changed"
    assert harvest.dataset(goes, fdp)["title"] == "Goes on"

    harvest.configure(delete_unlisted=True)
    fdp.unlist(goes, fdp.catalogs[0])
    stumbling.deletions["Goes on"] = 1
    job = harvest.two_jobs()
    (words,) = job.errors
    assert words.startswith("An unexpected error of this portal. Tell its operator: ")
    assert job.stats == {"added": 0, "updated": 0, "not modified": 2, "errored": 1, "deleted": 0}
    assert harvest.dataset(goes, fdp)["state"] == "active"
    assert len(harvest.current()) == 3

    job = harvest.run()
    assert job.errors == []
    assert job.stats["deleted"] == 1
    assert harvest.dataset(goes, fdp)["state"] == "deleted"
    assert len(harvest.current()) == 2


def source_named(package_id: str) -> str:
    return str(harvests.of_packages([package_id])[package_id]["id"])


def test_a_dataset_that_another_source_has_too_goes_with_the_last_of_them(
    fdp: FdpServer, three: tuple[Record, ...]
) -> None:
    (catalog,), (*_, goes) = fdp.catalogs, three
    first = add_source(fdp.source_url, delete_unlisted=True)
    second = add_source(fdp.source_url, language="en", delete_unlisted=True)
    first.run()
    second.run()
    shared = first.dataset(goes, fdp)["id"]
    # No harvest of ours shares a dataset, but other harvesters and scripts write these tables, too.
    objects = model.Session.query(harvest_model.HarvestObject)
    objects.filter_by(package_id=second.dataset(goes, fdp)["id"]).update({"package_id": shared})
    model.Session.commit()
    ids = [one.source["id"] for one in (first, second)]
    assert source_named(shared) == ids[1], "its job was the last"
    objects.filter_by(harvest_source_id=ids[1]).update({"import_finished": None})
    assert source_named(shared) == ids[0], "the other has never imported it"
    sources = model.Session.query(harvest_model.HarvestSource).filter_by(id=ids[0])
    sources.update({"active": False})
    assert source_named(shared) == ids[1], "the other is deleted"
    model.Session.rollback()

    fdp.unlist(goes, catalog)
    assert first.two_jobs().stats["deleted"] == 1
    assert shared not in dict(first.current()).values()
    assert stored(shared)["state"] == "active"
    assert second.two_jobs().stats["deleted"] == 1
    assert stored(shared)["state"] == "deleted"


# Names, types and resources


def counts(harvest: Harvest) -> dict[str, int]:
    job = harvest.run()
    assert not job.errors
    return {key: count for key, count in job.stats.items() if count}


def names(harvest: Harvest) -> dict[str, str]:
    """Return the names of the current datasets by their ids."""
    return {one: stored(one)["name"] for _, one in harvest.current()}


def first_of(harvest: Harvest) -> str:
    (first,) = (one for one, name in names(harvest).items() if name == "dataset-0")
    return first


def remove(fdp: FdpServer) -> None:
    fdp.vanish(fdp.datasets[0])
    fdp.unlist(fdp.datasets[0], fdp.catalogs[0])


def test_a_record_that_is_made_anew_gets_the_name(fdp: FdpServer, harvest: Harvest) -> None:
    """It has another URL, and the same title."""
    assert counts(harvest) == {"added": 3}
    first, old = first_of(harvest), fdp.datasets[0]
    remove(fdp)
    fdp.add_dataset(fdp.catalogs[0], title="Dataset 0")
    assert counts(harvest) == {"added": 1, "deleted": 1, "not modified": 2}
    assert sorted(names(harvest).values()) == ["dataset-0", "dataset-1", "dataset-2"]
    assert first not in names(harvest)
    # If the old one comes back, it is the same dataset with another name.
    fdp.publish(old)
    fdp.list_also(old, fdp.catalogs[0])
    assert counts(harvest) == {"updated": 1, "not modified": 3}
    assert names(harvest)[first].startswith("dataset-0-")
    assert counts(harvest) == {"not modified": 4}


@pytest.mark.parametrize("deleter", ["source", "editor", "editor, after the source"])
def test_only_a_name_of_what_the_source_deleted_is_free(
    fdp: FdpServer, harvest: Harvest, deleter: str
) -> None:
    harvest.run()
    first = first_of(harvest)
    if deleter == "editor":
        call_action("package_delete", {"user": sysadmin()}, id=first)
    remove(fdp)
    harvest.run()
    assert first not in names(harvest)
    if deleter == "editor, after the source":
        call_action("package_patch", {"user": sysadmin()}, id=first, state="active")
        call_action("package_delete", {"user": sysadmin()}, id=first)
    fdp.add_dataset(fdp.catalogs[0], title="Dataset 0")
    assert counts(harvest) == {"added": 1, "not modified": 2}
    (new,) = (name for name in names(harvest).values() if name.startswith("dataset-0"))
    assert (new == "dataset-0") is (deleter == "source")


SEARCHES = {
    "": 2,
    "dataset_type:dataset": 2,
    "dataset_type:catalog": 2,
    "dataset_type:(dataset OR catalog)": 4,
    "-dataset_type:dataset": 0,
}
"""What a search finds of two datasets and two catalogs."""


def catalogs(harvest: Harvest) -> dict[str, dict[str, Any]]:
    return harvest.datasets(fq_list=["+dataset_type:catalog"])


def test_catalogs_become_packages_of_their_own_type(app: Any, fdp: FdpServer) -> None:
    first = fdp.add_catalog(
        title="Rare diseases", description="A catalogue.", publisher=agent("Institute")
    )
    second = fdp.add_catalog(title="Nested", parent=first)
    dataset = fdp.add_dataset(first, title="Cohort A")
    fdp.add_dataset(second, title="Cohort B")
    harvest = add_source(fdp.source_url, harvest_catalogs=True)
    job = harvest.run()
    assert (job.errors, job.stats["added"]) == ([], 4)
    found = catalogs(harvest)
    assert {url: one["title"] for url, one in found.items()} == {
        fdp.iri_of(first): "Rare diseases",
        fdp.iri_of(second): "Nested",
    }
    package = stored(found[fdp.iri_of(first)]["id"])
    assert extras(package)["guid"] == f"catalog={fdp.iri_of(first)}"
    assert extras(package)["publisher_name"] == "Institute"
    assert (package["type"], package["notes"]) == ("catalog", "A catalogue.")
    assert package["owner_org"] == harvest.source["owner_org"]

    assert "Rare diseases" in app.get("/catalog/").body
    assert "Rare diseases" not in app.get("/dataset/").body
    count = {fq: call_action("package_search", fq=fq)["count"] for fq in SEARCHES}
    assert count == SEARCHES

    assert harvest.run().stats["not modified"] == 4
    fdp.change(first, title="Rarer diseases")
    job = harvest.run()
    assert (job.errors, job.stats["updated"], job.stats["not modified"]) == ([], 1, 3)
    assert stored(package["id"])["title"] == "Rarer diseases"
    assert stored(package["id"])["name"] == package["name"]

    fdp.remove(second)
    job = harvest.run()
    assert (job.errors, job.stats["deleted"]) == ([], 2)
    assert set(catalogs(harvest)) == {fdp.iri_of(first)}
    assert fdp.iri_of(dataset) in harvest.datasets()


def a_day_passes() -> None:
    """Make everything that a job keeps about distributions a day older."""
    extra = harvest_model.HarvestObjectExtra
    for row in model.Session.query(extra).filter_by(key="memory"):
        remembered = json.loads(row.value)
        for uri, text in remembered["refusals"].items():
            refusal = Refusal.parse(text)
            since, first = (one - timedelta(hours=24) for one in (refusal.since, refusal.first))
            remembered["refusals"][uri] = str(Refusal(refusal.kind, since, first))
        row.value = json.dumps(remembered)
    model.Session.commit()


def child(dataset: Record, number: int) -> Record:
    found = dataset.listing(Kind.DISTRIBUTION)[number]
    assert isinstance(found, Record)
    return found


def ids(harvest: Harvest, fdp: FdpServer, dataset: Record) -> dict[str, str]:
    """Return the ids of a dataset's resources by name."""
    return {one["name"]: one["id"] for one in harvest.dataset(dataset, fdp)["resources"]}


def quiet(job: Job) -> bool:
    return job.errors == [] and not job.warnings


def test_a_resource_that_goes_and_comes_back(fdp: FdpServer) -> None:
    dataset = fdp.add_dataset(fdp.add_catalog(), distributions=2)
    harvest = add_source(fdp.source_url)
    assert quiet(harvest.run())
    before = ids(harvest, fdp, dataset)
    failing, other = child(dataset, 0), child(dataset, 1)
    fdp.withdraw(failing)
    for _ in range(2):
        job = harvest.run()
        assert job.errors == []
        assert job.stats["not modified"] == 1
        ((url, (warning,)),) = job.warnings.items()
        assert url == fdp.iri_of(dataset)
        assert warning.startswith(
            f"distribution {fdp.url_of(failing)}: The server refuses access (403); its resource st"
        )
        assert ids(harvest, fdp, dataset) == before

    a_day_passes()
    job = harvest.run()
    assert (job.stats["updated"], len(job.warnings)) == (1, 1)
    assert ids(harvest, fdp, dataset) == {"File 2": before["File 2"]}
    fdp.add_distribution(dataset, title="More")  # CKAN forgets the removed one's row with this
    job = harvest.run()
    assert (quiet(job), job.drafts) == (True, 1)
    assert model.Resource.get(before["File 1"]) is None

    fdp.publish(failing)
    fdp.change(other, title="File 2, too")
    assert quiet(harvest.run())
    after = ids(harvest, fdp, dataset)
    assert after.pop("More") not in before.values()
    assert after == {"File 1": before["File 1"], "File 2, too": before["File 2"]}
    assert harvest.run().stats["not modified"] == 1
