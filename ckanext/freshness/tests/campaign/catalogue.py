"""The source of a campaign: a FAIR Data Point, the moves of its authors, and the truth about its records."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Hashable
from urllib.parse import unquote, urlsplit

from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind, Record, State
from ckanext.freshness.tests.servers.fdp_render import Layout

CATALOGS, DATASETS = 3, 30
"""The catalogue begins with so many, and the moves keep it near that."""
PAGE_SIZES = (None, 2, 3, 7)


def key_of(url: str) -> str:
    """Return the same text for all spellings of a record's URL."""
    return unquote(urlsplit(url).path).rstrip("/")


class Catalogue:
    """A catalogue that its authors change at random.

    :ivar rng: decides all moves of a round
    """

    def __init__(self, server: FdpServer, rng: random.Random) -> None:
        self.server = server
        self.rng = rng
        self._numbers = itertools.count(1)
        self._records: dict[str, Record] = {}
        for _ in range(CATALOGS):
            self.add_catalog()
        for _ in range(DATASETS):
            self.publish()

    # The truth

    def record_of(self, url: str) -> Record:
        """Return the dataset or distribution of a URL in any spelling, whether or not it still exists."""
        return self._records[key_of(url)]

    @property
    def catalogs(self) -> list[Record]:
        """The catalogs that the root lists."""
        return [one for one in self.server.root.listing(Kind.CATALOG) if isinstance(one, Record)]

    def listings(self, record: Record) -> list[Record]:
        """Return the catalogs that list a dataset, and that the root lists."""
        return [one for one in self.catalogs if record in one.listing(Kind.DATASET)]

    def exists(self, record: Record) -> bool:
        """Return whether the source has a dataset for everybody: it can be read, and a catalog lists it."""
        return self.answers(record) and bool(self.listings(record))

    def readable(self, catalog: Record) -> list[Record]:
        """Return the datasets of a catalog that can be read."""
        listed = [one for one in catalog.listing(Kind.DATASET) if isinstance(one, Record)]
        return [one for one in listed if self.answers(one)]

    def answers(self, record: Record) -> bool:
        """Return whether a record can be read."""
        return record.state is State.PUBLISHED and not self.is_gone(record)

    def is_gone(self, record: Record) -> bool:
        """Return whether a record's own URL answers 404 or 410."""
        return record.state in (State.MISSING, State.GONE) or record not in self._all(record.kind)

    def distributions(self, dataset: Record) -> list[Record]:
        """Return the distributions that belong to a dataset."""
        listed = [one for one in dataset.listing(Kind.DISTRIBUTION) if isinstance(one, Record)]
        # A dataset has what it names, but of what its container lists, only distributions that name it.
        if self.server.layout.member_links:
            return listed
        return [one for one in listed if one.part_of is dataset]

    def content(self, dataset: Record) -> Hashable:
        """Return everything that a dataset's package is made of. If it is equal, nothing is written."""
        described = [dataset, *self.distributions(dataset)]
        parent = dataset.part_of.path if dataset.part_of in self.catalogs else None
        return (
            tuple((one.path, *one.fields.items(), *one.blocks.items()) for one in described),
            parent or tuple(sorted(one.path for one in self.listings(dataset))),
        )

    # Moves. Each returns False if it found nothing to do.

    def publish(self) -> bool:
        if len(self.server.datasets) > DATASETS * 1.5:
            return False
        number = next(self._numbers)
        mark = "~" if number % 3 == 0 else "-"
        record = self.server.add_dataset(
            self.rng.choice(self.catalogs or self.server.catalogs),
            f"data{mark}{number}",
            title=f"Dataset {number}",
            distributions=0,
        )
        self._records[key_of(record.path)] = record
        for _ in range(self.rng.randrange(4)):
            self._add_distribution(record)
        return True

    def edit(self) -> bool:
        return self._with_dataset(
            lambda record: self.server.change(
                record, description=f"Edition {next(self._numbers)}.", keyword=self._keywords()
            )
        )

    def move(self) -> bool:
        return self._with_dataset(
            lambda record: self.server.move(
                record, self.rng.choice(self.catalogs), listing_follows=self.rng.random() < 0.5
            )
        )

    def list_twice(self) -> bool:
        return self._with_dataset(
            lambda record: self.server.list_also(record, self.rng.choice(self.catalogs)),
            lambda record: len(self.listings(record)) == 1,
        )

    def withdraw(self) -> bool:
        return self._with_dataset(self.server.withdraw)

    def vanish(self) -> bool:
        return self._with_dataset(self.server.vanish)

    def delete(self) -> bool:
        return self._with_dataset(self.server.remove)

    def unlist(self) -> bool:
        def unlist(record: Record) -> None:
            for catalog in self.server.catalogs:
                self.server.unlist(record, catalog)

        return self._with_dataset(unlist)

    def bring_back(self) -> bool:
        def bring_back(record: Record) -> None:
            self.server.publish(record)
            if not self.listings(record):
                self.server.list_also(record, self.rng.choice(self.catalogs))

        return self._with_dataset(bring_back, lambda record: not self.exists(record))

    def respell(self) -> bool:
        def respell(record: Record) -> None:
            path = record.path
            if "~" in path:
                path = path.replace("~", "%7E")
            elif "%7E" in path:
                path = path.replace("%7E", "~")
            else:
                path = path.rstrip("/") if path.endswith("/") else f"{path}/"
            self.server.respell(record, path)

        return self._with_dataset(respell)

    def add_distribution(self) -> bool:
        return self._with_dataset(self._add_distribution)

    def remove_distribution(self) -> bool:
        return self._with_distribution(self.server.remove)

    def rename_distribution(self) -> bool:
        return self._with_distribution(
            lambda record: self.server.change(record, title=f"File {next(self._numbers)}")
        )

    def share_distribution(self) -> bool:
        others = [one for one in self.server.datasets if self.exists(one)]
        return self._with_distribution(
            lambda record: self.server.list_also(record, self.rng.choice(others)),
            lambda record: sum(record in one.listing(record.kind) for one in others) == 1,
        )

    def add_catalog(self) -> bool:
        if len(self.catalogs) >= 2 * CATALOGS:
            return False
        self.server.add_catalog(f"catalog-{next(self._numbers)}")
        return True

    def remove_catalog(self) -> bool:
        if len(self.catalogs) < CATALOGS:
            return False
        catalog = self.rng.choice(self.catalogs)
        if self.rng.random() < 0.5:
            self.server.remove_catalog(catalog)
        else:
            self.server.unlist(catalog, self.server.root)
        return True

    def list_catalog_again(self) -> bool:
        for catalog in self.server.catalogs:
            if catalog not in self.catalogs:
                self.server.list_also(catalog, self.server.root)
                return True
        return False

    def set_up_otherwise(self) -> bool:
        """Change how the server answers, but nothing of what it says."""
        pages = self.rng.random() < 0.7
        # Pages have no containers: without links, nothing would name their distributions.
        ways = [(True, True), (True, False), *([] if pages else [(False, True)])]
        links, containers = self.rng.choice(ways)
        self.server.layout = Layout(
            pages=pages,
            max_page_size=self.rng.choice(PAGE_SIZES),
            member_links=links,
            containers=containers,
        )
        self.server.shuffle = self.rng.random() < 0.5
        return True

    def _add_distribution(self, dataset: Record) -> None:
        number = next(self._numbers)
        record = self.server.add_distribution(
            dataset,
            title=f"File {number}",
            download_url=f"https://example.org/files/{number}.csv",
            format="CSV",
        )
        self._records[key_of(record.path)] = record

    def _keywords(self) -> list[str]:
        return self.rng.sample(["health", "water", "roads", "schools", "prices"], 2)

    def _all(self, kind: Kind) -> set[Record]:
        return set(self.server.records(kind))

    def _with_dataset(
        self, act: Callable[[Record], object], is_fit: Callable[[Record], bool] | None = None
    ) -> bool:
        return self._with_any(self.server.datasets, act, is_fit or self.exists)

    def _with_distribution(
        self, act: Callable[[Record], object], is_fit: Callable[[Record], bool] | None = None
    ) -> bool:
        lists = [self.distributions(one) for one in self.server.datasets if self.exists(one)]
        records = list(itertools.chain(*lists))
        return self._with_any(records, act, is_fit or (lambda record: True))

    def _with_any(
        self,
        records: list[Record],
        act: Callable[[Record], object],
        is_fit: Callable[[Record], bool],
    ) -> bool:
        fit = [record for record in records if is_fit(record)]
        if not fit or not self.catalogs:
            return False
        act(self.rng.choice(fit))
        return True


