"""The plugin ``iati_harvester``, the harvester of IATI registries."""

from __future__ import annotations

from ckanext.freshness.harvesters import SourceTypePlugin

from .source_type import IATI_REGISTRY


class IatiHarvesterPlugin(SourceTypePlugin):
    """The harvester of IATI registries, source type ``iati_registry``."""

    source_type = IATI_REGISTRY
