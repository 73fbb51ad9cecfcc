"""The kinds of files that are hashed by their content."""

from __future__ import annotations

import ckan.plugins as p

from ..checking.content import DETECTORS
from ..checking.detectors import Detector
from ..interfaces import IFreshnessDetectors


def detectors() -> tuple[type[Detector], ...]:
    """All detectors: those of other plugins first."""
    others = p.PluginImplementations(IFreshnessDetectors)
    return (*(one for plugin in others for one in plugin.content_detectors()), *DETECTORS)
