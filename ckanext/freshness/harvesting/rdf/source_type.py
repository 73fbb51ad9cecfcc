"""What all source types of RDF share: their settings, and the profiles that map their records."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import ckan.plugins.toolkit as tk

from ..source_config import ConfigError, SourceConfig, texts
from ..source_type import SourceType, salt_of

if TYPE_CHECKING:
    from .mapping import Mapper

MAPPING_VERSION = 6
"""Raise it when the mapping, or our profile, makes another record of the same RDF: all are then read again."""

SITE_PROFILES = "ckanext.dcat.rdf.profiles"
"""ckanext-dcat's option for the profiles of a site."""

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

    def check(self, config: SourceConfig) -> None:
        """Check that the profiles are installed, the source's own or the site's."""
        from .mapping import check_profiles

        try:
            check_profiles(profiles_of(config))
        except ValueError as error:
            raise ConfigError(str(error)) from error


def profiles_of(config: SourceConfig) -> tuple[str, ...]:
    """Return the profiles by which the records of a source are read, before ours.

    They are the site's, unless the source names others: the profiles that read a record write it again in the
    site's own RDF.
    """
    from ckanext.dcat.processors import DEFAULT_RDF_PROFILES

    names = config.own.get("profiles") or tk.aslist(tk.config.get(SITE_PROFILES, ""))
    return tuple(names or DEFAULT_RDF_PROFILES)


def mapper_of(config: SourceConfig) -> Mapper:
    """Return the mapping of the records of a source."""
    from .mapping import ProfileMapper

    return ProfileMapper(profiles_of(config), config.own.get("language") or "")


def rdf_salt(config: SourceConfig) -> str:
    """Return a hash of all on which packages of RDF depend, with the versions of the profiles."""
    from .mapping import profile_versions

    names = profiles_of(config)
    language = config.own.get("language")
    return salt_of(config, MAPPING_VERSION, language, names, profile_versions(names))
