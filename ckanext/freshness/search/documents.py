"""Collects the Solr documents of a run: each dataset's document is sent once, after the dataset's last check.

A dataset's files are checked at the pace of their hosts, and each check may change the document. Sending it
costs more than the dataset's checks. Until then the dataset stays marked in the database, see
:mod:`.unindexed`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from .unindexed import BATCH

PATIENCE = 600.0
"""Seconds that a document waits for further checks of its dataset."""

COLLECTING = 10.0
"""Seconds that a document waits for other documents, to share Solr's commit."""


class DocumentBatch:
    """The documents that a part of a run has changed and not sent yet.

    :param checked: the dataset of each check in this part of the run
    :param clock: a monotonic clock, in seconds
    """

    def __init__(self, checked: Iterable[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._open = Counter(checked)
        self._marks: dict[str, datetime] = {}
        self._since: dict[str, float] = {}
        self._clock = clock

    def ended(self, package_ids: Iterable[str]) -> None:
        """Note that checks have ended.

        :param package_ids: the dataset of each of these checks
        """
        self._open.subtract(package_ids)

    def add(self, marks: Mapping[str, datetime]) -> None:
        """Add datasets that were written, with their marks; see :func:`.unindexed.mark`."""
        now = self._clock()
        for package_id in marks:
            self._since.setdefault(package_id, now)
        self._marks |= marks

    def take(self) -> dict[str, datetime]:
        """Return the marks of the documents to send now; none while waiting saves a commit."""
        now = self._clock()
        ready = [
            package_id
            for package_id, since in self._since.items()
            if self._open[package_id] <= 0 or now - since >= PATIENCE
        ]
        if len(ready) < BATCH and all(now - self._since[id_] < COLLECTING for id_ in ready):
            return {}
        return self._taken(ready)

    def rest(self) -> dict[str, datetime]:
        """Return the marks of all other documents, at the end of the run."""
        return self._taken(list(self._since))

    def _taken(self, package_ids: Iterable[str]) -> dict[str, datetime]:
        for package_id in package_ids:
            del self._since[package_id]
        return {package_id: self._marks.pop(package_id) for package_id in package_ids}
