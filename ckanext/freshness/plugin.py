"""The plugins: which CKAN hook goes to which room."""

from __future__ import annotations

from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk

from ckanext.harvest.interfaces import IHarvester

from . import views
from .ckan_adapter import DefaultDatasetForm, let_consumers_wait
from .harvesting import stages
from .harvesting.fdp.source_type import FAIR_DATA_POINT
from .logic import action, catalog_type, harvest_actions


@tk.blanket.auth_functions
@tk.blanket.blueprints(views.blueprints)
@tk.blanket.cli
@tk.blanket.config_declarations
@tk.blanket.helpers
class FreshnessPlugin(p.SingletonPlugin):
    """What all source types share; owns the tables and the options."""

    p.implements(p.IActions)
    p.implements(p.IConfigurable)
    p.implements(p.IConfigurer)

    def update_config(self, config: Any) -> None:
        tk.add_template_directory(config, "templates")

    def configure(self, config: Any) -> None:
        if p.plugin_loaded("harvest"):
            let_consumers_wait()

    def get_actions(self) -> dict[str, Any]:
        own = {name: getattr(action, name) for name in action.__all__}
        return own | (harvest_actions.chained() if p.plugin_loaded("harvest") else {})


class FdpHarvesterPlugin(p.SingletonPlugin, DefaultDatasetForm):
    """The harvester of FAIR Data Points, source type ``fdp``."""

    p.implements(p.IConfigurable)
    p.implements(p.IDatasetForm)
    p.implements(p.IPackageController, inherit=True)
    p.implements(IHarvester)

    source_type = FAIR_DATA_POINT

    def configure(self, config: Any) -> None:
        for needed in ("freshness", "harvest"):
            if not p.plugin_loaded(needed):
                raise RuntimeError(
                    f"fdp_harvester needs the plugin {needed}: add it to ckan.plugins"
                )

    def is_fallback(self) -> bool:
        return False

    def package_types(self) -> list[str]:
        return catalog_type.types_of(self)

    def before_dataset_search(self, search_params: dict[str, Any]) -> dict[str, Any]:
        ours = bool(self.package_types())
        return catalog_type.only_if_asked_for(search_params) if ours else search_params

    def info(self) -> dict[str, str]:
        return {
            "name": FAIR_DATA_POINT.name,
            "title": "FAIR Data Point",
            "description": "Harvests the datasets of a FAIR Data Point, or of one catalog of it",
            "form_config_interface": "Text",
        }

    def validate_config(self, config: str) -> str:
        return FAIR_DATA_POINT.validate_config(config)

    def get_original_url(self, harvest_object_id: str) -> str | None:
        return stages.original_url(harvest_object_id)

    def gather_stage(self, harvest_job: Any) -> list[str] | None:
        return stages.gather(FAIR_DATA_POINT, harvest_job)

    def fetch_stage(self, harvest_object: Any) -> bool:
        return stages.fetch(harvest_object)

    def import_stage(self, harvest_object: Any) -> bool | str:
        return stages.import_(harvest_object)
