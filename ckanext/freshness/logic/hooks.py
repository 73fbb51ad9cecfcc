"""CKAN's hooks, and the actions of CKAN and ckanext-harvest that this extension wraps.

An edit judges its dataset within its transaction, and a view shows the result. CKAN calls the hooks of
resources before it gives a new resource its id and dates an upload, and CKAN 2.12 copies the context in
between. So these hooks only note the edit in a context variable. The hook that judges the dataset reads the
note.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
from flask import has_request_context

from .. import settings
from ..aging.status import Boundaries, status_at
from ..ckan_adapter import database
from ..ckan_adapter.core import IS_2_12, NAMES, form_mistakes, model
from ..ckan_adapter.packages import package_extras, reindex_source
from ..dates import parse_date, utc_now
from ..harvesting import sources
from ..harvesting.source_config import ConfigError
from ..harvesting.source_type import saving
from ..harvesting.sources import source_type_named, url_mistake
from ..model import DatasetFreshness
from ..reporting import labels, links, worklist
from ..runs import requested
from ..status import assessment, frequencies, refresh
from ..status.assessment import assess_packages
from ..status.changes import DatasetEdit, Occasion, ResourceAction, TransitionCause
from ..status.frequencies import FrequencySource
from ..status.indexing import judged_extras
from ..status.our_fields import are_the_sites, as_mapping, is_claim
from ..web.urls import display_url

log = logging.getLogger(__name__)

_MAX_NAME = 200

_noted: ContextVar[dict[str, DatasetEdit] | None] = ContextVar("freshness_notes", default=None)
"""Edits by the id of the package, or by its name if the caller gave that; None outside resource actions."""


_new_links: ContextVar[set[str] | None] = ContextVar("freshness_new_links", default=None)
"""The ids of the packages in which the present ``package_update`` changes a link."""


_writer: ContextVar[str | None] = ContextVar("freshness_writer", default=None)
"""Who makes an edit for which the site's own user stands in; None if it is the user of the context."""


@contextmanager
def edited_by(person: str) -> Iterator[None]:
    """Name a person without an account as the author of the edits in this block."""
    token = _writer.set(person)
    try:
        yield
    finally:
        _writer.reset(token)


@contextmanager
def noting() -> Iterator[None]:
    """Keep the notes of a resource action until the block ends or fails."""
    token = _noted.set({})
    try:
        yield
    finally:
        _noted.reset(token)


def before_resource_create(resource: Mapping[str, Any]) -> None:
    """Note that a resource is about to be created."""
    _note(resource["package_id"], "resource_create", ResourceAction.ADDED, resource)


def before_resource_update(current: Mapping[str, Any], resource: Mapping[str, Any]) -> None:
    """Note that a resource is about to be updated."""
    change = ResourceAction.REPLACED if _is_replaced(current, resource) else ResourceAction.EDITED
    _note(current["package_id"], "resource_update", change, {**resource, "id": current["id"]})


def before_resource_delete(resource_id: str, resources: Sequence[Mapping[str, Any]]) -> None:
    """Note that a resource is about to be deleted.

    :param resources: all resources of its package
    """
    for resource in resources:
        if resource["id"] == resource_id:
            _note(resource["package_id"], "resource_delete", ResourceAction.REMOVED, resource)


@database.skip_without_tables
def after_write(context: Mapping[str, Any], data_dict: Mapping[str, Any], action: str) -> None:
    """Judge a package that was created or updated, in the same transaction.

    If it is a harvest source, the next refresh judges its datasets.

    :param action: the action that wrote the package, unless a resource action has left a note
    """
    if data_dict.get("type") == "harvest" and p.plugin_loaded("harvest"):
        refresh.may_have_changed(FrequencySource.SOURCE, data_dict["id"])
        refresh.may_be_absent(data_dict["id"])
    if settings.is_judged(data_dict.get("type")):
        notes = _noted.get() or {}
        edit = notes.get(data_dict["id"]) or notes.get(data_dict.get("name", ""))
        occasion = Occasion(
            utc_now(),
            TransitionCause.EDIT,
            # A call without a user, as in a migration, has no writer.
            writer=_writer.get() or context.get("user") or None,
            edit=edit or DatasetEdit(action),
        )
        has_new_link = assessment.update_in_action(data_dict["id"], occasion)
        if has_new_link and (new_links := _new_links.get()) is not None:
            new_links.add(data_dict["id"])
        if has_request_context() and tk.current_user.is_authenticated:
            # The header of the next page counts the editor's tasks again.
            worklist.remember({"auth_user_obj": tk.current_user}, None)


