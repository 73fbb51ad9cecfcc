"""Names of CKAN's core outside its toolkit that this extension uses unchanged."""

from __future__ import annotations

from ckan import model
from ckan.exceptions import CkanConfigurationException
from ckan.lib.jobs import job_from_id
from ckan.lib.munge import munge_title_to_name
from ckan.lib.plugins import DefaultDatasetForm, DefaultTranslation
from ckan.lib.redis import connect_to_redis
from ckan.lib.search import SearchIndexError, SearchQueryError
from ckan.lib.search import is_available as solr_answers

__all__ = [
    "CkanConfigurationException",
    "DefaultDatasetForm",
    "DefaultTranslation",
    "SearchIndexError",
    "SearchQueryError",
    "connect_to_redis",
    "job_from_id",
    "model",
    "munge_title_to_name",
    "solr_answers",
]
