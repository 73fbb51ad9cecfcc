"""Pages, one module per subject."""

from __future__ import annotations

import ckan.plugins as p
from flask import Blueprint

from .dataset import dataset
from .harvest import harvest
from .report import report_pages


def blueprints() -> list[Blueprint]:
    """The blueprints whose pages have something to show on this site."""
    always = [dataset, report_pages]
    return [*always, harvest] if p.plugin_loaded("harvest") else always
