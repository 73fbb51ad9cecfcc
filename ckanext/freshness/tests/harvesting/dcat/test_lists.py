"""Lists of datasets in RDF, and the datasets' own documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from rdflib import Graph

from ckanext.freshness.harvesting.brake import BrakeLimits
from ckanext.freshness.harvesting.dcat.catalogue import outline_of_catalogue
from ckanext.freshness.harvesting.messages import MessageCode
from ckanext.freshness.harvesting.rdf.parsing import RdfParser
from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.tests.harvesting.dcat.crawling import CatalogueSite
from ckanext.freshness.tests.harvesting.fdp.crawling import DAY, NOW, Job, unchanged
from ckanext.freshness.tests.harvesting.served_lists import PREFIXES, Documents, dataset, datasets
from ckanext.freshness.tests.servers.base import Answer

DELETED, MOVED, NEW = RecordClass.DELETED, RecordClass.MOVED, RecordClass.NEW


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


def test_rdf_xml_that_breaks_a_rule_is_read_with_a_warning(server: Documents) -> None:
    """As GeoNetwork 3 writes themes: in the process that reads documents, and with the line."""
    text = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
        xmlns:dcat="http://www.w3.org/ns/dcat#" xmlns:dct="http://purl.org/dc/terms/">
        <dcat:Catalog rdf:about="/c"><dcat:dataset><dcat:Dataset rdf:about="/d/1">
        <dct:title>Rivers</dct:title>
        <dcat:theme rdf:resource="http://o.example/theme">Environment</dcat:theme>
        </dcat:Dataset></dcat:dataset></dcat:Catalog></rdf:RDF>"""
    server.files["/c"] = Answer(200, text.encode(), {"Content-Type": "application/rdf+xml"})
    job = CatalogueSite(None, url=f"{server.url}/c", make_parser=RdfParser).job()
    assert (job.errors, job.of(NEW)) == ([], {f"{server.url}/d/1"})
    (warning,) = map(str, job.survey.crawl.warnings)
    assert warning.startswith(f"{server.url}/c: ") and "near line 5 " in warning
    assert "Environment" in warning


def test_the_datasets_of_a_catalog_that_loses_its_list_are_held(
    server: Documents, site: CatalogueSite
) -> None:
    server.publish("/c", "<> dcat:catalog <a>, <b> .")
    server.publish("/a", far(*range(12)))
    server.publish("/b", far(20, 21))
    site.job()
    server.publish("/b", "")
    for day in range(2):
        job = site.job(NOW + day * DAY)
        assert job.of(DELETED) == set() and len(site.packages) == 14
    assert job.brake is not None


def test_what_a_catalog_that_cannot_be_read_has_did_not_move(
    server: Documents, site: CatalogueSite
) -> None:
    """Another office has a dataset with the same title and path."""
    server.publish("/c", "<> dcat:catalog <a>, <b> .")
    server.publish("/a", far(1))
    server.publish("/b", far(2))
    site.job()
    server.files["/a"] = Answer(503)
    other = "http://other.example/1"
    server.publish("/b", f'{far(2)} <{other}> a dcat:Dataset ; dct:title "Far 1" .')
    assert site.job().of(NEW) == {other}
    assert {"http://data.example/1", other} <= site.packages.keys()


# Identities


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


def test_an_identifier_on_two_pages(server: Documents, site: CatalogueSite) -> None:
    """A copy of a description is the same dataset. Of two datasets, it identifies neither."""
    first, copy, other = blank("A", "x"), blank("A", "x"), blank("B", "x")
    server.pages(datasets(1) + first, datasets(2) + copy, total=3)
    assert site.job().errors == []
    server.pages(datasets(1) + first, datasets(2) + other, total=3)
    assert deletes_nothing(site).record_errors.keys() == {"x"}


def test_a_dataset_of_which_one_copy_is_listed_is_listed() -> None:
    """Blank nodes have other names, and so another order, each time."""
    copies = '[] a dcat:Dataset ; dct:identifier "x" ; dct:title "A" .\n' * 9
    graph = Graph().parse(data=PREFIXES + blank("A", "x") + copies, format="turtle")
    assert outline_of_catalogue(graph).records["x"].is_listed


