"""Functions of CKAN and ckanext-harvest outside ``ckan.plugins.toolkit``, and every difference between
versions.

Nothing else imports ``ckan.model`` or ``ckan.lib``. Only ``harvesters.py`` imports ``ckanext.harvest``.
"""

from __future__ import annotations

from ckan import model
from ckan.exceptions import CkanConfigurationException
from ckan.lib.jobs import job_from_id
from ckan.lib.munge import munge_title_to_name
from ckan.lib.plugins import DefaultDatasetForm, DefaultTranslation
from ckan.lib.redis import connect_to_redis
from ckan.lib.search import SearchIndexError, SearchQueryError
from ckan.lib.search import is_available as solr_answers

from .database import (
    disconnect,
    has_newest_migration,
    has_written,
    hold_packages,
    lock_packages,
)
from .declared_options import declared_options, forget_validators, removed_options_in_use
from .extras import (
    EXTRA,
    ORGANIZATION_EXTRA,
    ORGANIZATION_EXTRAS,
    PACKAGE_EXTRAS,
    WITH_EXTRA,
    package_extra,
    package_extras,
    packages_with_extras,
    packages_with_true_extra,
    write_extras,
    write_extras_in_session,
)
from .forms import declared_fields, exempt_from_csrf, form_mistakes, own_extras
from .harvest import (
    HarvestExtension,
    acknowledge_complete_objects,
    connect_harvest,
    get_harvester,
    harvest_queue_connection,
    harvest_routing_keys,
    harvesting_user,
    keep_complete_objects,
    normalized_source_url,
    publish_jobs,
    publish_objects,
    registered_source_types,
    unqueued_jobs,
)
from .jobs import (
    background_worker_names,
    background_workers,
    waiting_background_jobs,
)
from .labels import default_user_labels, edits_some_organization
from .mailer import Letter, MailFailure, MailSendError, MailServer, mailer_problem, page_context
from .site_names import site_names
from .solr import (
    SEARCH_FAULTS,
    index_package,
    index_present,
    rebuild,
    reindex_source,
    solr_commit,
    tolerate_malformed_dates,
    unindex_package,
    without_solr_commits,
)
from .stored_documents import present_packages, versions
from .version import IS_2_12, version_is_among

__all__ = [
    "EXTRA",
    "IS_2_12",
    "ORGANIZATION_EXTRA",
    "ORGANIZATION_EXTRAS",
    "PACKAGE_EXTRAS",
    "SEARCH_FAULTS",
    "WITH_EXTRA",
    "CkanConfigurationException",
    "DefaultDatasetForm",
    "DefaultTranslation",
    "HarvestExtension",
    "Letter",
    "MailFailure",
    "MailSendError",
    "MailServer",
    "SearchIndexError",
    "SearchQueryError",
    "acknowledge_complete_objects",
    "background_worker_names",
    "background_workers",
    "connect_harvest",
    "connect_to_redis",
    "declared_fields",
    "declared_options",
    "default_user_labels",
    "disconnect",
    "edits_some_organization",
    "exempt_from_csrf",
    "forget_validators",
    "form_mistakes",
    "get_harvester",
    "harvest_queue_connection",
    "harvest_routing_keys",
    "harvesting_user",
    "has_newest_migration",
    "has_written",
    "hold_packages",
    "index_package",
    "index_present",
    "job_from_id",
    "keep_complete_objects",
    "lock_packages",
    "mailer_problem",
    "model",
    "munge_title_to_name",
    "normalized_source_url",
    "own_extras",
    "package_extra",
    "package_extras",
    "packages_with_extras",
    "packages_with_true_extra",
    "page_context",
    "present_packages",
    "publish_jobs",
    "publish_objects",
    "rebuild",
    "registered_source_types",
    "reindex_source",
    "removed_options_in_use",
    "site_names",
    "solr_answers",
    "solr_commit",
    "tolerate_malformed_dates",
    "unindex_package",
    "unqueued_jobs",
    "version_is_among",
    "versions",
    "waiting_background_jobs",
    "without_solr_commits",
    "write_extras",
    "write_extras_in_session",
]
