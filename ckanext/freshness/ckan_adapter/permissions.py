"""Permissions: who sees a dataset, and who edits some."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from ckan import authz, model
from ckan.lib.plugins import DefaultPermissionLabels, get_permission_labels


def default_user_labels(user: Any) -> list[str] | None:
    """Return the labels of the datasets that a user may see by CKAN's own rule.

    :param user: a user of CKAN's model; None or an anonymous one for visitors
    :returns: None if another plugin decides who sees what
    """
    labels = get_permission_labels()
    if type(labels) is not DefaultPermissionLabels:
        return None
    return list(labels.get_user_dataset_labels(user))


def edits_some_organization(user: Any) -> bool:
    """Decide whether a user may change the datasets of an organization, as sysadmins may.

    Every page asks. CKAN's own function sends a statement more.

    :param user: a user of CKAN's model
    """
    if user.sysadmin:
        return True
    roles = authz.get_roles_with_permission("update_dataset")
    values = {"user": user.id, "roles": list(roles)}
    return bool(model.Session.execute(_EDITS, values).scalar())


_EDITS = sa.text("""
SELECT EXISTS (
    SELECT FROM member m JOIN "group" g ON g.id = m.group_id
    WHERE m.table_name = 'user' AND m.table_id = :user AND m.state = 'active' AND m.capacity = ANY(:roles)
    AND g.is_organization AND g.state = 'active'
)""")