MOVES: dict[str, tuple[int, Callable[[Catalogue], bool]]] = {
    "published": (8, Catalogue.publish),
    "edited": (6, Catalogue.edit),
    "moved": (3, Catalogue.move),
    "listed twice": (1, Catalogue.list_twice),
    "withdrawn": (2, Catalogue.withdraw),
    "vanished": (1, Catalogue.vanish),
    "deleted": (3, Catalogue.delete),
    "unlisted": (2, Catalogue.unlist),
    "brought back": (3, Catalogue.bring_back),
    "respelled": (2, Catalogue.respell),
    "distribution added": (3, Catalogue.add_distribution),
    "distribution removed": (3, Catalogue.remove_distribution),
    "distribution renamed": (3, Catalogue.rename_distribution),
    "distribution shared": (2, Catalogue.share_distribution),
    "catalog added": (1, Catalogue.add_catalog),
    "catalog removed": (1, Catalogue.remove_catalog),
    "catalog listed again": (1, Catalogue.list_catalog_again),
    "server set up otherwise": (4, Catalogue.set_up_otherwise),
}
"""The moves by name, with their weights."""


def make_moves(catalogue: Catalogue, without: set[str]) -> dict[str, int]:
    """Make some moves, and return how many of each."""
    names = [name for name in MOVES if name not in without]
    weights = [MOVES[name][0] for name in names]
    made: dict[str, int] = {}
    for name in catalogue.rng.choices(names, weights, k=catalogue.rng.randrange(7)):
        if MOVES[name][1](catalogue):
            made[name] = made.get(name, 0) + 1
    return made
