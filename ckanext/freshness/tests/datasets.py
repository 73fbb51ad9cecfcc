"""Datasets that tests create by CKAN's actions, and what the database stores of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.ckan_adapter.packages import package_extras

Act = Callable[..., Any]


def new(act: Act, **more: Any) -> dict[str, Any]:
    """Create a dataset with a link. Its extras may be a dict."""
    data = {"name": f"d-{uuid4()}", "resources": [{"url": "http://x.org/1"}], **more}
    if isinstance(extras := data.get("extras"), dict):
        data["extras"] = [{"key": key, "value": value} for key, value in extras.items()]
    return dict(act("package_create", **data))


def one_extra(key: str, value: str) -> dict[str, Any]:
    """Return the field of a dataset with one extra."""
    return {"extras": [{"key": key, "value": value}]}


def extras_of(package: dict[str, Any]) -> dict[str, str]:
    """Return the extras that an action shows, by key."""
    return {one["key"]: one["value"] for one in package["extras"]}


def ours(package: dict[str, Any]) -> dict[str, str]:
    """Return those of them that are this extension's."""
    found = extras_of(package).items()
    return {key: value for key, value in found if key.startswith("freshness")}


def stored(package_id: str) -> dict[str, str]:
    """Return the extras that the database has."""
    model.Session.remove()
    return package_extras(model.Package.get(package_id))
