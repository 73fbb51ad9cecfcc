"""Index updates from the packages that Solr has: the same documents as CKAN's, or the ordinary way."""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from ckan.lib.search.common import make_connection
from ckan.tests import factories
from ckan.tests.helpers import call_action
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ckanext.freshness.ckan_adapter.ckan_core import model
from ckanext.freshness.ckan_adapter.extras import write_extras
from ckanext.freshness.ckan_adapter.harvest_metadata import read_together
from ckanext.freshness.ckan_adapter.solr import rebuild, solr_commit, without_solr_commits
from ckanext.freshness.ckan_adapter.solr_queue import queued
from ckanext.freshness.ckan_adapter.stored_documents import present_packages
from ckanext.freshness.ckan_adapter.version import IS_2_12
from ckanext.freshness.search import unindexed
from ckanext.freshness.tests.search.test_unindexed import documents, mark
from ckanext.harvest import model as harvest_model

pytestmark = pytest.mark.usefixtures("with_plugins", "clean_db", "clean_index")

Dataset = dict[str, Any]

TEXT = st.text(st.characters(exclude_categories=["C"]), max_size=9)
URLS = st.sampled_from(
    ["", "http://a.example/b c.csv", "a.example/d", "ftp://a.example/e", "//f", "http://ü.example/"]
)
RESOURCES = st.fixed_dictionaries(
    {"url": URLS},
    optional={
        "name": TEXT,
        "format": st.sampled_from(["CSV", "", "xlsx"]),
        "own": st.one_of(TEXT, st.integers(0, 9), st.lists(TEXT, max_size=2)),
        "size": st.integers(0, 2**40),
        "hash": TEXT,
        "mimetype": st.sampled_from(["text/csv", ""]),
        "last_modified": st.sampled_from(["2026-01-02", "2026-01-02T03:04:05.678", None]),
    },
)
EXTRAS = st.dictionaries(
    st.sampled_from(["a", "b_date", "Zed", "frequency", "b c", "ü", "x" * 99]), TEXT, max_size=4
)
DATASETS = st.fixed_dictionaries(
    {
        "extras": EXTRAS.map(lambda all_: [{"key": k, "value": v} for k, v in all_.items()]),
        "resources": st.lists(RESOURCES, max_size=3),
        "title": TEXT,
        "notes": TEXT,
        "private": st.booleans(),
        "tags": st.sets(st.sampled_from(["one", "two", "drei vier"])).map(
            lambda names: [{"name": name} for name in names]
        ),
        "type": st.sampled_from(["dataset", "custom"]),
        "license_id": st.sampled_from(["", "cc-by", "unknown"]),
    }
)
WRITTEN = st.fixed_dictionaries(
    {
        "last_modified": st.sampled_from([None, "2026-02-03 04:05:06", "2026-02-03 04:05:06.007"]),
        "size": st.one_of(st.none(), st.integers(0, 2**62)),
        "mimetype": st.sampled_from([None, "text/csv"]),
        "hash": st.sampled_from(["", "sha256:0"]),
    }
)
STATUSES = st.dictionaries(
    st.sampled_from(["freshness", "freshness_due", "freshness_undetermined"]),
    st.sampled_from(["overdue", "2026-03-04T05:06:07Z", "api"]),
)
HARVESTS = st.lists(
    st.tuples(st.booleans(), st.sampled_from([None, "2026-01-02", "2026-01-03"])),
    max_size=3,
    unique_by=lambda harvest: harvest[1],
).filter(lambda harvests: sum(current for current, _ in harvests) <= 1)
"""Harvest objects of a package: whether each is current, and when its import finished.

Of several current ones, or several that finished last, ckanext-harvest shows any.
"""


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(DATASETS, st.lists(WRITTEN, min_size=3, max_size=3), STATUSES, HARVESTS)
def test_documents_are_those_of_a_rebuild(
    dataset: Dataset, written: list[Dataset], statuses: dict[str, str], harvests: list[Any]
) -> None:
    owner = factories.Organization()["id"]
    group = factories.Group()["name"]
    made = factories.Dataset(owner_org=owner, groups=[{"name": group}], **dataset)
    id_ = made["id"]
    for resource, values in zip(made["resources"], written, strict=False):
        change(
            "UPDATE resource SET last_modified = CAST(:last_modified AS timestamp), size = :size, "
            "mimetype = :mimetype, hash = :hash WHERE id = :id",
            **values,
            id=resource["id"],
        )
    write_extras({id_: statuses}, list(statuses))
    add_harvests(id_, harvests)
    marks = mark([id_])
    assert list(present_packages([id_])) == [id_]
    assert unindexed.index(marks) == []
    ours = document(id_)
    shown = {each["key"]: each["value"] for each in ours["data_dict"]["extras"]}
    assert shown.items() >= statuses.items()
    rebuild([id_])
    solr_commit()
    assert ours == document(id_)


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(DATASETS, DATASETS, HARVESTS)
def test_documents_of_an_import_are_those_of_a_rebuild(
    dataset: Dataset, changed: Dataset, harvests: list[Any]
) -> None:
    context = {"user": factories.Sysadmin()["name"], "ignore_auth": True}
    group = factories.Group()["name"]
    both = {"groups": [{"name": group}], "owner_org": factories.Organization()["id"]}
    id_ = str(uuid4())
    for action, values in (("package_create", dataset), ("package_update", changed)):
        values = {**values, **both, "id": id_, "name": f"d-{id_}", "type": dataset["type"]}
        with without_solr_commits(), read_together(), queued() as queue:
            # The actions change the context and the values.
            call_action(action, dict(context), **deepcopy(values))
        assert queue.refused == []
        solr_commit()
        imported = document(id_)
        rebuild([id_])
        solr_commit()
        assert imported == document(id_)
        add_harvests(id_, harvests)


