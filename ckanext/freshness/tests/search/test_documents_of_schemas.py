"""Documents of a site whose datasets have ckanext-scheming's schema for DCAT, with ckanext-dcat's plugins."""

from __future__ import annotations

from copy import deepcopy
from typing import Any
from uuid import uuid4

import pytest
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.harvest_metadata import read_together
from ckanext.freshness.ckan_adapter.solr import rebuild, solr_commit, without_solr_commits
from ckanext.freshness.ckan_adapter.solr_queue import queued
from ckanext.freshness.search import unindexed
from ckanext.freshness.tests.search.test_stored_documents import add_harvests, change, document
from ckanext.freshness.tests.search.test_unindexed import mark

PLUGINS = ("scheming_datasets", "dcat", "structured_data")
DATASET = {
    "title": "Apples",
    "notes": "By month",
    "contact": [{"name": "Office", "email": "office@a.example"}],
    "language": ["en", "de"],
    "temporal_coverage": [{"start": "2020-01-01", "end": "2021-01-01"}],
    "tag_string": "fruit,trees",
    "issued": "2020-01-01",
    "resources": [
        {"url": "http://a.example/1", "format": "CSV", "availability": "stable", "language": ["en"]}
    ],
}


@pytest.fixture
def site(request: pytest.FixtureRequest, ckan_config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ckan_config["ckan.plugins"]
    names = names if isinstance(names, list) else names.split()
    monkeypatch.setitem(ckan_config, "ckan.plugins", " ".join([*PLUGINS, *names]))
    schema = "ckanext.dcat.schemas:dcat_ap_full.yaml"
    monkeypatch.setitem(ckan_config, "scheming.dataset_schemas", schema)
    presets = "ckanext.scheming:presets.json ckanext.dcat.schemas:presets.yaml"
    monkeypatch.setitem(ckan_config, "scheming.presets", presets)
    for fixture in ("with_plugins", "clean_db", "clean_index"):
        request.getfixturevalue(fixture)


@pytest.mark.usefixtures("site")
def test_documents_are_those_of_a_rebuild() -> None:
    context = {"user": factories.Sysadmin()["name"], "ignore_auth": True}
    id_ = str(uuid4())
    values = {**DATASET, "id": id_, "name": "apples", "owner_org": factories.Organization()["id"]}
    for action, changed in (("package_create", {}), ("package_update", {"title": "Pears"})):
        with without_solr_commits(), read_together(), queued() as queue:
            call_action(action, dict(context), **deepcopy({**values, **changed}))
        assert queue.refused == []
        solr_commit()
        assert document(id_) == rebuilt(id_)
        add_harvests(id_, [(True, None)])
    change("UPDATE resource SET hash = 'sha256:0', last_modified = '2026-01-02'")
    assert unindexed.index(mark([id_])) == []
    ours = document(id_)
    assert ours["data_dict"]["resources"][0]["hash"] == "sha256:0"
    assert ours == rebuilt(id_)


def rebuilt(id_: str) -> dict[str, Any]:
    rebuild([id_])
    solr_commit()
    return document(id_)
