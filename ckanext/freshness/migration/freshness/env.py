"""Runs this extension's migrations with a version table of their own."""

from __future__ import annotations

from logging.config import fileConfig
from pathlib import Path

import click
from alembic import context
from sqlalchemy import engine_from_config, pool

from ckanext.freshness.ckan_adapter.tables import unusable_tables

config = context.config
if config.config_file_name:
    fileConfig(config.config_file_name, disable_existing_loggers=False)

VERSION_TABLE = f"{Path(__file__).parent.name}_alembic_version"


def run_offline() -> None:
    """Print the statements instead of running them."""
    context.configure(
        url=config.get_main_option("sqlalchemy.url"),
        literal_binds=True,
        version_table=VERSION_TABLE,
    )
    with context.begin_transaction():
        context.run_migrations()


def run_online() -> None:
    """Run the migrations on the database."""
    engine = engine_from_config(
        config.get_section(config.config_ini_section) or {},
        prefix="sqlalchemy.",
        poolclass=pool.NullPool,
    )
    with engine.connect() as connection:
        context.configure(connection=connection, version_table=VERSION_TABLE)
        try:
            with context.begin_transaction():
                context.run_migrations()
        finally:
            _tell_of_other_tables()


def _tell_of_other_tables() -> None:
    """Say that no migration can change these tables, since CKAN says SUCCESS."""
    for tables in unusable_tables():
        if not tables.can_be_upgraded:
            click.secho(tables.sentence(str), fg="red", err=True)


if context.is_offline_mode():
    run_offline()
else:
    run_online()
