"""What all commands say in the same way."""

from __future__ import annotations

from typing import Any

import click

from ..logic.lost import DatabaseLostError, TablesMissingError, telling_of_loss


class Telling(click.Group):
    """Commands that end with a sentence where the database was lost, or has not the tables."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with telling_of_loss():
                return super().invoke(ctx)
        except (DatabaseLostError, TablesMissingError) as error:
            raise click.ClickException(str(error)) from error
