"""What happens to the site of a campaign while a job runs."""

from __future__ import annotations

import random
from dataclasses import dataclass


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


def draw_blows(rng: random.Random, without: set[str]) -> list[Blow]:
    """Return what happens to the site during a job, in order."""
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