def add_harvests(package_id: str, harvests: list[tuple[bool, str | None]]) -> None:
    """Add a source, and objects of it that belong to a package."""
    source = harvest_model.HarvestSource(url=f"http://{uuid4()}.example", type="x", title="Source")
    source.save()
    job = harvest_model.HarvestJob(source=source)
    job.save()
    for current, finished in harvests:
        harvest_model.HarvestObject(
            guid=str(uuid4()),
            job=job,
            package_id=package_id,
            current=current,
            import_finished=finished and datetime.fromisoformat(finished),
        ).save()


def document(id_: str) -> Dataset:
    """Return what Solr has, with its stored packages as objects."""
    (found,) = documents(f"id:{id_}")
    for key in ("data_dict", "validated_data_dict"):
        found[key] = json.loads(found[key])
        # Their order means nothing: after an edit it is that of the edit, later that of PostgreSQL's JSONB.
        found[key]["extras"].sort(key=lambda extra: str(extra["key"]))
    if "validated_data_dict" in found["data_dict"]:
        found["data_dict"]["validated_data_dict"] = found["validated_data_dict"]
    return found


def change(statement: str, **values: Any) -> None:
    model.Session.execute(sa.text(statement), values)
    model.Session.commit()
    model.Session.expire_all()


RESOURCE_EXTRAS = """UPDATE resource SET extras = '{"own": "x", "datastore_active": true}'"""
CHANGES = {
    "edit": "UPDATE package SET metadata_modified = metadata_modified + interval '1 microsecond'",
    "private": "UPDATE package SET private = true",
    "state": "UPDATE package SET state = 'draft'",
    "name": "UPDATE package SET name = 'another'",
    "owner": "UPDATE package SET owner_org = NULL",
    "title of the organization": "UPDATE \"group\" SET title = 'New' WHERE is_organization",
    "description of the organization": "UPDATE \"group\" SET description = 'x' WHERE is_organization",
    "image of the organization": "UPDATE \"group\" SET image_url = 'x.png' WHERE is_organization",
    "description of a group": "UPDATE \"group\" SET description = 'x' WHERE NOT is_organization",
    "a tag is gone": "DELETE FROM package_tag",
    "name of a tag": "UPDATE tag SET name = 'other'",
    "name of a group": "UPDATE \"group\" SET name = 'new' WHERE NOT is_organization",
    "left a group": "UPDATE member SET state = 'deleted' WHERE table_name = 'package'",
    "datastore": RESOURCE_EXTRAS,
    "a resource is gone": "UPDATE resource SET state = 'deleted' WHERE position = 1",
    "other order": "UPDATE resource SET position = 1 - position",
    "relationship": "INSERT INTO package_relationship (id, subject_package_id, type, state) "
    "SELECT 'x', id, 'depends_on', 'active' FROM package",
}


