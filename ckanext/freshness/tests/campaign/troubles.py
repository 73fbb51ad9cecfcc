"""The troubles of a round: answers of the source that are wrong, and what happens to the site meanwhile."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from aiohttp import web

from ckanext.freshness.tests.campaign.catalogue import Catalogue
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.base import Exchange, Request
from ckanext.freshness.tests.servers.faults import Fault
from ckanext.freshness.tests.servers.fdp_model import Record
from ckanext.freshness.tests.servers.turtle import HEAD


@dataclass(slots=True)
class AsAnother(Fault):
    """The healthy answer to another request, whose target `other` makes of this one's."""

    other: Callable[[str], str] = str

    async def respond(self, exchange: Exchange) -> web.StreamResponse:
        request = dataclasses.replace(exchange.request, target=self.other(exchange.request.target))
        return exchange.server.answer(request).response()


ANSWERS: dict[str, Callable[[], Fault]] = {
    "answers 503": lambda: faults.Status(503),
    "answers 500": lambda: faults.Status(500),
    "answers 404": lambda: faults.Status(404),
    "answers 403": lambda: faults.Status(403),
    "does not answer": faults.Hang,
    "breaks off": faults.Truncate,
    "is reset": faults.Reset,
    "is a web page": faults.html,
    "is a web page called Turtle": lambda: faults.html("text/turtle"),
    "is malformed": lambda: faults.Body(b'<a> <b> "c'),
    "is empty": faults.empty,
    "describes nothing": lambda: faults.Body(HEAD.encode()),
}
"""Wrong answers of any document, by their description."""


@dataclass(frozen=True, slots=True)
class WrongAnswer:
    """A wrong answer of the source.

    :ivar record: the record whose document, or whose pages, are wrong
    :ivar of_pages: the pages of the record are wrong, and not its document
    :ivar lasts: it is wrong for the whole job
    """

    words: str
    record: Record
    of_pages: bool
    fault: Fault
    lasts: bool

    @property
    def struck(self) -> bool:
        """Whether a job met it to the end, so that it could not see the right answer."""
        return self.lasts and self.fault.seen > 0

    @property
    def says_gone(self) -> bool:
        """Whether it says that the record is gone."""
        return isinstance(self.fault, faults.Status) and self.fault.code == 404


def give_wrong_answers(catalogue: Catalogue, without: set[str]) -> list[WrongAnswer]:
    """Let some documents or pages of the source be wrong."""
    number = catalogue.rng.choice((0, 0, 1, 1, 1, 2, 3))
    drawn = [_wrong_answer(catalogue, without) for _ in range(number)]
    return [one for one in drawn if one is not None]


def _wrong_answer(catalogue: Catalogue, without: set[str]) -> WrongAnswer | None:
    server, rng = catalogue.server, catalogue.rng
    datasets = [one for one in server.datasets if catalogue.exists(one)]
    files = [file for one in datasets for file in catalogue.distributions(one)]
    level, of_pages = rng.choice(
        [([server.root], False), *[(catalogue.catalogs, False)] * 3]
        + [(catalogue.catalogs, True)] * 3
        + [(datasets, False), (files, False)]
    )
    if not level:
        return None
    record = rng.choice(level)
    path, page = record.path or "/", None
    words = "the root" if record is server.root else path.lstrip("/")
    own = dict(ANSWERS)
    if of_pages:
        path, page = f"{path}/page/dataset", rng.randrange(3)
        words = f"page {page} of {words}"
        if page:
            own["repeats page 0"] = partial(AsAnother, other=_first_page)
    elif record in catalogue.catalogs:
        title = f'<{server.iri_of(record)}> a dcat:Catalog; dcterms:title "Empty" .'
        own["lists nothing"] = lambda: faults.Body(f"{HEAD}{title}".encode())
        for other in catalogue.catalogs:
            if other is not record:
                own["answers as another"] = partial(AsAnother, other=partial(_path, other))
    names = [name for name in own if name not in without]
    name = rng.choice(names)
    fault = own[name]()
    lasts = rng.random() < 0.8
    fault.times = None if lasts else 1

    def is_meant(request: Request) -> bool:
        has_page = page is None or f"page={page}&" in f"{request.query}&"
        return (request.path or "/").rstrip("/") == path.rstrip("/") and has_page

    server.faults[is_meant] = fault
    return WrongAnswer(f"{words} {name}{'' if lasts else ' once'}", record, of_pages, fault, lasts)


def _first_page(target: str) -> str:
    return re.sub("page=[0-9]+", "page=0", target)


def _path(record: Record, target: str) -> str:
    return record.path


@dataclass(frozen=True, slots=True)
class Blow:
    """Something that happens to the site while a job runs.

    :ivar in_gather: it happens while the source is read; otherwise while records are imported
    :ivar after: so many requests to the source, or imported records, come before it
    """

    name: str
    in_gather: bool
    after: int
    seconds: float

    def __str__(self) -> str:
        unit = "requests" if self.in_gather else "imports"
        return f"{self.name} after {self.after} {unit}"


BLOWS = {
    "gather consumer killed": 3,
    "fetch consumer killed": 4,
    "PostgreSQL stopped": 2,
    "Redis stopped": 2,
    "Redis emptied": 3,
    "Solr stopped": 1,
    "messages sent twice": 2,
    "dataset edited meanwhile": 2,
    "job aborted": 1,
}
"""The blows by name, with their weights."""


def draw_blows(catalogue: Catalogue, without: set[str]) -> list[Blow]:
    """Return what happens to the site during a job, in order."""
    rng = catalogue.rng
    names = [name for name in BLOWS if name not in without]
    weights = [BLOWS[name] for name in names]
    number = rng.choice((0, 1, 1, 2)) if names else 0
    blows = []
    for name in rng.choices(names, weights, k=number):
        in_gather = rng.random() < 0.5
        if name.startswith(("gather", "fetch")):
            in_gather = name.startswith("gather")
        after = rng.randrange(20) if in_gather else rng.randrange(1, 5)
        blows.append(Blow(name, in_gather, after, rng.random()))
    return sorted(blows, key=lambda blow: (not blow.in_gather, blow.after))
