"""Refreshes the statuses that have changed because time passed, those that are missing, or all statuses.

A batch of datasets is written in one transaction, which also marks them as not indexed. Then their
documents are sent, Solr commits once, and the marks are removed. If a run is killed, the marks show the
next run which documents are missing, and it sends these first. Each run also counts the datasets in Solr, and
finds those that are missing there for another reason.

Datasets that are concerned by a change in an organization or a source are marked for the next refresh.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import ckan.plugins as p
import sqlalchemy as sa

from ..checking import data_changes
from ..ckan_adapter import harvest
from ..ckan_adapter.core import model
from ..ckan_adapter.packages import EXTRA, ORGANIZATION_EXTRA
from ..dates import utc
from ..model import (
    DatasetFreshness,
    FreshnessChange,
    FreshnessEvidence,
    FreshnessTransition,
    KnownResource,
    Unindexed,
)
from . import indexing, our_fields
from .assessment import update_packages
from .changes import Occasion, TransitionCause
from .frequencies import DEFAULT_KEY, FrequencySource
from .indexing import BATCH, IndexFailure
from .judgement import OF_PEOPLE

_datasets = DatasetFreshness.__table__


@dataclass(slots=True)
class RefreshCounts:
    """The counts of a refresh."""

    datasets: int = 0
    """Datasets that were assessed."""
    changed: int = 0
    """Datasets whose extras changed."""
    statuses: int = 0
    """Datasets whose status changed."""
    healed: int = 0
    """Datasets whose documents were sent because earlier runs had not, or because Solr had lost them."""
    reaped: int = 0
    """Purged datasets whose rows were removed."""
    failures: list[IndexFailure] = field(default_factory=list)


Progress = Callable[[int, int], None]
"""Called with the number of datasets that are done, and the number of all."""


def refresh(
    now: datetime,
    *,
    run_id: str | None = None,
    everything: bool = False,
    compares_index: bool = False,
    progress: Progress = lambda done, total: None,
) -> RefreshCounts:
    """Update the stored statuses, in extras and in Solr.

    Two refreshes may run at once, and each may be killed. Neither ``metadata_modified`` nor the activities
    change.

    :param now: the moment to judge, with its zone
    :param run_id: stored with the transitions
    :param everything: assess all datasets. Needed after a change of options. By default only those are assessed
        whose boundary has passed, that were never assessed, or that have lost the extras: datasets that were
        created or edited while the plugin was not enabled
    :param compares_index: compare all datasets with the search index one by one, and remove the rows of purged
        datasets
    :raises SolrAwayError: Solr does not answer
    """
    model.Session.rollback()
    compares_index = compares_index or everything
    result = RefreshCounts(reaped=_reap(everything=everything) if compares_index else 0)
    result.healed, result.failures = indexing.heal()
    may_be_harvested()
    if everything:
        # Should this process be killed, the next refresh assesses the rest.
        # The second statement waits for datasets that are being written, and locks no others meanwhile.
        for statement in (_JUDGE_ANEW.format("SKIP LOCKED"), _JUDGE_ANEW.format("")):
            model.Session.execute(sa.text(statement))
            model.Session.commit()
    ids = _all_ids() if everything else _due_ids(now)
    model.Session.commit()
    for start in range(0, len(ids), BATCH):
        batch = ids[start : start + BATCH]
        due = _claimed(batch, now)
        changed = update_packages(due, Occasion(now, TransitionCause.RECOMPUTE, run_id))
        marks = indexing.mark([dataset.package_id for dataset in changed])
        model.Session.commit()
        result.failures += indexing.index(marks)
        result.datasets += len(batch)
        result.changed += len(changed)
        result.statuses += sum(dataset.changes_status for dataset in changed)
        progress(result.datasets, len(ids))
    healed, failures = indexing.heal_differences(compares_all=compares_index)
    result.healed += healed
    result.failures += failures
    return result


def _all_ids() -> list[str]:
    package = model.Package
    judged = package.type.in_(our_fields.judged_types())
    statement = sa.select(package.id).where(judged, package.state != "deleted")
    return list(model.Session.execute(statement.order_by(package.id)).scalars())


def _due_ids(now: datetime) -> list[str]:
    """Return the datasets whose status is to be refreshed; deleted datasets wait until they are restored."""
    return _ids(f"{_DUE} ORDER BY p.id", now=utc(now), **_parameters())


def _claimed(ids: Sequence[str], now: datetime) -> list[str]:
    """Lock and return those that are still to be refreshed, except those that another transaction writes.

    That transaction assesses them too.
    """
    statement = f"{_DUE} AND p.id = ANY(:ids) ORDER BY p.id FOR NO KEY UPDATE OF p SKIP LOCKED"
    return _ids(statement, ids=list(ids), now=utc(now), **_parameters())


def _parameters() -> dict[str, Any]:
    return {"types": our_fields.judged_types(), **our_fields.SQL_VALUES}


_JUDGED = """
FROM package p LEFT JOIN freshness_dataset d ON d.package_id = p.id
WHERE p.state <> 'deleted' AND p.type = ANY(:types)"""
_IS_LOST = f"{EXTRA.format(key=':status')} IS DISTINCT FROM d.status"
"""SQL: whether a dataset has lost its extras."""
_IS_NEW_OR_LOST = f"""
CASE WHEN d.package_id IS NULL THEN NOT {our_fields.ARE_THE_SITES} ELSE {_IS_LOST} END"""
_JUDGE_ANEW = """
UPDATE freshness_dataset SET judge_anew = true WHERE package_id IN (
    SELECT package_id FROM freshness_dataset WHERE NOT judge_anew ORDER BY package_id FOR NO KEY UPDATE {})"""
_IS_DUE = "(d.next_boundary <= :now OR d.judge_anew)"
_DUE = f"SELECT p.id {_JUDGED} AND ({_IS_NEW_OR_LOST} OR {_IS_DUE})"


def _ids(statement: str, **parameters: Any) -> list[str]:
    return list(model.Session.execute(sa.text(statement), parameters).scalars())


_TABLES = (
    DatasetFreshness,
    FreshnessEvidence,
    KnownResource,
    FreshnessTransition,
)
"""The tables of datasets whose rows have no worth without them."""


def _reap(*, everything: bool) -> int:
    """Remove our rows of purged packages, for which CKAN calls no hook.

    :param everything: look in all tables, not only for datasets that have a status
    :returns: the number of these packages
    """
    gone: set[str] = set()
    for table in (*_TABLES, FreshnessChange) if everything else _TABLES[:1]:
        is_there = sa.exists().where(model.Package.id == table.package_id)
        rows = sa.select(table.package_id).distinct().where(table.package_id != "", ~is_there)
        gone |= set(model.Session.execute(rows).scalars())
    if gone:
        for table in (*_TABLES, Unindexed):
            model.Session.execute(
                sa.delete(table.__table__).where(table.package_id.in_(sorted(gone)))
            )
        data_changes.forget(sorted(gone))
    model.Session.commit()
    return len(gone)


_WHERE = {
    FrequencySource.ORGANIZATION: "p.owner_org = :owner"
    f" AND (d.frequency_from = 'organization' OR {ORGANIZATION_EXTRA} IS NOT NULL)",
    FrequencySource.SOURCE: f"p.id IN ({harvest.PACKAGES_OF_SOURCE})",
}
_CONCERNED = """
SELECT p.id FROM freshness_dataset d JOIN package p ON p.id = d.package_id
WHERE d.frequency_from IS DISTINCT FROM 'dataset' AND p.state <> 'deleted' AND {where}
ORDER BY p.id FOR NO KEY UPDATE OF p"""


_KINDS = {"kinds": sorted(evidence.value for evidence in OF_PEOPLE)}
_HARVESTED = f"""
SELECT d.package_id FROM freshness_dataset d
WHERE d.evidence = ANY(:kinds) AND NOT d.judge_anew
AND {harvest.IS_HARVESTED}"""
"""PostgreSQL reads only two indexes for it. One of them is partial, for these kinds of evidence."""
_FREE = "SELECT id FROM package WHERE id = ANY(:ids) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED"


def may_have_changed(stated_by: FrequencySource, owner_id: str) -> int:
    """Mark the datasets of an edited organization or harvest source that state no frequency themselves.

    The next refresh assesses them, so that the edit neither waits for thousands of datasets nor fails
    because of one.

    :param stated_by: ``FrequencySource.ORGANIZATION`` or ``FrequencySource.SOURCE``
    :param owner_id: the id of the organization or of the source
    :returns: the number of datasets
    """
    model.Session.flush()
    statement = _CONCERNED.format(where=_WHERE[stated_by])
    parameters: dict[str, Any] = {"owner": owner_id}
    if stated_by is FrequencySource.ORGANIZATION:
        parameters["key"] = DEFAULT_KEY
    return _judge_anew(statement, parameters)


def may_be_absent(source_id: str, *, is_deleted: bool = False) -> int:
    """Mark the datasets that their harvest source has lost or got back since they were assessed.

    :param is_deleted: the source is about to be deleted
    :returns: the number of datasets
    """
    model.Session.flush()
    return _judge_anew(harvest.OTHERWISE_ABSENT, {"source": source_id, "is_deleted": is_deleted})


def may_be_harvested() -> int:
    """Mark datasets that were recognised as harvested only after they were created.

    Some harvesters create a dataset first and link it to its harvest object afterwards. Until then its
    resources look as if a person had created them.

    :returns: the number of datasets
    """
    if not p.plugin_loaded("harvest"):
        return 0
    found = list(model.Session.execute(sa.text(_HARVESTED), _KINDS).scalars())
    return _judge_anew(_FREE, {"ids": found}) if found else 0


def _judge_anew(select: str, parameters: dict[str, Any]) -> int:
    ids = list(model.Session.execute(sa.text(select), parameters).scalars())
    if ids:
        model.Session.execute(
            sa.update(_datasets).where(_datasets.c.package_id.in_(ids)).values(judge_anew=True)
        )
    return len(ids)
