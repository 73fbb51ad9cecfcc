"""A harvest on a real site, with CKAN's actions, Redis and ckanext-harvest's own consumers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import pytest
import sqlalchemy as sa
from ckan.lib.search.common import make_connection
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.activity.model import Activity
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.harvesting.dcat.crawl import MISSING
from ckanext.freshness.harvesting.preview import Preview, preview
from ckanext.freshness.harvesting.rdf import parsing
from ckanext.freshness.harvesting.rdf.parsing import RdfParser
from ckanext.freshness.harvesting.record import urls_in_guid
from ckanext.freshness.harvesting.survey import DRAFT
from ckanext.freshness.model import HarvestDocument
from ckanext.freshness.tests.harvesting.fdp.parsed import InProcessParser
from ckanext.freshness.tests.harvesting.multilingual import MultilingualPlugin
from ckanext.freshness.tests.harvesting.stumbling import StumblingPlugin
from ckanext.freshness.tests.servers.base import LoopbackServer
from ckanext.freshness.tests.servers.catalogue import CatalogueServer
from ckanext.freshness.tests.servers.ckan_portal import ACTION, PortalServer
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Record
from ckanext.freshness.tests.usual_site import use_hooks_of
from ckanext.harvest import model as harvest_model
from ckanext.harvest import queue

PRESETS = (
    "ckanext.scheming:presets.json ckanext.dcat.schemas:presets.yaml "
    "ckanext.freshness.tests.harvesting:multilingual_presets.json"
)
SCHEMAS: dict[str, str | None] = {
    "core": None,
    "dcat": "ckanext.dcat.schemas:dcat_ap_full.yaml",
    "multilingual": "ckanext.dcat.schemas:dcat_ap_multilingual.yaml",
}
STRICT = "ckanext.freshness.tests.harvesting:strict_schema.json"
"""A schema with validators that the layout of packages does not know."""


def _a_day_earlier(time: str) -> str:
    return (datetime.fromisoformat(time) - timedelta(days=1)).isoformat()


@dataclass
class Job:
    """A finished job."""

    id: str
    stats: dict[str, int]
    gather_errors: list[str]
    object_errors: dict[str, list[str]] = field(default_factory=dict)
    """Messages by guid."""
    warnings: dict[str, list[str]] = field(default_factory=dict)
    """Messages by the record's URL."""
    drafts: int = 0
    codes: list[dict[str, Any]] = field(default_factory=list)
    """Codes and values of the gather errors."""

    @property
    def errors(self) -> list[str]:
        return [*self.gather_errors, *(one for many in self.object_errors.values() for one in many)]


@dataclass(frozen=True)
class Object:
    """A harvest object with its extras."""

    id: str
    guid: str
    state: str
    report_status: str | None
    current: bool
    package_id: str | None
    content: str | None
    extras: dict[str, str]


