"""Pages, one module per subject."""

from __future__ import annotations

import ckan.plugins as p
from flask import Blueprint

from .dataset import dataset
from .harvest import harvest


def blueprints() -> list[Blueprint]:
    """The blueprints whose pages have something to show on this site."""
    return [dataset, harvest] if p.plugin_loaded("harvest") else [dataset]