def usual_dataset() -> str:
    owner = factories.Organization()["id"]
    group = factories.Group()["name"]
    resources = [{"url": f"http://a.example/{name}", "own": "x"} for name in "ab"]
    made = factories.Dataset(
        owner_org=owner,
        groups=[{"name": group}],
        resources=resources,
        tags=[{"name": "one"}],
        license_id="cc-by",
    )
    id_: str = made["id"]
    assert list(present_packages([id_])) == [id_]
    return id_


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_dataset_is_indexed_in_the_ordinary_way(name: str) -> None:
    id_ = usual_dataset()
    change(CHANGES[name])
    assert present_packages([id_]) == {}


def test_another_list_of_licences_is_indexed(
    ckan_config: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    id_ = usual_dataset()
    licences = [{"id": "cc-by", "title": "Attribution", "url": "", "is_okd_compliant": True}]
    (tmp_path / "licences.json").write_text(json.dumps(licences))
    ckan_config["licenses_group_url"] = f"file://{tmp_path}/licences.json"
    # CKAN reads the list once in a process.
    monkeypatch.delattr(model.Package, "_license_register", raising=False)
    assert present_packages([id_]) == {}


def test_another_address_of_the_site_is_indexed(ckan_config: dict[str, Any]) -> None:
    id_ = usual_dataset()
    change("UPDATE resource SET url_type = 'upload', url = 'a.csv'")
    rebuild([id_])
    solr_commit()
    assert list(present_packages([id_])) == [id_]
    ckan_config["ckan.site_url"] = "https://elsewhere.example"
    assert present_packages([id_]) == {}


@pytest.mark.skipif(not IS_2_12, reason="CKAN 2.11 validates each document")
def test_other_forms_are_indexed_in_the_ordinary_way(monkeypatch: pytest.MonkeyPatch) -> None:
    id_ = usual_dataset()
    change("UPDATE package SET type = 'harvest'")
    rebuild([id_])
    solr_commit()
    assert present_packages([id_]) == {}


def test_a_dataset_without_a_document_is_indexed_in_the_ordinary_way() -> None:
    id_ = usual_dataset()
    make_connection().delete(q="*:*", commit=True)
    assert present_packages([id_]) == {}
    assert unindexed.index(mark([id_])) == []
    assert document(id_)["id"] == id_


@pytest.mark.parametrize("stored", [None, "{}", "other series"])
def test_a_document_of_another_program_is_not_reused(stored: str | None) -> None:
    """An index that was restored, or not rebuilt after CKAN was upgraded."""
    id_ = usual_dataset()
    solr = make_connection(decode_dates=False)
    (found,) = solr.search("*:*").docs
    package = json.loads(found["data_dict"])
    if stored == "other series":
        if IS_2_12:
            package["validated_data_dict"] = "{}"
        else:
            del package["validated_data_dict"]
        stored = json.dumps(package)
    solr.add([{**found, "data_dict": stored}], commit=True)
    assert present_packages([id_]) == {}
    assert unindexed.index(mark([id_])) == []
    assert document(id_)["data_dict"]["id"] == id_


JOINED = """INSERT INTO member (id, group_id, table_id, table_name, capacity, state)
SELECT 'y', g.id, p.id, 'package', 'public', 'active' FROM package p, "group" g WHERE g.name = 'late'"""


@pytest.mark.parametrize(
    ("statement", "field", "value"),
    [
        (JOINED, "groups", ["late"]),
        (RESOURCE_EXTRAS, "datastore_active", True),
        ("UPDATE resource SET hash = 'late'", "hash", "late"),
    ],
)
def test_a_change_meanwhile_is_indexed(
    meddling: Any, statement: str, field: str, value: Any
) -> None:
    """None of these moves ``metadata_modified``."""
    factories.Group(name="late")
    id_ = factories.Dataset(resources=[{"url": "http://a.example/a"}])["id"]
    marks = mark([id_])

    def meddle(document: Dataset) -> None:
        meddling.meddle = lambda document: None
        with model.meta.engine.begin() as other:
            other.execute(sa.text(statement))

    meddling.meddle = meddle
    assert unindexed.index(marks) == []
    found = document(id_)
    assert {**found["data_dict"]["resources"][0], "groups": found.get("groups")}[field] == value
