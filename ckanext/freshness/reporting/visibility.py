"""Visibility: the only place that decides which datasets and organizations of a report a user may see.

Permission labels decide. CKAN's own labels follow from the columns of ``package``, so that SQL can
compare them (:func:`condition`). Solr holds those of other plugins (IPermissionLabels): then a search
decides, as on all pages of CKAN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from .. import settings
from ..ckan_adapter.ckan_core import model
from ..ckan_adapter.permissions import default_user_labels
from ..status.package_fields import same_user
from .tables import Context, Row, TableRequest

Item = TypeVar("Item")

NOBODY: Mapping[str, Any] = {"user": "", "auth_user_obj": None}
"""The context of a visitor who has not logged in and sees only public datasets."""
SITE: Mapping[str, Any] = {"ignore_auth": True, "user": "", "auth_user_obj": None}
"""The context of the site itself, which sees all datasets."""

_MOST = 500
"""Datasets in one search. Solr accepts 1,024 terms."""
_FIRST = 64
"""Rows in the first search, which is enough for most pages. The number doubles up to :data:`_MOST`."""


def search(context: Context, only: str = "", **params: Any) -> dict[str, Any]:
    """Search among the datasets that have a freshness and that the user may see, private ones included.

    :param only: a filter query for Solr
    :param params: further parameters of ``package_search``; ``rows`` is 0 by default
    """
    types = " OR ".join(f'"{name}"' for name in settings.aging().dataset_types)
    query = {
        "q": "*:*",
        "fq": f"+dataset_type:({types}) {only}",
        "include_private": True,
        "rows": 0,
        **params,
    }
    return dict(tk.get_action("package_search")(same_user(context), query))


def of_organization(name: str) -> str:
    """Return a filter query for the datasets of an organization, with its name escaped."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'+organization:"{escaped}"'


def sees_all(context: Context) -> bool:
    """Decide whether the user may see every dataset, as sysadmins and commands may."""
    if context.get("ignore_auth"):
        return True
    user = context.get("auth_user_obj")
    return bool(user is not None and getattr(user, "sysadmin", False))


_HAS_LABEL = """(NOT p.private OR 'member-' || p.owner_org = ANY(:labels)
    OR p.owner_org IS NULL AND 'creator-' || p.creator_user_id = ANY(:labels)
    OR 'collaborator-' || p.id = ANY(:labels))"""
"""CKAN's DefaultPermissionLabels in SQL, for an active package ``p``."""


def condition(context: Context) -> tuple[str, dict[str, Any]] | None:
    """Return the SQL condition for active packages ``p`` that the user may see, and its values.

    :returns: None if another plugin decides, so that a search must (:func:`only_visible`)
    """
    if sees_all(context):
        return "true", {}
    labels = default_user_labels(context.get("auth_user_obj"))
    return None if labels is None else (_HAS_LABEL, {"labels": labels})


def visible(context: Context, ids: Iterable[str]) -> set[str]:
    """Return those of the dataset ids that the user may see."""
    wanted = dict.fromkeys(ids)
    if sees_all(context):
        return set(wanted)
    rest = iter(wanted)
    found: set[str] = set()
    while part := list(islice(rest, _MOST)):
        alternatives = " OR ".join(f'"{id}"' for id in part)
        answer = search(context, f"+id:({alternatives})", rows=len(part), fl=["id"], facet="false")
        found |= {document["id"] for document in answer["results"]}
    return found


def only_visible(
    context: Context, rows: Iterable[Item], package_id: Callable[[Item], str]
) -> Iterator[Item]:
    """Yield the rows whose datasets the user may see, in the given order. Searches run as rows are read."""
    rest = iter(rows)
    known: dict[str, bool] = {}
    size = _FIRST
    while part := list(islice(rest, size)):
        size = min(2 * size, _MOST)
        new = {package_id(row) for row in part} - known.keys()
        seen = visible(context, new)
        known |= {id: id in seen for id in new}
        yield from (row for row in part if known[package_id(row)])


def organization(context: Mapping[str, Any], given: str) -> dict[str, Any]:
    """Return the ``id``, ``name`` and ``title`` of an organization.

    :raises tk.ObjectNotFound: no organization has this name or id, or the user may not see it
    """
    found = model.Group.get(given)
    if found is None or not found.is_organization or found.state != "active":
        raise tk.ObjectNotFound(tk._("Organization not found"))
    try:
        tk.check_access("organization_show", same_user(context), {"id": found.id})
    except tk.NotAuthorized as error:
        raise tk.ObjectNotFound(tk._("Organization not found")) from error
    return {"id": found.id, "name": found.name, "title": found.title or found.name}


def organization_id(name: str) -> str | None:
    """Return the id of an organization; None if none has this name.

    Conditions in SQL use the id itself: PostgreSQL knows then how many datasets the organization has.
    """
    found = model.Session.query(model.Group.id).filter_by(name=name, is_organization=True)
    return found.scalar()  # type: ignore[no-any-return]


MOST_LISTED = 5_000
"""Datasets of an organization that are looked up one by one, at most: for more, other ways are faster."""


def with_dataset_ids(request: TableRequest) -> TableRequest:
    """Return a request with the ids of its organization's datasets, if they are few.

    CKAN has no index on the organization of a dataset, so that otherwise each statement reads all datasets.
    """
    if request.organization is None or request.dataset_ids is not None:
        return request
    values = {"id": organization_id(request.organization), "most": MOST_LISTED + 1}
    found = tuple(model.Session.execute(sa.text(_OF_ORGANIZATION), values).scalars())
    return request if len(found) > MOST_LISTED else replace(request, dataset_ids=found)


_OF_ORGANIZATION = "SELECT id FROM package WHERE owner_org = :id LIMIT :most"


def organizations(context: Mapping[str, Any]) -> list[Row]:
    """Return the ``name`` and ``title`` of the organizations that the user may see, by title."""
    try:
        tk.check_access("organization_list", same_user(context), {})
    except tk.NotAuthorized:
        return []
    group = model.Group
    title = sa.func.coalesce(sa.func.nullif(group.title, ""), group.name).label("title")
    rows = (
        model.Session.query(group.name, title)
        .filter(group.is_organization, group.state == "active")
        .order_by(sa.func.lower(title))
    )
    return [{"name": row.name, "title": row.title} for row in rows]
