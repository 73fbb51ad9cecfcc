"""What a list proves, as it is served: whether the datasets that it leaves out are gone.

The same bytes are served to a source of each type that reads RDF. Six datasets were harvested; then the list
leaves some out, whose own URLs cannot tell, or answer in all kinds of ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from ckanext.freshness.harvesting.source_config import SourceConfig
from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.tests.harvesting.ckan.conftest import Crawled
from ckanext.freshness.tests.harvesting.dcat.crawling import CatalogueSite
from ckanext.freshness.tests.harvesting.fdp.crawling import DAY, NOW, Job, Site
from ckanext.freshness.tests.harvesting.served_lists import PREFIXES, TURTLE, Documents, datasets
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Answer
from ckanext.freshness.tests.servers.ckan_portal import PortalServer

DELETED = RecordClass.DELETED

GONE = "deleted by this job"
LATER = "deleted by a job a day later"
HELD = "held until an editor approves"
KEPT = "kept"

ALL = (1, 2, 3, 4, 5, 6)
FIVE = datasets(1, 2, 3, 4, 5)
NAMES = "".join(f"<> dcat:dataset <d/{number}> .\n" for number in range(1, 6))
PAGES = (datasets(1, 2), datasets(3, 4), datasets(5, 6))

Serve = Callable[[Documents], object]


@dataclass(frozen=True)
class Row:
    """A list as it is served, and its verdict about the datasets that it leaves out."""

    serve: Serve
    verdict: str
    words: str = ""
    """In the job's errors; "" if it has none."""
    dcat: tuple[str, str] | None = None
    """Verdict and words for a DCAT catalogue, if they are others than for a FAIR Data Point."""
    before: tuple[str, ...] = (datasets(*ALL),)
    """The pages of the list when it was harvested."""
    left_out: tuple[int, ...] = (6,)
    own: int = 500
    """What the own URLs of these answer."""


def pages(*texts: str, total: int | None = None) -> Serve:
    return lambda server: server.pages(*texts, total=total)


def page(text: str, **headers: str) -> Serve:
    return lambda server: server.publish("/c", text, **headers)


def paged(target: str, text: str, **headers: str) -> Serve:
    """Serve the pages as before, but for one of them."""

    def serve(server: Documents) -> None:
        server.pages(*PAGES[:2], datasets(5))
        server.publish(target, text, **headers)

    return serve


def linked(statement: str = "", **headers: str) -> Serve:
    """Serve two pages, of which the first leads to the other in this way."""

    def serve(server: Documents) -> None:
        server.publish("/c", datasets(1, 2, 3) + statement, **headers)
        server.publish("/next", datasets(4, 5))

    return serve


def fault(made: Callable[[], faults.Fault], target: str = "/c") -> Serve:
    def serve(server: Documents) -> None:
        server.pages(*PAGES[:2], datasets(5))
        server.faults[target] = made()

    return serve


def meanwhile(then: Serve, *texts: str) -> Serve:
    """Serve pages, and others once the first of them was read."""

    def serve(server: Documents) -> None:
        server.pages(*texts)
        server.faults["/c"] = faults.Meanwhile(act=lambda: then(server), times=1)

    return serve


def lost_link(server: Documents) -> None:
    """Serve a link to a page that fails, and no link any more when the list is read again."""
    server.pages(datasets(1, 2), datasets(3, 4, 5, 6))
    server.files["/c?page=2"] = Answer(503)
    server.faults["/c"] = faults.Meanwhile(act=lambda: server.pages(PAGES[0]), times=1)


def below(answer: Callable[[Documents], Answer], catalog: str = "BASE/b") -> Serve:
    """Serve a list that names a further catalog."""

    def serve(server: Documents) -> None:
        server.publish("/c", f"{FIVE}<> dcat:catalog <{catalog}> . <{catalog}> a dcat:Catalog .")
        server.files["/b"] = answer(server)

    return serve


