"""What all source types of RDF share: the fields of the mapping, and the choice of a mapping."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk

from ..source_config import ConfigError, SourceConfig, texts
from ..source_type import SourceType, salt_of

if TYPE_CHECKING:
    from .mapping import Mapper

MAPPING_VERSION = 3
"""Raise it when mapping or layout make another package of the same record: all are then read again."""


SITE_PROFILES = "ckanext.dcat.rdf.profiles"
"""ckanext-dcat's option for the profiles of a site."""
DEFAULT_PROFILES = ("euro_dcat_ap_3",)
"""ckanext-dcat's own, if the option is empty."""

_LANGUAGE = re.compile(r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$")


def _language(value: Any) -> str:
    if not isinstance(value, str) or not _LANGUAGE.match(value):
        raise ValueError('a language tag, such as "en" or "pt-BR"')
    return value.lower()


RDF_KEYS = {
    # ckanext-fairdatapoint's documentation has a single text.
    "profiles": texts(may_be_one=True),
    "language": _language,
}


class RdfSourceType(SourceType):
    """The base of source types of RDF."""

    @property
    def owned_keys(self) -> frozenset[str]:
        """Return the keys of packages that the mapping writes."""
        from .mapping_tables import OWNED_KEYS

        return OWNED_KEYS

    def check(self, config: SourceConfig) -> None:
        """Check that the profiles are installed."""
        if not (profiles := config.own.get("profiles")):
            return
        from . import dcat_profiles

        try:
            dcat_profiles.check(profiles)
        except ValueError as error:
            raise ConfigError(str(error)) from error


def profiles_of(config: SourceConfig) -> tuple[str, ...]:
    """Return the profiles of ckanext-dcat by which the records of a source are read; none for our own mapping.

    Where a site has ckanext-dcat, the profiles that read a record write it again in the site's own RDF: it
    knows no other keys of extras. With a schema of ckanext-dcat's our own mapping fills the schema's fields,
    and says more.
    """
    if profiles := config.own.get("profiles"):
        return tuple(profiles)
    if not p.plugin_loaded("dcat") or _has_schema_of_dcat():
        return ()
    return tuple(tk.aslist(tk.config.get(SITE_PROFILES)) or DEFAULT_PROFILES)


def _has_schema_of_dcat() -> bool:
    """Return whether datasets have fields for contacts or publishers, as in ckanext-dcat's schemas."""
    try:
        show = tk.get_action("scheming_dataset_schema_show")
        schema = show({"ignore_auth": True}, {"type": "dataset"})
    except (KeyError, tk.ObjectNotFound):
        return False
    names = {one["field_name"] for one in schema["dataset_fields"]}
    return not names.isdisjoint(("contact", "publisher"))


def mapper_of(config: SourceConfig) -> Mapper:
    """Return the mapping of datasets that a source's configuration chooses."""
    from . import dcat_profiles
    from .mapping import map_dataset

    language = config.own.get("language")
    if profiles := profiles_of(config):
        return partial(dcat_profiles.map_with_profiles, profiles=profiles, language=language)
    return partial(map_dataset, language=language)


def rdf_salt(config: SourceConfig) -> str:
    """Return a hash of the settings on which packages of RDF depend."""
    own = config.own
    return salt_of(config, MAPPING_VERSION, own.get("language"), profiles_of(config))
