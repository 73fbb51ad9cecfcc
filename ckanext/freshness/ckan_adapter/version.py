"""The installed CKAN version."""

from __future__ import annotations

import ckan.plugins.toolkit as tk

IS_2_12 = tk.check_ckan_version(min_version="2.12.0b0")
