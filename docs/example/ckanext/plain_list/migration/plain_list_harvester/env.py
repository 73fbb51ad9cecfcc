"""Runs this plugin's migrations with a version table of their own."""

from __future__ import annotations

from pathlib import Path

from alembic import context
from sqlalchemy import engine_from_config, pool

VERSION_TABLE = f"{Path(__file__).parent.name}_alembic_version"

_SETTINGS = context.config.get_section(context.config.config_ini_section) or {}
with engine_from_config(_SETTINGS, poolclass=pool.NullPool).connect() as connection:
    context.configure(connection=connection, version_table=VERSION_TABLE)
    with context.begin_transaction():
        context.run_migrations()
