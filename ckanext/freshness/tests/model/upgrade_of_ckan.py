"""The upgrade of a site with data from CKAN 2.11 to 2.12: ``./dev upgrade`` runs the first test on the one, the
commands of an operator, and the other test on the other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import sqlalchemy as sa
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter import tables
from ckanext.freshness.ckan_adapter.core import IS_2_12, model
from ckanext.freshness.dates import utc_now
from ckanext.freshness.mails.digests import notify_all
from ckanext.freshness.reporting import counts
from ckanext.freshness.runs.check_run import CheckScope, check
from ckanext.freshness.status.refresh import refresh
from ckanext.freshness.tests.datasets import stored as extras
from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source, stored, sysadmin
from ckanext.freshness.tests.mails.conftest import sends_to
from ckanext.freshness.tests.servers.ckan_portal import PortalServer
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.file_host import FILES, TABLES, FileHost
from ckanext.freshness.tests.servers.smtp import MailHost
from ckanext.freshness_iati.tests.cycle.cycles import Site
from ckanext.freshness_iati.tests.servers.registry import RegistryServer
from ckanext.freshness_iati.tests.servers.registry_model import sample

pytestmark = pytest.mark.usefixtures("with_plugins", "impatient_checks")

NIGHTS = 3
HARVESTED, WITHDRAWN = 12, 9
NOTE_WORK = {
    *("freshness_check", "freshness_copy", "freshness_history", "freshness_iati", "freshness_run"),
    *("freshness_harvest_document", "freshness_harvest_hold", "freshness_harvest_report"),
}
"""Tables in which work is noted even if it found nothing new."""


@pytest.fixture
def facts_file(ckan_config: Any) -> Path:
    return Path(ckan_config["ckanext.freshness.copies.location"], "facts.json")


def facts() -> Any:
    """Return all rows of our tables, and all packages as the database has them."""
    model.Session.remove()

    def column(statement: str) -> list[str]:
        return list(model.Session.execute(sa.text(statement)).scalars())

    rows = {
        name: column(f"SELECT t::text FROM {name} t ORDER BY 1")
        for name in tables.existing_tables()
    }
    packages = {}
    for one in column("SELECT id FROM package WHERE type = 'dataset'"):
        packages[one] = shown = {**stored(one), "extras": extras(one)}
        for resource in shown["resources"]:
            del resource["freshness_check"]  # It has the time of the check, and is in our tables.
    copies = column("SELECT (resource_id, key, sha256)::text FROM freshness_copy ORDER BY 1")
    return json.loads(json.dumps({**rows, "packages": packages, "copies": copies}))


class Servers(ExitStack):
    """Three sources, a host of files and a mail server.

    :param urls: their addresses, if they have any
    :ivar withdrawn: datasets that the first source does not list for long
    """

    def __init__(self, urls: Sequence[str] = ("//:0",) * 4) -> None:
        super().__init__()
        ports = [urlsplit(one).port or 0 for one in urls]
        self.fdp, self.portal = FdpServer(port=ports[0]), PortalServer(3, port=ports[1])
        self.registry = RegistryServer(sample(), port=ports[2])
        self.files = FileHost(now=datetime(2026, 1, 1, tzinfo=timezone.utc), port=ports[3])
        web = (self.fdp, self.portal, self.registry, self.files)
        self.urls = [self.enter_context(one).url for one in web]
        self.enter_context(sends_to(self.enter_context(MailHost()).port))
        catalog = self.fdp.add_catalog()
        table = {"title": "Table", "download_url": f"{self.files.url}{TABLES}1.csv"}
        records = [self.fdp.add_dataset(catalog, distributions=[table]) for _ in range(HARVESTED)]
        self.withdrawn = records[:WITHDRAWN]

    def work(self, sources: Sequence[Harvest]) -> list[dict[str, Any]]:
        """Do everything that a site does in a day, and return what the harvests and the cycle counted."""
        *others, registry = sources
        counted: list[dict[str, Any]] = [one.run().stats for one in others]
        counted.append(Site(self.registry, registry).update().figures)
        check(CheckScope(everything=True), utc_now)
        refresh(utc_now(), everything=True)
        counts.record(utc_now())
        notify_all(utc_now)
        return counted


def test_a_site_of_2_11(facts_file: Path) -> None:
    assert not IS_2_12
    factories.Sysadmin(email="root@example.org")
    with Servers() as servers:
        sources = [
            add_source(servers.fdp.source_url),
            add_source(servers.portal.url, source_type="ckan_portal"),
            add_source(servers.registry.url, source_type="iati_registry"),
        ]
        made = [
            factories.Dataset(
                extras=[{"key": "frequency", "value": "weekly"}],
                resources=[{"url": servers.files.url_of(one), "format": one.format}],
            )
            for one in FILES
            if one.changes != "download"
        ]
        for night in reversed(range(1, NIGHTS + 1)):
            check(CheckScope(everything=True), lambda: utc_now() - timedelta(days=night))  # noqa: B023
            servers.files.publish()
        servers.work(sources)
        for record in servers.withdrawn:
            servers.fdp.remove(record)
        call_action("freshness_confirm", {"user": sysadmin()}, id=made[0]["id"])
        for _ in range(2):
            servers.work(sources)
    found = facts()
    assert [name for name, rows in found.items() if not rows] == ["freshness_unindexed"]
    kept = {"urls": servers.urls, "sources": [one.source for one in sources]}
    facts_file.write_text(json.dumps({**kept, "facts": found}))


def test_the_same_site_on_2_12(facts_file: Path) -> None:
    assert IS_2_12
    kept = json.loads(facts_file.read_text())
    before = kept["facts"]
    for name, found in facts().items():
        assert found == before[name], name
    sources = [Harvest(one) for one in kept["sources"]]
    with Servers(kept["urls"]) as servers:
        for record in servers.withdrawn:
            servers.fdp.remove(record)
        for _ in range(NIGHTS):
            servers.files.publish()
        for counted in servers.work(sources):
            assert not any(counted.get(name) for name in ("added", "updated", "deleted", "changed"))
        after = facts()
        for name in after.keys() - NOTE_WORK:
            assert after[name] == before[name], name
        assert sources[0].hold()["count"] == WITHDRAWN
        servers.files.publish()
        servers.work(sources)
        assert len(facts()["freshness_change"]) > len(before["freshness_change"])
    assert refresh(utc_now() + timedelta(days=8)).changed