def endless(server: Documents) -> None:
    """Serve a list that is whole, by a server that does not say so."""
    body = f"{PREFIXES}<> a dcat:Catalog .\n{FIVE}".encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {TURTLE['Content-Type']}\r\nConnection: close\r\n\r\n"
    server.faults["/c"] = faults.Raw(head.encode() + body)


SAME = "".join(
    f"<> dcat:dataset [ a dcat:Dataset ; dct:identifier 'x' ; dct:title '{one}' ] ." for one in "AB"
)
LOOP = "leads to a page that was read before"
OTHER_NEXT = "a document and its Link header name different next pages"
NAMELESS = "it lists 1 record without a URL"

WHOLE: dict[str, Row] = {
    "one document": Row(page(FIVE), LATER),
    "pages": Row(pages(*PAGES[:2], datasets(5)), LATER, before=PAGES),
    "pages and their number of records": Row(
        pages(*PAGES[:2], datasets(5), total=5), LATER, before=PAGES
    ),
    "full pages and their number of records": Row(
        pages(*PAGES[:2], total=4), LATER, before=PAGES, left_out=(5, 6)
    ),
    "fewer records than the first page had": Row(
        page(datasets(1, 2, 3)), LATER, before=(datasets(1, 2, 3, 4), PAGES[2]), left_out=(4, 5, 6)
    ),
    "as many as the first page had, and a number of records": Row(
        page(PAGES[0] + "<> hydra:totalItems 2 ."), LATER, before=PAGES, left_out=(3, 4, 5, 6)
    ),
    "next: Link": Row(linked(Link='<BASE/next>; REL="Next"'), LATER),
    "next: Link with IANA's URL": Row(
        linked(Link='<BASE/next>; rel="http://www.iana.org/assignments/relation/next"'), LATER
    ),
    "next: Link with Hydra's URL": Row(
        linked(Link='<BASE/next>; rel="http://www.w3.org/ns/hydra/core#next"'), LATER
    ),
    "next: Hydra": Row(linked("<#v> hydra:next <BASE/next> ."), LATER),
    "next: Hydra of before 2014": Row(linked("<#v> hydra:nextPage 'BASE/next' ."), LATER),
    "next: XHTML": Row(
        linked("<#v> <http://www.w3.org/1999/xhtml/vocab#next> <BASE/next> ."), LATER
    ),
    "next: ActivityStreams": Row(
        linked("<#v> <https://www.w3.org/ns/activitystreams#next> <BASE/next> ."), LATER
    ),
    "next: TREE": Row(linked("<#v> <https://w3id.org/tree#node> <BASE/next> ."), LATER),
    "next: LDP": Row(linked("<#v> <http://www.w3.org/ns/ldp#nextPage> <BASE/next> ."), LATER),
    "next and last: one page in different words": Row(
        linked(
            "<> hydra:next <BASE/n%65xt#list> ; hydra:last <BASE/nex%74> .",
            Link='<BASE/next>; rel="next"',
        ),
        LATER,
    ),
    "a malformed link that nobody follows": Row(
        page(FIVE, Link='<http://[bad/x>; rel="describedby", <http://h:port/>; rel="prev"'), LATER
    ),
    "all datasets are named on each page": Row(
        pages(NAMES + datasets(1, 2), NAMES + datasets(3, 4), NAMES + datasets(5), total=5),
        KEPT,
        "lists only records of earlier pages",
        dcat=(LATER, ""),
    ),
    "a catalog that is described in the document": Row(
        page(FIVE + "<> dcat:catalog <b> . <b> a dcat:Catalog ; dcat:dataset <d/1> ."),
        KEPT,
        "/b: It is no longer there (the server answers 404)",
        dcat=(LATER, ""),
    ),
}

