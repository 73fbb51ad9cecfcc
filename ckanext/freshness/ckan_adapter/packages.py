"""CKAN's packages in the database and in Solr.

Extras are a column in CKAN 2.12, and rows of another table in CKAN 2.11.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import ckan.plugins.toolkit as tk
import pysolr
import sqlalchemy as sa
from ckan import model
from ckan.lib import search
from ckan.lib.search import common as search_common

from .core import IS_2_12


def lock_packages(package_ids: Iterable[str]) -> None:
    """Lock packages against other writers until this transaction ends.

    To avoid deadlocks, every writer locks packages first, in the order of their ids, and this extension's
    rows after them.
    """
    model.Session.execute(_LOCK, {"ids": list(package_ids)}).all()


# Not FOR UPDATE, which would block the inserting of resources: they refer to the package's key.
_LOCK = sa.text("SELECT id FROM package WHERE id = ANY(:ids) ORDER BY id FOR NO KEY UPDATE")


def hold_packages(package_ids: Sequence[str]) -> list[Any]:
    """Load packages with one query. The session knows them while the caller keeps the returned list.

    CKAN reads each package that it indexes twice, and would query the database each time.
    """
    package = model.Package
    return list(model.Session.query(package).filter(package.id.in_(package_ids)))


EXTRAS = (
    "(SELECT k.id AS package_id, x.key, x.value FROM package k CROSS JOIN jsonb_each_text(k.extras) x)"
    if IS_2_12
    else "(SELECT package_id, key, value FROM package_extra WHERE state = 'active' AND key IS NOT NULL)"
)
"""SQL: the extras of all packages, as rows of ``package_id``, ``key`` and ``value``."""

PACKAGE_EXTRAS = (
    "p.extras"
    if IS_2_12
    else "(SELECT jsonb_object_agg(key, value) FROM package_extra"
    " WHERE package_id = p.id AND state = 'active' AND key IS NOT NULL)"
)
"""SQL: all extras of the package ``p`` as a JSON object; null if it has none."""

ORGANIZATION_EXTRA = (
    '(SELECT extras ->> :key FROM "group" WHERE id = p.owner_org)'
    if IS_2_12
    else "(SELECT max(value) FROM group_extra"
    " WHERE group_id = p.owner_org AND key = :key AND state = 'active')"
)
"""SQL: the extra ``:key`` of the organization of the package ``p``."""

ORGANIZATION_EXTRAS = (
    "g.extras"
    if IS_2_12
    else "(SELECT jsonb_object_agg(key, value) FROM group_extra"
    " WHERE group_id = g.id AND state = 'active' AND key IS NOT NULL)"
)
"""SQL: all extras of the organization ``g`` as a JSON object; null if it has none."""


EXTRA = (
    "(p.extras ->> ({key}))"
    if IS_2_12
    else "(SELECT value FROM package_extra"
    " WHERE package_id = p.id AND key = ({key}) AND state = 'active')"
)
"""SQL: an extra of the package ``p``; ``{key}`` is SQL for its key."""


def package_extras(package: Any) -> dict[str, str]:
    """Return all extras of a package as the session has them."""
    return dict(package.extras or {})


def write_extras_in_session(
    package: Any, stored: Mapping[str, str], wanted: Mapping[str, str], keys: Sequence[str]
) -> None:
    """Set extras of a package inside the action that is writing the package.

    This function does not commit. The action's own index update includes the extras.

    :param stored: all extras of the package as the database has them in this transaction
    :param wanted: the new extras
    :param keys: the keys to set; those missing in `wanted` are removed
    """
    if IS_2_12:
        kept = {key: value for key, value in stored.items() if key not in keys}
        package.extras = {**kept, **wanted}
        # The session may hold equal values that another transaction has changed since.
        sa.orm.attributes.flag_modified(package, "extras")
        return
    if not any(key in stored for key in keys):
        # CKAN 2.11 would index a new package a second time for rows that the session adds to it.
        write_extras({package.id: wanted}, keys)
        model.Session.expire(package, ["_extras"])
        return
    # Without this, rows that the action has just written under these keys would be lost.
    model.Session.expire(package, ["_extras"])
    for key in keys:
        if key in wanted:
            package.extras[key] = wanted[key]
        elif key in package.extras:
            del package.extras[key]


def write_extras(values: Mapping[str, Mapping[str, str]], keys: Sequence[str]) -> None:
    """Set extras of packages by SQL, without hooks, index update and commit.

    :param values: the new extras by package id
    :param keys: the keys to set; those missing in a package's `values` are removed
    """
    rows = json.dumps([{"id": id_, "extras": dict(extras)} for id_, extras in values.items()])
    for statement in _WRITE_EXTRAS:
        model.Session.execute(sa.text(statement), {"rows": rows, "keys": list(keys)})


_ROWS = "jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (id text, extras jsonb)"
_WRITE_EXTRAS = (
    (
        f"""
        UPDATE package p SET extras = (coalesce(p.extras, '{{}}') - CAST(:keys AS text[])) || r.extras
        FROM {_ROWS}
        WHERE p.id = r.id
        """,
    )
    if IS_2_12
    else (
        f"""
        DELETE FROM package_extra e USING {_ROWS}
        WHERE e.package_id = r.id AND e.key = ANY(:keys)
        AND (e.state IS DISTINCT FROM 'active' OR r.extras ->> e.key IS DISTINCT FROM e.value)
        """,
        f"""
        INSERT INTO package_extra (id, package_id, key, value, state)
        SELECT md5(r.id || x.key)::uuid::text, r.id, x.key, x.value, 'active'
        FROM {_ROWS} CROSS JOIN jsonb_each_text(r.extras) x
        WHERE x.key = ANY(:keys) AND EXISTS (SELECT 1 FROM package p WHERE p.id = r.id)
        AND NOT EXISTS (
            SELECT 1 FROM package_extra e WHERE e.package_id = r.id AND e.key = x.key
        )
        """,
    )
)


def package_extra(package_ids: Sequence[str], key: str) -> dict[str, str]:
    """Return the values of an extra by package id, without the packages that do not have it."""
    statement = f"""
    SELECT package_id, value FROM {EXTRAS} e
    WHERE package_id = ANY(:ids) AND key = :key AND value IS NOT NULL"""
    rows = model.Session.execute(sa.text(statement), {"ids": list(package_ids), "key": key})
    return {package_id: value for package_id, value in rows}


def packages_with_extras(keys: Sequence[str]) -> list[tuple[str, str, dict[str, str]]]:
    """Return the packages that have an extra under any of the keys, sorted by id.

    :returns: of each its id, its type and these extras
    """
    statement = f"""
    SELECT p.id, p.type, jsonb_object_agg(e.key, coalesce(e.value, ''))
    FROM {EXTRAS} e JOIN package p ON p.id = e.package_id WHERE e.key = ANY(:keys)
    GROUP BY p.id ORDER BY p.id"""
    rows = model.Session.execute(sa.text(statement), {"keys": list(keys)})
    return [(package_id, package_type, extras) for package_id, package_type, extras in rows]


IS_TRUE = "lower(btrim({})) IN ('true', 'yes', 'on', 't', 'y', '1')"
"""SQL: whether the value of an extra means true."""


def packages_with_true_extras(*names: str) -> str:
    """Return SQL that selects ``package_id``, and for each of some lists of extras whether any of them is true.

    All packages are read, once. Those that have none of the extras are left out.

    :param names: the names of the SQL parameters with the extras' keys, and of the columns
    """
    is_true = IS_TRUE.format("value")
    columns = ", ".join(f"bool_or(key = ANY(:{name}) AND {is_true}) AS {name}" for name in names)
    keys = " OR ".join(f"key = ANY(:{name})" for name in names)
    return f"SELECT package_id, {columns} FROM {EXTRAS} e WHERE {keys} GROUP BY package_id"


SEARCH_FAULTS = (search.SearchError, search.SolrConnectionError)
"""The errors of a search that Solr refuses or does not answer."""


_IDS_AT_ONCE = 10_000


def count_indexed_packages() -> int:
    """Return how many active packages Solr has.

    :raises ckan.lib.search.SearchError: Solr does not answer
    """
    return int(_search_packages(rows=0).hits)


def indexed_packages() -> set[str]:
    """Return the ids of the active packages that Solr has.

    :raises ckan.lib.search.SearchError: Solr does not answer
    """
    ids: set[str] = set()
    before, after = "", "*"
    while after != before:
        before = after
        answer = _search_packages(
            rows=_IDS_AT_ONCE, fl="id", sort="index_id asc", cursorMark=before
        )
        ids.update(document["id"] for document in answer.docs)
        after = answer.nextCursorMark
    return ids


def _search_packages(**parameters: Any) -> Any:
    site = tk.config["ckan.site_id"]
    conditions = [f'+site_id:"{site}"', "+entity_type:package", "+state:active"]
    try:
        return search_common.make_connection(decode_dates=False).search(
            "*:*", fq=conditions, **parameters
        )
    except (pysolr.SolrError, OSError) as error:
        raise search.SearchError(str(error)) from error


@contextlib.contextmanager
def without_solr_commits() -> Iterator[None]:
    """Write packages without a Solr commit for each. Afterwards the caller calls :func:`solr_commit`.

    ``context["defer_commit"]`` is no alternative: it also defers the commit of the database.
    """
    before = tk.config.get("ckan.search.solr_commit")
    tk.config["ckan.search.solr_commit"] = False
    try:
        yield
    finally:
        tk.config["ckan.search.solr_commit"] = before


def solr_commit() -> None:
    """Make all documents that were sent to Solr visible, and wait until they are.

    CKAN's own function does not wait.

    :raises ckan.lib.search.SearchIndexError: Solr does not answer
    """
    try:
        search_common.make_connection().commit(waitSearcher=True)
    except (pysolr.SolrError, OSError) as error:
        raise search.SearchIndexError(str(error)) from error


def rebuild(package_ids: Sequence[str]) -> None:
    """Index packages again from the database, without a Solr commit.

    :raises ckan.lib.search.SearchIndexError: Solr does not answer
    """
    search.rebuild(package_ids=list(package_ids), defer_commit=True)


def index_package(package_id: str) -> None:
    """Index one package again from the database, without a Solr commit.

    Unlike :func:`rebuild`, this neither ends the transaction nor logs a line for each package.

    :raises tk.ObjectNotFound: there is no such package
    :raises ckan.lib.search.SearchIndexError: Solr does not answer, or refuses the document
    """
    context = {"ignore_auth": True, "validate": False, "use_cache": False}
    if IS_2_12:
        from ckan.logic import index_update_package

        index_update_package(context, package_id, defer_commit=True)
        return
    package = tk.get_action("package_show")({**context, "model": model}, {"id": package_id})
    search.index_for(model.Package).update_dict(package, defer_commit=True)


def unindex_package(package_id: str) -> None:
    """Remove the document of a deleted package from Solr.

    :raises ckan.lib.search.SearchIndexError: Solr does not answer
    """
    search.clear(package_id)


def reindex_source(source_id: str, *, defer_commit: bool) -> None:
    """Index a harvest source with its newest status like any other package (CKAN 2.12 only).

    On CKAN 2.12, ckanext-harvest 1.6.3 indexes an unvalidated dict. Afterwards, the source's type and
    configuration are only among its extras (https://github.com/ckan/ckanext-harvest/issues/581).
    """
    from ckan.logic import index_update_package

    index_update_package({"ignore_auth": True}, source_id, defer_commit=defer_commit)
