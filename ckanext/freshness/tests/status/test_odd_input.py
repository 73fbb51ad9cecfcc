"""Whatever stands in a dataset, its edit is saved, and its status is clear."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from ckan import model

from ckanext.freshness.logic.hooks import show_current
from ckanext.freshness.reporting.labels import our_values
from ckanext.freshness.status.assessment import update_packages
from ckanext.freshness.status.changes import Occasion, TransitionCause
from ckanext.freshness.tests.datasets import Act, new, ours, stored

pytestmark = pytest.mark.usefixtures("kept_db")

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("extras", "status", "days"),
    [
        ({"frequency": "   ", "update_frequency": "weekly"}, "fresh", 7),
        ({"frequency": "every now and then", "update_frequency": "7"}, "unavailable", None),
        ({"frequency": "x" * 1_000_000}, "unavailable", None),
        ({"frequency": "7", "review_date": "0001-01-01T00:00:00+14:00"}, "fresh", 7),
        ({"frequency": "7", "updated_by_script": "(" * 1_000_000}, "fresh", 7),
    ],
)
def test_extras(act: Act, extras: dict[str, str], status: str, days: int | None) -> None:
    made = new(act, extras=extras)
    found = ours(made)
    assert found["freshness"] == status
    assert found.get("freshness_frequency") == (None if days is None else str(days))
    act("package_patch", id=made["id"], title="Other")
    shown = act("freshness_show", id=made["id"])
    assert shown["status"] == status
    assert shown["frequency"]["days"] == days
    assert bool(shown["problems"]) == (days is None or "review_date" in extras)


@pytest.mark.parametrize(
    ("date", "status", "evidence"),
    [
        ("0002-01-01T00:00:00", "delinquent", "upload"),
        ("9999-12-31T23:59:59", "fresh", "upload"),
        # The first day of a clock is no stated date.
        ("0001-01-01T00:00:00", "fresh", "created"),
        ("1970-01-01T00:00:00", "fresh", "created"),
    ],
)
def test_odd_dates(act: Act, date: str, status: str, evidence: str) -> None:
    made = new(
        act,
        extras={"frequency": "365"},
        resources=[{"url": "http://x.org/1", "last_modified": date}],
    )
    (piece,) = act("freshness_show", id=made["id"])["pieces"]
    assert (ours(made)["freshness"], piece["evidence"]) == (status, evidence)


def test_what_callers_send_under_our_keys_is_dropped(act: Act) -> None:
    lies = {"freshness": "fresh", "freshness_due": "2999-01-01T00:00:00Z", "freshness_x": "1"}
    made = new(act, extras=lies)
    assert ours(made)["freshness"] == "unavailable"
    assert "freshness_due" not in ours(made)
    assert ours(made)["freshness_x"] == "1", "only what is ours is taken out"
    sent = [{"key": key, "value": value} for key, value in lies.items()]
    for changed in (
        act("package_update", id=made["id"], name=made["name"], extras=sent, freshness="fresh"),
        act("package_patch", id=made["id"], extras=sent, freshness="fresh"),
        act("package_revise", match={"id": made["id"]}, update={"extras": sent}),
    ):
        found = ours(changed.get("package", changed))
        assert (found["freshness"], "freshness_due" in found) == ("unavailable", False)


def test_malformed_extras_of_another_plugin_do_no_harm() -> None:
    """A plugin's ``after_dataset_show`` may add what CKAN would refuse."""
    odd = [{"value": "x"}, {"key": "freshness_due"}, "x"]
    ours = {"freshness": "fresh", "freshness_frequency": "7"}
    extras = [*odd, *({"key": key, "value": value} for key, value in ours.items())]
    package = {"type": "dataset", "extras": extras}
    show_current(package, NOW)
    assert our_values(package)["freshness"] == "fresh"


def test_other_types_are_left_alone(act: Act, ckan_config: Any) -> None:
    ckan_config["ckanext.freshness.dataset_types"] = ["geodata", "harvest"]
    made = new(act, extras={"frequency": "7", "freshness": "mine"})
    assert ours(made) == {"freshness": "mine"}
    assert ours(act("package_patch", id=made["id"], title="Other")) == {"freshness": "mine"}
    with pytest.raises(Exception, match="dataset is not judged"):
        act("freshness_show", id=made["id"])


def test_two_writers_at_once(act: Act) -> None:
    """A run, which takes datasets by the hundred, and editors never wait for each other for ever."""
    made = [new(act, extras={"frequency": "7"}) for _ in range(3)]
    ids = [one["id"] for one in made]
    faults: list[BaseException] = []
    start = threading.Barrier(3)

    def run() -> None:
        for turn in range(12):
            when = NOW + timedelta(days=100 * turn)
            update_packages(ids, Occasion(when, TransitionCause.RECOMPUTE))
            model.Session.commit()

    def edit(number: int) -> None:
        for turn in range(4):
            for one in made if number else reversed(made):
                act("package_patch", id=one["id"], notes=f"{number} {turn}")

    def guarded(work: Callable[..., None], *args: Any) -> None:
        start.wait()
        try:
            work(*args)
        except BaseException as error:
            faults.append(error)
        finally:
            model.Session.remove()

    threads = [
        threading.Thread(target=guarded, args=args) for args in ((run,), (edit, 0), (edit, 1))
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join(120)
    assert faults == []
    model.Session.remove()
    for package_id in ids:
        update_packages([package_id], Occasion(datetime.now(timezone.utc), TransitionCause.EDIT))
        model.Session.commit()
        assert stored(package_id)["freshness"] == "fresh"
