"""Permissions: who sees a dataset, and who edits some."""

from __future__ import annotations

from typing import Any

from ckan import authz
from ckan.lib.plugins import DefaultPermissionLabels, get_permission_labels
from flask import g, has_request_context


def default_user_labels(user: Any) -> list[str] | None:
    """Return the labels of the datasets that a user may see by CKAN's own rule.

    :param user: a user of CKAN's model; None or an anonymous one for visitors
    :returns: None if another plugin decides who sees what
    """
    labels = get_permission_labels()
    if type(labels) is not DefaultPermissionLabels:
        return None
    if not has_request_context():
        return list(labels.get_user_dataset_labels(user))
    # CKAN looks for the user's organizations by several statements, and a page has ten lists of datasets.
    known: dict[str | None, list[str]] = g.setdefault("freshness_labels", {})
    key = getattr(user, "id", None)
    if key not in known:
        known[key] = list(labels.get_user_dataset_labels(user))
    return known[key]


def edits_some_organization(user_name: str) -> bool:
    """Decide whether a user may change the datasets of an organization, as sysadmins may."""
    return bool(authz.has_user_permission_for_some_org(user_name, "update_dataset"))
