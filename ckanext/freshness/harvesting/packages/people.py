"""CKAN's fields for people, ``maintainer`` and ``author``, filled from the agents of a record."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

_AGENTS: Mapping[str, tuple[str, ...]] = {
    "maintainer": ("contact",),
    "author": ("creator", "publisher"),
}
"""Fields of CKAN for people, each with the fields of a record that can fill it, the best first.

``<field>_email`` is the e-mail address of the same agent.
"""

PEOPLE_KEYS = frozenset(name for key in _AGENTS for name in (key, f"{key}_email"))
"""Every key that :func:`people` can fill."""


def people(fields: Mapping[str, Any], in_schema: Collection[str] = ()) -> dict[str, str]:
    """Return names and e-mail addresses for CKAN's fields ``maintainer`` and ``author``.

    :param fields: the fields of a record, or the extras of a package, whose lists are JSON texts.
    :param in_schema: the fields of the site's schema. An agent that has a field there fills no other.
    """
    found: dict[str, str] = {}
    for key, origins in _AGENTS.items():
        if any(origin in in_schema for origin in origins):
            continue
        agent = next(filter(None, (_first_agent(fields.get(origin)) for origin in origins)), {})
        for name, part in ((key, "name"), (f"{key}_email", "email")):
            if agent.get(part):
                found[name] = str(agent[part])
    return found


def _first_agent(agents: Any) -> dict[str, Any]:
    """Return the first agent with name and e-mail address, otherwise the first with either."""
    if isinstance(agents, str):
        try:
            agents = json.loads(agents)
        except ValueError:
            return {}
    if not isinstance(agents, list):
        return {}
    known = [agent for agent in agents if isinstance(agent, dict)]
    complete = (agent for agent in known if agent.get("name") and agent.get("email"))
    partial = (agent for agent in known if agent.get("name") or agent.get("email"))
    return next(complete, None) or next(partial, {})
