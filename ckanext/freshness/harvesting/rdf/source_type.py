"""What all source types of RDF share: the fields of the mapping, and the choice of a mapping."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..source_config import ConfigError, SourceConfig
from ..source_type import SourceType, salt_of

if TYPE_CHECKING:
    from .mapping import Mapper

MAPPING_VERSION = 3
"""Raise it when mapping or layout make another package of the same record: all are then read again."""


class RdfSourceType(SourceType):
    """The base of source types of RDF."""

    @property
    def owned_keys(self) -> frozenset[str]:
        """Return the keys of packages that the mapping writes."""
        from .mapping_tables import OWNED_KEYS

        return OWNED_KEYS

    def check(self, config: SourceConfig) -> None:
        """Check that the profiles are installed."""
        if not config.profiles:
            return
        from . import dcat_profiles

        try:
            dcat_profiles.check(config.profiles)
        except ValueError as error:
            raise ConfigError(str(error)) from error


def mapper_of(config: SourceConfig) -> Mapper:
    """Return the mapping of datasets that a source's configuration chooses."""
    from . import dcat_profiles
    from .mapping import map_dataset

    if config.profiles:
        return partial(
            dcat_profiles.map_with_profiles, profiles=config.profiles, language=config.language
        )
    return partial(map_dataset, language=config.language)


def rdf_salt(config: SourceConfig) -> str:
    """Return a hash of the settings on which packages of RDF depend."""
    return salt_of(config, MAPPING_VERSION, config.language, config.profiles)
