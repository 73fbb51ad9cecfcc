"""What a cycle has done: figures for people, for the run's row and for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields

from ...aging.messages import NN_
from ...reporting.labels import counted


@dataclass(slots=True)
class CycleFigures:
    """What a cycle counted; the names are those of the Bulk Data Service's gauges, as far as it has them.

    :ivar datasets_with_download: those with a copy
    :ivar datasets_added: registered since the last cycle
    :ivar datasets_unregistered: no longer registered, and so removed
    :ivar datasets_expired: their copies were removed because their files failed for too long
    :ivar datasets_head_request_non_200: whose most recent HEAD did not answer 200
    :ivar datasets_downloads_non_200: whose most recent GET was answered neither 200 nor, to a condition, 304
    :ivar checker_run_duration: seconds
    :ivar zipper_run_duration: seconds that index files and bulk ZIPs took
    :ivar number_crashes: cycles that ended early, of those that are remembered
    :ivar visited: datasets that the cycle came to
    :ivar downloaded: files whose bytes were stored
    :ivar changed: of these, files whose contents had changed
    :ivar failed: datasets whose visit failed
    :ivar postponed: of these, those that were not asked again so soon
    :ivar not_stored: files that were downloaded, and could not be stored
    :ivar restored: copies that were lost, and are there again
    :ivar lost: copies that are still lost
    :ivar moved: copies whose dataset or organisation has another name now
    """

    total_number_of_datasets: int = 0
    datasets_with_download: int = 0
    datasets_added: int = 0
    datasets_unregistered: int = 0
    datasets_expired: int = 0
    datasets_head_request_non_200: int = 0
    datasets_downloads_non_200: int = 0
    checker_run_duration: float = 0.0
    zipper_run_duration: float = 0.0
    number_crashes: int = 0
    visited: int = 0
    downloaded: int = 0
    changed: int = 0
    failed: int = 0
    postponed: int = 0
    not_stored: int = 0
    restored: int = 0
    lost: int = 0
    moved: int = 0

    def as_dict(self) -> dict[str, float]:
        """By name."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


@dataclass(slots=True)
class CycleReport:
    """What a cycle has done.

    :ivar run_id: of its row among the runs
    :ivar errors: what went wrong, for people: the registry could not be read, say
    :ivar remarks: what is wrong with single records of the registry, for people
    :ivar stopped: why the cycle stopped before any file was asked for; None if it did not
    :ivar registry_read: the registry was asked, and answered for all that it lists
    :ivar published: whether the bulk ZIPs were made anew
    """

    run_id: str
    source: str
    figures: CycleFigures = field(default_factory=CycleFigures)
    errors: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    stopped: str | None = None
    registry_read: bool = False
    published: bool = False

    @property
    def complete(self) -> bool:
        """Whether the cycle did what it says it does.

        A file that fails is its publisher's affair, unless its last known good copy is lost meanwhile.
        """
        figures = self.figures
        return not (self.errors or self.stopped is not None or figures.not_stored or figures.lost)

    def lines(self) -> Iterator[str]:
        """For people."""
        got = self.figures
        forms = NN_(
            "{source}: {count} dataset, {added} new, {unregistered} no longer registered; {visited} "
            "visited, {downloaded} downloaded ({changed} changed), {failed} failed, {expired} expired",
            "{source}: {count} datasets, {added} new, {unregistered} no longer registered; {visited} "
            "visited, {downloaded} downloaded ({changed} changed), {failed} failed, {expired} expired",
        )
        yield counted(
            forms,
            got.total_number_of_datasets,
            source=self.source,
            added=got.datasets_added,
            unregistered=got.datasets_unregistered,
            visited=got.visited,
            downloaded=got.downloaded,
            changed=got.changed,
            failed=got.failed,
            expired=got.datasets_expired,
        )
        if got.restored and not got.lost:
            yield self._of_lost_copies()

    def complaints(self) -> Iterator[str]:
        """What was not done, for people; nothing if all was."""
        if self.stopped is not None:
            yield self.stopped
        yield from self.errors
        if self.figures.lost:
            yield self._of_lost_copies()
        if self.figures.not_stored:
            forms = NN_(
                "{count} file was downloaded, and could not be stored",
                "{count} files were downloaded, and could not be stored",
            )
            yield counted(forms, self.figures.not_stored)

    def _of_lost_copies(self) -> str:
        restored, lost = self.figures.restored, self.figures.lost
        forms = NN_(
            "{count} copy was lost: {restored} fetched again, {lost} not",
            "{count} copies were lost: {restored} fetched again, {lost} not",
        )
        return counted(forms, restored + lost, restored=restored, lost=lost)
