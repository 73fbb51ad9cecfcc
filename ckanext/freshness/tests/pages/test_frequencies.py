"""Declared update frequencies that do not fit: a sentence on the dataset's page, with a button for editors."""

from __future__ import annotations

from typing import Any

import pytest
from ckan.tests import factories
from ckan.tests.helpers import call_action

from ckanext.freshness.aging.evidence import Evidence
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.tests.pages.conftest import Read
from ckanext.freshness.tests.pages.reports import DAY, data_changed, judge, make, text_of

QUARTERLY = [20 + 92 * number for number in range(6)]
WEEKLY = [3 + 7 * number for number in range(20)]
DATASETS: dict[str, tuple[str, list[int], int | None]] = {
    "surveys": ("30", QUARTERLY, 90),
    "rainfall": ("365", WEEKLY, 7),
    "prices": ("7", WEEKLY, None),
    "live": ("0", WEEKLY, None),
}
"""Declared frequencies, ages of changes, and what fits better."""


def make_world() -> dict[str, Any]:
    """Create datasets whose frequency fits and does not, and return the people."""
    people = {name: dict(factories.UserWithToken(name=name)) for name in ("editor", "stranger")}
    factories.Organization(name="relief", users=[{"name": "editor", "capacity": "editor"}])
    for name, (frequency, ages, _) in DATASETS.items():
        made = make(name, extras=[{"key": "frequency", "value": frequency}], owner_org="relief")
        for age in ages:
            data_changed(made, age * DAY, evidence=Evidence.UPLOAD, changed_after=None)
    judge()
    model.Session.remove()
    return people


@pytest.mark.parametrize("name", DATASETS)
def test_an_editor_is_offered_the_frequency_that_fits_better(
    read: Read, world: Any, name: str
) -> None:
    fits = DATASETS[name][2]
    shown = call_action("freshness_show", id=name)
    assert shown["observed_frequency"]["suggested_days"] == fits
    path = f"/dataset/{name}/freshness"
    assert not read(path, "stranger").select("#freshness-other-frequency")
    buttons = read(path, "editor").select("#freshness-other-frequency button")
    assert len(buttons) == (fits is not None)
    if fits is None:
        return
    data = {"do": buttons[0]["value"], "list": "dataset", "back": f"id={name}"}
    page = read("/freshness/tasks", "editor", data=data)
    assert f"The update frequency of About {name} is now" in text_of(page)
    assert not page.select("#freshness-other-frequency")
    model.Session.remove()
    assert call_action("freshness_show", id=name)["frequency"]["days"] == fits
