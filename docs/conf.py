"""Sphinx: ``./dev run sphinx-build -W docs .dev/docs`` writes HTML to ``.dev/docs``."""

from __future__ import annotations

from importlib.metadata import version as version_of

project = "ckanext-freshness"
author = "the ckanext-freshness authors"
version = release = version_of("ckanext-freshness")
language = "en"

exclude_patterns = ["_build"]
html_theme = "alabaster"
html_show_copyright = False
html_show_sphinx = False
# Code that is no code of one language (output, crontabs) stays as it is.
highlight_language = "none"
smartquotes = False
