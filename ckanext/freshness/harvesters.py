"""The plugins that harvest, one for each source type. Without ckanext-harvest this module cannot be imported.

ckanext-harvest asks each plugin for one source type (``info()``), so a plugin cannot serve two. A plugin is a
subclass of :class:`SourceTypePlugin` with its type as ``source_type``, and an entry point in ``pyproject.toml``
that is named after the type, such as ``dcat_catalog_harvester``. Add its name to ``ckan.plugins`` in
``test.ini``, too: tests, demo and ``./dev test peers`` enable these plugins. All else reads the entry points.
"""

from __future__ import annotations

import logging
import time
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import redis

from .ckan_adapter.core import CkanConfigurationException, DefaultDatasetForm, model
from .ckan_adapter.harvest import (
    UNFINISHED,
    guard_updates,
    harvesting_user,
    source_row,
)
from .harvesting.ckan.source_type import CKAN_PORTAL
from .harvesting.dcat.source_type import DCAT_CATALOG
from .harvesting.fdp.source_type import FAIR_DATA_POINT
from .harvesting.source_type import SourceType
from .harvesting.sources import check_config
from .logic import hooks

TESTED_HARVEST = "ckanext-harvest>=1.6.3,<1.7"
"""The versions of ckanext-harvest that this extension was tested with, as in requirements.txt."""

try:
    from ckanext.harvest import queue
    from ckanext.harvest.interfaces import IHarvester
    from ckanext.harvest.model import HarvestJob, HarvestObject
except ModuleNotFoundError as error:
    raise CkanConfigurationException(
        "The plugins whose names end in _harvester need ckanext-harvest, which is not installed "
        f"({error}). Install it with: pip install '{TESTED_HARVEST}'. Then add harvest to ckan.plugins. "
        "To run without harvesting, remove these plugins from ckan.plugins."
    ) from error

log = logging.getLogger(__name__)


class SourceTypePlugin(p.SingletonPlugin):
    """The base of plugins that add a source type to ckanext-harvest, here and in other extensions.

    Its methods import the stages of a harvest when they are called: web workers need none of them.
    """

    p.implements(p.IConfigurable)
    p.implements(IHarvester)

    source_type: SourceType

    def configure(self, config: Any) -> None:
        for needed in ("freshness", "harvest"):
            if not p.plugin_loaded(needed):
                raise CkanConfigurationException(
                    f"{self.name} needs the plugin {needed}: add it to ckan.plugins"
                )
        guard_updates(HarvestObject, HarvestJob)

    def info(self) -> dict[str, str]:
        return {
            "name": self.source_type.name,
            "title": tk._(self.source_type.title),
            "description": tk._(self.source_type.description),
            "form_config_interface": "Text",
        }

    def validate_config(self, config: str) -> str:
        check_config(self.source_type, config)
        return config

    def get_original_url(self, harvest_object_id: str) -> str | None:
        from .harvesting import stages

        return stages.original_url(harvest_object_id)

    def gather_stage(self, harvest_job: Any) -> list[str] | None:
        from .harvesting import stages

        return stages.gather(self.source_type, harvest_job.id)

    def fetch_stage(self, harvest_object: Any) -> bool:
        from .harvesting import stages

        return stages.fetch(harvest_object)

    def import_stage(self, harvest_object: Any) -> str:
        from .harvesting import stages

        return stages.import_(harvest_object)


class DcatCatalogHarvesterPlugin(SourceTypePlugin):
    """The harvester of catalogues in RDF, source type ``dcat_catalog``."""

    source_type = DCAT_CATALOG


class CkanPortalHarvesterPlugin(SourceTypePlugin):
    """The harvester of other CKAN portals, source type ``ckan_portal``."""

    source_type = CKAN_PORTAL


class FdpHarvesterPlugin(SourceTypePlugin, DefaultDatasetForm):
    """The harvester of FAIR Data Points, source type ``fdp``, with a form for their catalogs."""

    p.implements(p.IDatasetForm)
    p.implements(p.IPackageController, inherit=True)

    source_type = FAIR_DATA_POINT

    def is_fallback(self) -> bool:
        return False

    def package_types(self) -> list[str]:
        return hooks.types_of(self)

    def before_dataset_search(self, search_params: dict[str, Any]) -> dict[str, Any]:
        ours = bool(self.package_types())
        return hooks.only_if_asked_for(search_params) if ours else search_params


def harvest_here(source_id: str) -> str:
    """Harvest an active source in this process by the stages of ckanext-harvest, without queues and consumers.

    If the source has a job that has not ended, do the rest of that job: a process was killed, or consumers are
    at work. Stages can be repeated, and two processes never import one source at the same time.

    :returns: the job's id
    :raises tk.ObjectNotFound: no enabled plugin harvests the source, or its user does not exist
    """
    # Imported only where jobs are run: web workers need nothing of it.
    from .harvesting import object_states, stages

    source_type = source_row(source_id).type
    harvester = queue.get_harvester(source_type)
    if harvester is None:
        raise tk.ObjectNotFound(
            f"No enabled plugin harvests sources of the type {source_type}: add one to ckan.plugins"
        )
    context = {
        "model": model,
        "session": model.Session,
        "user": harvesting_user().name,
        "ignore_auth": True,
    }
    unfinished = model.Session.query(HarvestJob).filter(
        HarvestJob.source_id == source_id, HarvestJob.status.in_(UNFINISHED)
    )
    job = unfinished.first()
    if job is None:
        created = tk.get_action("harvest_job_create")(
            dict(context), {"source_id": source_id, "run": False}
        )
        job = HarvestJob.get(created["id"])
    job_id: str = job.id
    job.status = "Running"
    job.save()
    if job.gather_finished is None:
        queue.gather_stage(harvester, job)
    while object_states.waiting(source_id, 1):
        if not stages.import_next(source_id):
            # A consumer is at work.
            time.sleep(1)
    try:
        tk.get_action("harvest_jobs_run")(dict(context), {"source_id": source_id})
    except redis.exceptions.RedisError as error:
        # The job has ended. Only the clean-up of the queues failed.
        log.warning("Redis does not answer (%s): the harvest queues were left as they are", error)
    return job_id
