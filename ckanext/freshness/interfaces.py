"""Plugin interfaces for other extensions.

Source types of harvests need none of ours, because ckanext-harvest has one: derive the type from
:class:`ckanext.freshness.harvesting.source_type.SourceType`, and its plugin, which implements ckanext-harvest's
interface, from :class:`ckanext.freshness.harvesters.SourceTypePlugin`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import ckan.plugins as p

from .aging.vocabularies import AS_NEEDED, LIVE, NEVER, Reason, Vocabulary

if TYPE_CHECKING:
    from .checking.content import Detector

__all__ = [
    "AS_NEEDED",
    "LIVE",
    "NEVER",
    "IFreshnessDetectors",
    "IFreshnessVocabularies",
    "Reason",
    "Vocabulary",
]


class IFreshnessVocabularies(p.Interface):
    """Add vocabularies of update frequencies."""

    def frequency_vocabularies(self) -> Sequence[Vocabulary]:
        """Return vocabularies that are tried before this extension's own, in order.

        They read every dataset that is edited. If a vocabulary raises an error, the edit fails.
        """
        return ()


class IFreshnessDetectors(p.Interface):
    """Add kinds of files that are hashed by their content instead of their bytes."""

    def content_detectors(self) -> Sequence[type[Detector]]:
        """Return detectors that are tried before this extension's own, in order.

        Each is a subclass of :class:`ckanext.freshness.checking.content.Detector`, defined at the top level
        of a module that can be imported without CKAN. Files are opened in a separate process.
        """
        return ()
