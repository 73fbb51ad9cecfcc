"""The harvest sources of IATI registries, and the cycles that other parts of the site start for them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from ...ckan_adapter import harvest
from ...ckan_adapter.core import model
from ...copies.store import StoreError
from ...dates import utc_now
from ...model import CheckRun, IatiDataset
from ...runs import check_run
from ...runs.night import PartReport
from ...settings import OptionError
from ..registry.source_type import SOURCE_TYPE
from . import cycle

log = logging.getLogger(__name__)


def sources() -> list[Any]:
    """Return the rows of active sources, ordered by id."""
    table = harvest.SOURCE
    query = sa.select(table).where(table.c.type == SOURCE_TYPE, table.c.active.is_(True))
    return list(model.Session.execute(query.order_by(table.c.id)))


def last_cycle(source_id: str, *, ended: bool = False) -> Any:
    """Return the row of a source's last cycle among the runs; None before the first.

    A check of single files is a run of the same kind, but no cycle.

    :param ended: leave out a cycle that still runs, or that was killed
    """
    options = CheckRun.options
    query = model.Session.query(CheckRun).filter(
        CheckRun.kind == cycle.KIND,
        options["source"].astext == source_id,
        options["harvest"].astext == "true",
    )
    if ended:
        query = query.filter(CheckRun.ended_at.is_not(None))
    return query.order_by(CheckRun.started_at.desc()).first()


def in_registries(package_ids: Sequence[str]) -> set[str]:
    """Return the ids of datasets whose files cycles check, now or from the next cycle on."""
    if not p.plugin_loaded("harvest"):
        return set()
    values = {"ids": list(package_ids), "type": SOURCE_TYPE}
    return set(model.Session.execute(sa.text(_IN_REGISTRIES), values).scalars())


def update_all(harvest: cycle.Harvest) -> PartReport:
    """Run a cycle of each source, as a part of the nightly run. If one fails, the others still run.

    :param harvest: reads the registry of a source
    """
    if not p.plugin_loaded("harvest"):
        return PartReport(tk._("There are no harvest sources"))
    messages, complete, began = [], True, True
    for source in sources():
        title = source.title or source.url
        try:
            report = cycle.run_cycle(source, utc_now, harvest=harvest)
        except (cycle.CycleRunningError, OptionError, StoreError) as error:
            messages.append(f"{title}: {error}")
            # The error may have come before the cycle had a row among the runs.
            complete = began = False
            continue
        messages += [*report.lines(), *report.complaints()]
        complete = complete and report.complete
    return PartReport(
        "; ".join(messages) or tk._("There is no source of an IATI registry"), complete, began
    )


def check_dataset(package_id: str) -> None:
    """Check all URLs of a dataset by their usual rules, due or not. A background job.

    :raises settings.OptionError: the site has no place for copies
    :raises StoreError: the store cannot be used
    :raises DatabaseLostError: the database was lost
    """
    check_run.check(check_run.CheckScope(package_ids=(package_id,)), utc_now)
    if not p.plugin_loaded("harvest"):
        return
    rows = model.Session.query(IatiDataset.source_id).filter_by(package_id=package_id)
    source_ids = {row.source_id for row in rows}
    if not source_ids:
        return
    for source in sources():
        if source.id in source_ids:
            try:
                cycle.run_cycle(source, utc_now, strict=True, package_ids=[package_id])
            except cycle.CycleRunningError as error:
                # The running cycle checks this file as well, or has just done so.
                log.info("%s", error)


# The first part finds datasets that the queues harvested after the last cycle.
_IN_REGISTRIES = f"""
{harvest.PACKAGES_OF_TYPE}
UNION SELECT i.package_id FROM freshness_iati i
WHERE i.package_id = ANY(:ids) AND i.source_id IN ({harvest.ACTIVE_SOURCES_OF_TYPE})"""