@dataclass
class Harvest:
    """A source and its jobs."""

    source: dict[str, Any]

    def run(self) -> Job:
        """Run a job from start to end through the real queues."""
        job = self.start()
        self.gather()
        self.fetch()
        return self.finish(job)

    def start(self) -> str:
        job_id: str = call_action("harvest_job_create", source_id=self.source["id"])["id"]
        return job_id

    def gather(self) -> None:
        consumer = queue.get_gather_consumer()
        while (reply := consumer.basic_get(queue.get_gather_queue_name()))[2]:
            method, header, body = reply
            queue.gather_callback(consumer, method, header, body)

    def fetch(self) -> None:
        consumer = queue.get_fetch_consumer()
        while (reply := consumer.basic_get(queue.get_fetch_queue_name()))[2]:
            method, header, body = reply
            queue.fetch_callback(consumer, method, header, body)

    def fetch_all(self) -> None:
        """Do what consumers and cron do until no record waits."""
        connection, key = queue.get_connection(), queue.get_fetch_routing_key()
        for _ in range(100):
            if not connection.llen(key):
                return
            self.fetch()
            model.Session.remove()
            call_action("harvest_jobs_run")
        pytest.fail("messages are sent without an end")

    def finish(self, job_id: str) -> Job:
        model.Session.remove()
        call_action("harvest_jobs_run", source_id=self.source["id"])
        # On a busy machine a batch may end before its records do.
        self.fetch_all()
        shown = call_action("harvest_job_show", id=job_id)
        assert shown["status"] == "Finished", shown
        report = call_action("harvest_job_report", id=job_id)
        return Job(
            job_id,
            shown["stats"],
            [one["message"] for one in report["gather_errors"]],
            {
                one["guid"]: [error["message"] for error in one["errors"]]
                for one in report["object_errors"].values()
            },
            {one["url"]: one["messages"] for one in report["warnings"]},
            sum(one["count"] for one in report["not_harvested"] if one["kind"] == DRAFT),
            [one["message_code"] for one in report["gather_errors"]],
        )

    def datasets(self, **conditions: Any) -> dict[str, dict[str, Any]]:
        """Return the source's active datasets in the search index, by the URL of their record."""
        found = call_action(
            "package_search",
            fq=f'harvest_source_id:"{self.source["id"]}"',
            rows=1000,
            include_private=True,
            **conditions,
        )
        return {one.get("uri") or extras(one)["uri"]: one for one in found["results"]}

    def current(self) -> list[tuple[str, str]]:
        """Return guid and package id of the current objects."""
        return sorted(
            model.Session.query(
                harvest_model.HarvestObject.guid, harvest_model.HarvestObject.package_id
            ).filter_by(harvest_source_id=self.source["id"], current=True)
        )

    def dataset(self, record: Record, server: FdpServer) -> dict[str, Any]:
        """Return a record's dataset from the database, whatever its state."""
        (row,) = model.Session.query(model.Package.id).filter(
            model.Package.id.in_(
                model.Session.query(harvest_model.HarvestObject.package_id)
                .join(harvest_model.HarvestObjectExtra)
                .filter(
                    harvest_model.HarvestObject.harvest_source_id == self.source["id"],
                    harvest_model.HarvestObjectExtra.key == "dataset_url",
                    harvest_model.HarvestObjectExtra.value == server.iri_of(record),
                )
            )
        )
        return stored(row.id)

    def objects(self, job: Job) -> dict[str, Object]:
        """Return the objects of a job by the URL of their record."""
        model.Session.expire_all()
        rows = model.Session.query(harvest_model.HarvestObject).filter_by(harvest_job_id=job.id)
        found = [
            Object(
                row.id,
                row.guid,
                row.state,
                row.report_status,
                row.current,
                row.package_id,
                row.content,
                {extra.key: extra.value for extra in row.extras},
            )
            for row in rows
        ]
        by_url = {
            one.extras.get("dataset_url")
            or one.extras.get("catalog_url")
            or urls_in_guid(one.guid)[1]: one
            for one in found
        }
        assert len(by_url) == len(found), "a record has more than one object in this job"
        return by_url

    def preview(self, now: datetime | None = None) -> Preview:
        """Return what the next job would do."""
        source = harvest_model.HarvestSource.get(self.source["id"])
        return preview(source, now=now or datetime.now(timezone.utc))

    def two_jobs(self) -> Job:
        """Run two jobs a day apart, and return the second one: what both find left out is gone then."""
        self.run()
        self.wait_a_day()
        return self.run()

    def wait_a_day(self) -> None:
        """Let what the last job noted about refused, absent and incomplete records be a day old."""
        extra = harvest_model.HarvestObjectExtra
        for row in model.Session.query(extra).filter(
            extra.key.in_(("refusal", "absent_since", "incomplete_since"))
        ):
            words = row.value.split()
            row.value = " ".join(one if one.isalpha() else _a_day_earlier(one) for one in words)
        for missing in model.Session.query(HarvestDocument).filter_by(url=MISSING):
            missing.outline = {
                guid: _a_day_earlier(since) for guid, since in missing.outline.items()
            }
        model.Session.commit()

    def hold(self) -> Any:
        """Return the held deletions, or None."""
        return call_action("freshness_harvest_hold_show", id=self.source["id"])

    def release(self, list_id: str = "") -> None:
        """Approve the held deletions, or those of an earlier list."""
        ids = {"id": self.source["id"], "list_id": list_id or self.hold()["list_id"]}
        call_action("freshness_harvest_release", {"user": sysadmin()}, **ids)

    def switch(self, **fields: Any) -> None:
        """Change the source as its form does."""
        shown = call_action("harvest_source_show", id=self.source["id"])
        keys = ("id", "name", "title", "url", "source_type", "frequency", "owner_org", "config")
        kept = {key: shown[key] for key in keys if key in shown}
        call_action("harvest_source_update", {"user": sysadmin()}, **{**kept, **fields})

    def configure(self, **config: Any) -> None:
        """Replace the source's configuration."""
        self.switch(config=json.dumps(config))


def extras(package: dict[str, Any]) -> dict[str, str]:
    """Return a package's extras by key."""
    return {one["key"]: one["value"] for one in package["extras"]}


def stored(package_id: str) -> dict[str, Any]:
    """Return a dataset from the database, not from Solr."""
    context = {"user": sysadmin(), "use_cache": False}
    package: dict[str, Any] = call_action("package_show", context, id=package_id)
    return package


def written() -> dict[str, tuple[Any, int]]:
    """Return, by id, when each dataset was last written and how many activities it has."""
    count = sa.func.count(Activity.id)
    rows = (
        model.Session.query(model.Package.id, model.Package.metadata_modified, count)
        .outerjoin(Activity, Activity.object_id == model.Package.id)
        .filter(model.Package.type == "dataset")
        .group_by(model.Package.id)
    )
    return {package_id: (modified, activities) for package_id, modified, activities in rows}


def indexed() -> dict[str, str]:
    """Return, by id, when each dataset was last sent to Solr."""
    found = make_connection().search("+dataset_type:dataset", fl="id,indexed_ts", rows=1000)
    return {document["id"]: document["indexed_ts"] for document in found.docs}


def sysadmin() -> str:
    name: str = tk.get_action("get_site_user")({"ignore_auth": True}, {})["name"]
    return name


