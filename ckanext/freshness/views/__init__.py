"""The extension's pages, one module per subject."""

from __future__ import annotations

import ckan.plugins as p
from flask import Blueprint

from .dataset import dataset
from .embeds import embeds
from .harvests import harvest
from .links import links
from .mails import mail_link, mails
from .report import report_pages
from .responses import guarded
from .tasks import task_pages, worklist

__all__ = ["blueprints", "guarded"]

_ALWAYS = [dataset, embeds, links, report_pages, mails, mail_link, worklist, task_pages]


def blueprints() -> list[Blueprint]:
    """Return the blueprints; those about harvests only if the site harvests."""
    return [*_ALWAYS, harvest] if p.plugin_loaded("harvest") else _ALWAYS
