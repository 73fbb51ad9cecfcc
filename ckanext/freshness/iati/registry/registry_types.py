"""Which registries there are, and which one a source's URL leads to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from ...harvesting.source_config import REGISTRY_KINDS
from .ckan_registry import CkanRegistry
from .index_files import NAMES, IndexFiles
from .registries import Asker, Registry, Terms

CKAN, BULK_DATA_SERVICE = REGISTRY_KINDS

KINDS: Mapping[str, Callable[[Asker, str, Terms], Registry]] = {
    CKAN: CkanRegistry,
    BULK_DATA_SERVICE: IndexFiles,
}
"""By the name that the configuration's key ``registry`` has for them."""


def kind_of(source_url: str, configured: str | None) -> str:
    """The kind of a source's registry: the configured one, else what its URL looks like.

    Index files have names of their own, and stand on a host that is called after the service.
    """
    if configured is not None:
        return configured
    parts = urlsplit(source_url)
    last = parts.path.rstrip("/").rpartition("/")[2].removesuffix(".json")
    is_index = last in NAMES or (parts.hostname or "").startswith("bulk-data")
    return BULK_DATA_SERVICE if is_index else CKAN
