"""Decides which datasets a user may see. Reports ask nowhere else.

Permission labels decide, CKAN's own or another plugin's (IPermissionLabels). Solr holds them, so a
search decides, as on all pages of CKAN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

import ckan.plugins.toolkit as tk

from .. import settings

Context = Mapping[str, Any]
Row = TypeVar("Row")

_ASKED = 500
"""Datasets in one search. Solr accepts 1,024 terms."""
_READ = 64
"""Rows in the first search, which is enough for most pages. The number doubles up to :data:`_ASKED`."""


def search(context: Context, only: str = "", **params: Any) -> dict[str, Any]:
    """Search among the datasets that have a freshness and that the user may see, private ones included.

    :param only: a filter query for Solr
    :param params: further parameters of ``package_search``; ``rows`` is 0 by default
    """
    types = " OR ".join(f'"{one}"' for one in settings.aging().dataset_types)
    asked = {
        "q": "*:*",
        "fq": f"+dataset_type:({types}) {only}",
        "include_private": True,
        "rows": 0,
        **params,
    }
    return dict(tk.get_action("package_search")(of_user(context), asked))


def of_organization(name: str) -> str:
    """Return a filter query for the datasets of an organization, with its name escaped."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'+organization:"{escaped}"'


def of_user(context: Context) -> dict[str, Any]:
    """Return a new context for the same user, since actions store their own values in a context."""
    keys = ("user", "auth_user_obj", "ignore_auth")
    return {key: context[key] for key in keys if key in context}


def sees_all(context: Context) -> bool:
    """Decide whether the user may see every dataset, as sysadmins and commands may."""
    if context.get("ignore_auth"):
        return True
    user = context.get("auth_user_obj")
    return bool(user is not None and getattr(user, "sysadmin", False))


def visible(context: Context, ids: Iterable[str]) -> set[str]:
    """Return those of the dataset ids that the user may see."""
    wanted = dict.fromkeys(ids)
    if sees_all(context):
        return set(wanted)
    rest = iter(wanted)
    found: set[str] = set()
    while part := list(islice(rest, _ASKED)):
        either = " OR ".join(f'"{one}"' for one in part)
        answer = search(context, f"+id:({either})", rows=len(part), fl=["id"], facet="false")
        found |= {one["id"] for one in answer["results"]}
    return found


def only_visible(
    context: Context, rows: Iterable[Row], package_id: Callable[[Row], str]
) -> Iterator[Row]:
    """Yield the rows whose datasets the user may see, in the given order. Searches run as rows are read."""
    rest = iter(rows)
    known: dict[str, bool] = {}
    size = _READ
    while part := list(islice(rest, size)):
        size = min(2 * size, _ASKED)
        new = {package_id(row) for row in part} - known.keys()
        seen = visible(context, new)
        known |= {one: one in seen for one in new}
        yield from (row for row in part if known[package_id(row)])
