"""A catalogue in RDF on a real HTTP server: one document, or pages, linked as real portals link them.

What it publishes are plain values, so that a test changes them between jobs and compares.
"""

from __future__ import annotations

import dataclasses
import math
from urllib.parse import parse_qs

from rdflib import DCTERMS, RDF, BNode, Graph, Literal, Namespace, URIRef
from rdflib.term import Node

from ckanext.freshness.tests.servers.base import Answer, LoopbackServer, Request

DCAT = Namespace("http://www.w3.org/ns/dcat#")
HYDRA = Namespace("http://www.w3.org/ns/hydra/core#")

MEDIA_TYPES = {
    "turtle": "text/turtle",
    "xml": "application/rdf+xml",
    "json-ld": "application/ld+json",
    "nt": "application/n-triples",
}


@dataclasses.dataclass(frozen=True)
class Entry:
    """A dataset.

    :ivar key: the last part of its IRI, and its identifier
    :ivar is_blank: it is a blank node, and so are its distributions
    :ivar description: "" for none
    """

    key: str
    title: str
    is_blank: bool = False
    files: tuple[str, ...] = ("data.csv",)
    description: str = ""


def _entries(count: int) -> list[Entry]:
    return [Entry(f"{number:03}", f"Dataset {number}") for number in range(count)]


class CatalogueServer(LoopbackServer):
    """The server. Its attributes may be changed between requests.

    :ivar entries: the datasets, in the order of the pages
    :ivar unlisted: datasets that are there, and that no page lists
    :ivar page_size: None for one document
    :ivar link: adds to a page how it leads to the next one: ``paged``, ``view``, ``header``
    :ivar total: what the pages say in place of the number of datasets; "" says nothing
    :ivar paths: other ends of the IRIs of datasets than their keys
    """

    def __init__(
        self,
        count: int = 7,
        *,
        page_size: int | None = None,
        form: str = "turtle",
    ) -> None:
        super().__init__()
        self.entries = _entries(count)
        self.unlisted: list[Entry] = []
        self.page_size = page_size
        self.link = "paged"
        self.form = form
        self.total: str | None = None
        self.paths: dict[str, str] = {}
        self.extra = Graph()
        """Triples that every document has besides."""

    @property
    def source_url(self) -> str:
        return f"{self.url}/catalog"

    def iri(self, key: str) -> str:
        """Return the IRI of a dataset."""
        return f"{self.url}/dataset/{self.paths.get(key, key)}"

    def iris(self) -> set[str]:
        """Return the IRIs of all datasets."""
        return {self.iri(entry.key) for entry in self.entries}

    def page_url(self, number: int) -> str:
        """Return the URL of a page, from 1."""
        return f"{self.source_url}?page={number}" if number > 1 else self.source_url

    def answer(self, request: Request) -> Answer:
        if request.path.startswith("/dataset/"):
            return self.dataset(request.path.removeprefix("/dataset/"))
        if request.path != "/catalog":
            return Answer.text("There is no such page", "text/plain", 404)
        number = int(parse_qs(request.query).get("page", ["1"])[0])
        return self.page(number)

    def dataset(self, key: str) -> Answer:
        """Return a dataset's own document as an answer."""
        graph = Graph()
        for entry in [*self.entries, *self.unlisted]:
            if entry.key == key and not entry.is_blank:
                self._add(graph, entry)
        if not graph:
            return Answer.text("There is no such dataset", "text/plain", 404)
        headers = {"Content-Type": MEDIA_TYPES[self.form]}
        return Answer(200, graph.serialize(format=self.form, encoding="utf-8"), headers)

    def page(self, number: int) -> Answer:
        """Return a page as an answer."""
        size = self.page_size or max(1, len(self.entries))
        pages = max(1, math.ceil(len(self.entries) / size))
        graph = Graph()
        graph += self.extra
        catalog = URIRef(f"{self.url}/")
        graph.add((catalog, RDF.type, DCAT.Catalog))
        for entry in self.entries[(number - 1) * size : number * size]:
            graph.add((catalog, DCAT.dataset, self._add(graph, entry)))
        following = self.page_url(number + 1) if number < pages else None
        headers = {"Content-Type": MEDIA_TYPES[self.form]}
        if self.page_size is not None:
            self._add_paging(graph, number, pages, following, headers)
        return Answer(200, graph.serialize(format=self.form, encoding="utf-8"), headers)

    def _add(self, graph: Graph, entry: Entry) -> Node:
        node: Node = BNode() if entry.is_blank else URIRef(self.iri(entry.key))
        graph.add((node, RDF.type, DCAT.Dataset))
        graph.add((node, DCTERMS.title, Literal(entry.title)))
        if entry.description:
            graph.add((node, DCTERMS.description, Literal(entry.description)))
        graph.add((node, DCTERMS.identifier, Literal(entry.key)))
        for name in entry.files:
            url = URIRef(f"{self.url}/files/{entry.key}/{name}")
            file: Node = BNode() if entry.is_blank else url
            graph.add((node, DCAT.distribution, file))
            graph.add((file, RDF.type, DCAT.Distribution))
            graph.add((file, DCTERMS.title, Literal(name)))
            graph.add((file, DCAT.downloadURL, url))
        return node

    def _add_paging(
        self,
        graph: Graph,
        number: int,
        pages: int,
        following: str | None,
        headers: dict[str, str],
    ) -> None:
        total = str(len(self.entries)) if self.total is None else self.total
        own = URIRef(self.page_url(number))
        if self.link == "header":
            last = f'<{self.page_url(pages)}>; rel="last"'
            link = [f'<{following}>; rel="next"'] if following else []
            headers["Link"] = ", ".join([*link, last])
            return
        collection: Node = URIRef(f"{self.url}/") if self.link == "view" else own
        if total:
            graph.add((collection, HYDRA.totalItems, Literal(int(total))))
        if self.link == "view":
            graph.add((collection, HYDRA.view, own))
            graph.add((own, RDF.type, HYDRA.PartialCollectionView))
            if following:
                graph.add((own, HYDRA.next, URIRef(following)))
            graph.add((own, HYDRA.last, URIRef(self.page_url(pages))))
            return
        # As ckanext-dcat writes them: literals.
        graph.add((own, RDF.type, HYDRA.PagedCollection))
        if following:
            graph.add((own, HYDRA.nextPage, Literal(following)))
        graph.add((own, HYDRA.lastPage, Literal(self.page_url(pages))))
