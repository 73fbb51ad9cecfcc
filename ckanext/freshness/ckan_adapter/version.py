"""The installed CKAN version."""

from __future__ import annotations

from collections.abc import Sequence

import ckan.plugins.toolkit as tk

IS_2_12 = tk.check_ckan_version(min_version="2.12.0b0")


def version_is_among(series: Sequence[str]) -> bool:
    """Decide whether the installed CKAN belongs to one of some series, such as ``2.12``."""
    return ".".join(tk.ckan.__version__.split(".")[:2]) in series
