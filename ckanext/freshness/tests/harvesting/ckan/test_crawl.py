"""Crawls of portals of all ages, with correct and faulty answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ckanext.freshness.harvesting.ckan.api import site_of
from ckanext.freshness.harvesting.ckan.crawl import OF_THIS_SITE
from ckanext.freshness.harvesting.record import KnownRecord
from ckanext.freshness.tests.harvesting.ckan.conftest import LIMITS, Crawled
from ckanext.freshness.tests.harvesting.fdp.crawling import HURRIED
from ckanext.freshness.tests.harvesting.fdp.test_faults import FEW, GONE, REFUSED
from ckanext.freshness.tests.servers import ckan_portal, faults
from ckanext.freshness.tests.servers.base import Request
from ckanext.freshness.tests.servers.ckan_portal import ACTION, PortalServer

NAMES = sorted(f"dataset-{number}" for number in range(12))


def any_id(portal: PortalServer, number: int = 5) -> str:
    return sorted(portal.datasets)[number]


# All versions


@pytest.mark.parametrize("gives_fields", [True, False], ids=["since 2.9", "before 2.9"])
@pytest.mark.parametrize("rows_max", [2, 12, 1000])
def test_pages_of_any_size_give_all(
    portal: PortalServer, gives_fields: bool, rows_max: int
) -> None:
    portal.gives_fields, portal.rows_max = gives_fields, rows_max
    found = Crawled(portal)
    assert not found.errors and found.names() == NAMES
    assert not found.end.containers.unreadable and not found.end.containers.unproved
    assert len(found.end.containers.listed) == 12


def test_types_that_are_no_datasets_are_counted(portal: PortalServer) -> None:
    portal.add("a-source", type="harvest")
    for portal.gives_fields in (True, False):
        found = Crawled(portal)
        assert found.names() == NAMES and found.end.not_harvested["harvest"].count == 1


# Unchanged and changed records


@pytest.mark.parametrize("gives_fields", [True, False])
def test_only_changed_contents_are_read(portal: PortalServer, gives_fields: bool) -> None:
    portal.gives_fields = gives_fields
    first = Crawled(portal)
    portal.reset()
    second = Crawled(portal, first)
    assert second.names() == [] and len(second.records()) == 12
    if gives_fields:
        assert portal.count() == 2  # the list, and its end
    assert Crawled(portal, second, own={"force_all": True}).names() == NAMES
    portal.change(any_id(portal), title="Another title")
    third = Crawled(portal, second)
    assert third.names() == [portal.datasets[any_id(portal)]["name"]]
    assert not third.deleted()


# Absences


@pytest.mark.parametrize("code", [403, 404, 500])
def test_a_portal_that_shows_no_dataset_confirms_no_absence(
    portal: PortalServer, code: int
) -> None:
    first = Crawled(portal)
    portal.unindexed = {any_id(portal)}
    portal.faults[lambda request: "package_show" in request.target] = faults.Status(code=code)
    second = Crawled(portal, first)
    assert not second.deleted() and "none of the datasets that it lists" in second.errors


@pytest.mark.parametrize("is_listed", [True, False])
def test_another_dataset_is_no_answer(portal: PortalServer, is_listed: bool) -> None:
    """A cache that ignores the query of a URL."""
    first = Crawled(portal)
    asked = any_id(portal)
    portal.change(asked)
    portal.unindexed = set() if is_listed else {asked}
    portal.faults[lambda request: "fq=id%3A%28" in request.target] = faults.Status(code=414)
    other = faults.Another(f"{ACTION}package_show?id={any_id(portal, 2)}")
    portal.faults[lambda request: f"show?id={asked}" in request.target] = other
    second = Crawled(portal, first)
    assert not second.deleted() and not second.held()
    assert not is_listed or "answered with another dataset" in second.errors


PRIVATE = [True, "True", " true", "YES", "on", "t", "y", 1, "1"]
PUBLIC = [None, False, "False", "false ", "NO", "off", "f", "n", 0, "0", "", " ", "None", "null"]


@pytest.mark.parametrize(
    "change",
    [*({"private": one} for one in PRIVATE), {"state": "draft"}, {"state": "deleted"}],
    ids=str,
)
def test_what_a_portal_lists_and_does_not_publish_is_not_read(
    portal: PortalServer, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    """Some portals list everything to whoever has an API key."""
    first = Crawled(portal)
    hidden = any_id(portal)
    portal.change(hidden, **change)
    monkeypatch.setattr(ckan_portal, "is_public", lambda one: True)
    name = portal.datasets[hidden]["name"]
    new, known = Crawled(portal), Crawled(portal, first)
    assert name not in new.names() + known.names()
    # As a record that answers 403: it goes if a job a day later finds the same.
    assert not new.errors and not known.deleted() and "does not publish it" in known.errors


@pytest.mark.parametrize(
    "change",
    [*({"private": one} for one in PUBLIC), *({"state": one} for one in ("Active", "", None))],
    ids=str,
)
def test_a_public_dataset_is_harvested_however_a_portal_writes_that(
    portal: PortalServer, change: dict[str, Any]
) -> None:
    shown = any_id(portal)
    portal.change(shown, **change)
    first = Crawled(portal)
    assert not first.errors and first.names() == NAMES
    # Its own answer says that it is there, if the index loses it.
    portal.unindexed = {shown}
    second = Crawled(portal, first)
    assert not second.deleted() and second.held() == [f"{portal.url}/dataset/{shown}"]


def test_a_dataset_that_is_neither_private_nor_public_stays_as_it_is(portal: PortalServer) -> None:
    first = Crawled(portal)
    portal.change(any_id(portal), private="Published")
    new, known = Crawled(portal), Crawled(portal, first)
    assert len(new.names()) == 11 and 'its value of "private" is neither' in new.errors
    assert not known.deleted() and not known.held()


def test_texts_by_language_are_plain_texts_too(portal: PortalServer) -> None:
    first, second, *_ = sorted(portal.datasets)
    portal.change(first, title={"de": "Straßen", "en": "Roads"}, notes={"de": "", "fr": "Routes"})
    portal.datasets[first]["resources"][0]["name"] = {"de": "Datei", "en": "File"}
    portal.change(second, title="", title_translated={"it": "Strade", "de": "Straßen"})
    found = Crawled(portal, language="de_CH").contents()
    assert found[first].fields["title"] == "Straßen" and found[first].fields["notes"] == "Routes"
    assert found[first].fields["title_translated"] == {"de": "Straßen", "en": "Roads"}
    assert found[first].fields["notes_translated"] == {"fr": "Routes"}
    assert found[first].resources[0]["name"] == "Datei"
    assert found[second].fields["title"] == "Straßen"


def test_what_a_portal_has_from_here_is_not_copied(portal: PortalServer) -> None:
    first = Crawled(portal, own_datasets=[any_id(portal)])
    own = f"{portal.url}/dataset/{any_id(portal)}"
    assert len(first.names()) == 11 and own not in first.end.containers.listed
    assert first.end.not_harvested[OF_THIS_SITE].examples == [own]
    # The portal harvests this site as well: it has the package that became of one of its own datasets.
    copied = [replace(one, package_id=any_id(portal, 3)) for one in first.records()[:1]]
    second = Crawled(portal, known=copied)
    assert second.end.not_harvested[OF_THIS_SITE].count == 1 and not second.deleted()


def test_an_organization_of_a_filter_that_is_renamed_loses_nothing(portal: PortalServer) -> None:
    portal.add("other", owner="state")
    both = {"organizations_filter_include": ("city", "state")}
    first = Crawled(portal, own=both)
    portal.organization("state")["name"] = "land"
    second = Crawled(portal, first, own=both)
    assert not second.deleted()
    assert '"organizations_filter_include" names "state", and the portal has none' in second.errors


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        ({"organizations_filter_include": ("city", "state")}, {"a", "b"}),
        ({"organizations_filter_include": ("city",), "groups_filter_include": ("air",)}, {"a"}),
        ({"organizations_filter_exclude": ("city",)}, {"b", "c", "d"}),
        ({"groups_filter_include": ("air",), "organizations_filter_exclude": ("land",)}, {"a"}),
    ],
)
def test_filters(chosen: dict[str, tuple[str, ...]], names: set[str]) -> None:
    air = [{"id": "3f2504e0-4f89-41d3-9a0c-0305e82c3301", "name": "air", "title": "Air"}]
    with PortalServer() as portal:
        portal.add("a", owner="city", groups=air)
        portal.add("b", owner="state")
        portal.add("c", owner="land", groups=air)
        portal.add("d", owner=None)
        found = Crawled(portal, own=chosen)
    assert not found.errors and set(found.names()) == names


# Faults at every place


def _result(result: bytes) -> Callable[[], faults.Fault]:
    return lambda: faults.Body(b'{"success": true, "result": %s}' % result)


ANSWERS: dict[str, Callable[[], faults.Fault]] = {
    **{row.name: row.fault for row in (*FEW, *REFUSED, *GONE)},
    "400": lambda: faults.Status(code=400),
    "HTML": faults.html,
    "a login page": lambda: faults.Redirect("/login"),
    "null": lambda: faults.Body(b"null"),
    "no success": lambda: faults.Body(b'{"success": false}'),
    "another charset": lambda: faults.Body('{"success": "\xf6"}'.encode("latin-1")),
    "null as result": _result(b"null"),
    "no lists": _result(b'{"count": 1}'),
    "an empty list": _result(b'{"count": 0, "results": []}'),
    "a short list": _result(b'{"count": 12, "results": []}'),
    "others": _result(b'{"count": 1, "results": [{"id": "x"}]}'),
    "twice the same": _result(b'{"count": 2, "results": [{"id": "x"}, {"id": "x"}]}'),
    "no ids": _result(b'{"count": 1, "results": [{}]}'),
    "endless JSON": lambda: faults.EndlessBody(chunk=b"[" * 50_000),
}
SLOW = {row.name for row in FEW if row.slow}


@pytest.mark.parametrize("fault", ANSWERS)
def test_a_fault_anywhere_lets_nothing_go(portal: PortalServer, fault: str) -> None:
    """A fault at any request of a job, or at all that follow: no record that is there is let go."""
    portal.rows_max = 4
    first = Crawled(portal)
    portal.change(any_id(portal, 2), title="Another title")
    limits = HURRIED if fault in SLOW else LIMITS
    for place in range(6):
        only = place % 2 == 0
        count = iter(range(10_000))
        portal.faults = {"/login": faults.html()}
        portal.faults[_from(count, place, only=only)] = ANSWERS[fault]()
        assert not Crawled(portal, first, limits=limits).deleted(), place


def _from(count: Any, place: int, *, only: bool) -> Callable[[Request], bool]:
    def strikes(request: Request) -> bool:
        number = next(count)
        return number == place if only else number >= place

    return strikes


@pytest.mark.parametrize(
    ("lie", "words"),
    [
        ({"claimed": 99}, "the number of its records changes"),
        ({"claimed": 5}, "the number of its records changes"),
        ({"claimed": 4, "rows_max": 4}, "the number of its records changes"),
        *(({"claimed": value}, "does not say how many") for value in (-1, "12", True)),
        ({"ignores_sort": True}, "do not come in the order of their ids"),
        ({"ignores_range": True, "rows_max": 5}, "its pages do not meet"),
        ({"rows_max": 1}, "its pages list 1"),
        ({"rows_max": 0}, "its pages list 0"),
    ],
    ids=str,
)
def test_a_count_that_does_not_agree_lets_nothing_go(
    portal: PortalServer, lie: dict[str, Any], words: str
) -> None:
    first = Crawled(portal)
    portal.unindexed = {any_id(portal)}
    for name, value in lie.items():
        setattr(portal, name, value)
    second = Crawled(portal, first)
    assert words in second.errors and not second.deleted() and not second.held()


# Identity


@pytest.mark.parametrize("before", ["https://old.example.org/data", "https"])
def test_a_portal_that_moves_keeps_its_records(portal: PortalServer, before: str) -> None:
    """It has deleted one since. A server that turned to https has the same records, too.

    Another server may never have had that one: only two whole lists that leave it out prove anything.
    """
    first = Crawled(portal)
    gone, hidden = any_id(portal), any_id(portal, 2)
    del portal.datasets[gone]
    portal.unindexed = {hidden}
    is_same = before == "https"
    if is_same:
        before = portal.url.replace("http:", "https:")
    elsewhere = [
        KnownRecord(one.url.replace(portal.url, before), one.guid, one.catalog_url)
        for one in first.records()
    ]
    second = Crawled(portal, known=elsewhere)
    assert second.deleted() == [f"{before}/dataset/{gone}"] * is_same
    assert second.held() == [f"{before}/dataset/{hidden}"]
    assert not second.errors


# Organizations


def containers_of(found: Crawled) -> dict[str, str]:
    """Return the container of each dataset, by the dataset's id."""
    return {one.seen.url.rpartition("/")[2]: min(one.seen.listed_in) for one in found.crawled}


