"""Containers as deployed servers have them: which are followed, and which prove that a record is absent."""

from __future__ import annotations

import pytest

from ckanext.freshness.harvesting.record import guid_of
from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.tests.harvesting.fdp.crawling import DAY, NOW, Site, unchanged, urls
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Answer
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Record
from ckanext.freshness.tests.servers.replay import FDP_LOST_TYPE, FDP_TYPES, ReplayServer

HEALTH = "/catalog/29a67c47-213e-473e-8c87-8931768d9357"
BIOBANK = "/biobank/f8f682f6-c224-4e0d-ab70-92817d16d642"
STUDY = "/study/cac397a5-89f7-4b85-bdb1-6dea31e66816"
SERIES = "/datasetseries/e36985dd-ebd6-4cc8-a7d0-be48db319e01"
IN_STUDY = "/dataset/92c8d5ae-cdcc-4255-8abd-983af4cb0ad9"
IN_BIOBANK = "/dataset/48df08ea-6068-4140-a477-80a9657470e5"
PREFIXES = """
@prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dct: <http://purl.org/dc/terms/> .
"""


# Recordings of deployed servers


def test_every_type_between_catalog_and_dataset_is_followed() -> None:
    """A dataset's catalog is the nearest dcat:Catalog above, and a series becomes a dataset."""
    with ReplayServer(FDP_TYPES) as server:
        site = Site(server, url=f"{server.url}/")
        job = site.job()
        assert job.record_errors == {}
        for dataset in (IN_STUDY, IN_BIOBANK, SERIES):
            guid = site.packages[server.url + dataset].guid
            assert guid == guid_of(server.url + dataset, server.url + HEALTH)
        assert len(site.packages) == 37
        others = {kind: found.count for kind, found in job.survey.crawled.not_harvested.items()}
        assert others == {
            "Biobank": 1,
            "PatientRegistry": 1,
            "Study": 1,
            "dcat:DataService": 1,
            "draft": 5,
        }
        unchanged(site)


@pytest.mark.parametrize("container", [BIOBANK, STUDY])
@pytest.mark.parametrize("status", [403, 404])
def test_a_failing_record_between_catalog_and_dataset_deletes_nothing(
    container: str, status: int
) -> None:
    """Its datasets still answer under their own URLs."""
    with ReplayServer(FDP_TYPES) as server:
        site = Site(server, url=f"{server.url}/")
        site.job()
        server.faults[container] = faults.Status(status)
        for day in range(2):
            job = site.job(NOW + day * DAY)
            assert job.of(RecordClass.DELETED) == set()
        assert len(site.packages) == 37
        assert any(container in error for error in job.container_errors)


def test_a_catalog_that_lost_its_type(fdp: FdpServer) -> None:
    """It is read if its parent lists it as a catalog, and if its document calls it by the requested URL."""
    with ReplayServer(FDP_LOST_TYPE) as recorded:
        (path,) = recorded._answers
        text = recorded._answers[path].body.decode().replace(recorded.url, fdp.url)
    catalog = fdp.add_catalog(path.removeprefix("/catalog/"))
    datasets = [
        fdp.add_dataset(catalog, name)
        for name in (
            "dd82c390-af0f-4b69-9feb-f4ab7b683ff3",
            "21edd971-6aaa-4a65-8571-1b33b57ee1d6",
            "59f51f41-cf70-44e6-98ee-bc347210aafb",
            "4dadb163-416b-4769-8981-3a729d41954c",
        )
    ]
    site = Site(fdp)
    site.job()
    fdp.files[path] = Answer.text(text, "text/turtle")
    job = site.job()
    assert job.errors == []
    assert job.of(RecordClass.UNCHANGED) == urls(fdp, *datasets)
    (warning,) = job.survey.crawled.warnings
    assert "its type dcat:Catalog is missing" in str(warning)

    fdp.files[path] = Answer.text(
        text.replace(f"<{fdp.url}{path}>", "<http://other.example/>"), "text/turtle"
    )
    job = site.job()
    assert job.of(RecordClass.DELETED) == set()
    assert len(job.container_errors) == 1


# What a list has to prove


def catalog(fdp: FdpServer, record: Record, body: str) -> Answer:
    return Answer.text(
        f"{PREFIXES}<{fdp.iri_of(record)}> a dcat:Catalog ; dct:title 'C' {body} .", "text/turtle"
    )


# Drafts that only secret headers make readable


def test_drafts_that_a_token_makes_readable_are_not_harvested(fdp: FdpServer) -> None:
    record = fdp.add_catalog()
    draft, published = fdp.add_dataset(record), fdp.add_dataset(record)
    for dataset, state in ((draft, "DRAFT"), (published, "PUBLISHED")):
        fdp.files[f"{dataset.path}/meta"] = Answer.text(
            f'{{"state": {{"current": "{state}"}}}}', "application/json"
        )
    site = Site(fdp, headers={"Authorization": "Bearer secret"})
    job = site.job()
    assert job.errors == []
    assert job.of(RecordClass.NEW) == urls(fdp, published)
    assert job.drafts == 1
    # Without a secret, nobody sees drafts, and nobody is asked.
    fdp.requests.clear()
    assert len(Site(fdp).job().of(RecordClass.NEW)) == 2
    assert fdp.count(f"{draft.path}/meta") == 0

    fdp.files[f"{draft.path}/meta"] = Answer(500)
    job = site.job()
    assert f"{draft.path}/meta: The server has a fault (500)" in "".join(job.errors)
    assert job.of(RecordClass.NEW) == job.of(RecordClass.DELETED) == set()
