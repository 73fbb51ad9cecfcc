"""Documents that contradict each other, or that change in part: nothing is lost, mixed up or doubled."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from ckanext.freshness.harvesting.source_config import SourceConfig
from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.tests.harvesting.dcat.crawling import CatalogueSite
from ckanext.freshness.tests.harvesting.fdp.crawling import DAY, NOW, Job, unchanged
from ckanext.freshness.tests.harvesting.served_lists import Documents, dataset, datasets
from ckanext.freshness.tests.servers.base import Answer

CHANGED, DELETED, MOVED, NEW = (
    RecordClass.CHANGED,
    RecordClass.DELETED,
    RecordClass.MOVED,
    RecordClass.NEW,
)
ELSEWHERE = "dcat:Catalog on another host"


def far(*numbers: int) -> str:
    """Return datasets whose IRIs do not depend on the document."""
    return "".join(
        f'<http://data.example/{n}> a dcat:Dataset ; dct:title "Far {n}" .\n' for n in numbers
    )


def blank(title: str, *identifiers: str, files: tuple[str, ...] = ()) -> str:
    names = "".join(f'dct:identifier "{one}" ; ' for one in identifiers)
    names += "".join(f"dcat:distribution <f/{one}> ; " for one in files)
    described = "".join(
        f'<f/{one}> a dcat:Distribution ; dct:title "{one}" ; dcat:downloadURL <f/{one}> .\n'
        for one in files
    )
    return f'<> dcat:dataset [ a dcat:Dataset ; {names} dct:title "{title}" ] .\n{described}'


@pytest.fixture
def server() -> Iterator[Documents]:
    with Documents() as running:
        yield running


@pytest.fixture
def site(server: Documents) -> CatalogueSite:
    return CatalogueSite(None, url=f"{server.url}/c")


def titles(site: CatalogueSite) -> dict[int, str]:
    return {package.id: package.title for package in site.packages.values()}


def deletes_nothing(site: CatalogueSite, *words: str) -> Job:
    """Run a job, and assert that it keeps all packages and tells why."""
    before = titles(site)
    job = site.job()
    assert titles(site) == before and job.of(DELETED) == set() and job.brake is None
    assert all(word in " ".join(job.errors) for word in words), job.errors
    return job


# Moves between lists


def test_a_dataset_moves_between_catalogs(server: Documents, site: CatalogueSite) -> None:
    server.publish("/c", "<> dcat:catalog <a>, <b> .")
    server.publish("/a", far(1, 2))
    server.publish("/b", far(3))
    site.job()
    before = titles(site)
    server.publish("/a", far(1))
    server.publish("/b", far(2, 3))
    job = site.job()
    assert job.errors == [] and job.of(MOVED) == {"http://data.example/2"}
    assert titles(site) == before
    unchanged(site)


# Catalogs of a catalog


def test_a_catalog_that_moves_to_a_host_that_is_not_allowed(
    server: Documents, site: CatalogueSite
) -> None:
    other = server.url.replace("127.0.0.1", "localhost")
    server.publish("/c", datasets(*range(20)) + "<> dcat:catalog <b> .")
    server.publish("/b", far(1, 2, 3))
    site.job()
    server.publish("/c", datasets(*range(20)) + f"<> dcat:catalog <{other}/b> .")
    for _ in range(2):
        job = deletes_nothing(site, f"{other}/b: it is listed, but its host", "allowed_hosts")
    assert job.survey.crawled.not_harvested == {}
    site.config = SourceConfig(allowed_hosts=("localhost",))
    assert site.job().errors == []
    # In another spelling, the host is not allowed any more.
    site.config = SourceConfig()
    server.publish("/c", datasets(*range(20)) + f"<> dcat:catalog <{other}/b/> .")
    deletes_nothing(site, f"{other}/b/: it is listed")


# What proves that a list is whole


def test_no_page_comes_from_a_cache(server: Documents, site: CatalogueSite) -> None:
    """Datasets were added and deleted since: one moves to a page of which a cache has the old text."""
    server.pages(datasets(*range(9)), datasets(*range(9, 18)), datasets(18, 19))
    site.job()
    healthy, kept = server.answer, dict(server.files)
    server.pages(
        datasets(*range(20, 22), *range(7)), datasets(7, 8, *range(9, 15)), datasets(18, 19)
    )

    def answer(request: Any) -> Answer:
        is_fresh = request.headers.get("Cache-Control") == "no-cache"
        return healthy(request) if is_fresh or request.query != "page=2" else kept["/c?page=2"]

    server.answer = answer  # type: ignore[method-assign]
    assert site.two_jobs().of(DELETED) == {f"{server.url}/d/{number}" for number in (15, 16, 17)}


@pytest.mark.parametrize("is_blank", [True, False], ids=["blank nodes", "IRIs"])
def test_a_document_with_the_time_of_each_request(
    server: Documents, site: CatalogueSite, is_blank: bool
) -> None:
    numbers = [*range(20)]
    healthy, asked = server.answer, []

    def answer(request: Any) -> Answer:
        asked.append(request)
        stamp = f'dct:modified "2026-01-01T00:00:{len(asked):02}" ; '
        server.publish(
            "/c",
            f"<> {stamp} dct:title 'All' .\n"
            + "".join(
                blank(f"Dataset {one}", f"n{one}", files=(f"f{one}-{len(asked)}",))
                if is_blank
                else dataset(one, more=stamp)
                for one in numbers
            ),
        )
        return healthy(request)

    server.answer = answer  # type: ignore[method-assign]
    site.job()
    gone = numbers.pop(7)
    job = site.two_jobs()
    assert job.of(DELETED) == {"n7" if is_blank else f"{server.url}/d/{gone}"} and not job.errors
    assert len(site.packages) == 19 and site.job(NOW + DAY).of(DELETED) == set()


def test_a_second_reading_takes_no_more_memory(server: Documents, site: CatalogueSite) -> None:
    """The graph of the first one is not kept."""
    numbers, peaks = [*range(300)], []
    healthy, asked = server.answer, []

    def answer(request: Any) -> Answer:
        if request.path != "/c":
            return healthy(request)
        asked.append(request)
        stamp = f"<> dct:modified '{len(asked)}' ."
        server.publish(
            "/c", stamp + "".join(dataset(one, f"{one} {len(numbers)}") for one in numbers)
        )
        return healthy(request)

    server.answer = answer  # type: ignore[method-assign]
    site.job()
    for gone in (None, 7):
        # Either way, all datasets are changed and mapped.
        numbers.append(300) if gone is None else numbers.remove(gone)
        tracemalloc.start()
        site.job()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert len(asked) == 4 and peaks[1] < 1.3 * peaks[0]


# Several descriptions of one dataset

FULL = dataset(9, "Nine", "dcat:distribution [ dct:title 'file' ; dcat:accessURL <f> ] ;")


@pytest.mark.parametrize("stub", ["", ' ; dct:title "Nine"'])
def test_a_stub_does_not_replace_the_description(
    server: Documents, site: CatalogueSite, stub: str
) -> None:
    server.pages(datasets(1), FULL + datasets(3))
    site.job()
    stub = f"<d/1> dct:relation <d/9> . <d/9> a dcat:Dataset {stub} .\n"
    for pages in (
        (datasets(1) + stub, FULL + datasets(3)),
        (FULL + datasets(3), datasets(1) + stub),
    ):
        server.pages(*pages)
        job = site.job()
        assert job.errors == [] and len(site.packages) == 3
        assert site.packages[f"{server.url}/d/9"].resources == ["file"]


# Identities


def test_an_identifier_on_two_pages(server: Documents, site: CatalogueSite) -> None:
    server.pages(datasets(1) + blank("First", "same"), datasets(2))
    site.job()
    server.pages(datasets(1) + blank("First", "same"), datasets(2) + blank("Second", "same"))
    for number in range(2):
        job = deletes_nothing(site, "same: several datasets of the catalogue have this identifier")
        assert job.record_errors.keys() == {"same"}, number


@pytest.mark.parametrize(
    ("pages", "which"),
    [
        ((dataset(1, "One") + dataset(1, "Two"), datasets(2)), '"One" and "Two"'),
        (
            (dataset(1, "One"), dataset(1, "Two") + datasets(2)),
            "one on BASE/c, one on BASE/c?page=2",
        ),
    ],
)
def test_datasets_that_share_an_iri_are_named(
    server: Documents, site: CatalogueSite, pages: tuple[str, ...], which: str
) -> None:
    server.pages(datasets(1), datasets(2))
    site.job()
    server.pages(*pages, total=3)
    shared = (
        f"share the IRI {server.url}/d/1: {which.replace('BASE', server.url)}. Ask the publisher"
    )
    job = site.job()
    assert job.of(DELETED) == set() and len(site.packages) == 2
    assert "it says that it has 3 records, and its pages list 2; several" in job.errors[0]
    assert shared in job.errors[0]
    # Titles in several languages are those of one dataset, and a total that fits proves the list.
    server.pages(dataset(1, "One", 'dct:title "Un"@fr ;'), datasets(2), total=3)
    assert "share the IRI" not in " ".join(site.job().errors)
    server.pages(*pages, total=2)
    assert site.job().errors == []


@pytest.mark.parametrize("known", [True, False])
def test_an_identifier_in_two_catalogs(server: Documents, site: CatalogueSite, known: bool) -> None:
    first, second = (blank(f"{name} 1", "1") + blank(f"{name} 2", "2") for name in "ab")
    server.publish("/c", "<> dcat:catalog <a>, <b> .")
    server.publish("/a", first)
    server.publish("/b", far(1) if known else second)
    job = site.job()
    assert len(job.errors) == (0 if known else 2)
    server.publish("/b", far(1) + second)
    job = deletes_nothing(site) if known else site.job()
    assert job.record_errors.keys() == {"1", "2"}
    server.files["/a"] = Answer(503)
    if known:
        deletes_nothing(site, "1: a catalog that could not be read has a dataset with this")


BY_IRI = '<> dcat:dataset <d/abc> . <d/abc> a dcat:Dataset ; dct:title "B" ; dct:identifier "abc" .'
NAMES = {
    "a second identifier": (blank("B", "abc"), blank("B", "10.5281/1", "abc")),
    "an earlier file": (blank("B", files=("m",)), blank("B", files=("a", "m"))),
    "an identifier": (blank("B", files=("m",)), blank("B", "abc", files=("m",))),
    "an IRI": (blank("B", "abc"), BY_IRI),
}


@pytest.mark.parametrize("what", NAMES)
def test_a_dataset_whose_identity_changes(
    server: Documents, site: CatalogueSite, what: str
) -> None:
    before, after = NAMES[what]
    server.publish("/c", datasets(1, 2) + before)
    site.job()
    packages = titles(site)
    server.publish("/c", datasets(1, 2) + after)
    job = site.job()
    assert job.errors == [] and job.of(NEW) == job.of(DELETED) == set()
    assert titles(site) == packages
    unchanged(site)


@pytest.mark.parametrize(
    ("before", "after"), [(BY_IRI, blank("B", "xyz")), (dataset(8, "B"), dataset(9, "B"))]
)
def test_a_title_is_no_identity(
    server: Documents, site: CatalogueSite, before: str, after: str
) -> None:
    """Another office deletes its "Budget", as this one publishes another."""
    server.publish("/c", datasets(*range(20, 40)) + before)
    site.job()
    (gone,) = (key for key, title in titles(site).items() if title == "B")
    server.publish("/c", datasets(*range(20, 40)) + after)
    assert len(site.job().of(NEW)) == 1
    assert len(site.job(NOW + DAY).of(DELETED)) == 1
    assert gone not in titles(site)


def test_the_url_of_the_source_changes(server: Documents, site: CatalogueSite) -> None:
    for path in ("/c", "/c2"):
        server.publish(path, far(1, 2, 3))
    site.job()
    before = titles(site)
    site.url = f"{server.url}/c2"
    job = site.job()
    assert job.errors == [] and len(job.of(MOVED)) == 3 and titles(site) == before
    unchanged(site)


def test_a_source_may_do_without_a_catalog_on_another_host(
    server: Documents, site: CatalogueSite
) -> None:
    more = "<> dcat:catalog <http://other.example/b> ."
    server.publish("/c", datasets(*range(20)) + more)
    assert site.job().survey.crawled.not_harvested.keys() == {ELSEWHERE}
    server.publish("/c", datasets(*range(19)) + more)
    job = site.two_jobs()
    assert job.errors == [] and len(job.of(DELETED)) == 1


def test_a_list_is_cut_after_a_page_that_failed(server: Documents, site: CatalogueSite) -> None:
    server.pages(datasets(*range(18)), datasets(18, 19))
    site.job()
    server.pages(datasets(*range(17)), datasets(17, 18, 19))
    server.files["/c?page=2"] = Answer(503)
    deletes_nothing(site, "/c?page=2: The server has a fault (503)")
    server.publish("/c", datasets(*range(17)))
    deletes_nothing(site, "it lists 17 records and names no further pages")


def test_datasets_without_identity_are_counted_once(server: Documents, site: CatalogueSite) -> None:
    server.pages(datasets(1, 2) + blank("Nobody"), datasets(3, 4))
    site.job()
    server.pages(datasets(1, 2) + blank("Nobody"), datasets(3))
    (kind,) = deletes_nothing(site).survey.crawled.not_harvested.values()
    assert kind.count == 1


def test_the_name_of_a_blank_node_identifies_nothing(
    server: Documents, site: CatalogueSite
) -> None:
    """As in GeoDCAT-AP. Each time that a document is parsed its blank nodes get other names."""
    structured = "<> dcat:dataset [ a dcat:Dataset ; dct:title '{}' ; dct:identifier {} ] ."
    node = "[ dct:type 'doi' ]"
    for title in ("First", "Second"):
        named = structured.format(title, f"{node}, 'one'")
        server.publish("/c", datasets(*range(9)) + structured.format(title, node) + named)
        job = site.job()
        assert len(site.packages) == 10 and job.of(DELETED) == set()
        (kind,) = job.survey.crawled.not_harvested
        assert "without URL and identifier" in kind


def test_what_a_catalog_lists_as_a_dataset_is_one_without_a_type(
    server: Documents, site: CatalogueSite
) -> None:
    listed = "<> a dcat:Catalog ; dcat:dataset <d/1>, <d/2>, <d/3> ."
    server.publish("/c", f"{listed} {datasets(1, 2)} <d/3> dct:title 'Dataset 3' .")
    site.job()
    assert set(titles(site).values()) == {f"Dataset {number}" for number in (1, 2, 3)}
    assert deletes_nothing(site).errors == []


def test_a_dataset_of_which_only_the_type_is_left_is_kept(
    server: Documents, site: CatalogueSite
) -> None:
    server.publish("/c", datasets(1, 2, 3))
    site.job()
    server.publish("/c", datasets(1, 2) + "<d/3> a dcat:Dataset .")
    deletes_nothing(site, "/d/3: it is listed, but the catalogue does not describe it")


def test_a_dataset_that_shifts_while_it_is_edited_is_one(
    server: Documents, site: CatalogueSite
) -> None:
    """It is on page 2 in one reading, and on page 1 in the next."""
    server.pages(datasets(1, 2), datasets(3) + blank("Old", "same"))
    site.job()
    server.pages(datasets(1), datasets(3) + blank("Old", "same"))
    healthy, asked = server.answer, []

    def answer(request: Any) -> Answer:
        asked.append(request.target)
        if len(asked) == 3:
            server.pages(datasets(1) + blank("New title", "same"), datasets(3))
        return healthy(request)

    server.answer = answer  # type: ignore[method-assign]
    assert site.job().record_errors == {}


def test_two_datasets_whose_iris_differ_in_a_slash(server: Documents, site: CatalogueSite) -> None:
    server.pages(datasets(2), datasets(1, 3))
    site.job()
    before = titles(site)
    server.pages(datasets(2) + dataset("1/", "Other"), datasets(1, 3))
    job = site.job()
    assert job.errors == [] and len(job.of(NEW)) == 1
    assert before.items() < titles(site).items()


def test_an_identifier_of_another_catalog_is_no_other_name(
    server: Documents, site: CatalogueSite
) -> None:
    server.publish("/c", "<> dcat:catalog <a>, <b> .")
    server.publish("/a", datasets(1) + blank("a", "7"))
    server.publish("/b", far(1))
    site.job()
    server.files["/a"] = Answer(503)
    server.publish("/b", far(1) + BY_IRI.replace('"abc"', '"7"'))
    before = titles(site)
    site.job()
    assert before.items() < titles(site).items()


def test_an_identity_that_does_not_move(server: Documents, site: CatalogueSite) -> None:
    server.publish("/c", datasets(*range(9)) + blank("Blank", "id-x"))
    site.job()
    before = titles(site)
    site.url = site.url.replace("127.0.0.1", "localhost")
    job = site.job()
    assert job.errors == [] and titles(site) == before
    unchanged(site)


@pytest.mark.parametrize("count", [5, 49])
def test_another_catalogue_with_the_same_numbers(
    server: Documents, site: CatalogueSite, count: int
) -> None:
    server.publish("/c", "".join(dataset(n, f"Health {n}") for n in range(5)))
    site.job()
    before = titles(site)
    server.publish("/other/c", "".join(dataset(n, f"Roads {n}") for n in range(count)))
    site.url = f"{server.url}/other/c"
    job = site.job()
    assert job.of(DELETED) == set() and job.brake and len(job.of(NEW)) == count
    assert before.items() < titles(site).items()


def test_a_list_is_not_read_again_for_each_record_within_it(
    server: Documents, site: CatalogueSite
) -> None:
    """The IRIs of its datasets differ in their fragments: none has a document of its own."""
    described = '<> dcat:dataset <BASE/c#{0}> . <BASE/c#{0}> a dcat:Dataset ; dct:title "D {0}" .\n'
    server.pages("".join(map(described.format, range(30))))
    site.job()
    server.pages("".join(map(described.format, range(20))))
    server.reset()
    assert site.job().of(DELETED) == set()
    assert server.count("") < 10


def test_records_are_not_missing_while_their_list_is_not_read(
    server: Documents, site: CatalogueSite
) -> None:
    """What they lost meanwhile is no sign of a cut."""
    more = 'dct:description "d" ;'
    server.publish("/c", datasets(*range(20)) + "<> dcat:catalog <b> .")
    server.publish("/b", dataset("b", more=more))
    site.job()
    server.files["/b"] = Answer(503)
    site.job()
    server.publish("/b", dataset("b"))
    assert site.job(NOW + DAY).of(CHANGED) == {f"{server.url}/d/b"}
