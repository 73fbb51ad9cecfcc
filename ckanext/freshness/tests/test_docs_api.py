"""The page about the API: its examples, asked of a real site, are answered as it says."""

from __future__ import annotations

import json
import re
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import ckan.plugins.toolkit as tk
import pytest
from ckan.lib import jobs
from ckan.tests import factories
from ckan.tests.helpers import call_action
from prometheus_client.parser import text_string_to_metric_families

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.harvesting import holds
from ckanext.freshness.harvesting.messages import HarvestMessage, MessageCode
from ckanext.freshness.harvesting.record import KnownRecord
from ckanext.freshness.harvesting.strategy import AbsentRecord, HeldDeletions
from ckanext.freshness.iati.report import GAUGES
from ckanext.freshness.logic import (
    dataset_actions,
    harvest_actions,
    report_actions,
    webhook_actions,
)
from ckanext.freshness.mails import webhooks
from ckanext.freshness.model import CheckRun, FreshnessTransition
from ckanext.freshness.tests.harvesting.conftest import add_source
from ckanext.freshness.tests.pages.reports import (
    DAY,
    PLAIN,
    changed,
    data_changed,
    judge,
    make,
    visited,
)
from ckanext.freshness.tests.reporting.test_metrics import NUMBERS

DOCS = Path(__file__).parents[3] / "docs"
EXAMPLES = DOCS / "api-examples.json"

pytestmark = pytest.mark.skipif(
    not EXAMPLES.exists(), reason="about a checkout, which an installed copy is not"
)

Site = dict[str, Any]


def examples() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (
        json.loads(EXAMPLES.read_text(encoding="utf-8")) if EXAMPLES.exists() else []
    )
    return found


def test_every_action_has_an_example() -> None:
    assert sorted(one["action"] for one in examples()) == sorted(
        name
        for module in (
            dataset_actions,
            harvest_actions,
            report_actions,
            webhook_actions,
        )
        for name in module.__all__
    )


def make_world() -> Site:
    """A small site; what an example changes, no other one shows."""
    for queue in jobs.get_all_queues():
        queue.delete()
    sysadmin = factories.SysadminWithToken()["token"]
    editor = factories.UserWithToken(
        name="erika", fullname="Erika Meyer", email="erika@example.org"
    )
    users = [{"name": editor["name"], "capacity": "editor"}]
    owner = factories.Organization(name="relief-works", title="Relief Works", users=users)["id"]
    resource = _datasets(owner)
    _runs()
    _harvests(owner)
    tokens = {"sysadmin": sysadmin, "editor": editor["token"]}
    return {**tokens, "resource": resource, "webhook": _webhook(owner)}


def _datasets(owner: str) -> str:
    """Two datasets; the id of the resource that fails."""
    for name, title, age in (("water-points", "Water points", 16), ("roads", "Roads", 1)):
        table = {"url": f"https://files.example.org/{name}.csv", "name": f"{name}.csv"}
        dataset = make(name, age, title=title, owner_org=owner, resources=[table])
        if name == "water-points":
            fails = dataset
            more = {"host": "files.example.org", "undetermined": None, "attempts": [ATTEMPT]}
            visited(dataset, **more)
    judge()
    model.Session.query(FreshnessTransition).delete()
    changed(fails, to_status="overdue")
    for days in (0.5, 7.5, 14.5):
        data_changed(fails, days * DAY, summary=SUMMARY, **FILES)
    return str(fails["resources"][0]["id"])


SUMMARY = {"tables": [{"name": None, "rows": [13898, 14210], "added": ["district"]}]}
FILES: Any = {
    "hash_before": "sha256:" + "a" * 64,
    "hash_after": "sha256:" + "b" * 64,
    "size_before": 1104532,
    "size_after": 1183970,
    "media_type_before": "text/csv",
    "media_type_after": "text/csv",
}

ATTEMPT = {
    "at": f"{(PLAIN - DAY).isoformat()}Z",
    "method": "GET",
    "outcome": "error",
    "status": 404,
    "words": "answered 404 (Not Found)",
    "received": 162,
    "seconds": 0.211,
}


def _runs() -> None:
    model.Session.query(CheckRun).delete()
    run = {"options": {}, "checked": 2, "version": "0.1.0"}
    counted = {
        "resources": {"nothing": 1, "error": 1},
        "datasets": {"0: Fresh, Updated nothing": 1, "2: Overdue, Updated nothing,error": 1},
        "frequencies": {"live": 0, "never": 0, "as needed": 0},
        "hosts": {"*": NUMBERS, "files.example.org": NUMBERS},
    }
    cycle = {
        **run,
        "options": {"source": "a", "harvest": True},
        "datasets": dict.fromkeys(GAUGES, 1),
    }
    begun, ended = PLAIN - DAY / 24, PLAIN - DAY / 48
    model.Session.add_all(
        [
            CheckRun(id=RUN, kind="check", started_at=begun, ended_at=ended, **run, **counted),
            CheckRun(
                id="cycle", kind="iati", started_at=begun - DAY, ended_at=ended - DAY, **cycle
            ),
        ]
    )
    model.Session.commit()