def test_a_renamed_organization_stays_the_same(portal: PortalServer) -> None:
    """Its other datasets are not read: they stay where they are."""
    first = Crawled(portal, organizations=True)
    city = portal.organization("city")
    city["name"] = "town"
    portal.change(any_id(portal))
    second = Crawled(portal, first, organizations=True)
    (organization,) = second.end.organizations.values()
    assert organization.name == "town"
    assert not second.errors and not second.deleted() and len(second.names()) == 1
    assert second.end.containers.catalogs == {f"{portal.url}/organization/{city['id']}"}
    third = Crawled(portal, second, organizations=True)
    assert containers_of(third) == containers_of(first) and third.names() == []
    assert third.end.containers.catalogs == second.end.containers.catalogs


def test_a_dataset_moves_to_another_organization(portal: PortalServer) -> None:
    first = Crawled(portal, organizations=True)
    moved = any_id(portal)
    portal.move(moved, "state")
    second = Crawled(portal, first, organizations=True)
    state = f"{portal.url}/organization/{portal.organization('state')['id']}"
    assert containers_of(second) == containers_of(first) | {moved: state}
    assert len(second.names()) == 1
    assert not Crawled(portal, second, organizations=True).names()


def test_an_organization_is_as_the_dataset_describes_it_that_changed_last(
    portal: PortalServer,
) -> None:
    """The index has it as it was when each dataset was indexed."""
    city = portal.organization("city")
    for number in (2, 7, 4):
        portal.change(any_id(portal, number), organization={**city, "title": f"Title {number}"})
    found = Crawled(portal, organizations=True)
    (organization,) = found.end.organizations.values()
    assert organization.fields["title"] == "Title 4"


