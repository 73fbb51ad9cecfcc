"""The plugins ``fdp_harvester`` and ``iati_harvester``, and the only module that imports ckanext-harvest."""

from __future__ import annotations

from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk

from .aging.messages import N_
from .ckan_adapter.core import CkanConfigurationException, DefaultDatasetForm
from .ckan_adapter.harvest import HarvestExtension, connect_harvest, guard_updates
from .harvesting import stages
from .harvesting.fdp.source_type import FAIR_DATA_POINT
from .iati.registry.source_type import IATI_REGISTRY
from .logic import hooks

TESTED_HARVEST = "ckanext-harvest>=1.6.3,<1.7"
"""The versions of ckanext-harvest that this extension was tested with, as in requirements.txt."""

try:
    from ckanext.harvest import plugin as harvest_plugin
    from ckanext.harvest import queue
    from ckanext.harvest.interfaces import IHarvester
    from ckanext.harvest.logic.validators import _normalize_url
    from ckanext.harvest.model import HarvestJob, HarvestObject
except ModuleNotFoundError as error:
    raise CkanConfigurationException(
        "The plugins fdp_harvester and iati_harvester need ckanext-harvest, which is not installed "
        f"({error}). Install it with: pip install '{TESTED_HARVEST}'. Then add harvest to ckan.plugins. "
        "To run without harvesting, remove the two plugins from ckan.plugins."
    ) from error


def connect() -> None:
    """Give the rest of this extension the queues and the harvesters of ckanext-harvest."""
    connect_harvest(HarvestExtension(queue, harvest_plugin, _normalize_url))


class _Harvester:
    """The base of our harvesters: ckanext-harvest's interface for any source type."""

    source_type: Any
    title: str
    description: str

    def configure(self, config: Any) -> None:
        for needed in ("freshness", "harvest"):
            if not p.plugin_loaded(needed):
                raise CkanConfigurationException(
                    f"{self.name} needs the plugin {needed}: add it to ckan.plugins"  # type: ignore[attr-defined]
                )
        connect()
        guard_updates(HarvestObject, HarvestJob)

    def info(self) -> dict[str, str]:
        return {
            "name": self.source_type.name,
            "title": tk._(self.title),
            "description": tk._(self.description),
            "form_config_interface": "Text",
        }

    def validate_config(self, config: str) -> str:
        checked: str = self.source_type.validate_config(config)
        return checked

    def get_original_url(self, harvest_object_id: str) -> str | None:
        return stages.original_url(harvest_object_id)

    def gather_stage(self, harvest_job: Any) -> list[str] | None:
        return stages.gather_job(self.source_type, harvest_job)

    def fetch_stage(self, harvest_object: Any) -> bool:
        return stages.fetch(harvest_object)

    def import_stage(self, harvest_object: Any) -> bool | str:
        return stages.import_(harvest_object)


class IatiHarvesterPlugin(_Harvester, p.SingletonPlugin):
    """The harvester of IATI registries, source type ``iati_registry``."""

    p.implements(p.IConfigurable)
    p.implements(IHarvester)

    source_type = IATI_REGISTRY
    title = N_("IATI registry")
    description = N_(
        "Harvests the reporting organisations and the datasets of a registry of IATI's"
    )


class FdpHarvesterPlugin(_Harvester, p.SingletonPlugin, DefaultDatasetForm):
    """The harvester of FAIR Data Points, source type ``fdp``."""

    p.implements(p.IConfigurable)
    p.implements(p.IDatasetForm)
    p.implements(p.IPackageController, inherit=True)
    p.implements(IHarvester)

    source_type = FAIR_DATA_POINT
    title = "FAIR Data Point"
    description = N_("Harvests the datasets of a FAIR Data Point, or of one catalog of it")

    def is_fallback(self) -> bool:
        return False

    def package_types(self) -> list[str]:
        return hooks.types_of(self)

    def before_dataset_search(self, search_params: dict[str, Any]) -> dict[str, Any]:
        ours = bool(self.package_types())
        return hooks.only_if_asked_for(search_params) if ours else search_params
