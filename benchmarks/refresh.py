"""A night of a portal of HDX's size: ``ckan freshness refresh`` beside CKAN's own rebuild of the same datasets.

The catalogue is written by SQL. Time passes by the clock that is handed to the refresh.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone

from benchmarks.measure import Remote, Result

EXTRAS = {"data_update_frequency": "365", "dataset_source": "The office", "methodology": "Census"}
URL = "'http://example.org/' || k || '.csv'"


def measure(say: Callable[[str], None], size: int = 22_160) -> Iterator[Result]:
    """Yield the costs of a refresh of 1 % of the datasets, and of one with nothing to do."""
    with Remote(Portal, size) as portal:
        say(f"refreshing all of {size} datasets for the first time")
        portal.call("refresh_all")
        # The first ones warm up both subjects.
        for count in (20, round(size / 100)):
            say(f"{count} statuses change")
            ids, moment = portal.call("next_to_change", count)
            changed, ours = portal.measure("refresh", moment)
            if changed != len(ids):
                raise SystemExit(f"{changed} of {len(ids)} statuses changed")
            _, theirs = portal.measure("rebuild", ids)
        yield Result("1 % due", ours.total, "CKAN's rebuild", theirs.total, 1.3)
        _, ours = portal.measure("refresh", moment)
        yield Result("nothing due", ours.total)


class Portal:
    """A site with datasets of two resources each, all of them updated yearly."""

    def __init__(self, datasets: int) -> None:
        from benchmarks.site import Site

        self.site = Site()
        self.site.empty()
        self.site.write(datasets, 2 * datasets, URL, EXTRAS)

    def refresh_all(self) -> None:
        from benchmarks.site import settle

        self.refresh(datetime.now(timezone.utc), everything=True)
        settle()

    def refresh(self, moment: datetime, everything: bool = False) -> int:
        """Refresh at a moment, and return the number of datasets that changed."""
        from ckanext.freshness.status.refresh import refresh

        done = refresh(moment, everything=everything)
        if done.failures:
            raise SystemExit(f"Solr refused documents: {done.failures}")
        return done.changed

    def rebuild(self, ids: list[str]) -> None:
        from ckan.lib import search

        search.rebuild(package_ids=ids)
        search.commit()

    def next_to_change(self, count: int) -> tuple[list[str], datetime]:
        """Return the datasets whose status changes next, and the moment after that."""
        from benchmarks.site import execute

        some = f"FROM freshness_dataset ORDER BY next_boundary, package_id LIMIT {count}"
        ids = list(execute(f"SELECT package_id {some}"))
        last = max(execute(f"SELECT next_boundary {some}"))
        return ids, last.replace(tzinfo=timezone.utc) + timedelta(seconds=1)