NOT_WHOLE: dict[str, Row] = {
    "fewer records than it states": Row(
        pages(FIVE, total=6), KEPT, "it says that it has 6 records, and its pages list 5"
    ),
    "two numbers of records": Row(
        page(FIVE + "<> hydra:totalItems 5, 6 ."), KEPT, "the number of its records changes"
    ),
    "a page that fails": Row(
        fault(lambda: faults.Status(503), "/c?page=2"),
        KEPT,
        "/c?page=2: The server has a fault (503)",
        before=PAGES,
    ),
    "a page that fails until the list is read again": Row(
        fault(lambda: faults.Status(503, times=2), "/c?page=2"),
        KEPT,
        "/c?page=2: The server has a fault (503)",
        before=PAGES,
    ),
    "three pages, and a fault when they are read again": Row(
        fault(lambda: faults.Status(503, after=len(PAGES), times=1)),
        KEPT,
        "The server has a fault (503)",
        before=PAGES,
    ),
    "a page without records": Row(paged("/c?page=3", ""), KEPT, "lists nothing", before=PAGES),
    "no link to the next page": Row(
        page(PAGES[0]), KEPT, "it lists 2 records and names no further pages", before=PAGES
    ),
    "no link to the next page, and a first page": Row(
        page(PAGES[0] + "<> hydra:first <BASE/c> ."), KEPT, "names no further pages", before=PAGES
    ),
    "no link to the next page, which failed before": Row(
        lost_link, KEPT, "it lists 2 records and names no further pages", left_out=(3, 4, 5, 6)
    ),
    "no last page": Row(
        pages(*PAGES[:2]), KEPT, "its last page is as full as those before it", before=PAGES
    ),
    "no last page, which a Link names": Row(
        paged("/c?page=2", PAGES[1], Link='<BASE/c?page=3>; rel="last"'),
        KEPT,
        "its last page",
        before=PAGES,
    ),
    "another next page in the Link": Row(
        paged(
            "/c?page=2",
            PAGES[1] + "<> hydra:next <BASE/c?page=3> .",
            Link='<BASE/c?page=2>; rel="next"',
        ),
        KEPT,
        OTHER_NEXT,
        before=PAGES,
    ),
    "a next page that was read": Row(
        paged("/c?page=2", PAGES[1] + "<> hydra:next <BASE/c> ."), KEPT, LOOP, before=PAGES
    ),
    "a malformed link": Row(
        page(FIVE + '<> hydra:nextPage "http://[x" .'),
        KEPT,
        "its link to another page is malformed",
    ),
    "a link with a NUL": Row(page(FIVE + r'<> hydra:nextPage "?page=\u00002" .'), KEPT, "/c"),
    "a text in place of a URL": Row(page(FIVE + "<> dcat:dataset 'Dataset 6' ."), KEPT, NAMELESS),
    "a URL between line breaks": Row(
        page(FIVE + "<> dcat:dataset <\\u000ABASE/d/6\\u000A> ."), KEPT, NAMELESS
    ),
    "a URL in a text": Row(
        page(FIVE + "<> dcat:dataset ' BASE/d/6 ' ."), KEPT, dcat=(KEPT, NAMELESS)
    ),
    "an identifier in place of a URL": Row(
        page(FIVE + "<> dcat:dataset [ a dcat:Dataset ; dct:identifier 'BASE/d/6' ] ."),
        KEPT,
        NAMELESS,
        dcat=(KEPT, ""),
    ),
    "a dataset without identity": Row(
        page(FIVE + "<> dcat:dataset [ a dcat:Dataset ; dct:title '6' ] ."), KEPT, NAMELESS
    ),
    "two datasets with one identifier": Row(
        page(FIVE + SAME), KEPT, "it lists 2 records without a URL", dcat=(KEPT, NAMELESS)
    ),
    "no end": Row(endless, KEPT, "its server does not say where the document ends"),
    "other URLs, of which none answers": Row(
        page("<> dcat:dataset <x/1>, <x/2>, <x/3> ."),
        KEPT,
        "none of the 3 records that it lists could be read",
        dcat=(HELD, ""),
        left_out=ALL,
    ),
    "no list any more": Row(page(""), HELD, left_out=ALL),
    "a document that is half written": Row(
        meanwhile(pages(datasets(*ALL)), FIVE),
        KEPT,
        dcat=(KEPT, "its list of datasets changed while it was read"),
    ),
    "a catalog below that comes while the list is read again": Row(
        meanwhile(lambda server: below(lambda _: Answer(404))(server), FIVE),
        KEPT,
        dcat=(KEPT, "its list of catalogs changed while it was read"),
    ),
    "pages that shift": Row(
        meanwhile(pages(datasets(6, 1), datasets(2, 3), datasets(4, 5)), *PAGES), KEPT, before=PAGES
    ),
    "a record that moves to a page that was read": Row(
        # While it is listed, the first 404 deletes nothing.
        meanwhile(pages(datasets(6, 1, 2), datasets(3, 4), datasets(5)), *PAGES),
        LATER,
        dcat=(KEPT, ""),
        before=PAGES,
        own=404,
    ),
    "a catalog below that fails": Row(
        below(lambda server: Answer(503)), KEPT, "/b: The server has a fault (503)"
    ),
    "a catalog below that is not there": Row(
        below(lambda server: Answer(404)),
        KEPT,
        "/b: It is no longer there (the server answers 404)",
    ),
    "a catalog below on another host": Row(
        below(lambda server: Answer(404), "http://other.example/b"), KEPT, "allowed_hosts"
    ),
    "404": Row(
        fault(lambda: faults.Status(404)),
        KEPT,
        "/c: It is no longer there (the server answers 404)",
    ),
}