@database.skip_without_tables
def after_delete(package: Any) -> None:
    """Have the next refresh judge the datasets that a deleted harvest source no longer had."""
    if package.type == "harvest" and p.plugin_loaded("harvest"):
        refresh.may_be_absent(package.id, is_deleted=True)


@database.skip_without_tables
def after_organization_edit(organization: Any) -> None:
    """Have the next refresh judge the datasets that may use an organization's default frequency."""
    refresh.may_have_changed(FrequencySource.ORGANIZATION, organization.id)


def show_current(dataset: dict[str, Any], now: datetime) -> None:
    """Replace the stored status of a dataset that is about to be shown by its status now."""
    values = labels.our_values(dataset)
    due, overdue, delinquent = (
        parse_date(values.get(key)) for key in (NAMES.due, NAMES.overdue, NAMES.delinquent)
    )
    if due is None or overdue is None or delinquent is None:
        return
    # Boundaries are stored to the second.
    status = status_at(Boundaries(due, overdue, delinquent), now.replace(microsecond=0))
    for extra in dataset["extras"]:
        if _key(extra) == NAMES.status:
            extra["value"] = status.value


def _note(package: str, action: str, change: ResourceAction, resource: Mapping[str, Any]) -> None:
    notes = _noted.get()
    if notes is not None:
        name = str(resource.get("name") or display_url(_url(resource)))[:_MAX_NAME]
        notes[package] = DatasetEdit(action, change, resource.get("id"), name)


def _is_replaced(current: Mapping[str, Any], resource: Mapping[str, Any]) -> bool:
    """Decide whether an update gives a resource another file or URL."""
    if resource.get("upload"):
        return True
    if resource.get("url_type") == "upload":
        # The caller may send the file's name or the whole URL back.
        return current.get("url_type") != "upload"
    return _url(resource) != _url(current)


def _url(resource: Mapping[str, Any]) -> str:
    return str(resource.get("url") or "").strip()


CATALOG = "catalog"

_ASKED_FOR = re.compile(r'\bdataset_type:\s*(?:\([^()]*)?"?catalog\b')


def types_of(form: p.IDatasetForm) -> list[str]:
    """Return the package types that our form serves.

    Empty if another plugin has the type, such as ckanext-scheming with a schema for it: CKAN does not start
    with two.
    """
    others = (other for other in p.PluginImplementations(p.IDatasetForm) if other is not form)
    return [] if any(CATALOG in other.package_types() for other in others) else [CATALOG]


def only_if_asked_for(search_params: dict[str, Any]) -> dict[str, Any]:
    """Exclude catalogs from a search that does not name their type, as CKAN excludes harvest sources.

    Otherwise CKAN's dataset page would list them among the datasets (``ckan.search.show_all_types``).
    """
    queries = [
        search_params.get("q"),
        search_params.get("fq"),
        *(search_params.get("fq_list") or ()),
    ]
    if not any(_ASKED_FOR.search(query) for query in queries if isinstance(query, str)):
        search_params["fq"] = f"{search_params.get('fq') or ''} -dataset_type:{CATALOG}".strip()
    return search_params


# Actions of CKAN.


def chained() -> dict[str, Callable[..., Any]]:
    """Return the wrapped actions by name."""
    resource_actions = ("resource_create", "resource_update", "resource_delete")
    return {
        "package_create": package_create,
        "package_update": package_update,
        **dict.fromkeys(resource_actions, resource_action),
    }


def chained_harvest() -> dict[str, Callable[..., Any]]:
    """Return the wrapped actions of ckanext-harvest, for sites with its plugin."""
    actions: dict[str, Callable[..., Any]] = {
        "harvest_job_abort": harvest_job_abort,
        "harvest_job_list": _counting(lambda jobs: jobs),
        "harvest_job_report": harvest_job_report,
        "harvest_job_show": _counting(lambda job: [job]),
        "harvest_source_show_status": _counting(lambda status: filter(None, [status["last_job"]])),
        "harvest_jobs_run": harvest_jobs_run,
    }
    if IS_2_12:
        actions["harvest_source_reindex"] = harvest_source_reindex
    return actions


