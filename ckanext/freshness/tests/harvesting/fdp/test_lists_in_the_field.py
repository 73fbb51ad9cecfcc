"""Lists as servers in the field have them, and what each proves."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

import pytest

from ckanext.freshness.harvesting.strategy import WITHDRAWN_AFTER, RecordClass
from ckanext.freshness.tests.harvesting.fdp.crawling import NOW, Site, harvested, unchanged, urls
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Answer, Request
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind


@pytest.mark.parametrize("how", ["redirect", "to another catalog", "its document", "another root"])
def test_a_catalog_as_source_that_answers_with_another_container(fdp: FdpServer, how: str) -> None:
    catalog, other = fdp.add_catalog(), fdp.add_catalog()
    datasets = [fdp.add_dataset(one) for one in (catalog, catalog, other, other)]
    site = Site(fdp, url=fdp.url_of(catalog))
    site.job()
    fdp.unlist(catalog, fdp.root)
    answers: dict[str, faults.Fault] = {
        "redirect": faults.Redirect("/"),
        "to another catalog": faults.Redirect(other.path),
        "its document": faults.Another(target="/"),
        "another root": faults.Body(
            fdp.answer(Request("GET", "/", {}, "", 0.0)).body.replace(
                f"<{fdp.url}>".encode(), b"<http://other.example/>"
            )
        ),
    }
    fdp.faults[catalog.path] = answers[how]
    job = site.job()
    (error,) = job.container_errors
    assert error.startswith(f"{fdp.url_of(catalog)}: it describes ")
    assert (job.kinds, job.brake) == ({}, None)
    fdp.faults.clear()
    unchanged(site)
    assert set(site.packages) == urls(fdp, *datasets[:2])


def turtle(fdp: FdpServer, text: str) -> Answer:
    prefixes = (
        "@prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dct: <http://purl.org/dc/terms/> ."
    )
    return Answer.text(f"{prefixes}\n{text.replace('BASE', fdp.url)}", "text/turtle")


@pytest.mark.parametrize(
    "entry",
    [
        "' {0} '",
        "'{0}\\n'",
        "'{path}'",
        "'<{0}>'",
        "< {0}>",
        "<\\u000A{0}\\u000A>",
        "[ a dcat:Dataset ; dct:identifier '{0}' ]",
        "[ a rdf:Bag ; rdf:_1 <{0}> ]",
    ],
)
def test_an_entry_of_a_list_that_may_be_a_missing_record(fdp: FdpServer, entry: str) -> None:
    """Its URL is badly written, or it has none: nothing is deleted for that, and the job says so."""
    site, (catalog,), datasets = harvested(fdp, 3)
    first, *others = map(fdp.iri_of, datasets)
    ids = site.ids()
    entries = [entry.format(first, path=urlsplit(first).path), *(f"<{one}>" for one in others)]
    rdf = "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> ."
    text = f"{rdf} <{fdp.iri_of(catalog)}> a dcat:Catalog ; dcat:dataset {', '.join(entries)} ."
    fdp.files[catalog.path] = turtle(fdp, text)
    job = site.job()
    assert (job.of(RecordClass.DELETED), site.ids()) == (set(), ids)
    if first not in job.kinds:
        assert "it lists 1 record without a URL that can be requested" in job.container_errors[-1]
    fdp.files.clear()
    assert site.job().errors == []
    assert site.ids() == ids


@pytest.mark.parametrize(
    ("link", "statement"),
    [
        ('<BASE/next>; REL="Next"', ""),
        ('<BASE/next>; rel="http://www.iana.org/assignments/relation/next"', ""),
        ('<BASE/next>; rel="http://www.w3.org/ns/hydra/core#next"', ""),
        ("", "<#v> <http://www.w3.org/1999/xhtml/vocab#next> <BASE/next> ."),
        ("", "<#v> <https://www.w3.org/ns/activitystreams#next> <BASE/next> ."),
        (
            "",
            "<#v> <https://w3id.org/tree#relation> [ <https://w3id.org/tree#node> <BASE/next> ] .",
        ),
        ("", "<#v> <http://www.w3.org/ns/ldp#nextPage> <BASE/next> ."),
        ("", "<#v> <http://www.w3.org/ns/hydra/core#totalItems> ' 4 ' ."),
    ],
)
def test_a_dataset_moves_to_a_page_that_is_linked_otherwise(
    fdp: FdpServer, link: str, statement: str
) -> None:
    site, (catalog,), records = harvested(fdp, 4)
    *first, last = map(fdp.iri_of, records)
    ids = site.ids()

    def page(*datasets: str) -> str:
        listed = ", ".join(f"<{one}>" for one in datasets)
        return f"<{fdp.iri_of(catalog)}> a dcat:Catalog ; dcat:dataset {listed} ."

    answer = turtle(fdp, page(*first) + statement)
    headers = {**answer.headers, **({"Link": link.replace("BASE", fdp.url)} if link else {})}
    fdp.files[catalog.path] = Answer(200, answer.body, headers)
    fdp.files["/next"] = turtle(fdp, page(last))
    job = site.job()
    assert (job.of(RecordClass.DELETED), site.ids()) == (set(), ids)
    if "totalItems" in statement:
        (error,) = job.errors
        assert error.endswith("it says that it has 4 records, and its pages list 3")
    else:
        assert (job.errors, job.of(RecordClass.UNCHANGED)) == ([], {*first, last})


@pytest.mark.parametrize("respell", [lambda url: f"{url}/", lambda url: f"https{url[4:]}"])
@pytest.mark.parametrize("is_container", [True, False])
def test_a_list_of_a_catalog_in_another_spelling_of_its_url(
    fdp: FdpServer, is_container: bool, respell: Callable[[str], str]
) -> None:
    """Behind a proxy, servers mix the spellings of a record's URL in one document."""
    site, (catalog, above), records = harvested(fdp, 6, 0)
    datasets, iri = [*map(fdp.iri_of, records)], fdp.iri_of(catalog)
    other = f"<{respell(iri)}> dcat:dataset <{datasets[0]}> ; dct:hasPart <{fdp.iri_of(above)}> ."
    if is_container:
        other = (
            "<#c> a ldp:DirectContainer ; ldp:hasMemberRelation <http://o.example/cohort> ;"
            f"ldp:membershipResource <{respell(iri)}> ; ldp:contains <{datasets[0]}> ."
        )
    listed = ", ".join(f"<{one}>" for one in datasets[1:])
    text = f"@prefix ldp: <http://www.w3.org/ns/ldp#> . <{iri}> a dcat:Catalog ; dcat:dataset {listed} ."
    fdp.files[catalog.path] = turtle(fdp, f"{text} {other}")
    job = site.job()
    assert (job.errors, job.of(RecordClass.UNCHANGED)) == ([], set(datasets))


