"""A random catalogue in RDF: what its authors do to it, and what a job could have seen of it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Mapping
from urllib.parse import parse_qs

from ckanext.freshness.tests.harvesting.served_lists import PREFIXES, TURTLE
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Answer, LoopbackServer, Request
from ckanext.freshness.tests.servers.faults import Fault

OWN = ("itself", "404", "403", "410", "500", "page for people", "elsewhere")
"""What datasets' own URLs answer. Those elsewhere are on a host that no job may request."""

_STATUSES = {"itself": 200, "404": 404, "410": 410, "403": 403}
"""By answer, the status that tells something; others tell nothing."""


@dataclasses.dataclass
class Dataset:
    title: str
    own: str
    is_listed: bool = True


@dataclasses.dataclass(frozen=True)
class Moment:
    """What the catalogue had at a moment.

    :ivar pages: the IRIs of the datasets of each page, by its request target
    :ivar is_honest: the total that it states is right
    """

    pages: Mapping[str, Collection[str]]
    is_honest: bool

    def has(self, dataset: str) -> bool:
        """Return whether a page lists a dataset."""
        return any(dataset in page for page in self.pages.values())


class Catalogue(LoopbackServer):
    """A server of one catalogue.

    :ivar datasets: by IRI; also those that no list has
    :ivar page_size: None for one document
    :ivar has_wall: all own URLs answer 403
    :ivar asked: the last status of each own URL; None if it tells nothing
    :ivar served: the IRIs of the datasets in the answers for each page, by its request target
    """

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        """Empty the server."""
        self.faults.clear()
        self.datasets: dict[str, Dataset] = {}
        self.page_size: int | None = None
        self.has_wall = False
        self.total_off = 0
        self.asked: dict[str, int | None] = {}
        self.served: dict[str, set[str]] = {}
        self._made = 0

    @property
    def listed(self) -> list[str]:
        return [iri for iri, one in self.datasets.items() if one.is_listed]

    @property
    def targets(self) -> list[str]:
        """The request targets of all pages."""
        pages = math.ceil(len(self.listed) / self.page_size) if self.page_size else 1
        return ["/c", *(f"/c?page={number}" for number in range(2, pages + 1))]

    def moment(self) -> Moment:
        is_honest = self.page_size is None or not self.total_off
        pages = {
            target: self._listed_on(number) for number, target in enumerate(self.targets, start=1)
        }
        return Moment(pages, is_honest)

    def _listed_on(self, page: int) -> list[str]:
        listed, size = self.listed, self.page_size or max(1, len(self.listed))
        return listed[(page - 1) * size : page * size]

    # What it answers

    def answer(self, request: Request) -> Answer:
        if request.path == "/c":
            number = int(parse_qs(request.query).get("page", ["1"])[0])
            self.served.setdefault(request.target, set()).update(self._listed_on(number))
            return self._page(number)
        iri = f"{self.url}{request.path}"
        one = self.datasets.get(iri)
        if one is None:
            return Answer(404)
        own = "403" if self.has_wall else one.own
        self.asked[iri] = _STATUSES.get(own)
        if own == "itself":
            return Answer(200, f"{PREFIXES}{self._described(iri)}".encode(), TURTLE)
        if own == "page for people":
            return Answer.text("<html><body>A dataset</body></html>", "text/html")
        return Answer(int(own))

    def _described(self, iri: str) -> str:
        return f'<{iri}> a dcat:Dataset ; dct:title "{self.datasets[iri].title}" .\n'

    def _page(self, number: int) -> Answer:
        text = f"{PREFIXES}<{self.url}/c> a dcat:Catalog .\n"
        for iri in self._listed_on(number):
            text += f"<{self.url}/c> dcat:dataset <{iri}> . {self._described(iri)}"
        if self.page_size:
            own = self.url + (f"/c?page={number}" if number > 1 else "/c")
            text += f"<{self.url}/c> hydra:totalItems {len(self.listed) + self.total_off} .\n"
            if number < len(self.targets):
                text += f"<{own}> hydra:next <{self.url}/c?page={number + 1}> .\n"
        return Answer(200, text.encode(), TURTLE)

    # What authors do, each by two numbers

    def _one(self, number: int, *, is_listed: bool = True) -> Dataset | None:
        found = [one for one in self.datasets.values() if one.is_listed is is_listed]
        return found[number % len(found)] if found else None

    def _title(self) -> str:
        self._made += 1
        return f"Edition {self._made}"

    def publish(self, own: int, count: int) -> None:
        """Add some datasets, whose own URLs may never lead anywhere."""
        for number in range(count % 4 + 1):
            title, kind = self._title(), OWN[(own + number) % len(OWN)]
            host = "http://data.example" if kind == "elsewhere" else self.url
            self.datasets[f"{host}/d/{self._made}"] = Dataset(title, kind)

    def edit(self, dataset: int, _: int) -> None:
        if one := self._one(dataset):
            one.title = self._title()

    def unlist(self, dataset: int, count: int) -> None:
        """Leave some datasets out of the list; their own URLs answer as before."""
        for _ in range(3 if count > 8 else 1):
            if one := self._one(dataset):
                one.is_listed = False

    def answer_otherwise(self, dataset: int, own: int) -> None:
        """Let the own URL of a dataset answer in another way, wherever it is listed."""
        one = self._one(dataset, is_listed=dataset % 3 == 0)
        if one is not None and one.own != "elsewhere":
            one.own = OWN[own % (len(OWN) - 1)]

    def delete(self, dataset: int, own: int) -> None:
        """Leave a dataset out of the list, and let its own URL answer 404, 403 or 410."""
        if one := self._one(dataset):
            one.is_listed = False
            one.own = one.own if one.own == "elsewhere" else OWN[1 + own % 3]

    def bring_back(self, dataset: int, _: int) -> None:
        if one := self._one(dataset, is_listed=False):
            one.is_listed = True

    def resize(self, size: int, _: int) -> None:
        """Let the catalogue have pages of another size, or none."""
        self.page_size = size % 5 or None

    # What goes wrong

    def break_page(self, name: str, place: int) -> None:
        """Let a fault strike a page of the list."""
        target = self.targets[place % len(self.targets)]

        def matches(request: Request) -> bool:
            return request.target == target

        if name == "wrong total":
            self.total_off = 1
        elif name != "first page again" or target != "/c":
            self.faults[matches] = FAULTS[name](self)

    def change_after(self, place: int, act: Callable[[], object]) -> None:
        """Do something right after a page of the list was read."""
        target = self.targets[place % len(self.targets)]

        def matches(request: Request) -> bool:
            return request.target == target

        self.faults[matches] = faults.Meanwhile(act=act, times=1)

    def repair(self) -> None:
        """End all faults, and lower the wall."""
        self.faults.clear()
        self.total_off = 0
        self.has_wall = False


