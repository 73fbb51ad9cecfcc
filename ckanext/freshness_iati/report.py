"""What cycles did: figures and messages for people, downloads and failing files, and figures for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from ckanext.freshness import settings
from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.copies.store import StoreError
from ckanext.freshness.model import CheckRun
from ckanext.freshness.reporting import labels, runs, visibility
from ckanext.freshness.reporting.tables import Context, Row, with_texts
from ckanext.freshness.settings import OptionError
from ckanext.freshness.translation import N_, NN_

from . import datasets, downloads, publication

if TYPE_CHECKING:
    from prometheus_client.core import Metric

KIND = "iati"
"""The kind of the cycles' rows among the runs."""


GAUGES: Mapping[str, str] = {
    "total_number_of_datasets": "The total number of datasets",
    "datasets_with_download": "The number of datasets with a copy of their last good download",
    "datasets_added": "The number of datasets added during the last run",
    "datasets_unregistered": "The number of datasets unregistered and so removed during the last run",
    "datasets_expired": "The number of datasets that expired in the last run",
    "datasets_head_request_non_200": "The number of datasets whose last HEAD request was not answered 200",
    "datasets_downloads_non_200": "The number of datasets whose last download was answered neither 200 nor 304",
    "checker_run_duration": "The time taken by the last run of the checker (seconds)",
    "zipper_run_duration": "The time taken by the last run of the zipper (seconds)",
    "number_crashes": "The number of recorded runs that ended early",
}
"""Figures that are gauges of the Bulk Data Service, by its names, with their help texts."""

COUNTS = (
    "checked",  # checked datasets
    "downloaded",  # files whose bytes were stored
    "changed",  # downloaded files whose contents had changed
    "failed",  # datasets whose check failed
    "not_stored",  # files that were downloaded but could not be stored
    "restored",  # lost copies that were stored again
    "lost",  # copies that are still lost
)
"""Further figures, in numbers of this cycle."""


@dataclass(slots=True)
class CycleReport:
    """The result of a cycle. All messages are for people.

    :ivar run_id: id of its row among the runs
    :ivar source: the source's title
    :ivar figures: by the names of :data:`GAUGES` and :data:`COUNTS`
    :ivar errors: failures of the cycle, such as a registry that could not be read, or why it stopped
    :ivar registry_read: all listings of the registry were read
    """

    run_id: str
    source: str
    figures: dict[str, float] = field(default_factory=lambda: dict.fromkeys((*GAUGES, *COUNTS), 0))
    errors: list[str] = field(default_factory=list)
    registry_read: bool = False

    @property
    def complete(self) -> bool:
        """Whether the cycle did everything it should.

        A file that fails is its publisher's fault, so it does not count, unless its copy is lost.
        """
        figures = self.figures
        return not (self.errors or figures["not_stored"] or figures["lost"])

    def lines(self) -> Iterator[str]:
        """Return a summary for people."""
        figures = self.figures
        forms = NN_(
            "{source}: {count} dataset, {added} new, {unregistered} no longer registered; {checked} "
            "checked, {downloaded} downloaded ({changed} changed), {failed} failed, {expired} expired",
            "{source}: {count} datasets, {added} new, {unregistered} no longer registered; {checked} "
            "checked, {downloaded} downloaded ({changed} changed), {failed} failed, {expired} expired",
        )
        yield labels.counted(
            forms,
            int(figures["total_number_of_datasets"]),
            source=self.source,
            added=figures["datasets_added"],
            unregistered=figures["datasets_unregistered"],
            checked=figures["checked"],
            downloaded=figures["downloaded"],
            changed=figures["changed"],
            failed=figures["failed"],
            expired=figures["datasets_expired"],
        )
        if figures["restored"] and not figures["lost"]:
            yield self._lost_copies()

    def complaints(self) -> Iterator[str]:
        """Return everything that failed, for people; empty if the cycle is complete."""
        yield from self.errors
        if self.figures["lost"]:
            yield self._lost_copies()
        if self.figures["not_stored"]:
            forms = NN_(
                "{count} file was downloaded, and could not be stored",
                "{count} files were downloaded, and could not be stored",
            )
            yield labels.counted(forms, int(self.figures["not_stored"]))

    def _lost_copies(self) -> str:
        restored, lost = int(self.figures["restored"]), int(self.figures["lost"])
        forms = NN_(
            "{count} copy was lost: {restored} fetched again, {lost} not",
            "{count} copies were lost: {restored} fetched again, {lost} not",
        )
        return labels.counted(forms, restored + lost, restored=restored, lost=lost)


def last_cycle(source_id: str, *, ended: bool = False) -> Any:
    """Return the row of a source's last cycle among the runs; None before the first.

    A check of single files is a run of the same kind, but no cycle.

    :param ended: leave out a cycle that still runs, or that was killed
    """
    options = CheckRun.options
    query = model.Session.query(CheckRun).filter(
        CheckRun.kind == KIND,
        options["source"].astext == source_id,
        options["harvest"].astext == "true",
    )
    if ended:
        query = query.filter(CheckRun.ended_at.is_not(None))
    return query.order_by(CheckRun.started_at.desc()).first()


# The page about IATI

LISTED = 100
"""Most failing files of a source on the page."""

