"""The plugin ``iati_harvester``: the harvester of IATI registries, cycles of their files, and pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk

from ckanext.freshness.ckan_adapter import services
from ckanext.freshness.ckan_adapter.core import DefaultTranslation
from ckanext.freshness.harvesters import SourceTypePlugin, harvest_here
from ckanext.freshness.interfaces import (
    IFreshnessChecker,
    IFreshnessOperations,
    IFreshnessTabs,
    NightPart,
    RunKind,
    Tab,
)
from ckanext.freshness.translation import N_

from . import datasets, report, views
from .attempts import ErrorType
from .source_type import IATI_REGISTRY

if TYPE_CHECKING:
    from prometheus_client.core import Metric


def _commands() -> list[Any]:
    # Imported only by ckan's command line: web workers need no commands.
    from .cli import iati

    return [iati]


@tk.blanket.blueprints(views.iati)
@tk.blanket.cli(_commands)
class IatiHarvesterPlugin(SourceTypePlugin, DefaultTranslation):
    """The harvester of IATI registries, source type ``iati_registry``."""

    p.implements(p.IConfigurer)
    p.implements(p.ITranslation)
    p.implements(IFreshnessChecker)
    p.implements(IFreshnessOperations, inherit=True)
    p.implements(IFreshnessTabs)

    source_type = IATI_REGISTRY

    def update_config(self, config: Any) -> None:
        services.look_first("iati")
        tk.add_template_directory(config, "templates")

    def checked_links(self) -> str:
        return datasets.CHECKED_LINKS

    def link_problems(self) -> Mapping[str, str]:
        return {
            kind.value: kind.sentence for kind in ErrorType if kind is not ErrorType.HTTP_NON_200
        }

    def check_dataset(self, package_id: str) -> None:
        # Imported only by workers and commands: web workers run no cycles.
        from . import cycle

        cycle.check_dataset(package_id)

    def freshness_tabs(self) -> Sequence[Tab]:
        return [Tab("freshness_iati_page.read", N_("IATI"), "globe", self.source_type.name)]

    def night_parts(self) -> Sequence[NightPart]:
        from . import cycle

        return [NightPart("iati update", lambda now: cycle.update_all(harvest_here), report.KIND)]

    def run_kinds(self) -> Mapping[str, RunKind]:
        failed = N_("The update cycle of an IATI registry that ended on {at} failed: {error}")
        return {report.KIND: RunKind(N_("IATI cycle"), failed)}

    def gauges(self) -> Iterable[Metric]:
        return report.gauges()
