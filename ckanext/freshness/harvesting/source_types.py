"""Which source types are this extension's own: those whose enabled plugin has a ``source_type``."""

from __future__ import annotations

from ..ckan_adapter import get_harvester, registered_source_types
from .survey import SourceType


def source_type_named(name: str | None) -> SourceType | None:
    """Our source type of that name; None if it is another harvester's, or its plugin is not enabled."""
    found: SourceType | None = getattr(get_harvester(name), "source_type", None)
    return found


def our_names() -> list[str]:
    """The names of our source types, as sources have them."""
    return [name for name in registered_source_types() if source_type_named(name)]
