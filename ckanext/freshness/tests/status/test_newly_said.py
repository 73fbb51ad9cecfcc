"""Which run tells of a review, or of what a script says: the first one that checks its dataset."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from ckanext.freshness.checking import check_rows, run_records
from ckanext.freshness.checking.run_records import DatasetFact
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.model import CheckRun
from ckanext.freshness.tests.datasets import Act, new

pytestmark = pytest.mark.usefixtures("kept_db")

NOW = datetime(2026, 6, 1, 12, tzinfo=timezone.utc)
EVERYTHING: Mapping[str, Any] = {"package_ids": None, "host": None}
FIGURES = {"datasets": {"0: Fresh, Updated nothing": 1}}


@pytest.mark.parametrize(
    ("between", "figures", "is_new"),
    [
        ({}, FIGURES, False),
        ({"package_ids": ["other", "own"]}, FIGURES, False),
        ({"host": "x.org"}, FIGURES, False),
        # A run that was killed, or gave up, has told nothing.
        ({}, None, True),
    ],
)
@pytest.mark.parametrize(
    ("key", "value", "what"),
    [
        ("review_date", "2026-05-31T12:00:00", DatasetFact.REVIEW),
        ("updated_by_script", "Scraper (2026-05-31T12:00:00)", DatasetFact.SCRIPT),
    ],
)
def test_newly_said(
    act: Act,
    between: Mapping[str, Any],
    figures: Mapping[str, Any] | None,
    is_new: bool,
    key: str,
    value: str,
    what: DatasetFact,
) -> None:
    dataset = new(act, extras={key: value})
    check_rows.sync(NOW, ["dataset"])
    model.Session.query(CheckRun).delete()
    ids = [dataset["id"] if one == "own" else one for one in between.get("package_ids", ())]
    options = {**EVERYTHING, **between, **({"package_ids": ids} if ids else {})}
    run_records.end_run(run_records.begin_run(NOW - timedelta(days=9), EVERYTHING), NOW, FIGURES)
    run_id = run_records.begin_run(NOW - timedelta(hours=1), options)
    run_records.end_run(run_id, NOW, figures, error=None if figures else "It was stopped")
    # Neither a run of another kind nor a run that began later is a run before this one.
    for kind, began in (("other", NOW - timedelta(minutes=1)), ("check", NOW + timedelta(hours=1))):
        run_records.end_run(run_records.begin_run(began, EVERYTHING, kind=kind), NOW, FIGURES)
    this = run_records.begin_run(NOW, EVERYTHING)
    said = dict(run_records.with_newer_review_or_script(this))
    assert said.get(dataset["id"]) == (what if is_new else None)
