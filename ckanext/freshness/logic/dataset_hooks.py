"""CKAN's hooks for datasets: an edit judges its dataset within its transaction, and a view shows the result.

CKAN calls the hooks of resources before it gives a new resource its id and dates an upload, and CKAN 2.12
copies the context in between. So these hooks only note the edit in a context variable. The hook that
judges the dataset reads the note.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any

import ckan.plugins as p

from .. import settings
from ..aging.status import Boundaries, Status, status_at
from ..ckan_adapter import database
from ..ckan_adapter.core import site_names
from ..dates import parse_date, utc_now
from ..status import assessment, defaults
from ..status.frequencies import FrequencySource
from ..status.search_fields import judged_extras
from ..status.transitions import DatasetEdit, ResourceAction
from ..web.urls import display_url

_MAX_NAME = 200

_noted: ContextVar[dict[str, DatasetEdit] | None] = ContextVar("freshness_notes", default=None)
"""Edits by the id of the package, or by its name if the caller gave that; None outside resource actions."""


@contextmanager
def noting() -> Iterator[None]:
    """Keep the notes of a resource action until the block ends or fails."""
    token = _noted.set({})
    try:
        yield
    finally:
        _noted.reset(token)


def before_resource_create(resource: Mapping[str, Any]) -> None:
    """Note that a resource is about to be created."""
    _note(resource["package_id"], "resource_create", ResourceAction.ADDED, resource)


def before_resource_update(current: Mapping[str, Any], resource: Mapping[str, Any]) -> None:
    """Note that a resource is about to be updated."""
    change = ResourceAction.REPLACED if _is_replaced(current, resource) else ResourceAction.EDITED
    _note(current["package_id"], "resource_update", change, {**resource, "id": current["id"]})


def before_resource_delete(resource_id: str, resources: Sequence[Mapping[str, Any]]) -> None:
    """Note that a resource is about to be deleted.

    :param resources: all resources of its package
    """
    for resource in resources:
        if resource["id"] == resource_id:
            _note(resource["package_id"], "resource_delete", ResourceAction.REMOVED, resource)


@database.optional
def after_write(context: Mapping[str, Any], data_dict: Mapping[str, Any], action: str) -> None:
    """Judge a package that was created or updated, in the same transaction.

    If it is a harvest source, the next refresh judges its datasets.

    :param action: the action that wrote the package, unless a resource action has left a note
    """
    if data_dict.get("type") == "harvest" and p.plugin_loaded("harvest"):
        defaults.may_have_changed(FrequencySource.SOURCE, data_dict["id"])
    if settings.is_judged(data_dict.get("type")):
        notes = _noted.get() or {}
        edit = notes.get(data_dict["id"]) or notes.get(data_dict.get("name", ""))
        # A call without a user, as in a migration, has no writer.
        writer = context.get("user") or None
        assessment.update_in_action(
            data_dict["id"], utc_now(), writer=writer, edit=edit or DatasetEdit(action)
        )


@database.optional
def after_organization_edit(organization: Any) -> None:
    """Have the next refresh judge the datasets that may use an organization's default frequency."""
    defaults.may_have_changed(FrequencySource.ORGANIZATION, organization.id)


def show_current(dataset: dict[str, Any], now: datetime) -> None:
    """Replace the stored status of a dataset that is about to be shown by its status now.

    The status is among the extras, or in a field of its own if the site's schema shows it so. A field that
    the schema declares for editors is the site's own and stays as it is.
    """
    names = site_names()
    places = dict(_places(dataset, names.extras))
    due, overdue, delinquent = (
        parse_date(places[key][0][places[key][1]]) if key in places else None
        for key in (names.due, names.overdue, names.delinquent)
    )
    if names.status not in places or due is None or overdue is None or delinquent is None:
        return
    holder, key = places[names.status]
    # Boundaries are stored to the second.
    status = status_at(Boundaries(due, overdue, delinquent), now.replace(microsecond=0)).value
    is_ours = holder[key] in {each.value for each in Status}
    if is_ours and holder[key] != status and names.status in judged_extras(dataset.get("type")):
        holder[key] = status


def _places(
    dataset: dict[str, Any], names: Collection[str]
) -> Iterator[tuple[str, tuple[dict[str, Any], str]]]:
    """Yield our names that a dataset has, each with the dict and the key of its value."""
    for key in names:
        if isinstance(dataset.get(key), str):
            yield key, (dataset, key)
    extras = dataset.get("extras")
    for extra in extras if isinstance(extras, list) else ():
        if extra.get("key") in names:
            yield extra["key"], (extra, "value")


def _note(package: str, action: str, change: ResourceAction, resource: Mapping[str, Any]) -> None:
    notes = _noted.get()
    if notes is not None:
        name = str(resource.get("name") or display_url(_url(resource)))[:_MAX_NAME]
        notes[package] = DatasetEdit(action, change, resource.get("id"), name)


def _is_replaced(current: Mapping[str, Any], resource: Mapping[str, Any]) -> bool:
    """Decide whether an update gives a resource another file or URL."""
    if resource.get("upload"):
        return True
    if resource.get("url_type") == "upload":
        # The caller may send the file's name or the whole URL back.
        return current.get("url_type") != "upload"
    return _url(resource) != _url(current)


def _url(resource: Mapping[str, Any]) -> str:
    return str(resource.get("url") or "").strip()
