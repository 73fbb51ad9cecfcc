"""Names of datasets that take the place of deleted ones."""

from __future__ import annotations

from typing import Any

import pytest
from ckan.tests.helpers import call_action

from ckanext.freshness.tests.harvesting.conftest import Published, stored, sysadmin
from ckanext.freshness.tests.servers.catalogue import CatalogueServer, Entry
from ckanext.freshness.tests.servers.ckan_portal import PortalServer

DELETERS = ["source", "editor", "source, and an editor restored and deleted it"]


class Replaced:
    """A record of a source that is deleted there and made anew, under another URL and with the same name."""

    def __init__(self, published: Published) -> None:
        self.published = published
        self.server: Any = published.server
        self.old: Any
        if isinstance(self.server, PortalServer):
            listed = self.server.datasets.values()
            self.old = next(one for one in listed if one["name"] == "dataset-0")
        else:
            self.old = getattr(self.server, "entries" if self.is_catalogue else "datasets")[0]

    @property
    def is_catalogue(self) -> bool:
        return isinstance(self.server, CatalogueServer)

    def remove(self) -> None:
        if isinstance(self.server, PortalServer):
            del self.server.datasets[self.old["id"]]
        elif self.is_catalogue:
            self.server.entries.remove(self.old)
        else:
            self.server.vanish(self.old)
            self.server.unlist(self.old, self.server.catalogs[0])

    def make_anew(self) -> None:
        if isinstance(self.server, PortalServer):
            new = self.server.add("new")
            self.server.change(new["id"], name="dataset-0", title="Dataset 0")
        elif self.is_catalogue:
            self.server.entries.append(Entry("100", "Dataset 0"))
        else:
            self.server.add_dataset(self.server.catalogs[0], title="Dataset 0")

    def come_back(self) -> None:
        if isinstance(self.server, PortalServer):
            self.server.datasets[self.old["id"]] = self.old
        elif self.is_catalogue:
            self.server.entries.append(self.old)
        else:
            self.server.publish(self.old)
            self.server.list_also(self.old, self.server.catalogs[0])

    def run(self) -> dict[str, int]:
        job = self.published.harvest.run()
        assert not job.errors
        return {key: count for key, count in job.stats.items() if count}

    def names(self) -> dict[str, str]:
        """Return the names of the current datasets by their ids."""
        return {one: stored(one)["name"] for _, one in self.published.harvest.current()}


@pytest.fixture
def replaced(published: Published) -> Replaced:
    return Replaced(published)


def test_a_record_that_is_made_anew_gets_the_name(replaced: Replaced) -> None:
    assert replaced.run() == {"added": 3}
    before = replaced.names()
    (first,) = (one for one, name in before.items() if name == "dataset-0")
    replaced.remove()
    if replaced.is_catalogue:
        # Its own URL proves nothing: the second job that finds it left out deletes it.
        assert replaced.run() == {"not modified": 2}
        replaced.published.harvest.wait_a_day()
    replaced.make_anew()
    assert replaced.run() == {"added": 1, "deleted": 1, "not modified": 2}
    assert sorted(replaced.names().values()) == ["dataset-0", "dataset-1", "dataset-2"]
    assert first not in replaced.names()
    # If the old one comes back, it is the same dataset with another name.
    replaced.come_back()
    assert replaced.run() == {"updated": 1, "not modified": 3}
    assert replaced.names()[first].startswith("dataset-0-")
    assert replaced.run() == {"not modified": 4}


@pytest.mark.parametrize("deleter", DELETERS)
def test_only_a_name_of_what_the_source_deleted_is_free(replaced: Replaced, deleter: str) -> None:
    replaced.run()
    (first,) = (one for one, name in replaced.names().items() if name == "dataset-0")
    by_hand = {"user": sysadmin()}
    if deleter == "editor":
        call_action("package_delete", dict(by_hand), id=first)
    replaced.remove()
    for _ in range(1 + replaced.is_catalogue):
        replaced.run()
        replaced.published.harvest.wait_a_day()
    assert first not in replaced.names()
    if "restored" in deleter:
        call_action("package_patch", dict(by_hand), id=first, state="active")
        call_action("package_delete", dict(by_hand), id=first)
    replaced.make_anew()
    assert replaced.run() == {"added": 1, "not modified": 2}
    (new,) = (name for name in replaced.names().values() if name.startswith("dataset-0"))
    assert (new == "dataset-0") is (deleter == "source")
