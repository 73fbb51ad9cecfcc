"""The page about IATI: downloads, the last cycle, failing files, and who sees which."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from ckan.tests import factories, helpers

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.reporting import visibility
from ckanext.freshness.tests.pages.conftest import Get, Read
from ckanext.freshness.tests.pages.reports import text_of as text
from ckanext.freshness.tests.pages.test_runs import words
from ckanext.freshness_iati.tests.cycle.cycles import Site
from ckanext.freshness_iati.tests.servers.registry import RegistryServer
from ckanext.freshness_iati.tests.servers.registry_model import Registry

LOCATION = "ckanext.freshness.copies.location"


@pytest.fixture(autouse=True)
def store(
    tmp_path_factory: Any, ckan_config: Any, monkeypatch: pytest.MonkeyPatch, impatient_checks: None
) -> None:
    """A place for copies that all tests of this module share."""
    folder = tmp_path_factory.getbasetemp() / "iati-page"
    monkeypatch.setitem(ckan_config, LOCATION, str(folder))


def make_world() -> dict[str, Any]:
    """Do two cycles of a registry: a file fails between them, one has always failed, one becomes private."""
    registry = Registry()
    first, second = registry.add_organisation("first_aid"), registry.add_organisation("second_life")
    registry.add_dataset(first, "good")
    hidden = registry.add_dataset(first, "hidden")
    never = registry.add_dataset(second, "never")
    hidden.status = never.status = 404
    lately = registry.add_dataset(second, "lately")
    sysadmin = factories.SysadminWithToken()
    with RegistryServer(registry) as server:
        site = Site.of(server)
        site.update()
        lately.body = b"<html>Sorry</html>"
        lately.edition += 1
        context = {"user": sysadmin["name"]}
        package_id = site.row(hidden).package_id
        helpers.call_action("package_patch", context, id=package_id, private=True)
        site.later(hours=1).update(strict=True)
    return {"sysadmin": sysadmin, "source": site.source_id}


def test_what_everybody_sees(world: Any, read: Read, get: Get) -> None:
    page = read("/iati")
    cards = words(page, ".fr-cards")
    assert "Files available 2 of 3 registered datasets" in cards
    assert "Failing 2 1 served from a copy, 1 missing" in cards
    assert "Last cycle Finished" in cards
    # Only sysadmins see runs.
    assert not page.select('.fr-cards a[href*="/freshness/runs"]')
    assert read("/iati", "sysadmin").select('.fr-cards a[href*="/freshness/runs"]')
    links = [str(link["href"]) for link in page.select(".fr-rows a.btn")]
    assert [link.rpartition("/")[2] for link in links] == [
        *("iati-data.zip", "code-for-iati-data-download.zip", "datasets-full.json"),
        *("datasets-minimal.json", "reporting-orgs.json"),
    ]
    for link in links:
        get(link)
        assert f"curl -O {link}" in words(page, "details pre")
    assert all("KiB made" in text(row) for row in page.select(".fr-rows .fr-meta"))


def test_failing_files(world: Any, read: Read) -> None:
    lately, never = [text(row) for row in read("/iati").select(".fr-list > li")]
    assert "Second Life · The file is not IATI XML · failing for" in lately
    assert "Copy of" in lately and "No copy" in never
    assert "Second Life · The file is gone (404 Not Found) · failing for" in never
    # The private dataset comes third.
    assert len(read("/iati", "sysadmin").select(".fr-list > li")) == 3


def test_labels_of_another_plugin_decide(
    world: Any, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visibility, "default_user_labels", lambda user: None)
    monkeypatch.setattr(visibility, "_search", lambda context: [])
    page = read("/iati")
    assert "0 of 0 registered datasets" in words(page, ".fr-cards")
    assert not page.select(".fr-list > li")


def test_the_page_of_a_dataset_shows_the_attempts_of_its_cycles(world: Any, read: Read) -> None:
    (path,) = (one["href"] for one in read("/iati").select(".fr-list a") if "lately" in str(one))
    page = read(f"/dataset/{str(path).split('/')[2]}/freshness")
    (card,) = page.select("#freshness-checks li[id]")
    assert "Link failing. The file is not IATI XML. It failed on" in text(card)
    titles = {text(one) for one in card.select(".fr-facts dt")}
    assert {"First failure", "Last failure", "Last worked"} <= titles


@pytest.fixture
def a_public_dataset_made_private(world: Any) -> Iterator[None]:
    change = sa.text("""UPDATE package SET private = :private WHERE id = (
        SELECT min(package_id) FROM freshness_iati WHERE published)""")
    for private in (True, False):
        model.Session.execute(change, {"private": private})
        model.Session.commit()
        if private:
            yield


def test_files_with_private_datasets_are_not_offered(
    a_public_dataset_made_private: None, read: Read
) -> None:
    assert "The files are being made anew." in words(read("/iati"), ".fr-note")
    assert not read("/iati").select(".fr-rows")