def test_a_dataset_that_does_not_describe_its_organization_stays_there(
    portal: PortalServer,
) -> None:
    """As CKAN shows a dataset of an organization that was deleted."""
    first = Crawled(portal, organizations=True)
    portal.change(any_id(portal), organization=None)
    second = Crawled(portal, first, organizations=True)
    assert not second.errors and len(second.names()) == 1
    assert containers_of(second) == containers_of(first)
    # Under another spelling of its URL, too.
    records = [replace(one, url=one.url.replace("http:", "https:")) for one in first.records()]
    respelled = Crawled(portal, known=records, organizations=True)
    assert not respelled.errors and containers_of(respelled) == containers_of(first)
    # Nothing is known of it.
    third = Crawled(portal, organizations=True)
    assert len(third.names()) == 11 and "the portal gives the organization no name" in third.errors


def test_an_organization_keeps_its_datasets_when_another_gets_its_name(
    portal: PortalServer,
) -> None:
    first = Crawled(portal, organizations=True)
    city = portal.organization("city")
    portal.organizations["other"] = {**city, "id": "other"}
    city["name"] = "town"
    new = portal.add(
        "new", owner=None, owner_org="other", organization=portal.organizations["other"]
    )
    for before in (first, None):
        second = Crawled(portal, before, organizations=True)
        assert not second.errors and not second.deleted()
        containers = containers_of(second)
        assert containers.pop(new["id"]) == f"{portal.url}/organization/other"
        assert {*containers.values()} == {f"{portal.url}/organization/{city['id']}"}
        assert len(second.end.containers.catalogs) == 2


