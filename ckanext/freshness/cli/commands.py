"""The base of the command groups, and the user on whose behalf commands act."""

from __future__ import annotations

from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import click

from ..ckan_adapter.database import DatabaseLostError, TablesMissingError, telling_of_loss
from ..copies.store import StoreError
from ..logic.action.harvest import harvest_source
from ..settings import OptionError

_EXPECTED = (OptionError, StoreError, DatabaseLostError, TablesMissingError)
"""Errors of any command whose text says all that an operator needs."""


class ReportingGroup(click.Group):
    """Commands that report expected errors in one sentence, without a traceback.

    These are: the database was lost or lacks our tables; an option or the store of copies is unusable.
    """

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with telling_of_loss():
                return super().invoke(ctx)
        except _EXPECTED as error:
            raise click.ClickException(str(error)) from error


def source_named(name: str) -> Any:
    """Return the row of a harvest source by its id or name.

    :raises click.ClickException: there is none
    """
    if not p.plugin_loaded("harvest"):
        raise click.ClickException(
            tk._("This command needs ckanext-harvest: install it and add harvest to ckan.plugins")
        )
    try:
        return harvest_source(name)
    except tk.ObjectNotFound as error:
        words = tk._("There is no harvest source {name}. List them with: ckan harvester sources")
        raise click.ClickException(words.format(name=name)) from error


def site_user() -> str:
    """Return the name of the site's own user."""
    return str(tk.get_action("get_site_user")({"ignore_auth": True}, {})["name"])
