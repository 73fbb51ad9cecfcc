"""Notes of what happens to a resource, from CKAN's resource hooks to the judgement of its dataset.

CKAN calls the hooks before it gives a new resource its id and dates an upload, and CKAN 2.12 copies the context
in between. So the hooks only take a note, in a context variable, and whoever judges the dataset reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from typing import Any

import ckan.plugins.toolkit as tk

from ..web.urls import display_url

_LONGEST = 200


class ResourceAction(str, Enum):
    """What an action does to a resource."""

    ADDED = "added"
    REPLACED = "replaced"
    """It gets another file or URL."""
    EDITED = "edited"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class DatasetEdit:
    """An action that writes a dataset, and the resource that it is about, if it is about one."""

    action: str
    change: ResourceAction | None = None
    resource_id: str | None = None
    """None also while a new resource has no id yet."""
    resource_name: str | None = None


_NOTES: ContextVar[dict[str, DatasetEdit] | None] = ContextVar("freshness_notes", default=None)
"""Edits by id of the package, or by its name if the caller gave that; None outside of resource actions."""


@contextmanager
def noting() -> Iterator[None]:
    """Keep notes until the block ends or fails."""
    token = _NOTES.set({})
    try:
        yield
    finally:
        _NOTES.reset(token)


@tk.chained_action
def resource_action(
    original: Callable[..., Any], context: dict[str, Any], data_dict: dict[str, Any]
) -> Any:
    """Call one of CKAN's resource actions, and drop its note when it succeeds or fails."""
    with noting():
        return original(context, data_dict)


ACTIONS = ("resource_create", "resource_update", "resource_delete")
"""The actions that call the hooks, each wrapped by :func:`resource_action`."""


def noted(package: Mapping[str, Any]) -> DatasetEdit | None:
    """Return what the resource action under way does to a package; None if there is no such action."""
    notes = _NOTES.get() or {}
    return notes.get(package["id"]) or notes.get(package.get("name", ""))


def adds(resource: Mapping[str, Any]) -> None:
    """Note that a resource is about to be created."""
    _note(resource["package_id"], "resource_create", ResourceAction.ADDED, resource)


def updates(current: Mapping[str, Any], resource: Mapping[str, Any]) -> None:
    """Note that a resource is about to be updated."""
    change = ResourceAction.REPLACED if _is_replaced(current, resource) else ResourceAction.EDITED
    _note(current["package_id"], "resource_update", change, {**resource, "id": current["id"]})


def deletes(resource_id: str, resources: Sequence[Mapping[str, Any]]) -> None:
    """Note that one of the resources of a package is about to be deleted."""
    for one in resources:
        if one["id"] == resource_id:
            _note(one["package_id"], "resource_delete", ResourceAction.REMOVED, one)


def _note(package: str, action: str, change: ResourceAction, resource: Mapping[str, Any]) -> None:
    notes = _NOTES.get()
    if notes is not None:
        name = str(resource.get("name") or display_url(_url(resource)))[:_LONGEST]
        notes[package] = DatasetEdit(action, change, resource.get("id"), name)


def _is_replaced(current: Mapping[str, Any], resource: Mapping[str, Any]) -> bool:
    if resource.get("upload"):
        return True
    if resource.get("url_type") == "upload":
        # The caller may send the file's name or the whole URL back.
        return current.get("url_type") != "upload"
    return _url(resource) != _url(current)


def _url(resource: Mapping[str, Any]) -> str:
    return str(resource.get("url") or "").strip()
