"""Visibility: the only place that decides which datasets and organizations of a report a user may see.

Permission labels decide. CKAN's own labels follow from the columns of ``package``, so that SQL can
compare them. Only Solr has those of other plugins (IPermissionLabels): a search then returns the ids of the
datasets that the user may see, once for a page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa
from flask import g, has_request_context

from .. import settings
from ..ckan_adapter.core import default_user_labels, may, model, same_user

NOBODY: Mapping[str, Any] = {"user": "", "auth_user_obj": None}
"""The context of a visitor who has not logged in and sees only public datasets."""
SITE: Mapping[str, Any] = {"ignore_auth": True, "user": "", "auth_user_obj": None}
"""The context of the site itself, which sees all datasets."""

_FOUND_AT_ONCE = 1_000
"""Datasets in the answer to one search."""


def sees_all(context: Mapping[str, Any]) -> bool:
    """Decide whether the user may see every dataset, as sysadmins and commands may."""
    if context.get("ignore_auth"):
        return True
    user = context.get("auth_user_obj")
    return bool(user is not None and getattr(user, "sysadmin", False))


_HAS_LABEL = """(NOT p.private OR 'member-' || p.owner_org = ANY(:labels)
    OR p.owner_org IS NULL AND 'creator-' || p.creator_user_id = ANY(:labels)
    OR 'collaborator-' || p.id = ANY(:labels))"""
"""CKAN's DefaultPermissionLabels in SQL, for an active package ``p``."""


def condition(context: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the SQL condition for active packages ``p`` that the user may see, and its values."""
    if sees_all(context):
        return "true", {}
    labels = default_user_labels(context.get("auth_user_obj"))
    if labels is not None:
        return _HAS_LABEL, {"labels": labels}
    return "p.id = ANY(:visible)", {"visible": _once("freshness_visible", context, _search)}


def rows(statement: str, context: Mapping[str, Any] | None = None, **values: Any) -> Any:
    """Return the rows of SQL.

    :param statement: with the placeholder ``types`` for the types of packages whose freshness is judged
    :param context: of a user; the condition of :func:`condition` then takes the place of ``{visible}``
    """
    values["types"] = sorted(settings.dataset_types())
    if context is not None:
        visible, of_user = condition(context)
        statement, values = statement.format(visible=visible), {**values, **of_user}
    return model.Session.execute(sa.text(statement), values)


def _once(name: str, context: Mapping[str, Any], read: Callable[[Mapping[str, Any]], Any]) -> Any:
    """Return what is read once for a user, also for a page with many lists."""
    known: dict[str, Any] = g.setdefault(name, {}) if has_request_context() else {}
    user = str(context.get("user") or "")
    if user not in known:
        known[user] = read(context)
    return known[user]


def _search(context: Mapping[str, Any]) -> list[str]:
    """Return the ids of the packages that the user may see."""
    # Harvest sources are packages, too. ckanext-harvest hides them unless a search names their type like this.
    types = (*settings.dataset_types(), "harvest")
    found: list[str] = []
    while True:
        query = {
            "fq": f"+({' OR '.join(f'dataset_type:{name}' for name in types)})",
            "include_private": True,
            "rows": _FOUND_AT_ONCE,
            "start": len(found),
            "sort": "id asc",
            "fl": ["id"],
            "facet": "false",
        }
        answer = tk.get_action("package_search")(same_user(context), query)
        found += [document["id"] for document in answer["results"]]
        if not answer["results"] or len(found) >= answer["count"]:
            return found


def edited(context: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the organizations whose datasets the user may change, asked once for a page."""
    found: list[dict[str, Any]] = _once("freshness_edited", context, _edited)
    return found


def _edited(context: Mapping[str, Any]) -> Any:
    if not context.get("user"):
        return []
    permission = {"permission": "update_dataset"}
    return tk.get_action("organization_list_for_user")(same_user(context), permission)


def edited_organizations(context: Mapping[str, Any]) -> frozenset[str]:
    """Return the ids of the organizations whose datasets the user may change."""
    return frozenset(organization["id"] for organization in edited(context))


def organization(context: Mapping[str, Any], given: str) -> dict[str, Any]:
    """Return the ``id``, ``name`` and ``title`` of an organization.

    :raises tk.ObjectNotFound: no organization has this name or id, or the user may not see it
    """
    found = model.Group.get(given)
    is_there = found is not None and found.is_organization and found.state == "active"
    if not is_there or not may("organization_show", context, id=found.id):
        raise tk.ObjectNotFound(tk._("Organization not found"))
    return {"id": found.id, "name": found.name, "title": found.title or found.name}


def organization_id(context: Mapping[str, Any], given: object) -> str | None:
    """Return the id of an :func:`organization`; None if none is given."""
    return str(organization(context, str(given))["id"]) if given else None


def organizations(context: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the ``name`` and ``title`` of the organizations that the user may see, by title."""
    if not may("organization_list", context):
        return []
    group = model.Group
    title = sa.func.coalesce(sa.func.nullif(group.title, ""), group.name).label("title")
    rows = (
        model.Session.query(group.name, title)
        .filter(group.is_organization, group.state == "active")
        .order_by(sa.func.lower(title))
    )
    return [{"name": row.name, "title": row.title} for row in rows]
