"""CKAN's index in Solr."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ckan.plugins.toolkit as tk
from ckan import model
from ckan.lib import search
from ckan.lib.plugins import DefaultDatasetForm, lookup_package_plugin
from ckan.lib.search import index as search_index

from .version import IS_2_12, version_is_among

SEARCH_FAULTS = (search.SearchError, search.SolrConnectionError)
"""What a search raises that Solr does not answer, or refuses."""


@contextlib.contextmanager
def without_solr_commits() -> Iterator[None]:
    """Package writes inside do not commit Solr one by one; the caller commits (:func:`solr_commit`).

    ``context["defer_commit"]`` would also keep the database from committing.
    """
    before = tk.config.get("ckan.search.solr_commit")
    tk.config["ckan.search.solr_commit"] = False
    try:
        yield
    finally:
        tk.config["ckan.search.solr_commit"] = before


def solr_commit() -> None:
    """Make everything that was sent to Solr visible.

    :raises ckan.lib.search.SearchIndexError: Solr does not answer.
    """
    search.commit()


def rebuild(package_ids: Sequence[str]) -> None:
    """Index packages again from the database, without a Solr commit.

    :raises ckan.lib.search.SearchIndexError: Solr does not answer.
    """
    search.rebuild(package_ids=list(package_ids), defer_commit=True)


def index_package(package_id: str) -> None:
    """Index one package again from the database, without a Solr commit.

    As :func:`rebuild`, which also ends the transaction and logs a line for each package.

    :raises tk.ObjectNotFound: there is no such package.
    :raises ckan.lib.search.SearchIndexError: Solr does not answer, or refuses the document.
    """
    if IS_2_12:
        if version_is_among(("2.12",)) and _has_default_form(package_id):
            _index_validated_once(package_id)
            return
        from ckan.logic import index_update_package

        index_update_package({"ignore_auth": True}, package_id, defer_commit=True)
        return
    context = {"model": model, "ignore_auth": True, "validate": False, "use_cache": False}
    package = tk.get_action("package_show")(context, {"id": package_id})
    search.index_for(model.Package).update_dict(package, defer_commit=True)


def _has_default_form(package_id: str) -> bool:
    package = model.Package.get(package_id)
    kind = (package and package.type) or "dataset"
    return type(lookup_package_plugin(kind)) is DefaultDatasetForm


def _index_validated_once(package_id: str) -> None:
    """As CKAN 2.12's ``index_update_package`` for packages whose two schemas are both the default one.

    CKAN means to validate those once. But it compares the schemas, whose validators are made anew at
    each call, and so validates twice.
    """
    from ckan.logic import apply_after_dataset_show_plugins, index_update_package_dicts
    from ckan.logic.schema import default_show_package_schema

    context = {"ignore_auth": True, "use_cache": False, "validate": False}
    package = tk.get_action("package_show")(context, {"id": package_id})
    schema = default_show_package_schema()
    default, _errors = tk.navl_validate(package, schema, context)
    custom = _apart(default, schema)
    apply_after_dataset_show_plugins(context, custom)
    index_update_package_dicts((default, custom), defer_commit=True)


def _apart(validated: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """What another validation would return: anew where the schema goes into it, and the rest shared."""

    def anew(value: Any, inner: Any) -> Any:
        if not isinstance(value, list) or not (value == [] or isinstance(inner, dict)):
            return value
        return [_apart(one, inner) for one in value]

    return {key: anew(value, schema.get(key)) for key, value in validated.items()}


def unindex_package(package_id: str) -> None:
    """Take the document of a package that is gone out of Solr, without a Solr commit.

    :raises ckan.lib.search.SearchIndexError: Solr does not answer.
    """
    with without_solr_commits():
        search.clear(package_id)


def reindex_source(source_id: str, *, defer_commit: bool) -> None:
    """Index a harvest source with its newest status, as any other package (CKAN 2.12 only).

    ckanext-harvest 1.6.3 on CKAN 2.12 indexes an unvalidated dict, after which the source's type and
    configuration are only found among its extras (https://github.com/ckan/ckanext-harvest/issues/581).
    """
    from ckan.logic import index_update_package

    index_update_package({"ignore_auth": True}, source_id, defer_commit=defer_commit)


_MAX_DATE = 100


def let_odd_dates_be_indexed() -> None:
    """Let datasets be saved whatever stands in an extra called ``*_date``.

    CKAN leaves texts that are no dates out of the index. But for dates with an impossible zone
    (``2026-01-01T00:00:00+25:00``) and for endless digits, dateutil raises other errors than the one
    that CKAN catches (https://github.com/dateutil/dateutil/issues/82; for one of them, CKAN merged
    https://github.com/ckan/ckan/pull/5535 and lost it again), and the whole edit fails. A million digits
    take a minute.
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
