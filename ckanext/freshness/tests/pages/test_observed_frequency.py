"""How often the data of a dataset really change: computed from its data changes, and shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from ckan.tests.helpers import call_action

from ckanext.freshness.aging.evidence import Evidence
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.tests.pages.conftest import Read
from ckanext.freshness.tests.pages.reports import (
    DAY,
    NOW,
    WORKS,
    data_changed,
    judge,
    make,
    text_of,
    visited,
)

pytestmark = pytest.mark.usefixtures("kept_db")

MONTHLY = [{"key": "frequency", "value": "30"}]


def known(
    name: str,
    ages: Sequence[float],
    evidence: Evidence = Evidence.UPLOAD,
    *,
    changes: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Create a dataset whose data changed so many days ago, and return what is observed."""
    made = make(name, **{"extras": MONTHLY, **more})
    for age in ages:
        data_changed(made, age * DAY, evidence=evidence, changed_after=None, **(changes or {}))
    return made


def observed(name: str) -> Any:
    model.Session.remove()
    return call_action("freshness_show", id=name)["observed_frequency"]


QUARTERLY = [20 + 92 * number for number in range(5)]


def test_the_page_says_what_was_observed(read: Read) -> None:
    known("wells", QUARTERLY)
    judge()
    page = read("/dataset/wells/freshness")
    words = text_of(page.select_one("#freshness-observed"))
    assert words == "Observed: about every 92 days (from 5 changes of the files)."
    shown = observed("wells")
    assert {key: shown[key] for key in ("days", "changes", "basis", "at_least")} == {
        "days": 92.0,
        "changes": 5,
        "basis": "files",
        "at_least": False,
    }
    assert shown["suggested_days"] == 90


def test_a_confirmation_is_no_change_of_data(act: Any) -> None:
    made = known("confirmed", QUARTERLY[:2])
    for age in (200, 150, 100):
        reviewed = (NOW - age * DAY).replace(tzinfo=None).isoformat()
        extras = [*MONTHLY, {"key": "review_date", "value": reviewed}]
        act("package_patch", id=made["id"], extras=extras)
    assert observed("confirmed") is None


def test_dates_of_a_harvested_record_count_only_if_no_file_is_read() -> None:
    made = known("harvested", QUARTERLY, Evidence.HARVEST)
    assert observed("harvested")["basis"] == "record"
    visited(made, **WORKS, hash="sha256:0")
    assert observed("harvested") is None
    for age in QUARTERLY:
        data_changed(made, (age + 5) * DAY)
    assert observed("harvested")["basis"] == "files"
