"""A server of lists of datasets in Turtle, which FAIR Data Points and DCAT catalogues serve in the same way."""

from __future__ import annotations

from typing import Any

from ckanext.freshness.tests.servers.base import Answer, LoopbackServer, Request

TURTLE = {"Content-Type": "text/turtle; charset=utf-8"}
PREFIXES = """
@prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dct: <http://purl.org/dc/terms/> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> . @prefix hydra: <http://www.w3.org/ns/hydra/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
"""
CATALOG = "<> a dcat:Catalog .\n"


def dataset(name: Any, title: str = "", more: str = "") -> str:
    """Return a dataset that the document's catalog lists."""
    title = title or f"Dataset {name}"
    return (
        f'<> dcat:dataset <d/{name}> . <d/{name}> a dcat:Dataset ; {more} dct:title "{title}" .\n'
    )


def datasets(*numbers: int) -> str:
    return "".join(map(dataset, numbers))


class Documents(LoopbackServer):
    """A server of documents in Turtle, by path and query."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, Answer] = {}

    def answer(self, request: Request) -> Answer:
        return self.files.get(request.target, Answer(404))

    def publish(self, target: str, text: str, *, catalog: str = CATALOG, **headers: str) -> None:
        """Publish a list, or with another ``catalog`` any document. BASE is the server's URL."""
        body = (PREFIXES + catalog + text).replace("BASE", self.url)
        here = {name: value.replace("BASE", self.url) for name, value in headers.items()}
        self.files[target] = Answer(200, body.encode(), {**TURTLE, **here})

    def publish_dataset(self, number: int) -> None:
        """Publish a dataset at its own URL."""
        text = f'<BASE/d/{number}> a dcat:Dataset ; dct:title "Dataset {number}" .'
        self.publish(f"/d/{number}", text, catalog="")

    def pages(self, *texts: str, total: int | None = None) -> None:
        """Publish the pages of the list at ``/c``, each with a link to the next one."""
        for number, text in enumerate(texts, start=1):
            own = "/c" if number == 1 else f"/c?page={number}"
            if number < len(texts):
                text += f"<BASE{own}> hydra:next <BASE/c?page={number + 1}> .\n"
            if total is not None:
                text += f"<BASE/c> hydra:totalItems {total} .\n"
            self.publish(own, text)
