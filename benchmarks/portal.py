"""Harvests of a CKAN portal: ours, and ckanext-harvest's ``ckan``.

Both write the same datasets into the same CKAN with the same plugins, through the queues. Rate limits are
raised so far that they slow nothing down.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.harvest import POLITE, WARM_UP, Harvests
from benchmarks.measure import Remote, Result, write_ini
from benchmarks.servers import Portal

OPTIONS = {
    "ckan.plugins": "freshness ckan_portal_harvester harvest activity ckan_harvester",
    "ckanext.freshness.allowed_networks": "127.0.0.0/8",
}


def measure(say: Callable[[str], None], size: int = 500) -> Iterator[Result]:
    """Yield the costs of harvests of ``size`` datasets."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        os.environ["CKAN_INI"] = str(write_ini(folder, OPTIONS))
        few, portal = (stack.enter_context(Remote(Portal, count)) for count in (WARM_UP, size))
        subject = Harvests(folder)
        say("warming up PostgreSQL and Solr")
        subject.first_and_unchanged("ckan_portal", few.call("url"), POLITE, WARM_UP)
        say("ours")
        ours = subject.first_and_unchanged("ckan_portal", portal.call("url"), POLITE, size)
        say("ckanext-harvest")
        theirs = subject.first_and_unchanged("ckan", portal.call("url"), {}, size)
        # Without this it only asks for changes since the last job, and never learns what is gone.
        say("ckanext-harvest, reading all")
        _, all_read = subject.first_and_unchanged(
            "ckan", portal.call("url"), {"force_all": True}, size
        )
    first, unchanged = (one.total for one in ours)
    yield Result("first harvest", first, "ckanext-harvest", theirs[0].total, 1 / 1.6)
    yield Result("unchanged harvest", unchanged, "force_all", all_read.total, 1 / 50)
    yield Result("unchanged harvest", unchanged, "ckanext-harvest", theirs[1].total)
