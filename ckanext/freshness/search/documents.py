"""Documents of the datasets that a part of a run writes: each is sent once, after its last visit.

A dataset's files are visited at their hosts' pace, and each of them may change its document, which costs
more than all of their visits. Until it is sent the dataset is marked in the database, see :mod:`.indexing`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from .unindexed import BATCH

PATIENCE = 600.0
"""Seconds that a document waits for further visits to its dataset."""

COLLECTING = 10.0
"""Seconds that it waits for others, to share Solr's commit with them."""


class DocumentBatch:
    """Those that are to be sent.

    :param visited: the dataset of each visit that the part makes.
    :param clock: seconds that only go forward.
    """

    def __init__(self, visited: Iterable[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._open = Counter(visited)
        self._marks: dict[str, datetime] = {}
        self._since: dict[str, float] = {}
        self._clock = clock

    def ended(self, package_ids: Iterable[str]) -> None:
        """Visits have ended; of each, its dataset."""
        self._open.subtract(package_ids)

    def add(self, marks: Mapping[str, datetime]) -> None:
        """Datasets were written again; see :func:`.indexing.mark`."""
        now = self._clock()
        for package_id in marks:
            self._since.setdefault(package_id, now)
        self._marks |= marks

    def take(self) -> dict[str, datetime]:
        """The marks of those that are to be sent now; none while it is worth while to wait for more."""
        now = self._clock()
        ready = [
            one
            for one, since in self._since.items()
            if self._open[one] <= 0 or now - since >= PATIENCE
        ]
        if len(ready) < BATCH and not any(now - self._since[one] >= COLLECTING for one in ready):
            return {}
        return self._taken(ready)

    def rest(self) -> dict[str, datetime]:
        """The marks of all others, once no more is written."""
        return self._taken(list(self._since))

    def _taken(self, package_ids: Iterable[str]) -> dict[str, datetime]:
        for one in package_ids:
            del self._since[one]
        return {one: self._marks.pop(one) for one in package_ids}
