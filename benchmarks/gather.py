"""Gathers of many unchanged records: a CKAN portal, a paged catalogue, and a gather that is killed half-way.

The first gather is real. Its records then become datasets by SQL, as if they had been imported.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

from benchmarks.harvest import POLITE
from benchmarks.measure import Remote, Result
from benchmarks.servers import PagedCatalogue, Portal

OPTIONS = {
    "ckan.plugins": "freshness ckan_portal_harvester dcat_catalog_harvester harvest activity dcat",
    "ckanext.freshness.allowed_networks": "127.0.0.0/8",
}
TYPES = {"ckan_portal": Portal, "dcat_catalog": PagedCatalogue}
SECONDS = 0.001
"""The most processor time that one unchanged record may take."""
MEMORY = 200.0
"""The most MB that a gather may need besides those of CKAN itself."""


def measure(say: Callable[[str], None], size: int = 100_000) -> Iterator[Result]:
    """Yield the costs of gathers of ``size`` records, each done anew after one was killed."""
    for name, make in TYPES.items():
        with Remote(make, size) as server:
            subject = Gathers, name, server.call("url"), size
            began = time.monotonic()
            with Remote(*subject, options=OPTIONS) as first:
                say(f"{name}: the first gather of {size} records")
                first.call("first")
            # A gather of unchanged records takes less than this.
            first_seconds = time.monotonic() - began
            for what, changed in (("unchanged", 0), ("1 % changed", round(size / 100))):
                say(f"{name}: {what}")
                server.call("change", changed)
                with Remote(*subject, options=OPTIONS) as killed, contextlib.suppress(SystemExit):
                    killed.call("gather", first_seconds / 4)
                with Remote(*subject, options=OPTIONS) as other:
                    counts, taken = other.measure("gather")
                if counts != {"not modified": size - changed, "to import": changed}:
                    raise SystemExit(f"The gather of {name} found something else: {counts}")
                goal = None if changed else SECONDS * size
                yield Result(f"{name}, {what}", taken.seconds, unit="s")
                yield Result(f"{name}, {what}", taken.total, goal=goal)
                yield Result(f"{name}, {what}", taken.extra_mb, goal=MEMORY, unit="MB")


class Gathers:
    """Gathers of a source in this process."""

    def __init__(self, source_type: str, url: str, size: int) -> None:
        from benchmarks.site import Site

        self._site = Site()
        self._type, self._url, self._size = source_type, url, size

    def first(self) -> None:
        """Gather all records for the first time, and make them current datasets."""
        from benchmarks.site import execute, settle

        self._site.empty()
        self._site.write(self._size, self._size, "'http://example.org/' || k", {})
        self._site.call(
            "harvest_source_create",
            name="bench-source",
            title="Bench",
            url=self._url,
            source_type=self._type,
            owner_org="bench",
            config=json.dumps(POLITE),
        )
        self.gather()
        execute(_ASSESSED)
        execute(_IMPORTED)
        execute("UPDATE harvest_job SET status = 'Finished'")
        settle()

    def gather(self, end_after: float = 0) -> dict[str, int]:
        """Gather the job that has not ended, or a new one, and return the numbers of its records.

        :param end_after: end the process after so many seconds
        """
        from benchmarks.site import execute
        from ckanext.freshness.harvesting import stages
        from ckanext.freshness.harvesting.sources import source_type_named

        if not (jobs := execute("SELECT id FROM harvest_job WHERE gather_finished IS NULL")):
            (source,) = execute("SELECT id FROM harvest_source")
            jobs = [self._site.call("harvest_job_create", source_id=source, run=False)["id"]]
        if end_after:
            threading.Thread(target=_end, args=(end_after,), daemon=True).start()
        source_type = source_type_named(self._type)
        assert source_type is not None
        stages.gather(source_type, jobs[0])
        execute("UPDATE harvest_job SET status = 'Finished' WHERE id = :job", job=jobs[0])
        shown = self._site.call("harvest_job_show", id=jobs[0])
        (waiting,) = execute(_TO_IMPORT, job=jobs[0])
        return {"not modified": shown["stats"]["not modified"], "to import": waiting}


def _end(seconds: float) -> None:
    time.sleep(seconds)
    os.kill(os.getpid(), signal.SIGKILL)


_TO_IMPORT = """
SELECT count(*) FROM harvest_object WHERE harvest_job_id = :job AND state IN ('WAITING', 'BATCH')"""
_ASSESSED = """
INSERT INTO freshness_dataset (package_id, status)
SELECT id, 'unavailable' FROM package WHERE type = 'dataset'"""
_IMPORTED = """
UPDATE harvest_object o SET current = true, state = 'COMPLETE', report_status = 'added', package_id = p.id,
    import_finished = o.gathered
FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM harvest_object) r,
    (SELECT id, row_number() OVER (ORDER BY id) AS n FROM package WHERE type = 'dataset') p
WHERE r.id = o.id AND p.n = r.n"""
