"""Links that other plugins check by rules of their own, as SQL. See :class:`..interfaces.IFreshnessChecker`."""

from __future__ import annotations

from collections.abc import Mapping

import ckan.plugins as p

from ..interfaces import IFreshnessChecker


def checked_elsewhere() -> str | None:
    """Return SQL that selects these links with their last checks; None if no plugin checks any."""
    plugins = p.PluginImplementations(IFreshnessChecker)
    return "\nUNION ALL\n".join(f"({plugin.checked_links()})" for plugin in plugins) or None


def is_checked_elsewhere(resource: str) -> str:
    """Return SQL that decides whether another plugin checks a resource.

    :param resource: SQL of its id
    """
    links = checked_elsewhere()
    if links is None:
        return "false"
    return f"EXISTS (SELECT FROM ({links}) other WHERE other.resource_id = {resource})"


def link_problems() -> Mapping[str, str]:
    """Return the sentences of other plugins for the reasons of failed checks."""
    plugins = p.PluginImplementations(IFreshnessChecker)
    return {reason: words for plugin in plugins for reason, words in plugin.link_problems().items()}
