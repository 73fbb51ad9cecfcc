"""Figures and messages of an update cycle, for people, for its row among the runs and for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..aging.messages import NN_
from ..ckan_adapter.core import model
from ..model import CheckRun
from ..reporting.labels import counted

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
    "postponed",  # failed datasets that were not requested again yet
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
    :ivar errors: failures of the cycle, such as a registry that could not be read
    :ivar remarks: errors in single records of the registry
    :ivar stopped: why the cycle stopped before it checked any file; None if it did not stop
    :ivar registry_read: all listings of the registry were read
    :ivar published: the bulk ZIPs were written again
    """

    run_id: str
    source: str
    figures: dict[str, float] = field(default_factory=lambda: dict.fromkeys((*GAUGES, *COUNTS), 0))
    errors: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    stopped: str | None = None
    registry_read: bool = False
    published: bool = False

    @property
    def complete(self) -> bool:
        """Whether the cycle did everything it should.

        A file that fails is its publisher's fault, so it does not count, unless its copy is lost.
        """
        figures = self.figures
        missing = figures["not_stored"] or figures["lost"]
        return not (self.errors or self.stopped is not None or missing)

    def lines(self) -> Iterator[str]:
        """Return a summary for people."""
        figures = self.figures
        forms = NN_(
            "{source}: {count} dataset, {added} new, {unregistered} no longer registered; {checked} "
            "checked, {downloaded} downloaded ({changed} changed), {failed} failed, {expired} expired",
            "{source}: {count} datasets, {added} new, {unregistered} no longer registered; {checked} "
            "checked, {downloaded} downloaded ({changed} changed), {failed} failed, {expired} expired",
        )
        yield counted(
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
        if self.stopped is not None:
            yield self.stopped
        yield from self.errors
        if self.figures["lost"]:
            yield self._lost_copies()
        if self.figures["not_stored"]:
            forms = NN_(
                "{count} file was downloaded, and could not be stored",
                "{count} files were downloaded, and could not be stored",
            )
            yield counted(forms, int(self.figures["not_stored"]))

    def _lost_copies(self) -> str:
        restored, lost = int(self.figures["restored"]), int(self.figures["lost"])
        forms = NN_(
            "{count} copy was lost: {restored} fetched again, {lost} not",
            "{count} copies were lost: {restored} fetched again, {lost} not",
        )
        return counted(forms, restored + lost, restored=restored, lost=lost)


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
