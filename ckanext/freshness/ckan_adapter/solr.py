"""CKAN's search index in Solr."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import ckan.plugins.toolkit as tk
import pysolr
from ckan import model
from ckan.lib import search
from ckan.lib.search import common as search_common

from .version import IS_2_12

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


def indexed_versions(package_ids: Sequence[str]) -> dict[str, datetime]:
    """Return ``metadata_modified``, to the millisecond and without a zone, of the packages that Solr has.

    :param package_ids: at most a page of packages
    :raises ckan.lib.search.SearchError: Solr does not answer
    """
    answer = _search_packages(
        f"+id:({' OR '.join(package_ids)})", rows=len(package_ids), fl="id,metadata_modified"
    )
    found = {}
    for document in answer.docs:
        # Solr leaves out zeros at the end, which Python 3.10 does not read.
        second, _, fraction = document["metadata_modified"].rstrip("Z").partition(".")
        found[document["id"]] = datetime.fromisoformat(f"{second}.{fraction:0<3}")
    return found


def _search_packages(*more: str, **parameters: Any) -> Any:
    site = tk.config["ckan.site_id"]
    conditions = [f'+site_id:"{site}"', "+entity_type:package", "+state:active", *more]
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
