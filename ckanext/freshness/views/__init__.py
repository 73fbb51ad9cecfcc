"""The extension's pages, one module per subject."""

from __future__ import annotations

import ckan.plugins as p
import ckan.plugins.toolkit as tk
from flask import Blueprint
from flask.typing import ResponseReturnValue
from flask_wtf.csrf import CSRFError

from ..ckan_adapter import database
from ..logic import validators
from .badges import badges
from .copies import copies, iati
from .dataset import dataset
from .harvest import harvest
from .iati_page import iati_page
from .mails import mail_link, mails
from .report import report_pages
from .responses import refuse_expired
from .worklist import worklist


def _without_tables(error: database.TablesMissingError) -> ResponseReturnValue:
    """Return an error page (503) that says what to do about missing tables."""
    values = {"code": 503, "name": tk._("Service Unavailable"), "content": str(error)}
    return tk.render("error_document_template.html", values), 503


for _pages in (
    *(badges, copies, dataset, harvest, iati, iati_page, mail_link, mails, report_pages, worklist),
):
    _pages.before_request(database.refuse_missing_tables)
    _pages.before_request(validators.refuse_unusable)
    _pages.register_error_handler(database.TablesMissingError, _without_tables)
    _pages.register_error_handler(CSRFError, refuse_expired)


def blueprints() -> list[Blueprint]:
    """Return the blueprints; those about harvests only if the site harvests."""
    always = [dataset, badges, copies, report_pages, mails, mail_link, worklist]
    if not p.plugin_loaded("harvest"):
        return always
    return [*always, harvest, iati, *([iati_page] if p.plugin_loaded("iati_harvester") else [])]
