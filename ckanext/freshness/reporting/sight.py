"""Who may see which datasets: the one place where reports ask for it.

Permission labels decide, CKAN's own or those of another plugin (IPermissionLabels), and they live in
Solr: so a search decides, as it does on all pages of CKAN.
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
"""Datasets that one search is asked about; Solr takes 1,024 terms."""
_READ = 64
"""Rows that are looked at together at first: most pages need no more. Then twice as many each time, up to
:data:`_ASKED`."""


def search(context: Context, only: str = "", **params: Any) -> dict[str, Any]:
    """Search among the datasets whose freshness is judged and that somebody may see, private ones too.

    :param only: a filter in Solr's syntax.
    :param params: further ones of ``package_search``; no rows unless ``rows`` are asked for.
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
    """A filter in Solr's syntax: datasets of an organization, whatever its name has in it."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'+organization:"{escaped}"'


def of_user(context: Context) -> dict[str, Any]:
    """A context of its own for the same user: actions leave in theirs what is not the next one's."""
    keys = ("user", "auth_user_obj", "ignore_auth")
    return {key: context[key] for key in keys if key in context}


def sees_all(context: Context) -> bool:
    """Whether somebody may see every dataset: sysadmins and the machine's own commands."""
    if context.get("ignore_auth"):
        return True
    user = context.get("auth_user_obj")
    return bool(user is not None and getattr(user, "sysadmin", False))


def visible(context: Context, ids: Iterable[str]) -> set[str]:
    """Those of some datasets (ids) that somebody may see."""
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
    """Those rows whose datasets somebody may see, in the order given; asked for as they are read."""
    rest = iter(rows)
    known: dict[str, bool] = {}
    size = _READ
    while part := list(islice(rest, size)):
        size = min(2 * size, _ASKED)
        new = {package_id(row) for row in part} - known.keys()
        seen = visible(context, new)
        known |= {one: one in seen for one in new}
        yield from (row for row in part if known[package_id(row)])
