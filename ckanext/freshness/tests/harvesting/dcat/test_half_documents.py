"""Half documents: a file that is being written, an answer that was broken off. They take nothing away."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from aiohttp import web
from ckan.tests.helpers import call_action
from rdflib import RDF, URIRef

from ckanext.freshness.harvesting.brake import BrakeLimits
from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.tests.harvesting.conftest import add_source, stored, sysadmin
from ckanext.freshness.tests.harvesting.dcat.crawling import CatalogueSite
from ckanext.freshness.tests.harvesting.fdp.crawling import DAY, NOW, unchanged
from ckanext.freshness.tests.servers.base import Exchange
from ckanext.freshness.tests.servers.catalogue import DCAT, MEDIA_TYPES, CatalogueServer
from ckanext.freshness.tests.servers.faults import Body, Cut, Fault, Raw, Status, Truncate, written

COUNT = 12
LAST = "008"
"""The dataset in which the document ends: it has its title and type, and no distribution."""
TYPE = f">{RDF.type.n3()}"
CHANGED, DELETED, UNCHANGED = RecordClass.CHANGED, RecordClass.DELETED, RecordClass.UNCHANGED


@pytest.fixture
def server() -> Iterator[CatalogueServer]:
    with CatalogueServer(COUNT, form="nt") as running:
        yield running


def half(server: CatalogueServer, page: int = 1, last: str = LAST) -> bytes:
    """Return the beginning of the catalogue in N-Triples: whole lines, up to the type of the last dataset."""
    form, server.form = server.form, "nt"
    lines = sorted(server.page(page).body.splitlines(keepends=True), key=place)
    server.form = form
    (end,) = (number for number, line in enumerate(lines) if place(line) == (last, TYPE))
    return b"".join(lines[: end + 1])


def place(line: bytes) -> tuple[str, str]:
    """Return the dataset that a triple describes, "" for the catalogue, and the triple's predicate."""
    subject, predicate, _ = line.decode().split(" ", 2)
    found = re.search(r"/(dataset|files)/([0-9]+)(.*)", subject)
    return (found[2], found[3] + predicate) if found else ("", predicate)


def answer(body: bytes) -> bytes:
    """Return an answer without a length as bytes."""
    head = ["HTTP/1.1 200 OK", "Content-Type: application/n-triples", "Connection: close"]
    return "\r\n".join([*head, "", ""]).encode() + body


