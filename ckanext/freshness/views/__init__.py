"""The extension's pages, one module per subject."""

from __future__ import annotations

import ckan.plugins as p
import ckan.plugins.toolkit as tk
from flask import Blueprint
from flask.typing import ResponseReturnValue
from flask_wtf.csrf import CSRFError

from ..ckan_adapter import database
from ..logic import validators
from .dataset import dataset
from .embeds import embeds
from .harvests import harvest, iati
from .links import links
from .mails import mail_link, mails
from .report import report_pages
from .responses import refuse_expired
from .tasks import task_pages, worklist


def _without_tables(error: database.TablesMissingError) -> ResponseReturnValue:
    """Return an error page (503) that says what to do about missing tables."""
    values = {"code": 503, "name": tk._("Service Unavailable"), "content": str(error)}
    return tk.render("error_document_template.html", values), 503


_ALWAYS = [dataset, embeds, links, report_pages, mails, mail_link, worklist, task_pages]

for _pages in (*_ALWAYS, harvest, iati):
    _pages.before_request(database.refuse_missing_tables)
    _pages.before_request(validators.refuse_unusable)
    _pages.register_error_handler(database.TablesMissingError, _without_tables)
    _pages.register_error_handler(CSRFError, refuse_expired)


def blueprints() -> list[Blueprint]:
    """Return the blueprints; those about harvests only if the site harvests."""
    plugins = {"harvest": harvest, "iati_harvester": iati}
    return [*_ALWAYS, *(pages for name, pages in plugins.items() if p.plugin_loaded(name))]
