"""What editors take back within an hour, which is no news."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.model import FreshnessTransition
from ckanext.freshness.status.refresh import refresh
from ckanext.freshness.tests.clock import freeze_time
from ckanext.freshness.tests.datasets import Act, new

pytestmark = pytest.mark.usefixtures("kept_db")

THEN = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
LATE = THEN + timedelta(days=40)
"""A weekly dataset is delinquent."""

Edit = Callable[[Act, str], Any]


def confirm(act: Act, id: str) -> None:
    act("freshness_confirm", id=id)


def withdraw(act: Act, id: str) -> None:
    act("freshness_confirm", id=id, withdraw=True)


def extras(**given: str) -> Edit:
    def patch(act: Act, id: str) -> None:
        found = [{"key": key, "value": value} for key, value in given.items()]
        act("package_patch", id=id, extras=found)

    return patch


def upload(act: Act, id: str) -> None:
    act("resource_create", package_id=id, url="http://x.org/new.csv")


def remove(act: Act, id: str) -> None:
    newest = act("package_show", id=id)["resources"][-1]
    act("resource_delete", id=newest["id"])


def delete(act: Act, id: str) -> None:
    act("package_delete", id=id)


def restore(act: Act, id: str) -> None:
    act("package_patch", id=id, state="active")


WEEKLY, YEARLY, NONE = extras(frequency="7"), extras(frequency="365"), extras()
REVERTED: dict[str, list[Edit]] = {
    "confirmation": [confirm, withdraw],
    "two confirmations": [confirm, withdraw, confirm, withdraw],
    "frequency": [YEARLY, WEEKLY],
    "frequency that leaves the status": [extras(frequency="6"), WEEKLY],
    "frequency in steps": [extras(frequency="30"), YEARLY, extras(frequency="1"), WEEKLY],
    "frequency removed": [NONE, WEEKLY],
    "new file": [upload, remove],
    "deleted": [delete, restore],
}
STAYS: dict[str, list[Edit]] = {
    "confirmation": [confirm],
    "frequency": [YEARLY],
    "frequency that leaves the status": [extras(frequency="6")],
    "frequency and another": [YEARLY, extras(frequency="6")],
    "other reason": [YEARLY, confirm, WEEKLY],
}


def history(act: Act, edits: list[Edit], wait: timedelta) -> tuple[list[Any], list[Any]]:
    """Return the changes of a dataset's status before and after some edits."""
    with freeze_time(THEN):
        id = new(act, extras=[{"key": "frequency", "value": "7"}])["id"]
    refresh(LATE - timedelta(days=1))
    before = rows(id)
    with freeze_time(LATE) as clock:
        for edit in edits:
            edit(act, id)
            clock.shift(wait.total_seconds())
    return before, rows(id)


def rows(id: str) -> list[Any]:
    model.Session.remove()
    found = model.Session.query(FreshnessTransition).filter_by(package_id=id)
    return [(row.id, row.to_status) for row in found.order_by(FreshnessTransition.id)]


@pytest.mark.parametrize("name", REVERTED)
def test_what_is_taken_back_leaves_no_trace(act: Act, name: str) -> None:
    before, after = history(act, REVERTED[name], timedelta(minutes=5))
    assert after == before


@pytest.mark.parametrize("name", STAYS)
def test_what_has_changed_stays(act: Act, name: str) -> None:
    before, after = history(act, STAYS[name], timedelta(minutes=5))
    assert len(after) > len(before)


def test_what_is_taken_back_later_is_told(act: Act) -> None:
    before, after = history(act, REVERTED["frequency"], timedelta(hours=2))
    assert after[: len(before)] == before
    assert [status for _, status in after[len(before) :]] == ["fresh", "delinquent"]
