"""The plugin ``freshness``: it passes the hooks of CKAN to the subpackages. See also ``harvesters.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import yaml
from flask import has_request_context

from . import settings, views
from .ckan_adapter import database, services
from .ckan_adapter.core import DefaultTranslation, forget_schemas, forget_validators
from .dates import utc_now
from .logic import (
    dataset_actions,
    harvest_actions,
    hooks,
    report_actions,
    validators,
)
from .reporting import labels, links
from .status import indexing

DECLARATION = Path(__file__).parent / "config_declaration.yaml"


def _commands() -> list[Any]:
    # Imported only by ckan's command line: web workers need no commands.
    from .cli.site import freshness

    return [freshness]


@tk.blanket.auth_functions
@tk.blanket.blueprints(views.blueprints)
@tk.blanket.cli(_commands)
@tk.blanket.helpers
@tk.blanket.validators
class FreshnessPlugin(p.SingletonPlugin, DefaultTranslation):
    """The plugin ``freshness``, with the tables, the options and the hooks."""

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
        services.look_first("freshness")
        tk.add_template_directory(config, "templates")
        tk.add_public_directory(config, "public")
        # ckanext-dcat is imported only where one of its plugins is enabled.
        for plugin in filter(p.plugin_loaded, ("dcat", "structured_data", "croissant")):
            from . import dcat

            option, default = dcat.PROFILES[plugin]
            config[option] = dcat.with_profile(config.get(option), default)

    def configure(self, config: Any) -> None:
        # Fail at the start and not at each edit: this reads ckan.site_url, which needs a host.
        settings.checks()
        database.forget_tables()
        forget_schemas()

    def get_actions(self) -> dict[str, Any]:
        own = {
            name: database.require_tables(validators.checked(action))
            for module in (dataset_actions, harvest_actions, report_actions)
            for name, action in vars(module).items()
            if name.startswith("freshness_")
        }
        harvest = hooks.chained_harvest() if p.plugin_loaded("harvest") else {}
        return own | hooks.chained() | harvest

    def after_dataset_create(self, context: Any, pkg_dict: dict[str, Any]) -> None:
        hooks.after_write(context, pkg_dict, "package_create")

    def after_dataset_update(self, context: Any, pkg_dict: dict[str, Any]) -> None:
        hooks.after_write(context, pkg_dict, "package_update")

    def before_resource_create(self, context: Any, resource: dict[str, Any]) -> None:
        hooks.before_resource_create(resource)

    def before_resource_update(
        self, context: Any, current: dict[str, Any], resource: dict[str, Any]
    ) -> None:
        hooks.before_resource_update(current, resource)

    def before_resource_delete(
        self, context: Any, resource: dict[str, Any], resources: list[dict[str, Any]]
    ) -> None:
        hooks.before_resource_delete(resource["id"], resources)

    def edit(self, entity: Any) -> None:
        # IOrganizationController's and IPackageController's hook of the same name.
        if getattr(entity, "is_organization", False):
            hooks.after_organization_edit(entity)

    def delete(self, entity: Any) -> None:
        # Likewise: of organizations and packages.
        if not getattr(entity, "is_organization", False):
            hooks.after_delete(entity)

    def dataset_facets(self, facets_dict: Any, package_type: str) -> Any:
        return indexing.with_facet(facets_dict, package_type)

    def group_facets(self, facets_dict: Any, group_type: str, package_type: str | None) -> Any:
        return indexing.with_facet(facets_dict, package_type)

    def organization_facets(
        self, facets_dict: Any, organization_type: str, package_type: str | None
    ) -> Any:
        return indexing.with_facet(facets_dict, package_type)

    def before_dataset_index(self, pkg_dict: dict[str, Any]) -> dict[str, Any]:
        return indexing.document(pkg_dict)

    def before_dataset_search(self, search_params: dict[str, Any]) -> dict[str, Any]:
        return indexing.with_facet_fields(search_params)

    def after_dataset_search(
        self, search_results: dict[str, Any], search_params: dict[str, Any]
    ) -> dict[str, Any]:
        # The first badge looks up the links of all these datasets at once. Outside a request there are none.
        if has_request_context():
            found = tk.g.setdefault("freshness_found", {})
            found |= {package.get("id"): None for package in search_results["results"]}
        labels.name_facet_values(search_results["search_facets"])
        return search_results

    def after_dataset_show(self, context: Any, pkg_dict: dict[str, Any]) -> None:
        # Without validation, the package is shown to be indexed, and Solr holds the stored status.
        if context.get("validate", True):
            hooks.show_current(pkg_dict, utc_now())
        links.show(pkg_dict, context)