PATHS = ["", "/", "/api", "/api/3", "/api/3/", "/api/3/action/", "/api/3/action/package_search"]


@pytest.mark.parametrize("path", [*PATHS, "/api/action/package_list/", "/dataset", "/dataset/"])
def test_a_site_and_its_api_are_the_same_source(path: str) -> None:
    site = site_of(f"https://someone:secret@example.org:8443/x{path}")
    assert site.url == "https://someone:secret@example.org:8443/x"
    assert site.url_of("dataset", "a b/c") == "https://example.org:8443/x/dataset/a%20b%2Fc"


def test_too_many_records(portal: PortalServer) -> None:
    portal.rows_max = 3
    found = Crawled(portal, max_records=5)
    assert "more than max_records (5)" in found.errors and found.end.containers.unproved


def test_a_dataset_without_a_list_of_resources_is_not_read(portal: PortalServer) -> None:
    portal.change(any_id(portal), resources=None)
    assert "no list of resources" in Crawled(portal).errors


def test_odd_values_cost_no_dataset(portal: PortalServer) -> None:
    portal.datasets[any_id(portal)]["resources"][0]["url"] = "//[x"
    portal.change(
        any_id(portal, 2), type=[], organization={"name": []}, groups=[{"id": "g", "name": {}}]
    )
    portal.change(any_id(portal, 3), tags=["roads", {"name": "rivers"}, {"name": []}, None])
    found = Crawled(portal)
    assert not found.errors and found.names() == NAMES
    assert found.contents()[any_id(portal, 3)].tags == ["rivers", "roads"]
