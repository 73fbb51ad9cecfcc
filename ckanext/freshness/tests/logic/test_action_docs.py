"""What actions return is what their docstrings say, which programs read by CKAN's action ``help_show``."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import ckan.plugins.toolkit as tk
import pytest
from ckan.tests import factories

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.model import CheckRun, HarvestHold
from ckanext.freshness.tests.datasets import Act, new

EXAMPLES = Path(__file__).parents[4] / "docs" / "api-examples.json"

pytestmark = [
    pytest.mark.usefixtures("kept_db"),
    pytest.mark.skipif(not EXAMPLES.exists(), reason="about a checkout"),
]

NAMED = re.compile(r"``(\w+)``")


def described(action: str) -> tuple[list[set[str]], set[str]]:
    """Return the keys of a result by a docstring, for each form that it may have, and all names in it."""
    text = tk.get_action("help_show")({}, {"name": action})
    returns = text.split(":returns:")[1].split(":rtype:")[0]
    same = re.search(r"the same as ``(\w+)``|as in the list of ``(\w+)``", returns)
    forms, names = described(same[1] or same[2]) if same else ([set()], set())
    for number, part in enumerate(returns.split("With ``table``")):
        # What stands before a colon are keys, what stands behind it explains them.
        lines = re.findall(r"^ +\* (.+?)(?::|$)", part, re.M)
        keys = {name for line in lines for name in NAMED.findall(line)}
        forms = [*forms, keys] if number else [keys | form for form in forms]
    return forms, names | set(NAMED.findall(returns))


def example(action: str, **more: str) -> dict[str, Any]:
    """Return the request of the documentation, with the ids that exist here."""
    (found,) = (one for one in json.loads(EXAMPLES.read_text()) if one["action"] == action)
    return {**found["request"], **{key: more[key] for key in more if key in found["request"]}}


def nested(value: Any) -> set[str]:
    """Return the keys of dictionaries at any depth."""
    if isinstance(value, list):
        return set().union(*map(nested, value))
    return set(value).union(*map(nested, value.values())) if isinstance(value, dict) else set()


def test_the_results_have_the_keys_that_the_docstrings_name(act: Act) -> None:
    link = {"id": "74556f00-a002-4351-a4bd-1f5b8b700f93", "url": "http://x.org/1"}
    owner = factories.Organization(name="relief-works")["id"]
    for name, resources in (("roads", [link]), ("water-points", [{"url": "http://x.org/2"}])):
        new(act, name=name, extras={"frequency": "7"}, resources=resources, owner_org=owner)
    for name in ("fdp-example", "fdp-old"):
        made = {"name": name, "title": name, "url": f"http://x.org/{name}", "source_type": "fdp"}
        source = act("harvest_source_create", owner_org=owner, **made)
    now = datetime(2026, 11, 1)
    run: dict[str, Any] = {"resources": {}, "datasets": {}, "frequencies": {}}
    model.Session.add(
        CheckRun(id="r", kind="check", started_at=now, version="1", options={}, **run)
    )
    held = [{"guid": "g", "url": "http://x.org/d", "package_id": None, "reason": "brake"}]
    model.Session.add(
        HarvestHold(source_id=source["id"], job_id="j", held_at=now, reason="", held=held)
    )
    model.Session.commit()
    list_id = act("freshness_harvest_hold_show", id="fdp-old")["list_id"]
    for action in sorted(one["action"] for one in json.loads(EXAMPLES.read_text())):
        forms, names = described(action)
        request = example(action, list_id=list_id)
        if action == "freshness_date_column":
            del request["column"]
        found = act(action, **request)
        for one in found if isinstance(found, list) else [found]:
            assert set(one) in forms, action
            values = {key: value for key, value in one.items() if key not in ("rows", "statuses")}
            assert not nested(values) - names, action
    assert set(act("freshness_report")) in described("freshness_report")[0]
