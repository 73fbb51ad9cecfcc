"""Whole update cycles with a registry, files, a store and CKAN."""

from __future__ import annotations

import io
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from ckan import model
from ckan.tests import factories, helpers

from ckanext.freshness.model import CheckRun, FreshnessChange, FreshnessEvidence
from ckanext.freshness.reporting import links
from ckanext.freshness.tests.datasets import ours
from ckanext.freshness_iati.report import CycleReport
from ckanext.freshness_iati.tests.servers.registry_model import Dataset

from .cycles import Site

pytestmark = pytest.mark.usefixtures("kept_db")


def datasets(site: Site) -> list[Dataset]:
    return list(site.server.registry.datasets.values())


def done(report: CycleReport) -> dict[str, float]:
    """Return the figures of a complete cycle, without zeros and durations."""
    assert report.complete, list(report.complaints())
    return {
        key: value
        for key, value in report.figures.items()
        if value and not key.endswith("duration")
    }


def test_the_first_cycle_brings_all(site: Site, app: Any) -> None:
    assert done(site.update()) == {
        "total_number_of_datasets": 3,
        "datasets_with_download": 3,
        "datasets_added": 3,
        "checked": 3,
        "downloaded": 3,
    }
    for dataset in datasets(site):
        assert site.bytes_of(dataset) == dataset.contents()
        copy = site.copy(dataset)
        with zipfile.ZipFile(io.BytesIO(site.read(copy.zip_key))) as found:
            assert found.read(f"{dataset.name}.xml") == dataset.contents()
        listed = site.listed()[dataset.name]["last_known_good_dataset"]
        assert listed["hash"] == site.good(dataset).hash
        assert app.get(listed["cached_dataset_xml_url"]).data == dataset.contents()
    with zipfile.ZipFile(io.BytesIO(site.published("iati-data.zip"))) as bulk:
        owners = site.server.registry.organisations
        assert {one for one in bulk.namelist() if one.endswith(".xml")} == {
            f"iati-data/datasets/{owners[one.organisation_id].name}/{one.name}.xml"
            for one in datasets(site)
        }
    (run,) = (
        run
        for run in model.Session.query(CheckRun).filter_by(kind="iati")
        if run.options["source"] == site.source_id
    )
    assert run.error is None and run.datasets["downloaded"] == 3


def test_an_unchanged_cycle_asks_each_file_by_head_and_writes_no_zip(site: Site) -> None:
    site.update()
    before = site.published("iati-data.zip")
    site.server.reset()
    report = site.later(hours=1).update()
    assert done(report) == {
        "total_number_of_datasets": 3,
        "datasets_with_download": 3,
        "checked": 3,
    }
    assert site.published("iati-data.zip") == before
    assert [site.asked(one) for one in datasets(site)] == [["HEAD"]] * 3
    assert site.state(datasets(site)[0]).last_update_check == site.now


def test_another_edition_is_evidence_and_another_moment_is_none(site: Site) -> None:
    site.update()
    changed, stamped, same = datasets(site)
    before = site.now.replace(tzinfo=None)
    changed.edition += 1
    # The validators change with the bytes, but only the generated timestamp is new.
    stamped.generated = "2026-02-02T00:00:00Z"
    figures = done(site.later(hours=1).update())
    assert (figures["downloaded"], figures["changed"]) == (2, 1)
    noted = {
        row.package_id: row.happened_at
        for row in model.Session.query(FreshnessEvidence).filter_by(evidence="hash")
    }
    packages = {one.name: site.row(one).package_id for one in (changed, stamped, same)}
    assert noted[packages[changed.name]] == site.now.replace(tzinfo=None)
    assert not {packages[stamped.name], packages[same.name]} & set(noted)
    state = site.state(stamped)
    assert state.content_modified == site.now
    assert state.content_modified_excluding_generated_timestamp == site.now - timedelta(hours=1)
    assert site.bytes_of(stamped) == stamped.contents()
    shown = helpers.call_action("package_show", id=packages[changed.name])
    assert ours(shown)["freshness_evidence"] == "hash"
    changes = model.Session.query(FreshnessChange).filter_by(evidence="hash")
    (change,) = changes.filter(FreshnessChange.package_id.in_(packages.values()))
    assert (change.package_id, change.seen_at) == (
        packages[changed.name],
        site.now.replace(tzinfo=None),
    )
    assert change.hash_before != change.hash_after and change.size_after
    assert change.changed_after == before


