"""What all source types of RDF share: the fields of the mapping, and the choice of a mapping."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from ..source_config import ConfigError, SourceConfig, texts
from ..source_type import SourceType, salt_of

if TYPE_CHECKING:
    from .mapping import Mapper

MAPPING_VERSION = 3
"""Raise it when mapping or layout make another package of the same record: all are then read again."""


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


def mapper_of(config: SourceConfig) -> Mapper:
    """Return the mapping of datasets that a source's configuration chooses."""
    from . import dcat_profiles
    from .mapping import map_dataset

    language = config.own.get("language")
    if profiles := config.own.get("profiles"):
        return partial(dcat_profiles.map_with_profiles, profiles=profiles, language=language)
    return partial(map_dataset, language=language)


def rdf_salt(config: SourceConfig) -> str:
    """Return a hash of the settings on which packages of RDF depend."""
    own = config.own
    return salt_of(config, MAPPING_VERSION, own.get("language"), own.get("profiles", ()))