@pytest.fixture(scope="module")
def running() -> Iterator[Documents]:
    with Documents() as server:
        yield server


@pytest.fixture
def server(running: Documents) -> Documents:
    """Six datasets, each with a document of its own."""
    running.faults.clear()
    running.files.clear()
    for number in ALL:
        running.publish_dataset(number)
    return running


def site_of(server: Documents, kind: str) -> Site:
    kinds: dict[str, Any] = {"fdp": Site, "dcat": CatalogueSite}
    site: Site = kinds[kind](None, url=f"{server.url}/c")
    return site


def harvested(server: Documents, kind: str, *pages: str) -> Site:
    """Return a site that has harvested the six datasets."""
    server.pages(*(pages or [datasets(*ALL)]))
    site = site_of(server, kind)
    assert len(site.job().of(RecordClass.NEW)) == len(ALL)
    return site


def done(job: Job) -> str:
    """Return what a job does with datasets that are left out, in a word."""
    return "gone" if job.of(DELETED) else "held" if job.brake else "-"


def verdict(site: Site, server: Documents, left_out: tuple[int, ...]) -> tuple[str, list[str]]:
    """Return what becomes of the datasets in two jobs a day apart, and the errors of the first one's lists."""
    urls = {f"{server.url}/d/{number}" for number in left_out}
    jobs = [site.job(), site.job(NOW + DAY)]
    gone = [job.of(DELETED) for job in jobs]
    assert gone[0] | gone[1] in (set(), urls), "all that are left out, or none"
    if gone[0] or gone[1]:
        return (GONE if gone[0] else LATER), jobs[0].container_errors
    assert len(site.packages) >= len(ALL)
    return (HELD if jobs[1].brake else KEPT), jobs[0].container_errors


TABLE = {**WHOLE, **NOT_WHOLE}


@pytest.mark.parametrize("kind", ["fdp", "dcat"])
@pytest.mark.parametrize("name", TABLE)
def test_a_list_and_its_verdict(server: Documents, kind: str, name: str) -> None:
    row = TABLE[name]
    site = harvested(server, kind, *row.before)
    row.serve(server)
    for number in row.left_out:
        server.files[f"/d/{number}"] = Answer(row.own)
    expected, words = (
        (row.verdict, row.words) if kind == "fdp" else row.dcat or (row.verdict, row.words)
    )
    found, errors = verdict(site, server, row.left_out)
    assert found == expected, errors
    assert words in " ".join(errors) if words else errors == [], errors
    # PostgreSQL stores no NUL.
    assert not any(r"\x00" in repr(outline) for _, outline in site.memory.rows.values())