_FAILING_CHECKS = """
INSERT INTO freshness_check (resource_id, package_id, url, host, first_seen, failures, failing_since, failed_at)
SELECT id, package_id, url, 'example.org', now(), 5, now() - interval '90 days', now()
FROM resource WHERE package_id = ANY(:packages)"""


def test_the_last_good_copy_outlives_failures_for_72_hours(site: Site) -> None:
    site.update()
    bad = datasets(site)[1]
    good = bad.contents()
    bad.body, bad.edition = b"<html>Sorry</html>", 2
    for _ in range(3):
        figures = done(site.later(hours=24).update())
        assert figures["failed"] == 1 and "datasets_expired" not in figures
        assert site.bytes_of(bad) == good
        assert site.listed()[bad.name]["last_known_good_dataset"]["hash"]
    # Its only link is broken, which people read in place of its status; the others' are not.
    found = [ours(helpers.call_action("package_show", id=one.name)) for one in datasets(site)]
    assert ["freshness_broken_since" in one for one in found] == [False, True, False]
    packages = [site.row(one).package_id for one in datasets(site)]
    # Rows of checks count for links that no cycle checks.
    other = factories.Resource(url="https://example.org/broken.csv")
    insert = sa.text(_FAILING_CHECKS)
    model.Session.execute(insert, {"packages": [packages[0], other["package_id"]]})
    packages.append(other["package_id"])
    assert links.with_broken_link(packages) == {packages[1], other["package_id"]}
    figures = done(site.later(hours=24).update(strict=True))
    assert (figures["datasets_expired"], figures["datasets_with_download"]) == (1, 2)
    assert site.bytes_of(bad) is None
    assert site.good(bad) and site.copy(bad).key is None
    assert site.listed()[bad.name]["last_known_good_dataset"]["cached_dataset_xml_url"] is None
    with zipfile.ZipFile(io.BytesIO(site.published("iati-data.zip"))) as bulk:
        assert not [one for one in bulk.namelist() if bad.name in one]
    # An expired copy is not a lost one.
    assert not {"lost", "restored"} & set(done(site.later(hours=1).update()))
    bad.body, bad.edition = None, 1
    assert not {"lost", "restored"} & set(done(site.later(hours=7).update()))
    assert site.bytes_of(bad) == good


def test_if_most_copies_would_expire_none_does(site: Site) -> None:
    """In a small source only while the registry cannot be read."""
    site.update()
    first, second, third = datasets(site)
    first.status = second.status = 404
    done(site.later(hours=1).update())
    out_of_order(site)
    report = site.later(hours=72).update()
    assert [one for one in report.complaints() if one.startswith("2 of 3 copies would expire")]
    assert site.bytes_of(first) and site.bytes_of(second)
    del site.server.answer
    assert done(site.later(hours=7).update())["datasets_expired"] == 2
    assert [site.bytes_of(one) for one in (first, second)] == [None, None]
    assert site.bytes_of(third)


def test_what_is_no_longer_registered_goes_and_the_rest_stays(
    site: Site, store_folder: Path
) -> None:
    site.update()
    gone, *rest = datasets(site)
    package_id = site.row(gone).package_id
    site.unregister(gone)
    figures = done(site.later(hours=1).update())
    assert (figures["datasets_unregistered"], figures["total_number_of_datasets"]) == (1, 2)
    assert site.row(gone) is None
    assert model.Package.get(package_id).state == "deleted"
    assert set(site.listed()) == {one.name for one in rest}
    assert len(site.files(store_folder)) == 4
    assert [site.bytes_of(one) for one in rest] == [one.contents() for one in rest]


def out_of_order(site: Site) -> None:
    """Let the registry answer requests for files only."""
    original = site.server.answer

    def answer(request: Any) -> Any:
        if request.path.startswith("/files/"):
            return original(request)
        # A status without retries, which would take a minute.
        return type(original(request)).text("out of order", "text/plain", 501)

    site.server.answer = answer  # type: ignore[method-assign]


def test_a_registry_that_suddenly_lists_few_stops_the_cycle(site: Site, store_folder: Path) -> None:
    site.update()
    all_of_them, files = datasets(site), site.files(store_folder)
    site.server.registry.remove(*all_of_them[1:])
    site.server.reset()
    report = site.later(hours=1).update()
    assert not report.complete
    assert [
        one for one in report.complaints() if one.startswith("The cycle stopped: ") and "3" in one
    ]
    assert site.files(store_folder) == files
    assert [site.asked(one) for one in all_of_them] == [[]] * 3


