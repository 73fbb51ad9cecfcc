"""The settings of a site and a source on which a package depends, besides its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import ckan.plugins.toolkit as tk

from ...ckan_adapter.core import scheming_schema
from ..source_config import SourceConfig
from .licenses import license_index

PACKAGE_TYPES = ("dataset", "catalog")


@dataclass(frozen=True)
class CatalogSite:
    """The settings on which the packages of a type depend. If one changes, all records are imported again."""

    licenses: Mapping[str, str] = field(default_factory=dict)
    """The answer of ``license_list``, as :func:`.licenses.license_index` indexes it."""
    schema: Mapping[str, Any] | None = None
    """The ckanext-scheming schema of the package type (``dataset_fields``, ``resource_fields``)."""
    package_type: str = "dataset"
    default_tags: tuple[str, ...] = ()
    """Added to each package's tags."""
    default_groups: tuple[str, ...] = ()
    """Names of the groups that each package joins."""
    language: str = "en"
    """The language of text that states none."""
    keep_fields: tuple[str, ...] = ()
    """Fields of an existing package that no harvest changes."""


def catalog_site(config: SourceConfig, package_type: str) -> CatalogSite:
    """Return the settings for packages of a type that are harvested from a source."""
    # ckanext-harvest's own option for fields that no harvest overwrites.
    not_overwritten = tk.aslist(tk.config.get("ckan.harvest.not_overwrite_fields", ""))
    return CatalogSite(
        licenses=license_index(tk.get_action("license_list")({"ignore_auth": True}, {})),
        schema=scheming_schema(package_type),
        package_type=package_type,
        default_tags=config.default_tags,
        default_groups=config.default_groups,
        language=tk.config.get("ckan.locale_default"),
        keep_fields=(*config.keep_fields, *not_overwritten),
    )
