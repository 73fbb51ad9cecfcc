"""A source harvested into sites with different schemas: the same keys, each where its site has it."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest
from ckan.tests.helpers import call_action, changed_config

from ckanext.freshness.tests.harvesting.conftest import (
    SCHEMAS,
    add_source,
    extras,
    indexed,
    sysadmin,
    written,
)
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

EU = "http://publications.europa.eu/resource/authority"
ENGLISH = f"{EU}/language/ENG"
THEMES = [f"{EU}/data-theme/ECON", f"{EU}/data-theme/HEAL"]


@pytest.fixture
def cohort(fdp: FdpServer) -> Record:
    """A dataset with every kind of field that schemas have."""
    return fdp.add_dataset(
        fdp.add_catalog(),
        title=[Literal("Cohort", "en"), Literal("Cohorte", "es")],
        description=Literal("People who were asked.", "en"),
        version="1.0",
        identifier="cohort-a",
        theme=THEMES,
        language=ENGLISH,
        keyword=[Literal("health", "en"), Literal("salud", "es")],
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
                "language": ENGLISH,
            },
            {
                "title": Literal("Service", "en"),
                "access_url": "https://example.org/api",
                "access_service": data_service("API", "https://example.org/api"),
            },
        ],
    )


CONTACT = [{"name": "Help desk", "email": "help@example.org"}]
PERIOD = [{"start": "2020-01-01", "end": "2023-12-31"}]
SERVICES = [{"title": "API", "endpoint_url": ["https://example.org/api"]}]
TITLES = {"en": "Cohort", "es": "Cohorte"}

IN_FIELDS: dict[str, dict[str, Any]] = {
    "core": {"title": "Cohort", "notes": "People who were asked.", "version": "1.0"},
    "dcat": {
        "theme": THEMES,
        "modified": "2024-05-06T07:08:09Z",
        "contact": CONTACT,
        "temporal_coverage": PERIOD,
    },
    "multilingual": {
        "title_translated": {**TITLES, "ca": "Cohort"},
        "tags_translated": {"en": ["health"], "es": ["salud"]},
        "contact": [{**CONTACT[0], "name_translated": {"en": "Help desk"}}],
        "provenance": {"en": "Asked by telephone."},
    },
}
"""What stands in the dataset itself, by the schema that its site has."""

IN_EXTRAS: dict[str, dict[str, Any]] = {
    "core": {"theme": THEMES, "contact_name": "Help desk", "temporal_start": "2020-01-01"},
    "dcat": {"in_series": ["https://example.org/series/1"], "min_typical_age": 18},
    "multilingual": {"theme": THEMES, "temporal_start": "2020-01-01"},
}


def opened(value: str) -> Any:
    """Return the value that an extra's text represents."""
    return json.loads(value) if value[:1] in "[{" or value.isdigit() else value


@pytest.mark.parametrize("schema", ["multilingual"], indirect=True)
def test_a_site_whose_language_its_schema_does_not_have(
    schema: str, fdp: FdpServer, cohort: Record
) -> None:
    """ckanext-dcat needs it for keywords. What was harvested before stays as it is."""
    harvest = add_source(fdp.source_url)
    harvest.run()
    before = written()
    fdp.change(cohort, title=Literal("Another title", "en"))
    with changed_config("ckan.locale_default", "fr"):
        (error,) = harvest.run().errors
    assert "the mapping or a profile cannot map the record" in error
    assert written() == before
    job = harvest.run()
    assert (job.errors, job.stats["updated"]) == ([], 1)


@pytest.mark.parametrize("schema", SCHEMAS, indirect=True)
def test_the_same_keys_land_where_the_site_has_them(
    schema: str, fdp: FdpServer, cohort: Record
) -> None:
    harvest = add_source(fdp.source_url)
    job = harvest.run()
    assert job.errors == []
    (one,) = harvest.objects(job).values()
    assert "warnings" not in one.extras
    dataset = harvest.dataset(cohort, fdp)
    assert {key: dataset.get(key) for key in IN_FIELDS[schema]} == IN_FIELDS[schema]
    told = extras(dataset)
    wanted = IN_EXTRAS[schema]
    assert {key: opened(told[key]) for key in wanted} == wanted
    assert not told.keys() & IN_FIELDS[schema].keys()
    assert dataset["license_id"] == "cc-by"
    # A field for translated tags has all of them; ckanext-dcat's tags are those in the site's language.
    tags = ["health"] if schema == "multilingual" else ["health", "salud"]
    assert [tag["name"] for tag in dataset["tags"]] == tags

    answers, service = dataset["resources"]
    if schema == "multilingual":
        assert answers["name_translated"] == {"en": "Answers", "es": "Respuestas", "ca": "Answers"}
    assert (answers["name"], answers["format"], answers["size"]) == ("Answers", "CSV", 2048)
    listed = answers["language"] if schema != "core" else json.loads(answers["language"])
    assert listed == [ENGLISH]
    services = service["access_services"]
    assert (services if schema == "dcat" else json.loads(services)) == SERVICES
    assert set(harvest.datasets()) == {fdp.iri_of(cohort)}, "Solr has it"

    before = written(), indexed()
    assert harvest.run().stats["not modified"] == 1
    assert (written(), indexed()) == before

    if schema == "multilingual":
        # An editor translates: in place of a repeated text, and into a language that the source does not have.
        call_action(
            "package_patch",
            {"user": sysadmin()},
            id=dataset["id"],
            title_translated={
                **dataset["title_translated"],
                "ca": "Cohort catalana",
                "nl": "Cohort",
            },
        )
    fdp.change(cohort, title=Literal("Cohort B", "en"), version=None, theme=THEMES[0])
    job = harvest.run()
    assert (job.errors, job.stats["updated"]) == ([], 1)
    after = harvest.dataset(cohort, fdp)
    assert (after["id"], after["name"]) == (dataset["id"], dataset["name"])
    assert after["title"] == "Cohort B"
    if schema == "multilingual":
        translated = {"en": "Cohort B", "ca": "Cohort catalana", "nl": "Cohort"}
        assert after["title_translated"] == {**translated, "es": "Cohort B"}
    assert not after.get("version")
    theme = after["theme"] if schema == "dcat" else json.loads(extras(after)["theme"])
    assert theme == [THEMES[0]]
    assert [r["id"] for r in after["resources"]] == [r["id"] for r in dataset["resources"]]
    assert harvest.run().stats["not modified"] == 1