def test_a_record_without_a_hash_is_read(server: Documents, site: CatalogueSite) -> None:
    server.publish("/c", datasets(1, 2))
    site.job()
    url = f"{server.url}/d/1"
    site.known[url] = replace(site.known[url], content_hash=None)
    job = site.job()
    assert (job.errors, job.of(RecordClass.CHANGED)) == ([], {url})


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


FRAGMENT = '<> dcat:dataset <BASE/c#{0}> . <BASE/c#{0}> a dcat:Dataset ; dct:title "D {0}" .\n'


def test_a_list_is_not_read_again_for_each_record_within_it(
    server: Documents, site: CatalogueSite
) -> None:
    """The IRIs of its datasets differ in their fragments: none has a document of its own."""
    server.pages("".join(map(FRAGMENT.format, range(30))))
    site.job()
    server.pages("".join(map(FRAGMENT.format, range(20))))
    server.reset()
    assert site.job().of(DELETED) == set()
    assert server.count("") < 10


@pytest.mark.parametrize("is_old", [False, True])
def test_a_source_may_do_without_a_catalog_on_another_host(
    server: Documents, site: CatalogueSite, is_old: bool
) -> None:
    """Datasets may have moved into it, however long it has been there: an editor decides."""
    more = "<> dcat:catalog <http://other.example/b> ."
    if not is_old:
        server.publish("/c", datasets(*range(20)))
        site.job()
    server.publish("/c", datasets(*range(20)) + more)
    elsewhere = {"dcat:Catalog on another host"}
    assert site.job().survey.crawl.not_harvested.keys() == elsewhere
    server.publish("/c", datasets(*range(19)) + more)
    for day in range(3):
        job = site.job(NOW + day * DAY)
        assert job.errors == [] and job.of(DELETED) == set()
        assert job.brake is not None and len(job.brake.held) == 1
        assert job.brake.held[0].reason.code is MessageCode.MAY_BE_ELSEWHERE
    site.release()
    assert len(site.job(NOW + 3 * DAY).of(DELETED)) == 1


@pytest.mark.parametrize(
    ("there", "delete_unlisted", "becomes"),
    [
        (range(19), False, "deleted"),
        (range(20), False, "held"),
        (range(20), True, "deleted"),
        ((), False, "held"),
        ((), True, "deleted"),
    ],
)
def test_what_its_own_url_says_with_a_catalog_on_another_host(
    server: Documents, there: Sequence[int], delete_unlisted: bool, becomes: str
) -> None:
    """Only what cannot be asked may have moved there, unless the source deletes what it no longer lists."""
    site = CatalogueSite(
        None, url=f"{server.url}/c", brake=BrakeLimits(delete_unlisted=delete_unlisted)
    )
    for number in there:
        server.publish_dataset(number)
    more = "<> dcat:catalog <http://other.example/b> ."
    server.publish("/c", datasets(*range(20)) + more)
    site.job()
    server.publish("/c", datasets(*range(19)) + more)
    job = site.two_jobs()
    assert (len(job.of(DELETED)), job.brake is not None) == {
        "deleted": (1, False),
        "held": (0, True),
    }[becomes]


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


SCHEMA = "http://schema.org/"
JSON_LD: Any = {
    "@context": {"@vocab": SCHEMA},
    "@id": "BASE/d/20",
    "@type": "Dataset",
    "name": "Dataset 20",
}


def file(body: str, media_type: str, *paths: str) -> Callable[[Documents], None]:
    def publish(server: Documents) -> None:
        answer = body.replace("BASE", server.url).encode()
        for path in paths or ["/d/20"]:
            server.files[path] = Answer(200, answer, {"Content-Type": media_type})

    return publish


def rdf(text: str) -> Callable[[Documents], None]:
    return file(PREFIXES + text, "text/turtle")


def redirect(target: str, text: str = "") -> Callable[[Documents], None]:
    def publish(server: Documents) -> None:
        server.files["/d/20"] = Answer(302, b"", {"Location": f"{server.url}{target}"})
        if text:
            server.publish(target, text)

    return publish


