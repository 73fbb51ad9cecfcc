"""Nothing is deleted without a proof, and everything with a proof is: random catalogues in RDF.

Records are read from lists: their own URLs may answer anything from the beginning, also 404. See
:mod:`..fdp.test_proof` for how to search for faults.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from ckanext.freshness.tests.harvesting.dcat.catalogue import (
    CHANGES,
    FAULTS,
    Catalogue,
    CatalogueEvidence,
    Moment,
)
from ckanext.freshness.tests.harvesting.dcat.crawling import CatalogueSite
from ckanext.freshness.tests.harvesting.fdp.crawling import Job
from ckanext.freshness.tests.harvesting.proof_machine import ProofMachine, run

NUMBERS = st.integers(0, 11)
"""Each chooses one of several datasets or places, whatever their number."""

MOVES = st.lists(
    st.tuples(st.sampled_from([*CHANGES, "publish", "bring back"]), NUMBERS, NUMBERS), max_size=3
)
"""Changes of a catalogue: names, and two numbers for each."""

Moves = list[tuple[str, int, int]]


class Machine(ProofMachine):
    """A catalogue in RDF."""

    has_own_documents = False
    server: ClassVar[Catalogue]

    def __init__(self) -> None:
        super().__init__()
        self.server.clear()
        self.moments: list[Moment] = []

    @initialize(size=NUMBERS, owns=st.lists(NUMBERS, min_size=1, max_size=5), count=NUMBERS)
    def begin(self, size: int, owns: list[int], count: int) -> None:
        """Harvest a new catalogue, whose datasets' own URLs answer so."""
        self.server.resize(size, 0)
        for own in owns:
            self.server.publish(own, count)
        self.site = CatalogueSite(None, url=f"{self.server.url}/c", connections=1)
        self.run_job()

    @rule(moves=MOVES, approves=st.booleans(), hours=st.integers(1, 30))
    def change(self, moves: Moves, approves: bool, hours: int) -> None:
        """Change the catalogue, approve held deletions or not, and harvest it."""
        self._change(moves)
        if approves:
            self.site.release()
        self.run_job(hours=hours)

    @rule(
        moves=MOVES,
        broken=st.lists(
            st.tuples(st.sampled_from([*FAULTS, "wrong total"]), NUMBERS), min_size=1, max_size=2
        ),
        hours=st.integers(1, 30),
    )
    def fail(self, moves: Moves, broken: list[tuple[str, int]], hours: int) -> None:
        """Change the catalogue, and harvest it while pages of its list fail."""
        self._change(moves)
        for name, place in broken:
            self.server.break_page(name, place)
        self.run_job(hours=hours)
        self.server.repair()

    @rule(
        moves=MOVES,
        hours=st.lists(st.integers(1, 30), min_size=1, max_size=3),
        approves=st.booleans(),
    )
    def refuse_all(self, moves: Moves, hours: list[int], approves: bool) -> None:
        """Change the catalogue, and harvest it several times while a wall is before all own URLs."""
        self._change(moves)
        self.server.has_wall = True
        for wait in hours:
            self.run_job(hours=wait)
        if approves:
            self.site.release()
        self.server.repair()

    @rule(place=NUMBERS, moves=MOVES)
    def change_meanwhile(self, place: int, moves: Moves) -> None:
        """Change the catalogue right after a page of it was read."""

        def act() -> None:
            self._change(moves)
            self.moments.append(self.server.moment())

        self.server.change_after(place, act)
        self.run_job()
        self.server.repair()

    def _change(self, moves: Moves) -> None:
        for name, first, second in moves:
            CHANGES[name](self.server, first, second)

    def identity(self, url: str | None) -> str:
        return url or ""

    def before_job(self) -> None:
        self.server.reset()
        self.server.asked.clear()
        self.server.served.clear()
        self.moments = [self.server.moment()]

    def evidence(self) -> CatalogueEvidence:
        self.server.wait_until_idle()
        self.moments.append(self.server.moment())
        return CatalogueEvidence(self.server, self.moments)

    def check_result(self, job: Job, evidence: CatalogueEvidence) -> None:
        for iri in self.server.listed:
            assert iri in self.site.known, f"{iri} is not harvested: {job.errors}"
            title = self.server.datasets[iri].title
            assert self.site.packages[iri].title == title, f"{iri} is not as at its source"
        # A catalogue that had pages and is one document now may have lost the link to the next page.
        may_be_cut = any("names no further pages" in error for error in job.errors)
        for iri, one in self.site.known.items():
            may_stay = self.server.datasets[iri].is_listed or may_be_cut
            assert may_stay or one.guid in self.site.held, f"{iri} is kept: {job.errors}"


@pytest.fixture(scope="module")
def server() -> Iterator[Catalogue]:
    with Catalogue() as running:
        yield running


def test_nothing_is_deleted_without_proof(server: Catalogue) -> None:
    class Here(Machine):
        pass

    Here.server = server
    run(Here)