@tk.chained_action
def package_create(
    original: Callable[..., Any], context: dict[str, Any], data_dict: dict[str, Any]
) -> Any:
    """Create a package without the values that the caller sends for this extension's extras."""
    data_dict = dict(data_dict)
    if data_dict.get("type") == "harvest" and p.plugin_loaded("harvest"):
        with saving(context), _writing_source(context, data_dict, "package_create"):
            return links.write(original, context, data_dict)
    if settings.is_judged(data_dict.get("type")):
        frequencies.take_choice(data_dict, settings.frequency_keys())
        if not is_claim(as_mapping(data_dict.get("extras"))):
            data_dict = protected(data_dict, judged_extras(data_dict.get("type")), {})
    return links.write(original, context, data_dict)


@tk.chained_action
def package_update(
    original: Callable[..., Any], context: dict[str, Any], data_dict: dict[str, Any]
) -> Any:
    """Update a package with the stored values of this extension's extras, whatever the caller sends.

    A dataset that was never judged is judged first, because changes are noticed by comparing.
    """
    data_dict = dict(data_dict)
    reference = data_dict.get("id") or data_dict.get("name")
    package = model.Package.get(reference) if isinstance(reference, str) else None
    if package is not None and package.type == "harvest" and p.plugin_loaded("harvest"):
        with saving(context), _writing_source(context, data_dict, "package_update"):
            return links.write(original, context, data_dict)
    if package is None or not settings.is_judged(package.type):
        return links.write(original, context, data_dict)
    frequencies.take_choice(data_dict, settings.frequency_keys())
    stored = package_extras(package)
    sent = as_mapping(data_dict.get("extras"))
    if (are_the_sites(stored) or is_claim(sent)) and not _is_judged(package.id):
        # The site's own values stay as they are.
        return links.write(original, context, {**data_dict, "id": package.id})
    if stored.keys().isdisjoint(NAMES.extras):
        _assess(package.id)
    data_dict = protected(data_dict, judged_extras(package.type), stored)
    token = _new_links.set(set())
    try:
        result = links.write(original, context, {**data_dict, "id": package.id})
        for package_id in _new_links.get() or ():
            _check_soon(package_id)
    finally:
        _new_links.reset(token)
    return result


def _is_judged(package_id: str) -> bool:
    """Decide whether this extension has written a dataset's extras."""
    return (
        not database.missing_tables()
        and model.Session.get(DatasetFreshness, package_id) is not None
    )


@database.skip_without_tables
def _assess(package_id: str) -> None:
    assess_packages([package_id], Occasion(utc_now(), TransitionCause.EDIT))


@tk.chained_action
def resource_action(
    original: Callable[..., Any], context: dict[str, Any], data_dict: dict[str, Any]
) -> Any:
    """Call one of CKAN's resource actions, and drop its notes when it succeeds or fails."""
    with noting():
        return original(context, data_dict)


def _check_soon(package_id: str) -> None:
    """Queue a check of the links of a dataset, in which an edit has changed one."""
    try:
        requested.enqueue_dataset(package_id, model.Package.get(package_id).title)
    except requested.RedisAwayError as error:
        log.error("Dataset %s is not checked before the next run: %s", package_id, error)


def protected(
    data_dict: Mapping[str, Any], keys: Collection[str], stored: Mapping[str, str]
) -> dict[str, Any]:
    """Return what an action is to write, with the stored values of this extension's extras.

    Forms and harvesters leave these extras out. Each of their writes would remove the extras and add them
    again, and CKAN 2.12 would see a change where nothing changed.

    :param data_dict: what the caller sends
    :param keys: this extension's extras
    :param stored: all extras that the package has; empty for a new package
    """
    result = {key: value for key, value in data_dict.items() if key not in keys}
    ours = {key: stored[key] for key in keys if key in stored}
    extras = data_dict.get("extras")
    if extras is None and ours:
        extras = []
    if isinstance(extras, list):
        result["extras"] = _merged(extras, ours, keys)
    return result


def _merged(extras: list[Any], ours: Mapping[str, str], keys: Collection[str]) -> list[Any]:
    """Put our values in their places among a caller's extras: CKAN takes another order for a change."""
    result = []
    missing = dict(ours)
    for extra in extras:
        key = _key(extra)
        if key not in keys:
            result.append(extra)
        elif key in missing:
            result.append({"key": key, "value": missing.pop(key)})
    for key, value in missing.items():
        place = next((at for at, extra in enumerate(result) if _key(extra) > key), len(result))
        result.insert(place, {"key": key, "value": value})
    return result


def _key(extra: Any) -> str:
    key = extra.get("key") if isinstance(extra, dict) else None
    return key if isinstance(key, str) else ""


# Actions of ckanext-harvest, and its sources.


