"""What the groups of commands share."""

from __future__ import annotations

from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import click

from ..ckan_adapter.lost_database import DatabaseLostError, telling_of_loss
from ..ckan_adapter.tables import TablesMissingError
from ..copies.store import StoreError
from ..logic.action.harvest import harvest_source
from ..settings import OptionError

_IN_SENTENCES = (OptionError, StoreError, DatabaseLostError, TablesMissingError)
"""What any command may end with; each says all that there is to say."""


class ReportingGroup(click.Group):
    """Commands that end with a sentence where the database was lost, or has not the tables, and where an
    option or the store of copies cannot be used.
    """

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with telling_of_loss():
                return super().invoke(ctx)
        except _IN_SENTENCES as error:
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
        words = tk._("There is no harvest source {name}").format(name=name)
        raise click.ClickException(words) from error


def site_user() -> str:
    """Return the name of the site's own user."""
    return tk.get_action("get_site_user")({"ignore_auth": True}, {})["name"]
