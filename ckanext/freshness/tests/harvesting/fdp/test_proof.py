"""Nothing is deleted without a proof, and everything with a proof is: random catalogues, faults and jobs.

The machine runs real surveys against a real server. What proves that a record is gone is found out from what
the server had and answered (:mod:`.evidence`), never by the strategy.

To see that it finds a fault, take its repair out of the harvester (revert the commit, or change the line that
decides) and run this file. Hypothesis prints the steps. To look for new faults, and for the shortest steps to
them, let it run other and more examples (``--hypothesis-seed`` chooses them)::

    ./dev test ckanext/freshness/tests/harvesting/fdp/test_proof.py -n 1 --hypothesis-profile=search
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from ckanext.freshness.harvesting.record import KnownRecord
from ckanext.freshness.tests.harvesting.fdp.catalogue import CHANGES, FAULTS, Catalogue
from ckanext.freshness.tests.harvesting.fdp.crawling import HURRIED, LIMITS, Job, Site
from ckanext.freshness.tests.harvesting.fdp.evidence import Evidence, Moment, identity
from ckanext.freshness.tests.harvesting.proof_machine import ProofMachine, run
from ckanext.freshness.tests.servers import faults
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_model import Kind
from ckanext.freshness.tests.servers.fdp_render import Layout

NUMBERS = st.integers(0, 11)
"""Each chooses one of several records or places, whatever their number."""


def changes(
    *, least: int = 0, most: int = 2, among: Collection[str] = CHANGES.keys()
) -> st.SearchStrategy[list[tuple[str, int, int]]]:
    """Return a strategy for changes of a catalogue: names, and two numbers for each."""
    # Otherwise, more would go than come.
    frequent = [one for one in ("publish", "bring back", "publish container") if one in among]
    names = [*among, *frequent, *frequent]
    return st.lists(
        st.tuples(st.sampled_from(names), NUMBERS, NUMBERS), min_size=least, max_size=most
    )


def breakages() -> st.SearchStrategy[list[tuple[str, bool, int]]]:
    """Return a strategy for faults: names, whether a container fails, and a number for the place."""
    is_container = st.sampled_from([True, True, False])
    return st.lists(
        st.tuples(st.sampled_from(list(FAULTS)), is_container, NUMBERS), min_size=1, max_size=2
    )


class Machine(ProofMachine):
    """A FAIR Data Point."""

    server: ClassVar[FdpServer]
    empty: ClassVar[Callable[[], None]]
    """Empties the server."""

    catalogue: Catalogue

    def __init__(self) -> None:
        super().__init__()
        type(self).empty()
        self.moments: list[Moment] = []

    @initialize(
        containers=st.booleans(),
        is_root=st.sampled_from([True, True, False]),
        datasets=st.sampled_from(
            [[2], [6], [12], [1, 2], [3, 3], [6, 6], [5, 0], [2, 3, 1], [4, 4, 4]]
        ),
    )
    def begin(self, containers: bool, is_root: bool, datasets: list[int]) -> None:
        """Harvest a new catalogue with so many datasets in each catalog."""
        layout = Layout(containers=containers)
        self.catalogue = Catalogue(self.server, layout, catalogs=len(datasets), is_root=is_root)
        for catalog, count in enumerate(datasets):
            for _ in range(count):
                self.catalogue.publish(catalog, 0)
        self.site = Site(self.server, url=self.catalogue.source_url, connections=1)
        self.run_job()

    @rule(changes=changes(least=1, most=3), approves=st.booleans(), hours=st.integers(1, 30))
    def change(self, changes: list[tuple[str, int, int]], approves: bool, hours: int) -> None:
        """Change the catalogue, approve held deletions or not, and harvest it."""
        self._change(changes)
        if approves:
            self.site.release()
        self.run_job(hours=hours)

    @rule(changes=changes(), broken=breakages(), hours=st.integers(1, 30))
    def fail(
        self, changes: list[tuple[str, int, int]], broken: list[tuple[str, bool, int]], hours: int
    ) -> None:
        """Change the catalogue, and harvest it while the server fails: a fault, of a container, and a place."""
        self._change(changes)
        for name, is_container, place in broken:
            if is_container:
                self.catalogue.break_container(name, place)
            else:
                self.catalogue.break_record(name, place)
        self.run_job(hours=hours)
        self.catalogue.repair()

    @rule(
        catalog=NUMBERS,
        changes=changes(),
        hours=st.lists(st.integers(1, 30), min_size=1, max_size=3),
        approves=st.booleans(),
    )
    def refuse_all(
        self, catalog: int, changes: list[tuple[str, int, int]], hours: list[int], approves: bool
    ) -> None:
        """Change the catalogue, and harvest it several times while a wall is before a catalog's datasets."""
        self._change(changes)
        self.catalogue.raise_wall(catalog)
        for wait in hours:
            self.run_job(hours=wait)
        if approves:
            self.site.release()
        self.catalogue.repair()

    @rule(
        place=NUMBERS,
        changes=changes(
            least=1,
            among=(
                *("edit", "delete", "bring back", "withdraw", "publish", "refuse catalog"),
                *("move", "unlist", "insert biobank", "list also"),
            ),
        ),
    )
    def change_meanwhile(self, place: int, changes: list[tuple[str, int, int]]) -> None:
        """Change the catalogue right after a container was read."""

        def act() -> None:
            self._change(changes)
            self.moments.append(self._moment())

        places = self.catalogue.containers()
        key = self.catalogue.key(places[place % len(places)])
        self.server.faults[key] = faults.Meanwhile(act=act, times=1)
        self.run_job()
        self.catalogue.repair()

    # Inside

    def _change(self, changes: list[tuple[str, int, int]]) -> None:
        for name, first, second in changes:
            CHANGES[name](self.catalogue, first, second)

    def _moment(self) -> Moment:
        return Moment.of(self.server, self.catalogue.source_url)

    def identity(self, url: str | None) -> str:
        return identity(url or "", self.server)

    def before_job(self) -> None:
        self.server.reset()
        self.moments = [self._moment()]
        hangs = any(isinstance(one, faults.Hang) for one in self.server.faults.values())
        self.site.limits = HURRIED if hangs else LIMITS

    def evidence(self) -> Evidence:
        self.server.wait_until_idle()
        self.moments.append(self._moment())
        return Evidence(self.server, self.moments, self.server.answers)

    def check_result(self, job: Job, evidence: Evidence) -> None:
        end = evidence.moments[-1]
        known = {self.identity(url): one for url, one in self.site.known.items()}
        for record in self.server.datasets:
            own = self.identity(record.path)
            if not end.is_visible(own):
                continue
            url = self.server.iri_of(record)
            assert own in known, f"{url} is not harvested: {job.errors}"
            package = self.site.packages[known[own].url]
            assert package.title == record.label, f"{url} is not as at its source"
            catalog = self.identity(known[own].catalog_url)
            assert catalog in self._catalogs_of(own, record.part_of, end, known), (
                f"{url} is in the catalog {catalog}: {job.errors}"
            )
        for own, one in known.items():
            if not end.is_visible(own) and one.guid not in self.site.held:
                may_stay = self._may_stay(own, one, evidence, known)
                assert may_stay, f"{one.url} is kept though it is gone"

    def _catalogs_of(
        self, own: str, part_of: object, end: Moment, known: dict[str, KnownRecord]
    ) -> set[str]:
        """Return the catalogs in which a visible dataset may be."""
        named = [one for one in end.containers.values() if one.record is part_of]
        allowed = {one.catalog for one in named}
        if not any(one.record.kind is Kind.CATALOG for one in named):
            allowed |= {one.catalog for one in end.listing(own)}
        before = self.identity(known[own].catalog_url)
        if before in end.containers and not end.containers[before].is_readable:
            allowed.add(before)
        return allowed

    def _may_stay(
        self, own: str, one: KnownRecord, evidence: Evidence, known: dict[str, KnownRecord]
    ) -> bool:
        """Return whether a record that is not visible may be kept without being held."""
        end = evidence.moments[-1]
        catalog = self.identity(one.catalog_url)
        for container in end.containers.values():
            if container.catalog == catalog and not container.is_readable:
                return True
        status = evidence.status(own)
        if status in (404, 410):
            # While a listed record answers so, too, it says nothing.
            others = (self.identity(record.path) for record in self.server.datasets)
            return any(
                evidence.status(other) in (404, 410) and evidence.is_listed(other)
                for other in others
            )
        if status in (401, 403) and end.listing(own):
            return False
        states_no_lists = not self.server.layout.containers and any(
            not any(container.record.listing(kind) for kind in Kind)
            for container in end.containers.values()
        )
        return states_no_lists or not evidence.listed_nowhere(own, known)


@pytest.fixture(scope="module")
def server() -> Iterator[FdpServer]:
    with FdpServer() as server:
        yield server


def test_nothing_is_deleted_without_proof(server: FdpServer) -> None:
    class Here(Machine):
        pass

    Here.server, Here.empty = server, staticmethod(server.snapshot())
    run(Here)
