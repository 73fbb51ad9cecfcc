"""The command of a campaign: ``./dev campaign [--seed N] [--rounds N] [--without KIND]``."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ckanext.freshness.tests.campaign.catalogue import MOVES, Catalogue, make_moves
from ckanext.freshness.tests.campaign.comparison import Comparison
from ckanext.freshness.tests.campaign.site import Site
from ckanext.freshness.tests.campaign.troubles import BLOWS, draw_blows
from ckanext.freshness.tests.servers.fdp import FdpServer
from stack.commands import Interrupted, end_on_signals
from stack.messages import say
from stack.processes import end_with_parent

CALM = 0.4
"""How often two jobs without any trouble follow a round's job."""
KINDS = {*MOVES, *BLOWS}


@dataclass(slots=True)
class Campaign:
    """The parts of a campaign."""

    seed: int
    rounds: int
    without: set[str]
    site: Site
    catalogue: Catalogue
    comparison: Comparison

    def run(self) -> bool:
        """Run all rounds, until one finds a difference. Return whether none did."""
        for number in range(1, self.rounds + 1):
            story: list[str] = []
            differences = list(self._round(number, story))
            line = f"round {number} of {self.rounds}: {'; '.join(story) or 'nothing happened'}"
            if not differences:
                say(f"{line}: {self.comparison.active} datasets as expected")
                continue
            say(f"{line}\nNot as expected (seed {self.seed}, round {number}):")
            for difference in differences:
                say(f"  - {difference}")
            return False
        return True

    def _round(self, number: int, story: list[str]) -> Iterator[str]:
        """Do what a round brings, tell the story, and yield all differences."""
        rng = self.catalogue.rng = random.Random(f"{self.seed}/{number}")
        if number > 1:
            made = make_moves(self.catalogue, self.without)
            story += [", ".join(f"{count} {name}" for name, count in made.items())] if made else []
            if rng.random() < 0.3 and self.comparison.edit():
                story.append("edited on the site")
            if rng.random() < 0.4 and self.comparison.release():
                story.append("held deletions approved")
        blows = draw_blows(rng, self.without)
        self.comparison.look()
        job = self.site.harvest(blows)
        story += [str(blow) for blow in job.blows]
        differences = list(self.comparison.after(job))
        yield from differences
        if differences or (rng.random() > CALM and number < self.rounds):
            return
        for count in ("once", "twice"):
            job = self.site.harvest()
            differences = list(self.comparison.after(job))
            yield from (f"{one} (harvested {count} without trouble)" for one in differences)
            if differences:
                return
        story.append("harvested twice without trouble")


def main() -> int:
    """Run a campaign. Return 0 if everything was as expected."""
    parser = argparse.ArgumentParser(prog="./dev campaign")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--without", action="append", default=[], choices=sorted(KINDS))
    options = parser.parse_args()
    end_on_signals()
    end_with_parent()
    logs = Path(tempfile.mkdtemp(prefix="campaign-"))
    try:
        with FdpServer() as server:
            site = Site(server, logs)
            catalogue = Catalogue(server, random.Random(f"{options.seed}/0"))
            comparison = Comparison(site, catalogue)
            campaign = Campaign(
                options.seed,
                options.rounds,
                set(options.without),
                site,
                catalogue,
                comparison,
            )
            site.edit = comparison.edit
            site.begin()
            try:
                is_right = campaign.run()
            finally:
                site.end()
        if not is_right:
            say(f"The logs of the consumers: {logs}")
        return 0 if is_right else 1
    except Interrupted as signalled:
        return 128 + signalled.number
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
