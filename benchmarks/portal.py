"""Harvests of a CKAN portal: ours, and ckanext-harvest's ``ckan``.

Both write the same datasets into the same CKAN with the same plugins, through the queues. Rate limits are
raised so far that they slow nothing down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.harvest import POLITE, compared, first_beside_floor, warm
from benchmarks.measure import Result
from benchmarks.servers import Portal

OPTIONS = {
    "ckan.plugins": "freshness ckan_portal_harvester harvest activity ckan_harvester",
    "ckanext.freshness.allowed_networks": "127.0.0.0/8",
}


def measure(say: Callable[[str], None], size: int = 500) -> Iterator[Result]:
    """Yield the costs of harvests of ``size`` datasets."""
    with warm(say, OPTIONS, "ckan_portal", Portal, size) as (subject, portal, url):
        say("ours")
        ours = subject.jobs("ckan_portal", portal, url, POLITE, size)
        floor = first_beside_floor(say, subject, ours)
        say("ckanext-harvest")
        theirs = subject.jobs("ckan", portal, url, {}, size)
        # Without this it only asks for changes since the last job, and never learns what is gone.
        say("ckanext-harvest, reading all")
        reading_all = subject.jobs("ckan", portal, url, {"force_all": True}, size)
    yield floor
    yield from compared("a portal", ours, "force_all", reading_all)
    for name, one, other in zip(("unchanged", "1 % changed"), ours[1:], theirs[1:], strict=True):
        yield Result(f"{name}, only asking for changes", one.total, "ckanext-harvest", other.total)
