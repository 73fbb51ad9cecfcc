"""Mails to many maintainers through a mail server of this machine: CPU, memory, and whether each arrives.

Each maintainer of ``--mails`` datasets is told that a dataset is overdue. The command fails if a mail is
missing, or if a second notify sends any.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from benchmarks.refresh import write_ini

MAILS = 10_000
NAME = "bench-mails"


def main() -> None:
    parser = argparse.ArgumentParser(prog="./dev bench mails", description=__doc__)
    parser.add_argument("--mails", type=int, default=MAILS, help="default: %(default)s")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CKAN_INI"] = str(write_ini(Path(folder)))
        result = measure(options.mails)
    print(json.dumps(result, indent=2))
    if (result["sent"], result["received"], result["again"]) != (options.mails, options.mails, 0):
        raise SystemExit("A mail is missing, or was sent twice.")


def measure(count: int) -> dict[str, Any]:
    """Send the mails, and return figures."""
    import ckan.plugins.toolkit as tk

    from benchmarks import _catalogue, _site
    from ckanext.freshness.mails import digests

    now = datetime.now(timezone.utc)
    site = _site.Site()
    site.empty()
    _catalogue.write(NAME, count, site.organization, now)
    _catalogue.judge(now)
    sink = subprocess.Popen(
        [sys.executable, "-m", "benchmarks._mail_sink"], stdout=subprocess.PIPE, text=True
    )
    assert sink.stdout is not None
    try:
        tk.config["ckanext.freshness.notify.enabled"] = True
        tk.config["smtp.server"] = f"127.0.0.1:{int(sink.stdout.readline())}"
        tk.config["smtp.mail_from"] = "site@example.org"
        digests.notify_all(lambda: now)
        _make_overdue(now)
        before = resource.getrusage(resource.RUSAGE_SELF)
        report = digests.notify_all(lambda: now + timedelta(minutes=1))
        after = resource.getrusage(resource.RUSAGE_SELF)
        again = digests.notify_all(lambda: now + timedelta(minutes=2))
    finally:
        sink.terminate()
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "sent": len(report.mails),
        "again": len(again.mails),
        "cpu_ms_per_mail": round(1000 * cpu / count, 2),
        "peak_mb": round(after.ru_maxrss / 1024, 1),
        "peak_mb_before": round(before.ru_maxrss / 1024, 1),
        **json.loads(sink.stdout.read()),
    }


def _make_overdue(now: datetime) -> None:
    """Let each dataset, which has a maintainer of its own, become overdue."""
    import sqlalchemy as sa
    from ckan import model

    values = {
        "name": f"{NAME}-",
        **{
            f"d{days}": (now - timedelta(days=days)).replace(tzinfo=None)
            for days in (0, 1, 60, 425)
        },
        "later": (now + timedelta(days=60)).replace(tzinfo=None),
    }
    for statement in (
        """UPDATE package SET maintainer_email = 'm' || substr(name, length(:name) + 1) || '@example.org'
        WHERE type = 'dataset'""",
        """UPDATE freshness_dataset SET status = 'overdue', frequency_days = 365, last_modified = :d425,
        due = :d60, overdue = :d1, delinquent = :later""",
        """INSERT INTO freshness_transition
        (package_id, from_status, to_status, cause, evidence, changed_at)
        SELECT package_id, 'due', 'overdue', 'time', 'created', :d0 FROM freshness_dataset""",
    ):
        model.Session.execute(sa.text(statement), values)
    model.Session.commit()
    model.Session.remove()


if __name__ == "__main__":
    main()
