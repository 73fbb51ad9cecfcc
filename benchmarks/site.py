"""The CKAN site that a benchmark works on, from inside, and catalogues that are written by SQL."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa
from ckan import model
from ckan.cli import load_config
from ckan.config.middleware import make_app
from ckan.lib import search

from ckanext.freshness.ckan_adapter.database import missing_tables
from ckanext.freshness.ckan_adapter.packages import write_extras


class Site:
    """CKAN, loaded in this process with the settings of CKAN_INI."""

    def __init__(self) -> None:
        logging.disable(logging.INFO)
        app = make_app(load_config())
        self._flask = getattr(app, "_wsgi_app", app)
        if unusable := missing_tables():
            # The hooks do nothing then, and would be found very fast.
            raise SystemExit(" ".join(tables.sentence(str) for tables in unusable))
        self.user = self._site_user()

    def empty(self) -> None:
        """Delete everything, and create the organization ``bench``."""
        model.Session.remove()
        tables = sa.inspect(model.meta.engine).get_table_names()
        names = ", ".join(f'"{one}"' for one in tables if not one.endswith("alembic_version"))
        execute(f"TRUNCATE {names} CASCADE")
        search.clear_all()
        self._site_user()
        self.call("organization_create", name="bench")

    def _site_user(self) -> str:
        """Create the site's own user if it is missing, and return the name."""
        try:
            return str(tk.get_action("get_site_user")({"ignore_auth": True}, {})["name"])
        finally:
            # An open transaction would make other processes wait.
            model.Session.remove()

    def call(self, action: str, **data: Any) -> Any:
        """Call an action as the site's own user."""
        context = {"user": self.user, "ignore_auth": True}
        try:
            with self._flask.test_request_context():
                return tk.get_action(action)(context, data)
        finally:
            model.Session.remove()

    def get(self, path: str, times: int = 1) -> None:
        """Show a page some times."""
        client = self._flask.test_client()
        for _ in range(times):
            answer = client.get(path)
            if answer.status_code != 200:
                raise SystemExit(f"{path} answered {answer.status_code}: {answer.data[-500:]!r}")

    def write(
        self, datasets: int, resources: int, url: str, extras: Mapping[str, str], **values: Any
    ) -> None:
        """Write datasets and their resources into an empty site, past CKAN and its index.

        :param url: SQL for the URL of resource number ``k``
        :param extras: of each dataset
        :param values: parameters of ``url``
        """
        now = datetime.now(timezone.utc).replace(tzinfo=None)
        values |= {"datasets": datasets, "resources": resources, "now": now}
        with without_indexes("package", "package_extra", "resource"):
            execute(_PACKAGES, **values)
            execute(_RESOURCES.format(url=url), **values)
            ids = execute("SELECT id FROM package WHERE type = 'dataset'")
            write_extras(dict.fromkeys(ids, extras), list(extras))
            model.Session.commit()
        settle()


def execute(statement: str, **values: Any) -> Sequence[Any]:
    """Execute SQL, commit, and return the first column of its rows."""
    result = model.Session.execute(sa.text(statement), values)
    rows = list(result.scalars()) if result.returns_rows else []
    model.Session.commit()
    return rows


@contextlib.contextmanager
def without_indexes(*tables: str) -> Iterator[None]:
    """Drop all indexes of tables that do not enforce a constraint, and create them anew at the end.

    A million rows are written in a fraction of the time.
    """
    found = execute(_INDEXES, tables=list(tables))
    for index in found:
        execute(f"DROP INDEX {index['name']}")
    yield
    for index in found:
        execute(index["definition"])


def settle() -> None:
    """Have PostgreSQL tidy up now, so that it does not do so during a measurement."""
    model.Session.remove()
    with model.meta.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as session:
        session.execute(sa.text("VACUUM ANALYZE"))
        session.execute(sa.text("CHECKPOINT"))


_INDEXES = """
SELECT json_build_object('name', CAST(CAST(i.indexrelid AS regclass) AS text),
    'definition', pg_get_indexdef(i.indexrelid))
FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid
WHERE t.relname = ANY(:tables) AND NOT i.indisunique"""
_PACKAGES = """
INSERT INTO package (id, name, title, notes, url, license_id, type, state, private, owner_org,
    metadata_created, metadata_modified)
SELECT md5('package ' || n)::uuid::text, 'bench-' || n, 'Dataset ' || n,
    'What was counted in district ' || n || ', by month.', 'http://example.org/' || n, 'cc-by',
    'dataset', 'active', false, g.id, :now, :now
FROM generate_series(0, :datasets - 1) n CROSS JOIN "group" g WHERE g.name = 'bench'"""
_RESOURCES = """
INSERT INTO resource (id, package_id, url, format, name, description, position, state, extras, hash,
    created, metadata_modified)
SELECT md5('resource ' || k)::uuid::text, md5('package ' || k % :datasets)::uuid::text, {url}, 'CSV',
    'Part ' || k, '', k / :datasets, 'active', '{{}}', '',
    -- In steps of a minute, so that boundaries are passed one after the other.
    CAST(:now AS timestamp) - k % :datasets * interval '1 minute', :now
FROM generate_series(0, :resources - 1) k"""