Change = Callable[[Catalogue, int, int], None]

CHANGES: Mapping[str, Change] = {
    "publish": Catalogue.publish,
    "edit": Catalogue.edit,
    "unlist": Catalogue.unlist,
    "answer otherwise": Catalogue.answer_otherwise,
    "delete": Catalogue.delete,
    "bring back": Catalogue.bring_back,
    "resize": Catalogue.resize,
}

FAULTS: Mapping[str, Callable[[Catalogue], Fault]] = {
    **{
        str(status): lambda _, status=status: faults.Status(status)  # type: ignore[misc]
        for status in (403, 404, 503)
    },
    "cut off": lambda _: faults.Cut(0.45),
    "truncated": lambda _: faults.Truncate(),
    "empty": lambda _: faults.empty(),
    "HTML": lambda _: faults.html("text/turtle"),
    "other RDF": lambda _: faults.Body(b"<http://a> <http://b> <http://c> ."),
    "first page again": lambda _: faults.Another(target="/c"),
    "past the end": lambda _: faults.Another(target="/c?page=99"),
}


@dataclasses.dataclass(frozen=True)
class CatalogueEvidence:
    """What a job could have seen of a catalogue: the evidence of :mod:`..proofs`.

    :ivar moments: what it had at the job's beginning, and after each change since
    """

    server: Catalogue
    moments: list[Moment]

    def status(self, dataset: str) -> int | None:
        return self.server.asked.get(dataset)

    def was_read(self, dataset: str) -> bool:
        well = self._answered_well()
        pages = [page for target, page in self.server.served.items() if target in well]
        return self.status(dataset) == 200 or any(dataset in page for page in pages)

    def listed_nowhere(self, dataset: str, known: Collection[str]) -> bool:
        first, well = self.moments[0].pages.keys(), self._answered_well()
        if not any(self.moments[0].pages.values()):
            # A page past the end is what an empty catalogue has.
            well |= {one.request.target for one in self.server.answers if one.status == 200}
        return any(
            moment.is_honest and not moment.has(dataset) and moment.pages.keys() & first <= well
            for moment in self.moments
        )

    def is_listed(self, dataset: str) -> bool:
        well = self._answered_well()
        return all(moment.has(dataset) and moment.pages.keys() <= well for moment in self.moments)

    def _answered_well(self) -> set[str]:
        """Return the targets that were answered well."""
        return {
            one.request.target
            for one in self.server.answers
            if one.status == 200 and (one.fault is None or one.fault.is_honest)
        }

    def is_wall(self, dataset: str, catalogs: Mapping[str, str]) -> bool:
        """Return whether all own URLs were refused, and another one could show that."""
        others = [iri for iri in self.server.listed if iri in self.server.asked]
        return self.server.has_wall and bool(others)

    def is_there(self, dataset: str) -> bool:
        one = self.server.datasets[dataset]
        return one.own == "itself" and not self.server.has_wall

    def is_listed_at_end(self, dataset: str) -> bool:
        return self.moments[-1].has(dataset)