def test_a_record_that_is_gone_only_at_another_spelling_of_its_url(fdp: FdpServer) -> None:
    """molgenis/molgenis-emx2 3833: a server that answers only one of the URLs with and without a last slash."""
    site, (catalog,), (first, *others) = harvested(fdp, 6)
    ids, iri = site.ids(), fdp.iri_of(first)
    listed = ", ".join(f"<{fdp.iri_of(one)}>" for one in others)
    text = f"<{fdp.iri_of(catalog)}> a dcat:Catalog ; dcat:dataset <{iri}/>, {listed} ."
    fdp.files[catalog.path] = turtle(fdp, text)
    job = site.job()
    assert (site.ids(), job.of(RecordClass.DELETED)) == (ids, set())
    assert job.errors == [f"{iri}/: it answers 404, but {iri}, its URL before, does not"]
    fdp.faults[first.path] = faults.Status(410)
    site.job()
    job = site.job(NOW + WITHDRAWN_AFTER)
    assert (job.errors, job.of(RecordClass.DELETED)) == ([], {iri})


def test_a_listed_url_that_describes_a_record_that_is_no_longer_listed(fdp: FdpServer) -> None:
    """The record has another URL now, or the server redirects a lost record to it: it stays."""
    site, (catalog,), (moved, *_) = harvested(fdp, 12)
    ids = site.ids()
    fdp.unlist(moved, catalog)
    fdp.list_also(f"{fdp.url}/other/1", catalog, Kind.DATASET)
    fdp.files["/other/1"] = fdp.answer(Request("GET", moved.path, {}, "", 0.0))
    for _ in range(3):
        job = site.job()
        assert job.of(RecordClass.DELETED) == set()
        assert sorted(site.ids().values()) == sorted(ids.values())


def test_a_catalog_whose_url_leads_to_another_one_that_is_not_listed(fdp: FdpServer) -> None:
    """Nothing is deleted for that. If its datasets are elsewhere or gone, it counts as moved."""
    catalog, lost, other = [fdp.add_catalog() for _ in range(3)]
    for _ in range(12):
        fdp.add_dataset(catalog)
    datasets = [fdp.add_dataset(lost) for _ in range(2)]
    new = fdp.add_dataset(other)
    fdp.unlist(other, fdp.root)
    site = Site(fdp)
    site.job()
    ids = site.ids()
    fdp.faults[lost.path] = faults.Redirect(other.path)
    for _ in range(2):
        job = site.job()
        (error,) = job.errors
        assert error.startswith(
            f"{fdp.url_of(lost)}: it describes {fdp.iri_of(other)} instead of the catalog "
        )
        assert job.of(RecordClass.DELETED) == set()
    for one in datasets:
        fdp.faults[one.path] = faults.Status(410)
    job = site.job()
    assert (job.errors, job.of(RecordClass.DELETED)) == ([], urls(fdp, *datasets))
    assert set(site.ids()) == {*ids, fdp.iri_of(new)} - urls(fdp, *datasets)
    unchanged(site)
