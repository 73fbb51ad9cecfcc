"""What other extensions can add."""

from __future__ import annotations

from collections.abc import Sequence

import ckan.plugins as p

from .aging.vocabularies import AS_NEEDED, LIVE, NEVER, Reason, Vocabulary
from .checking.detectors import Detector

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
    """Other ways to write update frequencies."""

    def frequency_vocabularies(self) -> Sequence[Vocabulary]:
        """Vocabularies that are asked before this extension's own, in order.

        They read every dataset that is written: one that raises makes the edit fail.
        """
        return ()


class IFreshnessDetectors(p.Interface):
    """Other kinds of files that are hashed by their content, and not by their bytes."""

    def content_detectors(self) -> Sequence[type[Detector]]:
        """Detectors that are asked before this extension's own, in order.

        Each is a subclass of :class:`ckanext.freshness.checking.detectors.Detector` at the top of a
        module that can be imported without CKAN: files are opened in a process of their own.
        """
        return ()
