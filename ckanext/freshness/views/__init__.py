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
from .harvests import harvest
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


def guarded(pages: Blueprint) -> Blueprint:
    """Return a blueprint whose pages explain missing tables, unusable parameters and expired forms."""
    pages.before_request(database.refuse_missing_tables)
    pages.before_request(validators.refuse_unusable)
    pages.register_error_handler(database.TablesMissingError, _without_tables)
    pages.register_error_handler(CSRFError, refuse_expired)
    return pages


for _pages in (*_ALWAYS, harvest):
    guarded(_pages)


def blueprints() -> list[Blueprint]:
    """Return the blueprints; those about harvests only if the site harvests."""
    return [*_ALWAYS, harvest] if p.plugin_loaded("harvest") else _ALWAYS