def add_source(
    url: str, *, source_type: str = "fdp", owner_org: str = "", **config: Any
) -> Harvest:
    """Create a harvest source as its form does. All belong to one organization unless another is given."""
    owner_org = owner_org or _organization()
    source = call_action(
        "harvest_source_create",
        {"user": sysadmin()},
        name=factories.Dataset.stub().name,
        title="A source",
        url=url,
        source_type=source_type,
        owner_org=owner_org,
        config=json.dumps(config) if config else "",
    )
    return Harvest(source)


def _organization() -> str:
    found = model.Group.get("harvesters")
    group_id: str = found.id if found else factories.Organization(name="harvesters")["id"]
    return group_id


@dataclass(frozen=True)
class Published:
    """Three datasets in a source that is not yet harvested.

    :ivar place: the target of its list, or of a later page of the list
    """

    harvest: Harvest
    server: LoopbackServer
    place: str

    def change(self, title: str) -> None:
        """Give the first dataset another title."""
        if isinstance(self.server, FdpServer):
            self.server.change(self.server.datasets[0], title=title)
        elif isinstance(self.server, CatalogueServer):
            self.server.entries[0] = replace(self.server.entries[0], title=title)
        elif isinstance(self.server, PortalServer):
            self.server.change(next(iter(self.server.datasets)), title=title)


TITLES = ["Dataset 0", "Dataset 1", "Dataset 2"]


@pytest.fixture(params=["fdp", "dcat_catalog", "ckan_portal"])
def published(request: pytest.FixtureRequest, clean_site: None) -> Iterator[Published]:
    """Serve datasets for each source type of ours."""
    server: Any
    if request.param == "fdp":
        server = FdpServer()
        catalog = server.add_catalog()
        for title in TITLES:
            server.add_dataset(catalog, title=title)
        place = catalog.path
    elif request.param == "dcat_catalog":
        server, place = CatalogueServer(len(TITLES), page_size=2), "/catalog?page=2"
    else:
        server, place = PortalServer(len(TITLES)), f"{ACTION}package_search"
    with server:
        url = getattr(server, "source_url", server.url)
        yield Published(add_source(url, source_type=request.param), server, place)


@pytest.fixture
def harvest(fdp: FdpServer) -> Harvest:
    """A FAIR Data Point with three datasets, not yet harvested."""
    catalog = fdp.add_catalog()
    for title in TITLES:
        fdp.add_dataset(catalog, title=title)
    return add_source(fdp.source_url)


@pytest.fixture
def clean_site(clean_db: Any, clean_index: Any, clean_queues: Any) -> None:
    """Empty the site."""


@pytest.fixture
def one_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send each request once, also to a busy server."""
    monkeypatch.setattr("ckanext.freshness.settings.RETRY_DELAYS", ())


@pytest.fixture
def fdp() -> Iterator[FdpServer]:
    """Start an empty FAIR Data Point."""
    with FdpServer() as server:
        yield server


def install(name: str, plugin: type[p.Plugin], folder: Path, monkeypatch: Any) -> None:
    """Register a plugin of the tests as an entry point, so that CKAN finds it."""
    distribution = folder / f"{name}-1.0.dist-info"
    distribution.mkdir()
    (distribution / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    entry = f"{name} = {plugin.__module__}:{plugin.__name__}"
    (distribution / "entry_points.txt").write_text(f"[ckan.plugins]\n{entry}\n")
    monkeypatch.syspath_prepend(str(folder))


@pytest.fixture
def stumbling(
    clean_site: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[StumblingPlugin]:
    """Load another extension's plugin whose hooks can fail."""
    install("stumbling", StumblingPlugin, tmp_path, monkeypatch)
    with use_hooks_of("stumbling") as plugin:
        yield plugin


@pytest.fixture
def schema(
    request: pytest.FixtureRequest,
    ckan_config: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """Empty the site and give it one of `SCHEMAS`, or `STRICT`: the test names it. Return the name."""
    name: str = request.param
    schema = SCHEMAS.get(name, name)
    if schema is not None:
        install("multilingual", MultilingualPlugin, tmp_path, monkeypatch)
        plugins = ckan_config["ckan.plugins"]
        names = plugins if isinstance(plugins, list) else plugins.split()
        more = ["dcat", "scheming_datasets", "multilingual"]
        monkeypatch.setitem(ckan_config, "ckan.plugins", " ".join([*names, *more]))
        monkeypatch.setitem(ckan_config, "scheming.dataset_schemas", schema)
        monkeypatch.setitem(ckan_config, "scheming.presets", PRESETS)
    request.getfixturevalue("clean_site")
    return name


@pytest.fixture
def clean_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty the harvest queues, and parse documents in this process: to start one for each job takes longer."""
    queue.purge_queues()
    monkeypatch.setattr(parsing, "RdfParser", InProcessParser)


@pytest.fixture
def sandbox(clean_queues: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parse documents in a process of the sandbox, as a site does."""
    monkeypatch.setattr(parsing, "RdfParser", RdfParser)
