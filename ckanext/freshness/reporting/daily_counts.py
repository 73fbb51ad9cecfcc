"""The counts of each day, which the nightly report stores."""

from __future__ import annotations

from datetime import datetime
from itertools import islice

from . import counts, dataset_tables, history, observed_frequencies, site_tables
from .tables import TableRequest
from .visibility import NOBODY


def record(now: datetime) -> counts.StatusCounts:
    """Store today's counts of public datasets, by status and by host, and return those by status.

    Also store the update frequencies that the data of datasets suggest.
    """
    observed_frequencies.store(now)
    found = counts.count(NOBODY)
    hosts: dict[str, int] = {}
    every = dataset_tables.DATASETS.rows(TableRequest(NOBODY, now))
    while part := [row["id"] for row in islice(every, 5000)]:
        for host, count in site_tables.count_hosts(part).items():
            hosts[host] = hosts.get(host, 0) + count
    history.record(now, found, hosts)
    return found.every
