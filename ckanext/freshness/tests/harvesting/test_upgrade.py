"""Datasets that an earlier version of this extension has harvested, mapped anew by the portal's profiles."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
from ckan import model
from ckan.tests.helpers import call_action

from ckanext.freshness.harvesting.rdf import source_type
from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source, extras, sysadmin
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Record
from ckanext.freshness.tests.servers.turtle import (
    Iri,
    Literal,
    agent,
    contact,
    data_service,
    period,
)
from ckanext.harvest import model as harvest_model

FORMER = Path(__file__).parents[1] / "data" / "former_record.json"
"""What the former mapping made of :func:`cohort`."""
EU = "http://publications.europa.eu/resource/authority"


def cohort(fdp: FdpServer) -> Record:
    """Publish a dataset with every kind of value that the former mapping wrote."""
    return fdp.add_dataset(
        fdp.add_catalog(),
        title=[Literal("Cohort", "en"), Literal("Cohorte", "es")],
        description=Literal("People who were asked.", "en"),
        version="1.0",
        identifier="cohort-a",
        theme=[f"{EU}/data-theme/ECON", f"{EU}/data-theme/HEAL"],
        language=f"{EU}/language/ENG",
        keyword=[Literal("health, water", "en"), Literal("salud", "es")],
        issued=datetime.date(2024, 1, 2),
        modified=datetime.datetime(2024, 5, 6, 7, 8, 9, tzinfo=datetime.timezone.utc),
        frequency=f"{EU}/frequency/MONTHLY",
        contact=contact("Help desk", "help@example.org"),
        publisher=agent("Institute", "info@example.org"),
        creator=[agent("First"), agent("Second")],
        temporal=period(datetime.date(2020, 1, 1), datetime.date(2023, 12, 31)),
        spatial=f"{EU}/country/NLD",
        provenance="Asked by telephone.",
        license=Iri("http://creativecommons.org/licenses/by/4.0/"),
        in_series="https://example.org/series/1",
        min_typical_age=18,
        distributions=[
            {
                "title": [Literal("Answers", "en"), Literal("Respuestas", "es")],
                "download_url": "https://example.org/answers.csv",
                "media_type": "text/csv",
                "byte_size": 2048,
                "language": f"{EU}/language/ENG",
            },
            {
                "title": Literal("Service", "en"),
                "access_url": "https://example.org/api",
                "access_service": data_service("API", "https://example.org/api"),
            },
        ],
    )


AGENTS = {"contact", "creator", "publisher"}
OLD: dict[str, set[str]] = {
    "core": {*AGENTS, "spatial_coverage", "temporal_coverage", "title_translated"},
    "dcat": {"title_translated"},
}
"""Fields and extras that the former mapping wrote and the profiles do not."""
NEW: dict[str, dict[str, Any]] = {
    "core": {
        "contact_name": "Help desk",
        "contact_email": "help@example.org",
        "creator_name": "First",
        "publisher_name": "Institute",
        "publisher_email": "info@example.org",
        "temporal_start": "2020-01-01",
        "temporal_end": "2023-12-31",
        "spatial_uri": f"{EU}/country/NLD",
    },
    "dcat": {
        "contact": [{"name": "Help desk", "email": "help@example.org"}],
        "creator": [{"name": "First"}, {"name": "Second"}],
    },
}
IN_BOTH = {"has_version", "notes", "publisher", "tags", "title"}
CHANGED = {
    "core": IN_BOTH | OLD["core"] - {"title_translated"} | NEW["core"].keys(),
    "dcat": IN_BOTH,
}
"""What the preview names; texts in other languages have no field without a schema for them."""


def harvested_formerly(fdp: FdpServer, monkeypatch: pytest.MonkeyPatch) -> Harvest:
    """Return a source whose first job has read the records as the former mapping did."""
    harvest = add_source(fdp.source_url)
    with monkeypatch.context() as former:
        former.setattr(source_type, "MAPPING_VERSION", 3)
        job = harvest.start()
        harvest.gather()
        (row,) = model.Session.query(harvest_model.HarvestObject).filter_by(harvest_job_id=job)
        row.content = FORMER.read_text().replace("{base}", fdp.url)
        model.Session.commit()
        harvest.fetch()
        assert harvest.finish(job).stats["added"] == 1
    return harvest


@pytest.mark.parametrize("schema", ["core", "dcat"], indirect=True)
def test_what_was_mapped_by_our_own_rules_is_mapped_anew_once(
    schema: str, fdp: FdpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = cohort(fdp)
    harvest = harvested_formerly(fdp, monkeypatch)
    former = harvest.dataset(record, fdp)
    of_editor = {"maintainer": "An editor", "author_email": "editor@example.org"}
    call_action(
        "package_patch",
        {"user": sysadmin()},
        id=former["id"],
        extras=[*former["extras"], {"key": "project", "value": "Ours"}],
        **of_editor,
    )
    call_action(
        "resource_patch", {"user": sysadmin()}, id=former["resources"][0]["id"], hint="Ours"
    )

    said = harvest.preview()
    (entry,) = said.changes[RecordClass.CHANGED]
    assert {one.field for one in entry.changes} == CHANGED[schema]
    assert said.changes[RecordClass.NEW] == said.changes[RecordClass.DELETED] == []
    job = harvest.run()
    assert (job.errors, job.warnings, job.stats["updated"]) == ([], {}, 1)
    now = harvest.dataset(record, fdp)
    assert (now["id"], now["name"]) == (former["id"], former["name"])
    assert [one["id"] for one in now["resources"]] == [one["id"] for one in former["resources"]]
    assert now["resources"][0]["hint"] == "Ours" and extras(now)["project"] == "Ours"
    assert {key: now[key] for key in of_editor} == of_editor
    assert {**now, **extras(now)}.items() >= NEW[schema].items()
    assert not OLD[schema] & {*now, *extras(now)}
    assert harvest.run().stats["not modified"] == 1