@pytest.mark.parametrize("kind", ["fdp", "dcat"])
def test_what_a_catalog_without_a_list_had_is_for_editors(server: Documents, kind: str) -> None:
    six = '<BASE/b> dcat:dataset <BASE/d/6> . <BASE/d/6> a dcat:Dataset ; dct:title "Dataset 6" .'
    server.publish("/b", six, catalog="<BASE/b> a dcat:Catalog .")
    site = harvested(server, kind, f"{FIVE}<> dcat:catalog <BASE/b> .")
    server.publish("/b", "", catalog='<BASE/b> a dcat:Catalog ; dct:title "B" .')
    server.files["/d/6"] = Answer(500)
    assert verdict(site, server, (6,)) == (HELD, [])


@pytest.mark.parametrize("kind", ["fdp", "dcat"])
def test_more_records_than_max_records_are_no_absence(server: Documents, kind: str) -> None:
    site = harvested(server, kind)
    site.config = SourceConfig(max_records=3)
    jobs = [site.job(), site.job(NOW + DAY)]
    assert [job.of(DELETED) for job in jobs] == [set(), set()] and len(site.packages) == len(ALL)
    assert "the source lists more than max_records (3) datasets" in " ".join(jobs[0].errors)


@pytest.mark.parametrize("kind", ["fdp", "dcat"])
@pytest.mark.parametrize("url", ["http://[bad/x", "http://[::1", "http://h:port/", "http:///x"])
@pytest.mark.parametrize(
    "statement",
    [
        "<c> dcat:catalog <URL> .",
        "<c> dcat:dataset <URL> .",
        "<d/1> dcat:distribution <URL> .",
        "<d/1> dcat:landingPage <URL> ; dct:publisher <URL> ; dcat:theme <URL> .",
        "<d/1> dcat:distribution [ a dcat:Distribution ; dcat:accessURL <URL> ] .",
        "<c> hydra:last <URL> .",
    ],
)
def test_a_malformed_url_costs_its_own_entry(
    server: Documents, kind: str, statement: str, url: str
) -> None:
    text = statement.replace("<URL>", f"<{url}>")
    server.publish("/c", datasets(*ALL) + text)
    own = (
        f'<BASE/d/1> a dcat:Dataset ; dct:title "Dataset 1" . {text.replace("<d/1>", "<BASE/d/1>")}'
    )
    server.publish("/d/1", own, catalog="")
    site = site_of(server, kind)
    job = site.job()
    assert {f"{server.url}/d/{number}" for number in ALL} <= site.packages.keys()
    if kind == "fdp" and statement.startswith("<c> dcat:"):
        (error,) = map(str, job.errors)
        assert error.startswith(f"{url}: cannot be requested")


# What the own URL of a dataset says that the list leaves out

ITSELF, LISTED = 200, 0

OWN_URLS: dict[tuple[int, ...], tuple[str, str]] = {
    # By its answers in jobs a day apart, what the jobs of each type do: "held", "gone", or nothing. A dataset
    # that was read at its own URL is gone at 404; a catalogue's URLs may never have led anywhere.
    (ITSELF, ITSELF, ITSELF): ("held held held", "held held held"),
    (410, 404): ("gone", "- gone"),
    (403, 403): ("- gone", "- gone"),
    (403, 500, 403): ("- - gone", "- - gone"),
    (500, 500): ("- gone", "- gone"),
    (503, 429): ("- held", "- held"),
    (500, 503, 404): ("- held gone", "- held held"),
    (ITSELF, 500, 404): ("held held gone", "held held gone"),
    (ITSELF, LISTED, 404, 404): ("held - gone", "held - - gone"),
    (403, ITSELF, 403, 403): ("- held held gone", "- held held gone"),
}

