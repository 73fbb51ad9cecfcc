"""CKAN's own fields for people, filled from the agents of a record."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

FIELDS: Mapping[str, tuple[str, ...]] = {
    "maintainer": ("contact",),
    "author": ("creator", "publisher"),
}
"""Each field of CKAN's own, and the fields of a record that it is filled from, the best first.

``<field>_email`` is the e-mail address of the same agent.
"""

PEOPLE_KEYS = frozenset(name for key in FIELDS for name in (key, f"{key}_email"))
"""Every key that can be filled in."""


def people(fields: Mapping[str, Any], in_schema: Collection[str] = ()) -> dict[str, str]:
    """Return names and e-mail addresses for CKAN's own fields.

    :param fields: of a record, or the extras of a package, whose lists are JSON texts.
    :param in_schema: fields of the site's schema: agents that have a field there fill in nothing.
    """
    found: dict[str, str] = {}
    for key, origins in FIELDS.items():
        if any(origin in in_schema for origin in origins):
            continue
        agent = next(filter(None, (_first(fields.get(origin)) for origin in origins)), {})
        for name, part in ((key, "name"), (f"{key}_email", "email")):
            if agent.get(part):
                found[name] = str(agent[part])
    return found


def _first(agents: Any) -> dict[str, Any]:
    """The first agent with name and e-mail address, else the first with one of them."""
    if isinstance(agents, str):
        try:
            agents = json.loads(agents)
        except ValueError:
            return {}
    if not isinstance(agents, list):
        return {}
    named = [
        one for one in agents if isinstance(one, dict) and (one.get("name") or one.get("email"))
    ]
    return next(
        (one for one in named if one.get("name") and one.get("email")), next(iter(named), {})
    )
