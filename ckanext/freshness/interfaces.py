"""Plugin interfaces for other extensions."""

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
