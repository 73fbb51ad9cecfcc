"""CKAN's search index in Solr."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ckan.plugins.toolkit as tk
import pysolr
from ckan import logic, model
from ckan.lib import search
from ckan.lib.search import common as search_common
from ckan.lib.search import index as search_index

from .forms import has_default_form
from .version import IS_2_12, version_is_among

_validated_twice: Any = getattr(logic, "package_show_default_and_custom_schemas", None)
"""CKAN 2.12's own function, which :mod:`.solr_queue` replaces."""

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
        return search_common.make_connection().search("*:*", fq=conditions, **parameters)
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
    """Make all documents that were sent to Solr visible.

    :raises ckan.lib.search.SearchIndexError: Solr does not answer
    """
    search.commit()


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
    if IS_2_12:
        from ckan.logic import index_update_package_dicts

        both = validated_for_index({"ignore_auth": True}, package_id)
        index_update_package_dicts(both, defer_commit=True)
        return
    context = {"model": model, "ignore_auth": True, "validate": False, "use_cache": False}
    package = tk.get_action("package_show")(context, {"id": package_id})
    search.index_for(model.Package).update_dict(package, defer_commit=True)


def validated_for_index(
    parent_context: Any, package_id: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what CKAN 2.12's ``package_show_default_and_custom_schemas`` does, but validate only once.

    CKAN validates by the default schema and by the form's, and skips the second if the schemas are equal.
    They never are, because each call creates new validators. So packages that use the default schema are
    validated once; of all others, CKAN's own function returns both dicts.

    :raises tk.ObjectNotFound: there is no such package
    """
    from ckan.logic.schema import default_show_package_schema

    package = model.Package.get(package_id)
    if not (version_is_among(("2.12",)) and has_default_form(package and package.type)):
        both: tuple[dict[str, Any], dict[str, Any]] = _validated_twice(parent_context, package_id)
        return both
    context = logic.fresh_context(parent_context, ignore_auth=True, use_cache=False, validate=False)
    shown = tk.get_action("package_show")(context, {"id": package_id})
    schema = default_show_package_schema()
    default, _errors = tk.navl_validate(shown, schema, context)
    custom = _apart(default, schema)
    logic.apply_after_dataset_show_plugins(context, custom)
    return default, custom


def index_present(package: dict[str, Any]) -> None:
    """Index one package of :func:`.stored_documents.present_packages`, without a Solr commit.

    :raises ckan.lib.search.SearchIndexError: Solr does not answer, or refuses the document
    """
    if IS_2_12:
        from ckan.logic import apply_after_dataset_show_plugins, index_update_package_dicts

        context = {"ignore_auth": True, "use_cache": False, "validate": False}
        # Ten times as fast as a deep copy. It came from JSON.
        custom = json.loads(json.dumps(package))
        apply_after_dataset_show_plugins(context, custom)
        index_update_package_dicts((package, custom), defer_commit=True)
    else:
        search.index_for(model.Package).update_dict(package, defer_commit=True)


def _apart(validated: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Copy a validated package as deeply as its schema has nested schemas, as another validation would."""

    def copied(value: Any, inner: Any) -> Any:
        if not isinstance(value, list) or not (value == [] or isinstance(inner, dict)):
            return value
        return [_apart(item, inner) for item in value]

    return {key: copied(value, schema.get(key)) for key, value in validated.items()}


def unindex_package(package_id: str) -> None:
    """Remove the document of a deleted package from Solr, without a Solr commit.

    :raises ckan.lib.search.SearchIndexError: Solr does not answer
    """
    with without_solr_commits():
        search.clear(package_id)


def reindex_source(source_id: str, *, defer_commit: bool) -> None:
    """Index a harvest source with its newest status like any other package (CKAN 2.12 only).

    On CKAN 2.12, ckanext-harvest 1.6.3 indexes an unvalidated dict. Afterwards, the source's type and
    configuration are only among its extras (https://github.com/ckan/ckanext-harvest/issues/581).
    """
    from ckan.logic import index_update_package

    index_update_package({"ignore_auth": True}, source_id, defer_commit=defer_commit)


_MAX_DATE = 100
"""Characters of the longest text that is parsed as a date."""


def tolerate_malformed_dates() -> None:
    """Make CKAN save datasets with any text in an extra called ``*_date``.

    CKAN leaves texts that are no dates out of the index. For dates with an impossible zone
    (``2026-01-01T00:00:00+25:00``) and for very long numbers, dateutil raises other errors than CKAN
    catches, and the whole edit fails (https://github.com/dateutil/dateutil/issues/82; CKAN fixed one of
    them in https://github.com/ckan/ckan/pull/5535 and lost the fix again). A million digits take a
    minute.
    """
    read = search_index.parse
    if hasattr(read, "careful"):
        return

    def careful(value: Any) -> Any:
        if len(str(value)) > _MAX_DATE:
            raise search_index.DateParserError("too long for a date")
        try:
            moment = read(value)
            moment.isoformat()
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise search_index.DateParserError(str(error)) from error
        return moment

    careful.careful = True  # type: ignore[attr-defined]
    search_index.parse = careful