def turtle(server: CatalogueServer) -> Body:
    """Turtle that ends behind a dataset."""
    server.form = "turtle"
    body = server.page(1).body
    return Body(body[: body.index(b" .\n", len(body) // 3) + 3])


def cut(form: str) -> Callable[[CatalogueServer], Fault]:
    def made(server: CatalogueServer) -> Fault:
        server.form = form
        return Cut(0.9)

    return made


HALVES: dict[str, Callable[[CatalogueServer], Fault]] = {
    "N-Triples, whole lines": lambda server: Body(half(server)),
    "N-Triples, a part of a line": lambda server: Body(half(server)[:-20]),
    "Turtle, whole datasets": turtle,
    **{f"{form}, cut": cut(form) for form in MEDIA_TYPES},
    "206": lambda server: Status(206, half(server), {"Content-Type": "application/n-triples"}),
    "broken off": lambda server: Truncate(0.9),
}


@pytest.mark.parametrize("name", HALVES)
def test_half_a_document_takes_nothing_away(server: CatalogueServer, name: str) -> None:
    fault = HALVES[name](server)
    site = CatalogueSite(server)
    site.job()
    before = dict(site.packages)
    server.faults["/catalog"] = fault
    site.job()
    site.job(NOW + timedelta(hours=19))
    assert site.packages == before
    del server.faults["/catalog"]
    assert site.job(NOW + timedelta(hours=20)).of(UNCHANGED) == server.iris()


def test_nothing_but_the_end_is_missing(server: CatalogueServer) -> None:
    """All datasets are there: only that no end was stated says that the last one may be cut."""
    site = CatalogueSite(server)
    site.job()
    before = dict(site.packages)
    server.faults["/catalog"] = Raw(answer(half(server, last=f"{COUNT - 1:03}")))
    job = site.job()
    assert job.errors == [] and len(job.warnings) == 1
    assert site.packages == before


def lose(server: CatalogueServer) -> None:
    server.entries[0] = dataclasses.replace(server.entries[0], files=())


def gain(server: CatalogueServer) -> None:
    files = ("data.csv", "more.csv")
    server.entries[1] = dataclasses.replace(server.entries[1], title="Another", files=files)


class Endless(Fault):
    """The healthy body, without a length."""

    async def respond(self, exchange: Exchange) -> web.StreamResponse:
        return written(exchange, answer(exchange.healthy().body))


@pytest.mark.parametrize("doubt", ["no end", "total"])
def test_a_catalogue_that_never_proves_itself_whole(server: CatalogueServer, doubt: str) -> None:
    """What it states is taken at once, what it no longer states by a second job."""
    if doubt == "no end":
        server.faults["/catalog"] = Endless()
    else:
        server.page_size, server.total = 100, "99"
    site = CatalogueSite(server)
    site.job()
    gain(server)
    assert site.job().of(CHANGED) == {server.iri("001")}
    lose(server)
    for hours in (0, 19):
        job = site.job(NOW + timedelta(hours=hours))
        assert job.of(UNCHANGED) == server.iris()
        (change,) = [one for one in job.changes.values() if one.incomplete_since]
        assert change.url == server.iri("000") and "it lacks resource data.csv" in str(
            change.reason
        )
        assert change.crawled is not None and change.crawled.warnings == [str(change.reason)]
    assert site.job(NOW + timedelta(hours=20)).of(CHANGED) == {server.iri("000")}
    assert site.job(NOW + timedelta(hours=20)).of(UNCHANGED) == server.iris()


def test_a_whole_catalogue_loses_at_once(server: CatalogueServer) -> None:
    site = CatalogueSite(server)
    site.job()
    lose(server)
    assert site.job().of(CHANGED) == {server.iri("000")}


def only_named(server: CatalogueServer, key: str) -> None:
    """List a dataset, and describe it no more."""
    server.entries = [one for one in server.entries if one.key != key]
    server.extra.add((URIRef(f"{server.url}/"), DCAT.dataset, URIRef(server.iri(key))))


def refused(server: CatalogueServer, key: str) -> None:
    """Leave most datasets out, and refuse their own documents: none of them is ever gone."""
    server.entries, away = server.entries[:5], server.entries[5:]
    server.faults |= {f"/dataset/{one.key}": Status(403) for one in away}


MISSING: dict[str, Callable[[CatalogueServer, str], None]] = {
    "only named": only_named,
    "refused": refused,
}


@pytest.mark.parametrize("name", MISSING)
def test_a_record_that_is_missing_for_days_delays_no_other(
    server: CatalogueServer, name: str
) -> None:
    """It may be the place at which the document is cut, but only for so long."""
    site = CatalogueSite(server)
    site.job()
    MISSING[name](server, "011")
    lose(server)
    assert site.job().of(CHANGED) == set()
    assert site.job(NOW + DAY).of(CHANGED) == {server.iri("000")}
    for number in (1, 2):
        server.entries[number] = dataclasses.replace(server.entries[number], files=())
        assert site.job(NOW + DAY).of(CHANGED) == {server.iri(f"00{number}")}
    assert server.iri("011") in site.packages


def test_the_end_of_a_cut_document_moves_on(server: CatalogueServer) -> None:
    """The dataset in which it is cut now was missing for days: it loses nothing at once."""
    site = CatalogueSite(server, brake=BrakeLimits(deletes=False))
    site.job()
    whole = server.unlisted = server.entries
    server.entries = whole[:5]
    site.job()
    site.job(NOW + DAY)
    server.entries = [*whole[:5], dataclasses.replace(whole[5], files=())]
    assert site.job(NOW + DAY).of(CHANGED) == set()
    assert site.job(NOW + 2 * DAY).of(CHANGED) == {server.iri("005")}


@pytest.mark.usefixtures("clean_site")
def test_a_catalogue_is_whole_cut_and_whole_again(server: CatalogueServer) -> None:
    harvest = add_source(server.source_url, source_type="dcat_catalog")
    harvest.run()
    before = harvest.datasets()
    server.faults["/catalog"] = Body(half(server))
    for _ in range(2):
        job = harvest.run()
        counted = {"added": 0, "updated": 0, "not modified": 9, "errored": 3, "deleted": 0}
        assert job.stats == counted
        (warning,) = job.warnings[server.iri(LAST)]
        assert "it lacks resource data.csv; a job after" in warning
        (said,) = [one for one in harvest.preview().changes[UNCHANGED] if "lacks" in one.reason]
        assert said.url == server.iri(LAST) and "it lacks resource data.csv" in said.reason
        assert harvest.datasets() == before
    del server.faults["/catalog"]
    assert harvest.run().stats["not modified"] == COUNT
    assert harvest.datasets() == before
    # The time of another cut begins anew.
    harvest.wait_a_day()
    server.faults["/catalog"] = Body(half(server))
    assert harvest.run().stats["updated"] == 0


@pytest.mark.usefixtures("clean_site")
@pytest.mark.parametrize("restored", [False, True])
def test_a_dataset_that_was_deleted_comes_back_at_once(
    server: CatalogueServer, restored: bool
) -> None:
    """What it had is lost already: nothing waits for it. What a user has restored keeps its description."""
    server.entries[-1] = dataclasses.replace(server.entries[-1], description="All of it.")
    harvest = add_source(server.source_url, source_type="dcat_catalog", delete_unlisted=True)
    harvest.run()
    back = server.entries.pop()
    url = server.iri(back.key)
    package_id = harvest.datasets()[url]["id"]
    assert harvest.two_jobs().stats["deleted"] == 1
    if restored:
        call_action("package_patch", {"user": sysadmin()}, id=package_id, state="active")
    server.entries.append(dataclasses.replace(back, description=""))
    server.faults["/catalog"] = Endless()
    assert harvest.run().stats["not modified"] == COUNT - 1 + restored
    assert bool(stored(package_id)["notes"]) == restored
    harvest.wait_a_day()
    assert harvest.run().stats["updated"] == restored
    after = harvest.datasets()[url]
    assert (after["id"], after["notes"]) == (package_id, None)


def test_a_catalogue_that_stays_cut(server: CatalogueServer) -> None:
    """An editor approves the deletions. The dataset in which it is cut changes a day later."""
    site = CatalogueSite(server)
    site.job()
    last = server.entries.index(next(one for one in server.entries if one.key == LAST))
    server.unlisted, server.entries = server.entries[last + 1 :], server.entries[: last + 1]
    server.entries[last] = dataclasses.replace(server.entries[last], files=())
    site.job()
    site.release()
    job = site.job()
    assert (len(job.of(DELETED)), job.of(CHANGED)) == (COUNT - last - 1, set())
    assert site.job(NOW + DAY).of(CHANGED) == {server.iri(LAST)}
    assert site.packages[server.iri(LAST)].resources == []
    unchanged(site)
