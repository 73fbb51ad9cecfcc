"""Every fault at every page of a source whose containers have pages: nothing is deleted without need.

Each row is four jobs: a healthy server; the fault, while another record changes; a healthy server; and a
healthy server without one of the records, which alone is deleted. Each fault is at each place, and in each
style of paging at one place or more.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import pytest

from ckanext.freshness.harvesting.strategy import RecordClass
from ckanext.freshness.tests.harvesting.fdp.catalogue import FAULTS, Catalogue
from ckanext.freshness.tests.harvesting.fdp.crawling import HURRIED, LIMITS, Site
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_paging import Paging
from ckanext.freshness.tests.servers.fdp_render import Layout

STYLES = {paging.name.lower(): paging for paging in Paging}
PLACES = ("/", "/?page=2", "/catalog/c0", "/catalog/c0?page=2", "/catalog/c0?page=3", "/catalog/c1")


class World:
    """A source of three catalogs, and a site that has harvested it.

    The root has two pages, its first catalog three, the others one.
    """

    def __init__(self, server: FdpServer, paging: Paging) -> None:
        self.server = server
        layout = Layout(pages=False, containers=False, paging=paging, newest_first=True)
        self.catalogue = Catalogue(server, layout, catalogs=3, is_root=True)
        for catalog in (0, 0, 0, 0, 0, 0, 1, 2, 2):
            self.catalogue.publish(catalog, 0)
        self.site = Site(server, connections=1)
        job = self.site.job()
        assert (job.errors, len(job.of(RecordClass.NEW))) == ([], 9)
        self.ids = self.site.ids()
        self._harvested, self._restore = self.site.copy(), server.snapshot()

    def restore(self) -> None:
        """Restore the state after the first job."""
        self._restore()
        self.catalogue.repair()
        self.site = self._harvested.copy()

    def check_all_kept(self) -> None:
        """Assert that a job deletes nothing."""
        job = self.site.job()
        assert job.of(RecordClass.DELETED) == set()
        assert job.brake is None
        assert self.site.ids() == self.ids

    def check_recovery(self) -> None:
        """Assert that the next job has no error and deletes nothing, and one after it what is gone."""
        self.catalogue.repair()
        self.site.limits = LIMITS
        job = self.site.job()
        assert (job.errors, job.of(RecordClass.DELETED)) == ([], set())
        assert self.site.titles() == {one.label for one in self.server.datasets}
        gone = self.server.datasets[4]
        self.server.remove(gone)
        job = self.site.job()
        assert (job.errors, job.of(RecordClass.DELETED)) == ([], {self.server.iri_of(gone)})
        del self.ids[self.server.iri_of(gone)]
        assert self.site.ids() == self.ids
        self.ids = self._harvested.ids()


def each(names: str, *values: Iterable[object]) -> pytest.MarkDecorator:
    """Parametrize a test with each combination of values, in one style of paging after the other."""
    styles = itertools.cycle(STYLES)
    rows = [(*row, next(styles)) for row in itertools.product(*values)]
    return pytest.mark.parametrize(f"{names}, kept_world", rows, indirect=["kept_world"])


@pytest.fixture(scope="module")
def kept_world(request: pytest.FixtureRequest) -> Iterator[World]:
    with FdpServer() as server:
        yield World(server, STYLES[request.param])


@pytest.fixture
def world(kept_world: World) -> World:
    kept_world.restore()
    return kept_world


@each("fault, place", FAULTS, PLACES)
def test_a_page_fails(world: World, fault: str, place: str) -> None:
    world.site.limits = HURRIED if fault == "hangs" else LIMITS
    world.server.faults[world.catalogue.key(place)] = FAULTS[fault](world.catalogue, place)
    world.server.change(world.server.datasets[6], title="Changed")
    world.check_all_kept()
    world.check_recovery()


@each("moved, place", range(9), PLACES)
def test_a_record_moves_to_a_page_that_was_read(world: World, moved: int, place: str) -> None:
    """The pages list the last edited record first."""
    record = world.server.datasets[moved]
    world.server.faults[world.catalogue.key(place)] = faults.Meanwhile(
        act=lambda: world.server.change(record, title="Moved"), times=1
    )
    world.check_all_kept()
    world.check_recovery()


@each("moved, place", (0, 2, 4, 5, 7), PLACES)
def test_a_record_moves_to_a_catalog_that_was_read(world: World, moved: int, place: str) -> None:
    """The catalog that it leaves has others: an empty one would write no list."""
    record, (first, *_) = world.server.datasets[moved], world.server.catalogs
    world.server.faults[world.catalogue.key(place)] = faults.Meanwhile(
        act=lambda: world.server.move(record, first, listing_follows=True), times=1
    )
    world.check_all_kept()
    world.check_recovery()
