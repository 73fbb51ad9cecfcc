"""Harvests of a CKAN portal: ours, and ckanext-harvest's ``ckan``.

Both write the same datasets into the same CKAN with the same plugins, through the queues. Rate limits are
raised so far that they slow nothing down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from benchmarks.harvest import OURS, POLITE, beside_floor, compared, floor, in_turn, warm
from benchmarks.measure import Result
from benchmarks.servers import Portal

OPTIONS = {
    "ckan.plugins": "freshness ckan_portal_harvester harvest activity ckan_harvester",
    "ckanext.freshness.allowed_networks": "127.0.0.0/8",
}


def measure(say: Callable[[str], None], size: int = 200) -> Iterator[Result]:
    """Yield the costs of harvests of ``size`` datasets."""
    with warm(say, OPTIONS, "ckan_portal", Portal, size) as (subject, portal, url):
        jobs = partial(subject.jobs, server=portal, url=url, size=size)
        found = in_turn(
            say,
            {
                **beside_floor(subject, partial(jobs, "ckan_portal", config=POLITE)),
                # Without this it only asks for changes since the last job, and never learns what is gone.
                "force_all": partial(jobs, "ckan", config={"force_all": True}),
            },
        )
    yield floor(found, 1.0)
    yield from compared("a portal", found[OURS], "force_all", found["force_all"], 1.6)
