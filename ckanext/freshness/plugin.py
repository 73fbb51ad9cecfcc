"""The plugins: which CKAN hook goes to which room."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import yaml

from ckanext.harvest.interfaces import IHarvester

from . import settings, views
from .ckan_adapter import (
    DefaultDatasetForm,
    DefaultTranslation,
    forget_validators,
    keep_complete_objects,
    let_consumers_wait,
    let_odd_dates_be_indexed,
    removed_options_in_use,
    tables,
)
from .dates import utc_now
from .harvesting import stages
from .harvesting.fdp.source_type import FAIR_DATA_POINT
from .iati import registration
from .iati.registry.source_type import IATI_REGISTRY
from .logic import (
    arguments,
    catalog_type,
    dataset_actions,
    freshness_actions,
    harvest_actions,
    mail_actions,
    preview_actions,
    report_actions,
    run_actions,
)
from .reporting import labels, url_facts
from .search import fields
from .status import resource_notes, shown_status

log = logging.getLogger(__name__)

DECLARATION = Path(__file__).parent / "config_declaration.yaml"

registration.register()


@tk.blanket.auth_functions
@tk.blanket.blueprints(views.blueprints)
@tk.blanket.cli
@tk.blanket.helpers
@tk.blanket.validators
class FreshnessPlugin(p.SingletonPlugin, DefaultTranslation):
    """What all source types share; owns the tables and the options."""

    p.implements(p.IActions)
    p.implements(p.IConfigDeclaration)
    p.implements(p.IConfigurable)
    p.implements(p.IConfigurer)
    p.implements(p.IFacets, inherit=True)
    p.implements(p.IOrganizationController, inherit=True)
    p.implements(p.IPackageController, inherit=True)
    p.implements(p.IResourceController, inherit=True)
    p.implements(p.ITranslation)

    def declare_config_options(self, declaration: Any, key: Any) -> None:
        forget_validators()
        declaration.load_dict(yaml.safe_load(DECLARATION.read_text(encoding="utf-8")))

    def update_config(self, config: Any) -> None:
        tk.add_template_directory(config, "templates")
        tk.add_resource("assets", "freshness")
        if p.plugin_loaded("dcat"):
            # Imported only where ckanext-dcat is installed.
            from . import dcat

            config[dcat.OPTION] = dcat.with_profile(config.get(dcat.OPTION))

    def configure(self, config: Any) -> None:
        for key, advice in removed_options_in_use(settings.PREFIX).items():
            log.warning("The option %s was removed and has no effect: %s", key, advice)
        # ckan.site_url is not ours to declare: without a host it stops the start, not everybody's edits.
        settings.checks()
        let_odd_dates_be_indexed()
        tables.look_again()
        if p.plugin_loaded("harvest"):
            let_consumers_wait()

    def get_actions(self) -> dict[str, Any]:
        own = {
            name: tables.required(arguments.checked(getattr(module, name)))
            for module in (
                preview_actions,
                freshness_actions,
                mail_actions,
                report_actions,
                run_actions,
            )
            for name in module.__all__
        }
        harvest = harvest_actions.chained() if p.plugin_loaded("harvest") else {}
        return own | dataset_actions.chained() | harvest

    def after_dataset_create(self, context: Any, pkg_dict: dict[str, Any]) -> None:
        dataset_actions.after_write(context, pkg_dict, "package_create")

    def after_dataset_update(self, context: Any, pkg_dict: dict[str, Any]) -> None:
        dataset_actions.after_write(context, pkg_dict, "package_update")

    def before_resource_create(self, context: Any, resource: dict[str, Any]) -> None:
        resource_notes.adds(resource)

    def before_resource_update(
        self, context: Any, current: dict[str, Any], resource: dict[str, Any]
    ) -> None:
        resource_notes.updates(current, resource)

    def before_resource_delete(
        self, context: Any, resource: dict[str, Any], resources: list[dict[str, Any]]
    ) -> None:
        resource_notes.deletes(resource["id"], resources)

    def edit(self, entity: Any) -> None:
        # IOrganizationController's and IPackageController's hook of the same name.
        if getattr(entity, "is_organization", False):
            dataset_actions.after_organization_edit(entity)

    def dataset_facets(self, facets_dict: Any, package_type: str) -> Any:
        return fields.with_facet(facets_dict, package_type)

    def group_facets(self, facets_dict: Any, group_type: str, package_type: str | None) -> Any:
        return fields.with_facet(facets_dict, package_type)

    def organization_facets(
        self, facets_dict: Any, organization_type: str, package_type: str | None
    ) -> Any:
        return fields.with_facet(facets_dict, package_type)

    def before_dataset_index(self, pkg_dict: dict[str, Any]) -> dict[str, Any]:
        return fields.document(pkg_dict)

    def after_dataset_search(
        self, search_results: dict[str, Any], search_params: dict[str, Any]
    ) -> dict[str, Any]:
        url_facts.show(search_results["results"])
        labels.name_facet_values(search_results["search_facets"])
        return search_results

    def after_dataset_show(self, context: Any, pkg_dict: dict[str, Any]) -> None:
        # Without validation, a package is shown to be indexed: Solr holds the stored status.
        if context.get("validate", True):
            shown_status.show_current(pkg_dict, utc_now())
        url_facts.show([pkg_dict], context)


class _Harvester:
    """What harvesters of all source types answer to ckanext-harvest, and to CKAN's start."""

    source_type: Any
    title: str
    description: str

    def configure(self, config: Any) -> None:
        for needed in ("freshness", "harvest"):
            if not p.plugin_loaded(needed):
                raise RuntimeError(
                    f"{self.name} needs the plugin {needed}: add it to ckan.plugins"  # type: ignore[attr-defined]
                )
        keep_complete_objects()

    def info(self) -> dict[str, str]:
        return {
            "name": self.source_type.name,
            "title": self.title,
            "description": self.description,
            "form_config_interface": "Text",
        }

    def validate_config(self, config: str) -> str:
        checked: str = self.source_type.validate_config(config)
        return checked

    def get_original_url(self, harvest_object_id: str) -> str | None:
        return stages.original_url(harvest_object_id)

    def gather_stage(self, harvest_job: Any) -> list[str] | None:
        with tables.telling():
            return stages.gather(self.source_type, harvest_job)

    def fetch_stage(self, harvest_object: Any) -> bool:
        return stages.fetch(harvest_object)

    def import_stage(self, harvest_object: Any) -> bool | str:
        with tables.telling():
            return stages.import_(harvest_object)


class IatiHarvesterPlugin(_Harvester, p.SingletonPlugin):
    """The harvester of IATI's registries, source type ``iati_registry``."""

    p.implements(p.IConfigurable)
    p.implements(IHarvester)

    source_type = IATI_REGISTRY
    title = "IATI registry"
    description = "Harvests the reporting organisations and the datasets of a registry of IATI's"


class FdpHarvesterPlugin(_Harvester, p.SingletonPlugin, DefaultDatasetForm):
    """The harvester of FAIR Data Points, source type ``fdp``."""

    p.implements(p.IConfigurable)
    p.implements(p.IDatasetForm)
    p.implements(p.IPackageController, inherit=True)
    p.implements(IHarvester)

    source_type = FAIR_DATA_POINT
    title = "FAIR Data Point"
    description = "Harvests the datasets of a FAIR Data Point, or of one catalog of it"

    def is_fallback(self) -> bool:
        return False

    def package_types(self) -> list[str]:
        return catalog_type.types_of(self)

    def before_dataset_search(self, search_params: dict[str, Any]) -> dict[str, Any]:
        ours = bool(self.package_types())
        return catalog_type.only_if_asked_for(search_params) if ours else search_params
