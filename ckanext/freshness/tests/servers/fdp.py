"""A FAIR Data Point on the loopback interface, laid out like the reference implementation.

In a test:

    with FdpServer() as server:
        catalog = server.add_catalog(title="Rare diseases")
        dataset = server.add_dataset(catalog, title="Cohort A")
        server.faults[dataset.path] = Status(503)

"""

from __future__ import annotations

import itertools
import random

from rdflib import Graph

from ckanext.freshness.tests.servers.base import Answer, LoopbackServer, Request
from ckanext.freshness.tests.servers.fdp_model import FdpModel, Record, State
from ckanext.freshness.tests.servers.fdp_render import Layout, Renderer
from ckanext.freshness.tests.servers.negotiation import (
    JSON_LD,
    TURTLE,
    in_named_graph,
)


class FdpServer(FdpModel, LoopbackServer):
    """A FAIR Data Point: the model's records, served.

    `layout` says how it differs from the reference implementation and may be changed at any time.
    With `shuffle`, each answer has its triples in another order, other blank node labels and other
    server-made values, so that the bytes differ and the content does not. `files` are further paths
    and what is at them.

    `/all.ttl` has everything as one DCAT catalogue.
    """

    def __init__(self, *, port: int = 0) -> None:
        LoopbackServer.__init__(self, port=port)
        FdpModel.__init__(self)
        self.shuffle = False
        self.files: dict[str, Answer] = {}
        self.renderer = Renderer(self, self.url, Layout())
        self._noise = itertools.count(1)

    @property
    def layout(self) -> Layout:
        """How this server differs from the reference implementation."""
        return self.renderer.layout

    @layout.setter
    def layout(self, layout: Layout) -> None:
        self.renderer.layout = layout

    @property
    def source_url(self) -> str:
        """Where the root is served: what a harvest source is made of."""
        return f"{self.url}"

    def url_of(self, record: Record) -> str:
        """Where a record is served."""
        return f"{self.url}{record.path}"

    def iri_of(self, record: Record) -> str:
        """What a record is called in documents."""
        return self.renderer.iri(record)

    def answer(self, request: Request) -> Answer:
        """What is at a target; GET and HEAD only."""
        if request.method not in ("GET", "HEAD"):
            return Answer(405, b"", {"Allow": "GET, HEAD"})
        if file := self.files.get(request.path):
            return file.unless_known(request)
        if request.path == "/all.ttl":
            return Answer(200, as_single_catalogue(self), {"Content-Type": TURTLE})
        record = self.find(request.target)
        if record is not None:
            return self._record(record, request)
        # Containers are embedded in their parents' documents and have none of their own.
        if request.path.endswith("/"):
            return Answer(404)
        return Answer.text(
            State.MISSING.sentence(f"{self.renderer.base}{request.path}"), TURTLE, 404
        )

    def _record(self, record: Record, request: Request) -> Answer:
        if refusal := self._refusal(record):
            return refusal
        noise = self._next_noise()
        document = self.renderer.document(record, noise)
        if noise and not record.broken:
            document = disordered(document)
        if record.named_graph:
            body = in_named_graph(document, self.iri_of(record))
            return Answer(200, body, {"Content-Type": JSON_LD})
        accepted = {
            one.partition(";")[0].strip() for one in request.headers.get("Accept", "*/*").split(",")
        }
        if accepted.isdisjoint(("*/*", TURTLE)):
            return Answer(406)
        return Answer(200, document.encode(), {"Content-Type": TURTLE})

    def _refusal(self, record: Record) -> Answer | None:
        if record.state is State.PUBLISHED:
            return None
        sentence = record.state.sentence(self.renderer.iri(record))
        return Answer.text(sentence, TURTLE, record.state.status)

    def _next_noise(self) -> int:
        return next(self._noise) if self.shuffle else 0


def disordered(document: str) -> str:
    """The same triples in another order, with other labels of blank nodes."""
    lines = Graph().parse(data=document, format="turtle").serialize(format="nt").splitlines(True)
    return "".join(random.sample(lines, len(lines)))


def as_single_catalogue(server: FdpServer) -> bytes:
    """All that the server publishes as one Turtle catalogue, for ordinary DCAT harvesters."""
    return "".join(server.renderer.single_catalogue()).encode()