def whole_catalogue(own: str, text: str = "") -> Callable[[Documents], None]:
    """Answer each request for a dataset with the catalogue, which calls itself by an IRI."""
    catalogue = datasets(*range(1, 20)).replace("<d/", "<BASE/d/").replace("<>", own)
    paths = [f"/d/{number}" for number in range(1, 21)]
    return file(PREFIXES + catalogue + text, "text/turtle", *paths)


HELD = {
    "no type": rdf('<BASE/d/20> dct:title "Dataset 20" .'),
    "a type only": rdf("<BASE/d/20> a dcat:Dataset ."),
    "another type": rdf(f'<BASE/d/20> a <{SCHEMA}Dataset> ; <{SCHEMA}name> "Dataset 20" .'),
    "dcat:Resource": rdf('<BASE/d/20> a dcat:Resource ; dct:title "Dataset 20" .'),
    "a slash more": rdf('<BASE/d/20/> dct:title "Dataset 20" .'),
    "https": lambda server: server.publish(
        "/d/20", f'<{server.url.replace("http", "https")}/d/20> dct:title "Dataset 20" .'
    ),
    "JSON-LD": file(json.dumps(JSON_LD), "application/ld+json"),
    "an identifier": rdf('[] a dcat:Dataset ; dct:identifier "BASE/d/20" ; dct:title "D" .'),
    "redirect to its document": redirect("/files/20.ttl", '<BASE/d/20> dct:title "Dataset 20" .'),
    "redirect to a new URL": redirect("/e/20", '<BASE/e/20> a dcat:Dataset ; dct:title "D" .'),
    "RDF beside a page": lambda server: (
        file("<html></html>", "text/html")(server),
        server.publish("/d/20.ttl", '<BASE/d/20> dct:title "Dataset 20" .'),
    ),
    "the catalogue, which describes it": whole_catalogue(
        "<BASE/c>", '<BASE/d/20> dct:title "Dataset 20" .'
    ),
}
CANNOT_TELL = {
    "a page": file(f'<html><a href="/d/20">{SCHEMA}</a></html>', "text/html"),
    "an object only": rdf("<BASE/d/19> dct:relation <BASE/d/20> ."),
    "another dataset": rdf('<BASE/d/21> a dcat:Dataset ; dct:title "Dataset 21" .'),
    "no statement": file("", "text/turtle"),
    "redirect to the catalogue": redirect("/c"),
    "redirect to another dataset": redirect("/d/19"),
    "the catalogue": whole_catalogue("<BASE/c>"),
    "the catalogue, with relative IRIs": whole_catalogue("<>"),
}


def leave_out(server: Documents, site: CatalogueSite, publish: Callable[[Documents], Any]) -> None:
    server.pages(datasets(*range(1, 21)), total=20)
    site.job()
    for number in range(1, 20):
        server.publish(f"/d/{number}", dataset(number).replace("<d/", "<BASE/d/"))
    server.pages(datasets(*range(1, 20)), total=19)
    publish(server)


@pytest.mark.parametrize("name", HELD)
def test_a_dataset_that_its_own_url_describes_is_held(
    server: Documents, site: CatalogueSite, name: str
) -> None:
    leave_out(server, site, HELD[name])
    for day in range(3):
        job = site.job(NOW + day * DAY)
        assert job.of(DELETED) == set() and job.brake is not None


@pytest.mark.parametrize("name", CANNOT_TELL)
def test_a_dataset_that_its_own_url_does_not_describe_is_deleted_a_day_later(
    server: Documents, site: CatalogueSite, name: str
) -> None:
    leave_out(server, site, CANNOT_TELL[name])
    assert site.job().of(DELETED) == set()
    assert site.job(NOW + DAY).of(DELETED) == {f"{server.url}/d/20"}


def test_a_fragment_of_a_list_that_still_describes_it(
    server: Documents, site: CatalogueSite
) -> None:
    text = "".join(map(FRAGMENT.format, range(1, 20)))
    server.pages(text + FRAGMENT.format(20))
    site.job()
    server.pages(text + f'<BASE/c#20> a <{SCHEMA}Dataset> ; dct:title "D 20" .')
    for day in range(2):
        job = site.job(NOW + day * DAY)
        assert job.of(DELETED) == set() and job.brake is not None
