"""The plugin: it says what this extension adds."""

import ckan.plugins as p
import ckan.plugins.toolkit as tk
from flask import Blueprint
from prometheus_client.core import GaugeMetricFamily

from ckanext.freshness import interfaces
from ckanext.freshness.harvesters import SourceTypePlugin
from ckanext.freshness.views import guarded

from . import checker
from .source_type import PlainList

pages = guarded(Blueprint("plain_list", __name__))


@pages.route("/plain-list")
def read():
    return tk.render("plain_list/read.html", {"gone": checker.gone()})


@tk.blanket.blueprints(pages)
class PlainListHarvester(SourceTypePlugin):
    p.implements(p.IConfigurer)
    p.implements(interfaces.IFreshnessChecker)
    p.implements(interfaces.IFreshnessOperations, inherit=True)
    p.implements(interfaces.IFreshnessTabs)

    source_type = PlainList()

    def update_config(self, config):
        tk.add_template_directory(config, "templates")

    # The checker

    def checked_links(self):
        return checker.CHECKED_LINKS

    def link_problems(self):
        return checker.PROBLEMS

    def check_dataset(self, package_id):
        checker.check(package_id)

    # The tab

    def freshness_tabs(self):
        return [interfaces.Tab("plain_list.read", "Plain lists", "list", self.source_type.name)]

    # The nightly run, the doctor and the metrics

    def night_parts(self):
        return [interfaces.NightPart("plain list", self.check_all)]

    def check_all(self, now):
        return interfaces.PartReport(f"{checker.check()} links checked")

    def doctor_checks(self):
        return {"plain lists": self.links_that_are_gone}

    def links_that_are_gone(self, now):
        # Imported only by the doctor: web workers need less.
        from ckanext.freshness.doctor.findings import warning

        if gone := checker.gone():
            yield warning(f"{gone} links of plain lists are gone", "Tell their publisher.")

    def gauges(self):
        yield GaugeMetricFamily("plain_list_links_gone", "Links that are gone", checker.gone())
