"""Which CKAN this is."""

from __future__ import annotations

from collections.abc import Sequence

import ckan.plugins.toolkit as tk

IS_2_12 = tk.check_ckan_version(min_version="2.12.0b0")


def version_is_among(series: Sequence[str]) -> bool:
    """Whether the installed CKAN is of one of these series, such as ``2.12``."""
    return ".".join(tk.ckan.__version__.split(".")[:2]) in series
