"""Helpers that write and read datasets, resources and rows of checks by SQL."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import sqlalchemy as sa

from ckanext.freshness import settings
from ckanext.freshness.checking import check_rows, result_writer
from ckanext.freshness.checking.decisions import CheckResult, ResourceToCheck
from ckanext.freshness.checking.selection import Candidate
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.dates import utc
from ckanext.freshness.tests.checking.rows import URL

NOW = datetime(2026, 11, 21, 2, tzinfo=timezone.utc)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
TYPES = {"dataset"}
LATER = NOW + DAY
BEFORE = NOW.replace(tzinfo=None)
AFTER = LATER.replace(tzinfo=None)


def sql(statement: str, **values: Any) -> list[tuple[Any, ...]]:
    result = model.Session.execute(sa.text(statement), values)
    rows = [tuple(row) for row in result.all()] if result.returns_rows else []
    model.Session.commit()
    return rows


def package(name: str = "p", **columns: Any) -> str:
    row = {
        "id": name,
        "name": name,
        "type": "dataset",
        "state": "active",
        "private": False,
    } | columns
    insert("package", row)
    return name


def resource(name: str = "r", package_id: str = "p", url: str = URL, **columns: Any) -> str:
    row = {"id": name, "package_id": package_id, "url": url, "state": "active", "position": 0}
    insert("resource", {"extras": "{}", "hash": ""} | row | columns)
    return name


def insert(table: str, row: dict[str, Any]) -> None:
    names = ", ".join(row)
    values = ", ".join(f":{name}" for name in row)
    sql(f"INSERT INTO {table} ({names}) VALUES ({values})", **row)


def judged(package_id: str = "p", frequency: int | None = 30, due: datetime | None = None) -> None:
    row = {"package_id": package_id, "status": "due", "frequency_days": frequency, "due": due}
    insert("freshness_dataset", row)


def evidence(kind: str, at: datetime, resource_id: str = "r") -> None:
    insert(
        "freshness_evidence",
        {
            "package_id": "p",
            "resource_id": resource_id,
            "evidence": kind,
            "happened_at": utc(at),
        },
    )


def known(columns: str = "*", resource_id: str = "r") -> dict[str, Any]:
    """Return the row of a resource."""
    row = model.Session.execute(
        sa.text(f"SELECT {columns} FROM freshness_check WHERE resource_id = :id"),
        {"id": resource_id},
    ).one()
    model.Session.commit()
    return dict(row._mapping)


def rows(**more: Any) -> list[Candidate]:
    return sorted(check_rows.stream(NOW, **more), key=lambda row: row.resource_id)


def write(*findings: CheckResult, start: datetime = NOW) -> list[CheckResult]:
    written = result_writer.write(findings, start)
    model.Session.commit()
    return [result for result, _row in written]


def one_resource() -> None:
    package()
    resource()
    check_rows.sync(NOW, TYPES)


def start(now: datetime = NOW) -> ResourceToCheck:
    (resource,) = check_rows.resources_to_check(["r"], set(), now, settings.aging())
    return resource
