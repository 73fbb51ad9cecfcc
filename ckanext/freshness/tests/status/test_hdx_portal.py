"""What HDX's portal says of a dataset in its own test of ``is_fresh``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

pytestmark = pytest.mark.usefixtures("kept_db")


def test_is_fresh(act: Callable[..., Any]) -> None:
    dataset = act("package_create", name=f"d-{uuid4()}")

    def is_fresh() -> bool:
        shown = act("freshness_show", id=dataset["id"])
        return bool(shown["status"] == "fresh")

    assert not is_fresh(), "neither a frequency nor a resource"
    link = act("resource_create", package_id=dataset["id"], url="http://x.org/1")
    act(
        "package_patch",
        id=dataset["id"],
        extras=[{"key": "data_update_frequency", "value": "7"}],
    )
    assert is_fresh(), "nobody states a date, so that the resource's creation counts"
    long_ago = datetime.now() - timedelta(days=15)
    act("resource_patch", id=link["id"], last_modified=long_ago.isoformat())
    assert not is_fresh(), "more than 7 + 7 days old"