_DOWNLOADS: Mapping[str, tuple[str, str]] = {
    publication.BULK_ZIP: (
        N_("All files"),
        N_("Every publisher's XML files, each as it was last good."),
    ),
    publication.LEGACY_ZIP: (
        N_("All files, Code for IATI layout"),
        N_("The same files in the folders that Code for IATI's tools expect."),
    ),
    downloads.FULL: (
        N_("Dataset index, full"),
        N_("All datasets with dates, hashes, sizes and last errors."),
    ),
    downloads.MINIMAL: (
        N_("Dataset index, short"),
        N_("Name, address and copy of each dataset."),
    ),
    downloads.ORGANISATIONS: (
        N_("Organizations"),
        N_("The organizations that publish these datasets."),
    ),
}
"""The titles and contents of the files for everybody, marked for translation, in the order of the page."""


def sources(context: Context) -> list[dict[str, Any]]:
    """Return all public sources with the figures of the datasets that a user may see.

    :returns: of each its ``name`` and ``title``, the columns of ``_FIGURES``, and

        - ``downloads``: the files for everybody; empty before the first cycle, and while ``trouble`` says why
        - ``last``: the last cycle; None before the first
        - ``rows``: the first failing files
    """
    found = publication.public_sources()
    return [_overview(source, context, is_only=len(found) == 1) for source in found]


def _overview(source: Any, context: Context, *, is_only: bool) -> dict[str, Any]:
    last = last_cycle(source.id)
    since = None if last is None else last.started_at
    condition, values = visibility.condition(context)
    values |= {"source": source.id, "since": since, "limit": LISTED}
    row = model.Session.execute(sa.text(_FIGURES.format(visible=condition)), values).one()
    failing = model.Session.execute(sa.text(_FAILING.format(visible=condition)), values)
    try:
        files = publication.published_files(source.id)
        trouble = None
    except (StoreError, OptionError):
        files = {}
        trouble = tk._("The downloads can't be reached at the moment. Please try again later.")
    if any(not file.is_public for file in files.values()):
        files = {}
        trouble = tk._("The files are being made anew. Please try again later.")
    folder = f"{settings.site_url()}/iati" + ("" if is_only else f"/{source.name}")
    return {
        "name": source.name,
        "title": source.title,
        "downloads": [
            {
                "title": title,
                "about": about,
                "url": f"{folder}/{name}",
                "size": files[name].size,
                "modified": files[name].modified,
            }
            for name, (title, about) in _DOWNLOADS.items()
            if name in files
        ],
        "trouble": trouble,
        "last": None if last is None else runs.line(last),
        "rows": list(map(with_texts, failing.mappings())),
        **row._mapping,
    }


def reason(row: Row) -> str:
    """Return why a file fails, in words that stand in a list."""
    status = int(row["http_status"]) if row["http_status"] else None
    return labels.link_problem({"status": status, "reason": row["error"]}).rstrip(".")


_OF_SOURCE = """FROM freshness_iati i
JOIN package p ON p.id = i.package_id AND p.state = 'active' AND {visible}
LEFT JOIN freshness_copy c ON c.resource_id = i.resource_id"""

_FIGURES = f"""
SELECT count(*) AS registered, count(c.key) AS available,
    count(i.failing_since) AS failing,
    count(c.key) FILTER (WHERE i.failing_since IS NOT NULL) AS served,
    count(*) FILTER (WHERE new.changed) AS changed,
    count(DISTINCT i.organisation_id) FILTER (WHERE new.changed) AS publishers
{_OF_SOURCE}
CROSS JOIN LATERAL (SELECT i.content_changed >= CAST(:since AS timestamp) AS changed) new
WHERE i.source_id = :source"""
"""SQL: the numbers of datasets, and of those with a copy; of failing files, and of those with a copy; of files
that were new or changed in the last cycle, and of their publishers."""

_FAILING = f"""
SELECT p.name, coalesce(nullif(p.title, ''), p.name) AS title,
    coalesce(nullif(g.title, ''), i.organisation_name) AS publisher, i.failing_since,
    last.error ->> 'error_type' AS error, last.error ->> 'detailed_message' AS message, last.http_status,
    c.key IS NOT NULL AS has_copy, c.verified_at AS copy_verified_at
{_OF_SOURCE}
LEFT JOIN "group" g ON g.id = p.owner_org
CROSS JOIN LATERAL (
    SELECT i.state #> '{{{{attempts,0,error_details}}}}' AS error,
        i.state #>> '{{{{attempts,0,http_status}}}}' AS http_status
) last
WHERE i.source_id = :source AND i.failing_since IS NOT NULL
ORDER BY i.failing_since DESC, i.resource_id LIMIT :limit"""


# Prometheus


def gauges() -> Iterator[Metric]:
    """Yield the figures of each source's last finished cycle.

    A single source has no label, so that dashboards of the Bulk Data Service still work.
    """
    # Imported only here: web workers need no client of Prometheus.
    from prometheus_client.core import GaugeMetricFamily

    cycles = {source.id: last_cycle(source.id, ended=True) for source in datasets.sources()}
    figures = {id_: last.datasets or {} for id_, last in cycles.items() if last is not None}
    has_label = len(figures) > 1
    for name, help_text in GAUGES.items():
        family = GaugeMetricFamily(name, help_text, labels=["source"] if has_label else [])
        for source_id, of_source in figures.items():
            label = [model.Package.get(source_id).name] if has_label else []
            family.add_metric(label, float(of_source.get(name, 0)))
        yield family
