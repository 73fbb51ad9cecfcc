"""Pages, one module per subject."""

from __future__ import annotations

import ckan.plugins as p
from flask import Blueprint

from .copies import copies, iati
from .dataset import dataset
from .harvest import harvest
from .mails import mail_link, mails
from .report import report_pages


def blueprints() -> list[Blueprint]:
    """The blueprints whose pages have something to show on this site."""
    always = [dataset, copies, report_pages, mails, mail_link]
    return [*always, harvest, iati] if p.plugin_loaded("harvest") else always
