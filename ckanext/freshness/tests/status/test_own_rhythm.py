"""Datasets without a declared frequency are judged by the rhythm of their changes, and marked as such."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.ckan_adapter.packages import package_extras
from ckanext.freshness.model import DatasetFreshness, FreshnessChange, FreshnessEvidence
from ckanext.freshness.status.refresh import refresh

pytestmark = pytest.mark.usefixtures("with_plugins", "clean_db", "clean_index")

NOW = datetime.now(timezone.utc).replace(microsecond=0)
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def policy(ckan_config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy of a site that chooses none."""
    monkeypatch.setitem(ckan_config, "ckanext.freshness.check.policy", "learned")


def make(name: str, since: float, frequency: str | None = None, **more: Any) -> None:
    """Create a dataset whose file has changed weekly, the last time some days ago."""
    extras = [{"key": "frequency", "value": frequency}] if frequency else []
    link = {"url": "https://data.example.org/a.csv", "created": str(NOW.date() - 200 * DAY)}
    made = factories.Dataset(name=name, resources=[link], extras=extras, **more)
    resource = made["resources"][0]["id"]
    for week in range(10):
        at = (NOW - since * DAY - week * 7 * DAY).replace(tzinfo=None)
        known = {"package_id": made["id"], "resource_id": resource, "evidence": "hash"}
        model.Session.add(
            FreshnessChange(id=f"{name}-{week}", seen_at=at, changed_before=at, **known)
        )
        if not week:
            model.Session.add(FreshnessEvidence(happened_at=at, **known))
    model.Session.commit()


def judged(name: str, after: float = 0) -> dict[str, str]:
    refresh(NOW + after * DAY, everything=not after)
    model.Session.remove()
    return package_extras(model.Package.get(name))


@pytest.mark.parametrize(
    ("frequency", "since", "status", "days", "given"),
    [
        (None, 3, "fresh", "7", "rhythm"),
        (None, 15, "overdue", "7", "rhythm"),
        ("unknown", 15, "overdue", "7", "rhythm"),
        ("irregular", 15, "overdue", "7", "rhythm"),
        # What somebody has declared always wins.
        ("P1M", 15, "fresh", "30", None),
        ("-2", 15, "fresh", "-2", None),
        ("never", 15, "fresh", "-1", None),
        ("now and then", 15, "unavailable", None, None),
        # Data that have ended
        (None, 70, "unavailable", None, None),
        ("irregular", 70, "fresh", "-2", None),
    ],
)
def test_who_is_judged_by_it(
    frequency: str | None, since: float, status: str, days: str | None, given: str | None
) -> None:
    make("data", since, frequency)
    extras = judged("data")
    assert extras["freshness"] == status
    assert extras.get("freshness_frequency") == days
    assert extras.get("freshness_frequency_from") == given
    if given is not None:
        shown = call_action("freshness_show", id="data")
        assert shown["frequency"] == {"days": 7, "from": "rhythm"}
        assert shown["observed_frequency"]["suggested_days"] is None


@pytest.mark.parametrize("option", ["own_rhythm", "check.policy", "default_frequency"])
def test_it_can_be_turned_off(ckan_config: Any, monkeypatch: Any, option: str) -> None:
    value = {"own_rhythm": False, "check.policy": "hdx", "default_frequency": "P1Y"}[option]
    monkeypatch.setitem(ckan_config, f"ckanext.freshness.{option}", value)
    make("data", 15)
    extras = judged("data")
    assert "freshness_frequency_from" not in extras
    assert extras["freshness"] == ("fresh" if option == "default_frequency" else "unavailable")


def test_it_ends_by_itself() -> None:
    make("data", 15)
    assert judged("data")["freshness"] == "overdue"
    assert judged("data", 10)["freshness"] == "delinquent"
    row = model.Session.query(DatasetFreshness).one()
    last = (NOW - 15 * DAY).replace(tzinfo=None)
    assert row.next_boundary == last + 63 * DAY
    assert judged("data", 47)["freshness"] == "delinquent"
    assert judged("data", 49)["freshness"] == "unavailable"


@pytest.mark.parametrize(
    ("declared", "suggested"), [(None, None), ("1", 7), ("7", None), ("60", 7)]
)
def test_exports_without_newer_data_are_no_updates(
    declared: str | None, suggested: int | None
) -> None:
    """A file is exported and dated anew each night, and its data come once a week."""
    make("data", 200, declared)
    changes = model.Session.query(FreshnessChange)
    known = {key: getattr(changes[0], key) for key in ("package_id", "resource_id", "evidence")}
    changes.delete()
    for night in range(90, -1, -1):
        seen_at = (NOW - night * DAY).replace(tzinfo=None)
        until = [str((NOW - (ago + (3 - ago) % 7) * DAY).date()) for ago in (night + 1, night)]
        moments = {"changed_after": seen_at - DAY, "changed_before": seen_at, "seen_at": seen_at}
        summary = {"data_until": until}
        model.Session.add(FreshnessChange(id=f"night-{night}", summary=summary, **moments, **known))
        dated = {**known, "evidence": "harvest"}
        model.Session.add(FreshnessChange(id=f"dated-{night}", **moments, **dated))
    model.Session.commit()
    extras = judged("data")
    assert extras["freshness_frequency"] == (declared or "7")
    shown = call_action("freshness_show", id="data")["observed_frequency"]
    assert (round(shown["days"]), shown["basis"]) == (7, "newer")
    assert shown["suggested_days"] == suggested
