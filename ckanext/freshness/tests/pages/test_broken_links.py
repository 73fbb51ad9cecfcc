"""Broken links by server, and their repair."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from bs4 import BeautifulSoup
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.aging.status import Status
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.model import ResourceCheck
from ckanext.freshness.runs import requested
from ckanext.freshness.tests.checking.test_formats import PAGE
from ckanext.freshness.tests.pages.conftest import Get, Read
from ckanext.freshness.tests.pages.datasets import break_link, make_dataset
from ckanext.freshness.tests.pages.reports import add_source, rows_of, text_of
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Answer
from ckanext.freshness.tests.web.support import FileServer

NOW = datetime.now(timezone.utc).replace(tzinfo=None, microsecond=0)
NIGHT = NOW - timedelta(days=9)
GONE, AWAY = ({"status": 404}, {"status": None, "reason": "name not found"})

LINKS: dict[str, tuple[str, datetime, dict[str, Any]]] = {
    # The private dataset's link is of the night of the others.
    "wells": ("old.example.org", NIGHT, GONE),
    "camps": ("old.example.org", NIGHT + timedelta(hours=3), GONE),
    "secret": ("old.example.org", NIGHT, GONE),
    "roads": ("old.example.org", NIGHT, AWAY),
    "rain": ("rain.example.org", NIGHT, GONE),
    "snow": ("rain.example.org", NIGHT - timedelta(days=3), GONE),
}
"""Broken links by dataset: the server, since when, and the last answer."""


def make_world() -> dict[str, Any]:
    """Create datasets with a broken link each; an organization has the private one."""
    people: dict[str, Any] = {
        "nobody": None,
        "editor": dict(factories.UserWithToken()),
        "stranger": dict(factories.UserWithToken()),
        "sysadmin": dict(factories.SysadminWithToken()),
    }
    factories.Organization(
        name="relief", users=[{"name": people["editor"]["name"], "capacity": "editor"}]
    )
    factories.Organization(name="roads")
    for name, (host, since, answer) in LINKS.items():
        owner = "roads" if name == "snow" else "relief"
        dataset = make_dataset(Status.FRESH, name, owner_org=owner, private=name == "secret")
        attempt = {"outcome": "error", "words": "failed", **answer}
        break_link(dataset, host=host, failing_since=since, attempts=[attempt])
    return people


def groups_of(page: BeautifulSoup) -> dict[str, set[str]]:
    """Return the datasets of each group by its words."""
    return {
        text_of(group.summary): {
            str(link["href"]).split("/")[2] for link in group.select("small a")
        }
        for group in page.select("details[id^=server]")
    }


def night(days: int = 0) -> str:
    return f"{NIGHT - timedelta(days=days):%-d %b}"


def test_servers_of_the_readers_own_links_come_first(read: Read, world: dict[str, Any]) -> None:
    made = factories.Dataset(
        name="bulk",
        owner_org="roads",
        resources=[{"url": f"http://bulk.example.org/{number}"} for number in range(5)],
    )
    for resource in made["resources"]:
        break_link({**made, "resources": [resource]}, host="bulk.example.org")
    for who, first in (("nobody", "bulk"), ("editor", "old"), ("sysadmin", "bulk")):
        servers = list(groups_of(read("/freshness/links/servers", who)))
        assert servers[0].startswith(f"{first}.example.org"), who


@pytest.mark.parametrize("who", ["nobody", "stranger", "editor", "sysadmin"])
def test_links_of_one_server_are_together(
    read: Read, get: Get, world: dict[str, Any], who: str
) -> None:
    page = read("/freshness/links/servers", who)
    sees_all = who in ("editor", "sysadmin")
    number = 4 if sees_all else 3
    several = "links on this server have failed"
    assert groups_of(page) == {
        f"old.example.org {number} {several} since the same night ({night()}). "
        "Most often: The file is gone (404 Not Found).": {
            "wells",
            "camps",
            "roads",
            *["secret"] * sees_all,
        },
        f"rain.example.org 2 {several}, the first since {night(3)}, the last since {night()}. "
        "The file is gone (404 Not Found).": {"rain", "snow"},
    }
    # Each link of the list is in one group, and has one row in the files.
    link = page.select_one('a[href*="links.csv"]')
    assert link is not None
    rows = rows_of(get(f"{str(link['href']).partition('&bom')[0]}", who))
    assert sorted(row["name"] for row in rows) == sorted(
        name for names in groups_of(page).values() for name in names
    )


# Repairs. Each test has links of a server of its own.


@pytest.fixture(scope="module")
def server() -> Iterator[FileServer]:
    """A server that has a table at every path, unless a test says otherwise."""
    with FileServer() as running:
        yield running


def link_of(name: str, url: str, owner: str = "relief", **known: Any) -> dict[str, Any]:
    """Create a dataset whose only link is checked; by default, it is broken."""
    private = known.pop("private", False)
    title = f"About {name}"
    dataset = make_dataset(
        Status.FRESH, name, title=title, url=url, owner_org=owner, private=private
    )
    host = url.split("/")[2].partition(":")[0]
    break_link(dataset, **{"host": host, "attempts": [{"outcome": "error", **GONE}], **known})
    return dict(dataset["resources"][0])


WORKS: dict[str, Any] = {
    "failures": 0,
    "failing_since": None,
    "failed_at": None,
    "succeeded_at": NOW,
    "attempts": [{"outcome": "same hash", "status": 200}],
}


def suggested(read: Read, user: Any, link: dict[str, Any]) -> dict[str, str]:
    """Return the addresses that are suggested for a link, with their reasons."""
    page = read(f"/freshness/links/servers?q={link['url'].split('/')[2].partition(':')[0]}", user)
    buttons = page.select(f'input[name="use:{link["id"]}"]')
    forms = [button.find_parent(class_="fr-actions") for button in buttons]
    return {str(form.a["href"]): text_of(form.small) for form in forms if form and form.a}


def use(read: Read, user: Any, **addresses: str) -> dict[str, str]:
    """Use addresses for links, and return what became of each."""
    data = {f"use:{id_}": url for id_, url in addresses.items()}
    page = read("/freshness/links/repair?organization=relief", user, data=data)
    # Who came from a part of the list gets back to it.
    assert page.select("a.btn[href='/freshness/links/servers?organization=relief']")
    rows = page.select(".fr-rows > li")
    return {str(row.a["href"]).rpartition("/")[2]: text_of(row.p) for row in rows if row.a}


def stored(link: dict[str, Any]) -> str:
    model.Session.expire_all()
    return str(call_action("resource_show", id=link["id"])["url"])


def test_addresses_are_suggested_with_their_reasons(
    read: Read, world: dict[str, Any], server: FileServer
) -> None:
    link_of(
        "mended",
        f"{server.url}/files/2025/b.csv",
        **WORKS,
        url_before="http://n.example/data/b.csv",
    )
    link_of(
        "moved", "http://n.example/maps/c.csv", **WORKS, moved_to="https://maps.example/all/c.csv"
    )
    link_of("twin", f"{server.url}/same.csv", **WORKS, known={"hash": "sha256:1"})
    data, maps, lost = (
        link_of("n-data", "http://n.example/data/a.csv", known={"hash": "sha256:1"}),
        link_of("n-maps", "http://n.example/maps/2/d.csv", moved_to="https://own.example/d.csv"),
        link_of("n-port", "http://n.example:8080/e.csv"),
    )
    editor = "editor"
    over_tls = "The same address with https. The server may have changed to it."
    assert suggested(read, editor, data) == {
        f"{server.url}/files/2025/a.csv": "Other links of this server moved in this way, such as one of "
        "About mended.",
        f"{server.url}/same.csv": "The dataset About twin has the same file.",
        "https://n.example/data/a.csv": over_tls,
    }
    assert list(suggested(read, editor, maps)) == [
        "https://own.example/d.csv",
        "https://maps.example/all/2/d.csv",
        "https://n.example/maps/2/d.csv",
    ]
    assert suggested(read, editor, lost) == {}
    for who in ("nobody", "stranger"):
        assert suggested(read, who, maps) == {}


def test_an_address_is_saved_only_after_a_check_that_finds_a_file(
    read: Read, world: dict[str, Any], server: FileServer, impatient_checks: None, monkeypatch: Any
) -> None:
    large = b"week,rain\n" * 1000
    monkeypatch.setattr(requested, "_LEAST", len(large) // 2)
    monkeypatch.setattr(requested, "SECONDS", 8.0)
    csv = {"Content-Type": "text/csv"}
    server.files |= {
        "/large.csv": Answer(200, large, csv),
        "/gone.csv": Answer(404, b"", {}),
        "/fault.csv": Answer(500, b"", {}),
        "/blocked.csv": Answer(403, b"", {}),
        "/page.csv": Answer(200, PAGE, {"Content-Type": "text/html"}),
        "/empty.csv": Answer(200, b"", csv),
    }
    server.faults["/slow.csv"] = faults.Hang()
    server.faults["/to-page.csv"] = faults.Redirect(to="/page.csv", code=301)
    server.faults["/cut.csv"] = faults.Truncate()
    good = {"/good.csv", "/large.csv"}
    paths = [*sorted(good), *sorted(server.files.keys() - good), *server.faults]
    links = {path: link_of(f"u-{n}", f"http://u.example/{n}.csv") for n, path in enumerate(paths)}
    links["nonsense"] = link_of("u-nonsense", "http://u.example/nonsense.csv")
    links["inside"] = link_of("u-inside", "http://u.example/inside.csv")
    addresses = {path: f"{server.url}{path}" for path in paths}
    addresses |= {"nonsense": "not a web address", "inside": "http://10.1.2.3/a.csv"}
    before = checks_stored()
    told = use(read, "editor", **{links[key]["id"]: url for key, url in addresses.items()})
    assert checks_stored() == before
    assert len(told) == len(links)
    for key, link in links.items():
        is_good = key in good
        words = told[link["id"]]
        assert words.startswith("Saved. The link works." if is_good else "Not saved. "), (
            key,
            words,
        )
        assert stored(link) == (addresses[key] if is_good else link["url"]), key
    said = {key: told[links[key]["id"]].removeprefix("Not saved. ") for key in links}
    assert said["/gone.csv"] == "The file is gone (404 Not Found)."
    assert said["/slow.csv"] in (
        "The link couldn't be tested now. Try again later.",
        "The server took too long to answer.",
    )
    assert said["inside"].startswith("The link leads into a private network")
    assert said["/page.csv"] == said["/to-page.csv"]


def checks_stored() -> list[Any]:
    model.Session.expire_all()
    table = ResourceCheck.__table__
    return list(model.Session.execute(table.select().order_by(table.c.resource_id)))


def test_only_broken_links_of_editors_are_changed(
    read: Read, world: dict[str, Any], server: FileServer, impatient_checks: None
) -> None:
    good = f"{server.url}/good.csv"
    works = link_of("v-works", "http://v.example/works.csv", **WORKS)
    other = link_of("v-other", "http://v.example/other.csv", "roads")
    secret = link_of("v-secret", "http://v.example/secret.csv", "roads", private=True)
    own = link_of("v-own", "http://v.example/own.csv")
    chosen = {one["id"]: good for one in (works, other, secret, own)}
    asked = server.count()
    for who, said in {"stranger": "you may not edit them", "nobody": "not logged in"}.items():
        data = {f"use:{id_}": url for id_, url in chosen.items()}
        page = read("/freshness/links/repair?organization=relief", who, data=data)
        assert "Nothing was changed:" in text_of(page) and said in text_of(page)
        assert who == "nobody" or page.select(
            "a[href='/freshness/links?state=broken&organization=relief']"
        )
    assert server.count() == asked
    told = use(read, "editor", unknown=good, **chosen)
    assert {id_: words.partition(".")[0] for id_, words in told.items()} == {
        works["id"]: "Not saved",
        own["id"]: "Saved",
    }
    assert [stored(one) for one in (works, other, secret, own)] == [
        *(one["url"] for one in (works, other, secret)),
        good,
    ]


def test_private_links_give_no_hints_to_others(read: Read, world: dict[str, Any]) -> None:
    hints: dict[str, dict[str, Any]] = {
        "moved": {"moved_to": "https://hidden.example/b.csv"},
        "mended": {"url_before": "http://y.example/b.csv"},
        "twin": {"known": {"hash": "sha256:y"}},
    }
    for kind, known in hints.items():
        link_of(
            f"y-{kind}", f"http://y.example/{kind}.csv", "roads", private=True, **WORKS, **known
        )
    # Others may see this dataset, but not the password in its link.
    link_of("y-password", "http://me:word@other.example/c.csv", **WORKS, known={"hash": "sha256:y"})
    link = link_of("y-own", "http://y.example/a.csv", known={"hash": "sha256:y"})
    over_tls = {"https://y.example/a.csv"}
    assert suggested(read, "editor", link).keys() == over_tls
    assert suggested(read, "sysadmin", link).keys() > over_tls


def test_harvested_links_are_for_their_source(
    read: Read, world: dict[str, Any], server: FileServer, impatient_checks: None
) -> None:
    link = link_of("z-own", "http://z.example/a.csv", moved_to="https://new.example/a.csv")
    dataset = call_action("package_show", id=link["package_id"])
    root = world["sysadmin"]
    add_source("harvested", root["name"], "relief", datasets=[dataset])
    assert suggested(read, "editor", link) == {}
    page = read("/freshness/links/servers?q=z.example", "editor")
    assert "can be corrected only there" in text_of(page)
    assert not page.select('a[href$="/edit#field-resource-url"]')
    told = use(read, "editor", **{link["id"]: f"{server.url}/good.csv"})
    assert told[link["id"]].startswith("Not saved. The next harvest would overwrite")
    assert stored(link) == link["url"]
    page = read("/freshness/links/servers?q=z.example", "stranger")
    assert "can be corrected only there" not in text_of(page)


# The form of a resource, and the page after it.