RUN = "5ba0b2f1-4a3e-4b57-9b39-7a1f9d1f1a60"


def _harvests(owner: str) -> None:
    sources = [add_source(f"https://{one}.example.org", owner_org=owner) for one in ("fdp", "old")]
    for name, harvest in zip(("fdp-example", "fdp-old"), sources, strict=True):
        model.Package.get(harvest.source["id"]).name = name
    model.Session.commit()
    source_id = sources[1].source["id"]
    url = "https://old.example.org/dataset/1"
    known = KnownRecord(url, f"catalog=https://old.example.org/catalog/1;dataset={url}")
    reason = HarvestMessage("no longer listed by the source", MessageCode.UNLISTED)
    brake = HeldDeletions(
        (AbsentRecord(known, True, reason),), 12, "the source lists nothing at all"
    )
    holds.set_hold(
        source_id, "0f6c6a43-6f4e-4a3e-8a0f-1a2b3c4d5e6f", brake, datetime.now(timezone.utc)
    )
    model.Session.commit()
    call_action("freshness_harvest_preview", {"user": "erika"}, id="fdp-old")


def _webhook(owner: str) -> str:
    webhook = webhooks.register(
        "https://hooks.example.org/freshness",
        ["data", "link"],
        owner,
        model.User.get("erika").id,
        datetime.now(timezone.utc),
    )
    webhooks.add_test(webhook, datetime.now(timezone.utc))
    return str(webhook.id)


@pytest.mark.parametrize("example", examples(), ids=lambda one: one["action"])
def test_the_example_is_answered_as_the_page_says(
    app: Any, world: Site, example: dict[str, Any]
) -> None:
    others = {each["action"]: each for each in examples()}
    if example["action"] == TAKE_BACK:
        ask(app, world, others[RELEASE])
    result = ask(app, world, example)
    if example["action"] == RELEASE:
        ask(app, world, others[TAKE_BACK])
    assert masked(result) == masked(example["result"])


def ask(app: Any, site: Site, example: dict[str, Any]) -> Any:
    """The result of a request, made as the page makes it."""
    headers = {} if example["as"] == "nobody" else {"Authorization": site[example["as"]]}
    path = f"/api/3/action/{example['action']}"
    data = dict(example["request"])
    if example["action"] == "freshness_resource_history":
        data["id"] = site["resource"]
    if "list_id" in data:
        # Names exactly what is held now.
        shown = ask(app, site, {**example, "action": HOLD, "request": {"id": data["id"]}})
        data["list_id"] = shown["list_id"]
    if example["action"] in ("freshness_webhook_test", "freshness_webhook_delete"):
        data["id"] = site["webhook"]
    if reads(example["action"]):
        answer = app.get(path, query_string=data, headers=headers)
    else:
        answer = app.post(path, json=data, headers=headers)
    told = json.loads(answer.get_data(as_text=True))
    assert answer.status_code == 200 and told["success"], told
    return told["result"]


HOLD = "freshness_harvest_hold_show"
RELEASE = "freshness_harvest_release"
TAKE_BACK = "freshness_harvest_take_back"


def reads(name: str) -> bool:
    return bool(getattr(tk.get_action(name), "side_effect_free", False))


MASKS = (
    (re.compile(r"whsec_[\w+/=]+"), "SECRET"),
    (re.compile(r"msg_[0-9a-f-]+_\d+"), "EVENT"),
    (re.compile(r"http://test\.ckan\.net|https://ckan\.example\.org"), "SITE"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "ID"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "SHA-256"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?"), "MOMENT"),
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "DAY"),
    (re.compile(r"(?<=since )\d{1,2} [A-Z][a-z]{2}( \d{4})?"), "DAY"),
)
"""What differs from site to site, and from day to day."""


def masked(value: Any) -> Any:
    """The same with ids and moments as what they are."""
    if isinstance(value, dict):
        return {key: masked(one) for key, one in value.items()}
    if isinstance(value, list):
        return [masked(one) for one in value]
    if isinstance(value, str):
        for pattern, mask in MASKS:
            value = pattern.sub(mask, value)
    return value


# Figures


def test_the_figures_are_those_of_the_page(app: Any, world: Site) -> None:
    answer = app.get("/freshness/metrics", headers={"Authorization": world["sysadmin"]})
    text = answer.get_data(as_text=True)
    ours = {family.name for family in text_string_to_metric_families(text)}
    page = (DOCS / "reports.rst").read_text(encoding="utf-8")
    part = page[page.index(".. _figures:") :]
    assert set(re.findall(r"^   \* - ``(\w+)``", part, re.M)) == ours