def test_a_lost_copy_is_fetched_again_whatever_the_validators_say(
    site: Site, store_folder: Path
) -> None:
    site.update()
    lost, zipless, cut = datasets(site)
    (store_folder / site.copy(lost).key).unlink()
    (store_folder / site.copy(zipless).zip_key).unlink()
    with (store_folder / site.copy(cut).key).open("r+b") as file:
        file.truncate(10)
    site.server.reset()
    figures = done(site.later(hours=1).update())
    assert figures["restored"] == 3
    assert [site.asked(one) for one in (lost, zipless, cut)] == [["GET"]] * 3
    for one in (lost, zipless, cut):
        assert site.bytes_of(one) == one.contents()
        assert site.store.size(site.copy(one).zip_key)


def test_names_that_change_places_leave_the_copies_where_they_are(
    site: Site, store_folder: Path
) -> None:
    site.update()
    all_of_them = datasets(site)
    first, second, third = all_of_them
    files, ids = site.files(store_folder), [site.row(one).resource_id for one in all_of_them]
    bodies = [one.contents() for one in all_of_them]
    for one, body in zip(all_of_them, bodies, strict=True):
        # No file can be downloaded, so the copies must survive.
        one.body, one.status = body, 503
    first.name, second.name, third.name = second.name, first.name, "another-name"
    owner = site.server.registry.organisations[third.organisation_id]
    owner.name = f"{owner.name}_new"
    report = site.later(hours=1).update()
    assert report.complete and report.figures["datasets_unregistered"] == 0
    assert [site.row(one).resource_id for one in all_of_them] == ids
    assert [site.bytes_of(one) for one in all_of_them] == bodies
    assert site.files(store_folder) == files
    assert set(site.listed()) == {first.name, second.name, "another-name"}
    with zipfile.ZipFile(io.BytesIO(site.published("iati-data.zip"))) as bulk:
        name = f"iati-data/datasets/{owner.name}/another-name.xml"
        assert bulk.read(name) == bodies[2]


def test_a_resource_with_another_id_takes_its_copy_along(site: Site) -> None:
    """As after an update by somebody who left out the ids of resources."""
    site.update()
    first, *_ = datasets(site)
    before, user = site.row(first), {"user": helpers.call_action("get_site_user")["name"]}
    package = helpers.call_action("package_show", id=before.package_id)
    hash_before, resource_id = site.good(first).hash, package["resources"][0].pop("id")
    helpers.call_action("package_update", user, **package)
    body, first.status = first.contents(), 503  # it cannot be downloaded again
    done(site.later(hours=1).update(harvest=False))
    assert site.row(first).resource_id != resource_id
    assert (site.good(first).hash, site.bytes_of(first)) == (hash_before, body)


def test_a_store_that_is_full_leaves_the_last_good_untouched(
    site: Site, ckan_config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.update()
    changed = datasets(site)[0]
    before, hash_before = changed.contents(), site.good(changed).hash
    changed.body = b"<iati-activities>" + b"x" * 5000 + b"</iati-activities>"
    changed.edition += 1
    used = str(site.store.used() + 1)
    monkeypatch.setitem(ckan_config, "ckanext.freshness.copies.quota_bytes", used)
    report = site.later(hours=1).update()
    assert not report.complete and report.figures["not_stored"] == 1
    assert site.bytes_of(changed) == before
    state = site.state(changed)
    assert site.good(changed).hash == hash_before and state.failures == 0
    assert state.attempts[0]["error_details"]["error_type"] == "store_error"
    monkeypatch.setitem(ckan_config, "ckanext.freshness.copies.quota_bytes", "0")
    done(site.later(minutes=1).update())
    assert site.bytes_of(changed) == changed.contents()


def test_private_datasets_are_in_no_published_file(site: Site, app: Any) -> None:
    site.update()
    hidden = datasets(site)[0]
    row = site.row(hidden)
    source = model.Package.get(site.source_id).name
    app.get(f"/iati/{source}/iati-data.zip", status=200)
    model.Session.query(model.Package).get(row.package_id).private = True
    model.Session.commit()
    # The files that name it are withheld until they are written again.
    app.get(f"/iati/{source}/iati-data.zip", status=503)
    site.later(hours=1).update(harvest=False)
    answer = app.get(f"/iati/{source}/iati-data.zip", status=200)
    assert hidden.name not in str(zipfile.ZipFile(io.BytesIO(answer.data)).namelist())
    for name in ("datasets-minimal.json", "datasets-full.json"):
        assert hidden.name not in app.get(f"/iati/{source}/{name}", status=200).body
    app.get(f"/iati/{source}/manifest.json", status=404)
    app.get("/iati/nobody/iati-data.zip", status=404)