@contextmanager
def _writing_source(
    context: dict[str, Any], data_dict: dict[str, Any], action: str
) -> Iterator[None]:
    """Check a harvest source before and while ``package_create`` or ``package_update`` writes it.

    ckanext-harvest's form and its actions ``harvest_source_create`` and ``_update`` all use it. A new
    source takes the URL and the name of a deleted one, which ckanext-harvest's validator would refuse as taken.

    :param action: the name of the action that writes
    :raises ValidationError: with all mistakes in the form at once; those of the configuration as a list
    """
    tk.check_access(action, context, data_dict)
    source_type, url = source_type_named(data_dict.get("source_type")), data_dict.get("url")
    has_url = source_type is not None and isinstance(url, str) and bool(url.strip())
    mistake = url_mistake(str(url)) if has_url else None
    try:
        if mistake is not None:
            # ckanext-harvest's validator cannot parse some of these.
            form = {**data_dict, "url": f"https://{uuid.uuid4()}.invalid"}
            errors = form_mistakes("harvest", action, context, form)
            raise tk.ValidationError({**errors, "url": [mistake]})
        if action == "package_create":
            sources.free_url_and_name(url, data_dict.get("name"))
        yield
    except tk.ValidationError as error:
        if source_type is not None and "config" in error.error_dict:
            # ckanext-harvest has put them into one text, after words of its own.
            try:
                sources.check_config(source_type, data_dict.get("config") or "")
            except ConfigError as mistakes:
                error.error_dict["config"] = list(mistakes.mistakes)
        raise


@tk.chained_action
def harvest_jobs_run(
    original: Callable[..., Any], context: dict[str, Any], data_dict: dict[str, Any]
) -> Any:
    """Run pending jobs, and resume those that were interrupted.

    If Redis still does not answer, jobs without open records are marked as finished before ckanext-harvest
    fails.
    """
    tk.check_access("harvest_jobs_run", context, data_dict)
    # Imported here and below: it loads the whole import of harvests, which most web workers never need.
    from ..harvesting import object_states

    object_states.resume()
    return original(context, data_dict)


@tk.chained_action
def harvest_job_abort(
    original: Callable[..., Any], context: dict[str, Any], data_dict: dict[str, Any]
) -> dict[str, Any]:
    """Abort a job, and say so in its report. Otherwise the job would look as if it had ended by itself."""
    tk.check_access("harvest_job_abort", context, data_dict)
    job: dict[str, Any] = original(context, data_dict)
    from ..harvesting import object_states

    object_states.report_abort(job["id"])
    return job


@tk.chained_action
@tk.side_effect_free
def harvest_source_reindex(
    original: Callable[..., Any], context: dict[str, Any], data_dict: dict[str, Any]
) -> bool:
    """Index a harvest source so that ``harvest_source_show`` keeps its type and configuration.

    It replaces ckanext-harvest 1.6.3's own action on CKAN 2.12; see
    :func:`ckanext.freshness.ckan_adapter.packages.reindex_source`.
    """
    source_id = tk.get_or_bust(data_dict, "id")
    tk.check_access("harvest_source_reindex", context, data_dict)
    reindex_source(source_id, defer_commit=bool(context.get("defer_commit")))
    return True


@tk.chained_action
@tk.side_effect_free
def harvest_job_report(
    original: Callable[..., Any], context: dict[str, Any], data_dict: dict[str, Any]
) -> dict[str, Any]:
    """Add warnings, what becomes no dataset, and the codes of messages to ckanext-harvest's report."""
    tk.check_access("harvest_job_show", context, data_dict)
    report: dict[str, Any] = original(context, data_dict)
    job_id = data_dict["id"]
    from ..harvesting import job_report

    job_report.separate_codes(report)
    return report | job_report.of_no_field(job_id)


# ckanext-harvest registers its action as the auth function of this name, too: it fails for all but sysadmins.
# CKAN exempts the actions of plugins from its audit of auth functions, but not the actions that wrap them.
harvest_job_report.auth_audit_exempt = True


def _counting(jobs: Callable[[Any], Iterable[dict[str, Any]]]) -> Callable[..., Any]:
    """Return an action that also counts the unchanged records of jobs.

    :param jobs: returns the jobs in the answer of ckanext-harvest's action
    """

    @tk.chained_action
    @tk.side_effect_free
    def counted(
        original: Callable[..., Any], context: dict[str, Any], data_dict: dict[str, Any]
    ) -> Any:
        answer = original(context, data_dict)
        if not database.missing_tables():
            from ..harvesting import job_report

            job_report.count_unchanged(jobs(answer))
        return answer

    action: Callable[..., Any] = counted
    return action
