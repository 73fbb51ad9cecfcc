"""What other extensions can add."""

from __future__ import annotations

from collections.abc import Sequence

import ckan.plugins as p

from .aging.vocabularies import AS_NEEDED, LIVE, NEVER, Reason, Vocabulary

__all__ = ["AS_NEEDED", "LIVE", "NEVER", "IFreshnessVocabularies", "Reason", "Vocabulary"]


class IFreshnessVocabularies(p.Interface):
    """Other ways to write update frequencies."""

    def frequency_vocabularies(self) -> Sequence[Vocabulary]:
        """Vocabularies that are asked before this extension's own, in order.

        They read every dataset that is written: one that raises makes the edit fail.
        """
        return ()
