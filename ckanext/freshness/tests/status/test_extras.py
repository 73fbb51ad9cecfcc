"""What an edit writes about freshness, in the transaction of the edit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("kept_db")


def extras(package: dict[str, Any]) -> dict[str, str]:
    return {one["key"]: one["value"] for one in package["extras"]}


def ours(package: dict[str, Any]) -> dict[str, str]:
    return {key: value for key, value in extras(package).items() if key.startswith("freshness")}


def text(moment: datetime) -> str:
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_new_dataset_says_how_fresh_it_is(act: Callable[..., Any]) -> None:
    before = datetime.now(timezone.utc)
    made = act(
        "package_create",
        name="a-dataset",
        resources=[{"url": "http://example.org/a.csv"}],
        extras=[{"key": "frequency", "value": "monthly"}],
    )
    found = ours(made)
    modified = datetime.fromisoformat(found["freshness_last_modified"].replace("Z", "+00:00"))
    assert before - timedelta(seconds=1) <= modified <= datetime.now(timezone.utc)
    assert found == {
        "freshness": "fresh",
        "freshness_delinquent": text(modified + timedelta(days=60)),
        "freshness_due": text(modified + timedelta(days=30)),
        "freshness_evidence": "created",
        "freshness_frequency": "30",
        "freshness_last_modified": text(modified),
        "freshness_overdue": text(modified + timedelta(days=44)),
    }
    assert ours(act("package_show", id="a-dataset")) == found
    (hit,) = act("package_search", q="name:a-dataset")["results"]
    assert ours(hit) == found
    patched = act("package_patch", id="a-dataset", title="Another")
    assert ours(patched) == found
