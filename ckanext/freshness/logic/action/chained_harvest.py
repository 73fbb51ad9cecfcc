"""Actions of ckanext-harvest that this extension wraps."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import ckan.plugins.toolkit as tk

from ...ckan_adapter.forms import form_mistakes
from ...ckan_adapter.solr import reindex_source
from ...ckan_adapter.version import IS_2_12
from ...harvesting import interrupted, job_report, sources
from ...harvesting.source_config import ConfigError
from ...harvesting.sources import source_type_named, url_mistake
from ...reporting.harvest_words import sentence


def chained() -> dict[str, Callable[..., Any]]:
    """Return the wrapped actions by name, for sites with ckanext-harvest's plugin."""
    actions: dict[str, Callable[..., Any]] = {
        "harvest_job_abort": harvest_job_abort,
        "harvest_job_report": harvest_job_report,
        "harvest_jobs_run": harvest_jobs_run,
    }
    if IS_2_12:
        actions["harvest_source_reindex"] = harvest_source_reindex
    return actions


@contextmanager
def writing_source(
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
        if source_type is not None and (advice := source_type.advice(str(url))) is not None:
            sources.warn_editor(sentence(advice) or advice)
    except tk.ValidationError as error:
        if source_type is not None and "config" in error.error_dict:
            # ckanext-harvest has put them into one text, after words of its own.
            try:
                source_type.validate_config(data_dict.get("config") or "")
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
    interrupted.resume()
    return original(context, data_dict)


@tk.chained_action
def harvest_job_abort(
    original: Callable[..., Any], context: dict[str, Any], data_dict: dict[str, Any]
) -> dict[str, Any]:
    """Abort a job, and say so in its report. Otherwise the job would look as if it had ended by itself."""
    tk.check_access("harvest_job_abort", context, data_dict)
    job: dict[str, Any] = original(context, data_dict)
    interrupted.report_abort(job["id"])
    return job


@tk.chained_action
@tk.side_effect_free
def harvest_source_reindex(
    original: Callable[..., Any], context: dict[str, Any], data_dict: dict[str, Any]
) -> bool:
    """Index a harvest source so that ``harvest_source_show`` keeps its type and configuration.

    It replaces ckanext-harvest 1.6.3's own action on CKAN 2.12; see
    :func:`ckanext.freshness.ckan_adapter.solr.reindex_source`.
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
    """Add warnings, drafts, unmapped properties and the codes of messages to ckanext-harvest's report."""
    tk.check_access("harvest_job_show", context, data_dict)
    report: dict[str, Any] = original(context, data_dict)
    job_id = data_dict["id"]
    job_report.separate_codes(report)
    return report | job_report.of_no_field(job_id)


# ckanext-harvest registers its action as the auth function of this name, too: it fails for all but sysadmins.
# CKAN exempts the actions of plugins from its audit of auth functions, but not the actions that wrap them.
harvest_job_report.auth_audit_exempt = True
