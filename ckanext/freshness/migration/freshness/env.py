"""Runs this extension's migrations with a version table of their own."""

from __future__ import annotations

from logging.config import fileConfig
from pathlib import Path

import click
from alembic import context
from sqlalchemy import engine_from_config, pool, text

from ckanext.freshness.ckan_adapter.ckan_core import model
from ckanext.freshness.status import removal

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


def destination() -> tuple[bool, object]:
    """Return whether this call changes tables, and the revision after it; None if all tables go."""
    try:
        return True, context.get_revision_argument()
    except KeyError:
        # It only shows the version.
        return False, None


def refuse_to_leave_extras() -> None:
    """Refuse to drop the tables while datasets have extras of this extension.

    :raises click.ClickException: some datasets have
    """
    try:
        count = len(removal.find())
    finally:
        # A transaction that is left open would block the dropping of tables.
        model.Session.remove()
    if count:
        raise click.ClickException(
            f"Nothing was changed: {count} datasets still have extras or values of checks that "
            "ckanext-freshness wrote, and without its tables these would stay for good. Remove them first: "
            "ckan freshness-uninstall"
        )


def run_online() -> None:
    """Run the migrations on the database."""
    is_migration, revision = destination()
    is_last = is_migration and revision is None
    if is_last:
        refuse_to_leave_extras()
    engine = engine_from_config(
        config.get_section(config.config_ini_section) or {},
        prefix="sqlalchemy.",
        poolclass=pool.NullPool,
    )
    with engine.connect() as connection:
        context.configure(connection=connection, version_table=VERSION_TABLE)
        with context.begin_transaction():
            if is_migration:
                removal.lock_tables(connection)
            context.run_migrations()
            if is_last:
                connection.execute(text(f"DROP TABLE IF EXISTS {VERSION_TABLE}"))


if context.is_offline_mode():
    run_offline()
else:
    run_online()
