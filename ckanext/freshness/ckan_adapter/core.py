"""CKAN's core outside its toolkit: names, its version, options, forms, permissions, templates, jobs.

Also the names of this extension's extras, Solr fields and facet. No other module spells them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from typing import Any, NamedTuple

import ckan.plugins.toolkit as tk
import rq
from ckan import authz, model
from ckan.exceptions import CkanConfigurationException
from ckan.lib.helpers import unified_resource_format
from ckan.lib.jobs import add_queue_name_prefix, get_all_queues, job_from_id
from ckan.lib.munge import munge_tag, munge_title_to_name
from ckan.lib.plugins import (
    DefaultDatasetForm,
    DefaultPermissionLabels,
    DefaultTranslation,
    get_permission_labels,
    lookup_package_plugin,
)
from ckan.lib.redis import connect_to_redis
from ckan.lib.search import SearchIndexError, SearchQueryError
from ckan.logic import clear_validators_cache
from flask import Blueprint

__all__ = [
    "CkanConfigurationException",
    "DefaultDatasetForm",
    "DefaultTranslation",
    "SearchIndexError",
    "SearchQueryError",
    "connect_to_redis",
    "job_from_id",
    "model",
    "munge_tag",
    "munge_title_to_name",
    "unified_resource_format",
]


IS_2_12 = tk.check_ckan_version(min_version="2.12.0b0")


ONCE_MORE = rq.Retry(max=1)
"""Has a background job begin again if its process is killed, or it fails."""

REVIEW_KEY = "review_date"
"""The extra in which people state when they reviewed the data."""


class FieldNames(NamedTuple):
    """The names of our extras and Solr fields; the facets are the group, the status and the source.

    :ivar due_date: Solr's date field with the value of ``due``; likewise the two that follow it, and
        ``last_modified_date``; ``data_until_date`` is the last day of the period in ``data_until``, today
        at the latest
    :ivar group: Solr's field for the group of the status
    :ivar data: Solr's field that is ``stands`` for a dataset whose files change while their data end with the
        same period
    :ivar source: Solr's field that is ``absent`` for a dataset that its harvest source no longer has
    """

    status: str
    absent_since: str
    broken_since: str
    data_stands_since: str
    data_until: str
    delinquent: str
    due: str
    evidence: str
    frequency: str
    frequency_from: str
    last_modified: str
    overdue: str
    undetermined: str
    due_date: str
    overdue_date: str
    delinquent_date: str
    last_modified_date: str
    data_until_date: str
    group: str
    source: str
    data: str

    @property
    def extras(self) -> tuple[str, ...]:
        """The keys of our extras, in alphabetical order."""
        return self[:13]


NAMES = FieldNames("freshness", *(f"freshness_{name}" for name in FieldNames._fields[1:]))


def same_user(context: Mapping[str, Any]) -> dict[str, Any]:
    """Return a new context for the same user, since actions store their own values in a context."""
    keys = ("user", "auth_user_obj", "ignore_auth")
    return {key: context[key] for key in keys if key in context}


def may(action: str, context: Mapping[str, Any], **data: Any) -> bool:
    """Decide whether a user may call an action."""
    try:
        tk.check_access(action, same_user(context), data)
    except tk.NotAuthorized:
        return False
    return True


def forget_validators() -> None:
    """Make CKAN collect the validators of all plugins again.

    CKAN collects them at the first call of ``get_validator``. If a plugin calls it on import, before this
    extension is loaded, CKAN does not know our validators and does not start.
    """
    clear_validators_cache()


@cache
def declared_fields(package_type: str) -> frozenset[str]:
    """Return the fields that the form's plugin and ckanext-scheming declare for a package type.

    CKAN makes a schema anew at each call. The result is kept until the plugins are loaded again; see
    :func:`forget_schemas`.
    """
    fields = set(lookup_package_plugin(package_type).update_package_schema())
    if (schema := scheming_schema(package_type)) is not None:
        fields |= {field["field_name"] for field in schema["dataset_fields"]}
    return frozenset(fields)


def forget_schemas() -> None:
    """Forget the declared fields, because the plugins have just been loaded."""
    declared_fields.cache_clear()


def scheming_schema(package_type: str) -> Mapping[str, Any] | None:
    """Return ckanext-scheming's schema of a package type; None if the site has none."""
    try:
        show = tk.get_action("scheming_dataset_schema_show")
    except KeyError:
        return None
    try:
        schema: Mapping[str, Any] = show({"ignore_auth": True}, {"type": package_type})
        return schema
    except tk.ObjectNotFound:
        return None


def form_mistakes(
    package_type: str, action: str, context: Mapping[str, Any], data: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the mistakes in a package's form, as an action's ValidationError has them.

    :param action: ``package_create`` or ``package_update``
    """
    plugin = lookup_package_plugin(package_type)
    is_new = action == "package_create"
    schema = plugin.create_package_schema() if is_new else plugin.update_package_schema()
    _, errors = tk.navl_validate(deepcopy(dict(data)), schema, dict(context))
    return dict(errors)


def our_extras(package_type: str) -> tuple[str, ...]:
    """Return the extras that this extension writes: none if the site's schema declares one of these names."""
    return NAMES.extras if declared_fields(package_type).isdisjoint(NAMES.extras) else ()


def exempt_from_csrf(blueprint: Blueprint) -> None:
    """Allow posts without a CSRF token to a blueprint, whose URLs hold secrets of their own."""
    # Exists only once CKAN creates its application.
    from ckan.config.middleware.flask_app import csrf

    csrf.exempt(blueprint)


def default_user_labels(user: Any) -> list[str] | None:
    """Return the labels of the datasets that a user may see by CKAN's own rule.

    :param user: a user of CKAN's model; None or an anonymous one for visitors
    :returns: None if another plugin decides who sees what
    """
    labels = get_permission_labels()
    if type(labels) is not DefaultPermissionLabels:
        return None
    return list(labels.get_user_dataset_labels(user))


def edits_some_organization(user_name: str) -> bool:
    """Decide whether a user may change the datasets of an organization, as sysadmins may."""
    return bool(authz.has_user_permission_for_some_org(user_name, "update_dataset"))


def is_member(user_name: str, organization_id: str | None) -> bool:
    """Decide whether a user is a member of an organization, in any role."""
    role = authz.users_role_for_group_or_org(organization_id, user_name) if user_name else None
    return role is not None


def background_workers() -> Counter[str]:
    """Count the workers of each queue of this site's background jobs."""
    prefix = add_queue_name_prefix("")
    return Counter(
        name.removeprefix(prefix)
        for worker in _workers()
        for name in worker.queue_names()
        if name.startswith(prefix)
    )


def waiting_background_jobs() -> dict[str, int]:
    """Count the waiting background jobs of each queue of this site."""
    prefix = add_queue_name_prefix("")
    return {queue.name.removeprefix(prefix): queue.count for queue in get_all_queues()}


def background_worker_names() -> set[str]:
    """Return the names of the background workers of all sites in this Redis."""
    return {worker.name for worker in _workers()}


def _workers() -> list[Any]:
    return list(rq.Worker.all(connection=connect_to_redis()))
