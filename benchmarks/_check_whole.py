"""Whole runs of the checker on a site, in a process of its own: ``python -m benchmarks._check_whole``.

Reads a line of JSON for each task and answers with one: ``{"urls": [...]}`` makes a site with
these resources, five to a dataset, judged and indexed; ``{"run": days}`` checks the resources that are due that
many days later, and answers with the cost and the results.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchmarks.refresh import write_ini

PER_DATASET = 5
"""HDX has some seven."""
OPTIONS = {
    "ckanext.freshness.allowed_networks": "127.0.0.0/8",
    "ckanext.freshness.requests_per_second": "50",
    "ckanext.freshness.check.confirm_after": "0.5",
    "ckanext.freshness.read_timeout": "60",
}


def main() -> None:
    """Do tasks until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    # What libraries print is no answer.
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CKAN_INI"] = str(write_ini(Path(folder), OPTIONS))
        whole = _Whole()
        for line in sys.stdin:
            question = json.loads(line)
            if "urls" in question:
                answer = whole.make(question["urls"])
            else:
                answer = whole.run(timedelta(days=question["run"]))
            print(json.dumps(answer), file=answers, flush=True)


class _Whole:
    def __init__(self) -> None:
        from benchmarks import _site
        from ckanext.freshness.status import indexing

        self.site = _site.Site()
        self.indexing = 0.0
        index = indexing.index

        def timed(marks: Mapping[str, datetime]) -> Any:
            before = time.thread_time()
            try:
                return index(marks)
            finally:
                self.indexing += time.thread_time() - before

        indexing.index = timed

    def make(self, urls: Sequence[str]) -> dict[str, Any]:
        """Make the site anew, with datasets that are updated daily, so that each run checks all resources."""
        from ckan import model

        from ckanext.freshness.ckan_adapter.packages import write_extras
        from ckanext.freshness.status.refresh import refresh

        self.site.empty()
        count = -(-len(urls) // PER_DATASET)
        values = {
            "organization": self.site.organization,
            "created": datetime(2020, 1, 1),
            "count": count,
            "each": PER_DATASET,
            "urls": list(urls),
        }
        for statement in (_PACKAGES, _RESOURCES):
            model.Session.execute(sa.text(statement), values)
        ids = model.Session.execute(sa.text("SELECT id FROM package")).scalars().all()
        extras = {"data_update_frequency": "1"}
        write_extras(dict.fromkeys(ids, extras), list(extras))
        model.Session.commit()
        done = refresh(datetime.now(timezone.utc), everything=True)
        if done.changed != count or done.failures:
            raise SystemExit(f"The site was not made: {done}")
        model.Session.execute(sa.text("ANALYZE"))
        model.Session.commit()
        return {}

    def run(self, later: timedelta) -> dict[str, Any]:
        """Return the CPU seconds, with those of the index's updates apart."""
        from ckan import model

        from ckanext.freshness.runs import check_run

        self.indexing = 0.0
        before = _cpu_seconds()
        _, done = check_run.check(
            check_run.CheckScope(), lambda: datetime.now(timezone.utc) + later
        )
        seconds = _cpu_seconds() - before
        if done.index_failures or done.refused or done.solr_away:
            raise SystemExit(
                f"The run did not do what was to be measured: {check_run.missing_in_words(done)}"
            )
        found = model.Session.execute(sa.text(_OUTCOMES)).scalars()
        answer = {
            "seconds": seconds,
            "indexing": self.indexing,
            "outcomes": Counter(found),
            "undetermined": model.Session.execute(sa.text(_UNDETERMINED)).scalar(),
        }
        model.Session.commit()
        return answer


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


_ID = "md5('{kind} ' || n)::uuid::text"
_PACKAGES = f"""
INSERT INTO package (id, name, title, type, state, private, owner_org, metadata_created,
    metadata_modified)
SELECT {_ID.format(kind="package")}, 'bench-check-' || n, 'Dataset ' || n, 'dataset', 'active', false,
    :organization, :created, :created
FROM generate_series(0, :count - 1) n"""
_RESOURCES = """
INSERT INTO resource (id, package_id, url, format, name, description, position, state, extras, hash,
    created, metadata_modified)
SELECT md5('resource ' || n)::uuid::text, md5('package ' || (n - 1) / :each)::uuid::text, url, 'CSV',
    'Part ' || n, '', n % :each, 'active', '{}', '', :created, :created
FROM unnest(CAST(:urls AS text[])) WITH ORDINALITY AS u (url, n)"""
_OUTCOMES = "SELECT attempts -> 0 ->> 'outcome' FROM freshness_check"
_UNDETERMINED = "SELECT count(*) FROM freshness_dataset WHERE undetermined = 'api'"


if __name__ == "__main__":
    main()
