"""What the own document of a dataset that no list has must state for its deletion to be held."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from ckanext.freshness.tests.harvesting.dcat.crawling import CatalogueSite
from ckanext.freshness.tests.harvesting.dcat.test_lists import DELETED, server, site
from ckanext.freshness.tests.harvesting.fdp.crawling import DAY, NOW
from ckanext.freshness.tests.harvesting.served_lists import PREFIXES, Documents, dataset, datasets
from ckanext.freshness.tests.servers.base import Answer

__all__ = ["server", "site"]

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
    described = '<> dcat:dataset <BASE/c#{0}> . <BASE/c#{0}> a dcat:Dataset ; dct:title "D {0}" .\n'
    text = "".join(map(described.format, range(1, 20)))
    server.pages(text + described.format(20))
    site.job()
    server.pages(text + f'<BASE/c#20> a <{SCHEMA}Dataset> ; dct:title "D 20" .')
    for day in range(2):
        job = site.job(NOW + day * DAY)
        assert job.of(DELETED) == set() and job.brake is not None