UNPROVED: dict[tuple[int, ...], tuple[str, str]] = {
    # The same, if the list states one record more than it has.
    (ITSELF, ITSELF): ("- -", "- -"),
    (404, 404): ("gone", "- held"),
    (403, 403, 403): ("- gone", "- held held"),
    (500, 500, 500): ("- - -", "- - -"),
    (503, 503, 503): ("- - -", "- - -"),
}


@pytest.mark.parametrize("kind", ["fdp", "dcat"])
@pytest.mark.parametrize(
    ("is_proved", "answers"),
    [*((True, one) for one in OWN_URLS), *((False, one) for one in UNPROVED)],
)
def test_the_own_url_decides(
    server: Documents, kind: str, is_proved: bool, answers: tuple[int, ...]
) -> None:
    site = harvested(server, kind, datasets(*ALL) + "<> hydra:totalItems 6 .")
    found: list[str] = []
    for day, answer in enumerate(answers):
        if "gone" in found:
            break
        server.pages(
            datasets(*ALL) if answer == LISTED else FIVE, total=6 - (is_proved and answer != LISTED)
        )
        server.publish_dataset(6)
        if answer not in (ITSELF, LISTED):
            server.files["/d/6"] = Answer(answer)
        job = site.job(NOW + day * DAY)
        found.append(done(job))
        assert job.of(DELETED) <= {f"{server.url}/d/6"}
    fdp, dcat = (OWN_URLS if is_proved else UNPROVED)[answers]
    assert " ".join(found) == (fdp if kind == "fdp" else dcat)


@pytest.mark.parametrize(
    ("status", "kind", "expected"),
    [
        (403, "fdp", "- held held"),
        (403, "dcat", "- held held"),
        (404, "fdp", "- held held"),
        # Such URLs may never have led anywhere, and tell nothing.
        (404, "dcat", "- gone -"),
    ],
)
def test_a_server_that_refuses_everything(
    server: Documents, status: int, kind: str, expected: str
) -> None:
    site = harvested(server, kind)
    server.pages(FIVE)
    for number in ALL:
        server.files[f"/d/{number}"] = Answer(status)
    assert " ".join(done(site.job(NOW + day * DAY)) for day in range(3)) == expected


# A portal's list, and what its package_show says


def purge(portal: PortalServer, one: str) -> None:
    del portal.datasets[one]


def hide(portal: PortalServer, one: str) -> None:
    portal.unindexed = {one}


def show(code: int, body: bytes = b"") -> Callable[[PortalServer, str], None]:
    """Leave a dataset out, and answer for it with a page of a proxy."""

    def serve(portal: PortalServer, one: str) -> None:
        portal.unindexed = {one}
        portal.faults[lambda request: f"show?id={one}" in request.target] = faults.Status(
            code, body
        )

    return serve


PORTAL: dict[str, tuple[Callable[[PortalServer, str], None], str]] = {
    "itself": (hide, "held"),
    "it is purged": (purge, "gone"),
    "it is deleted": (lambda portal, one: portal.change(one, state="deleted"), "-"),
    "it is private": (lambda portal, one: portal.change(one, private=True), "-"),
    "a proxy's 403": (show(403), "-"),
    "a proxy's 404": (show(404), "-"),
    "a proxy's 500": (show(500), "-"),
    "a page": (show(200, b"<html></html>"), "-"),
}


@pytest.mark.parametrize("name", PORTAL)
def test_a_portal_and_its_verdict(name: str) -> None:
    serve, expected = PORTAL[name]
    with PortalServer(12) as portal:
        first = Crawled(portal)
        one = sorted(portal.datasets)[5]
        serve(portal, one)
        second, url = Crawled(portal, first), f"{portal.url}/dataset/{one}"
        assert second.deleted() == ([url] if expected == "gone" else [])
        assert second.held() == ([url] if expected == "held" else [])
