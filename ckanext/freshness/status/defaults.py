"""Marks datasets for the next refresh after a change outside of them: in an organization or a source."""

from __future__ import annotations

from typing import Any

import ckan.plugins as p
import sqlalchemy as sa

from ..ckan_adapter import harvest
from ..ckan_adapter.core import model
from ..ckan_adapter.packages import ORGANIZATION_EXTRA
from .frequencies import DEFAULT_KEY, FrequencySource
from .observation import OF_PEOPLE

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


def may_have_changed(speaker: FrequencySource, owner_id: str) -> int:
    """Mark the datasets of an edited organization or harvest source that state no frequency themselves.

    The next refresh assesses them, so that the edit neither waits for thousands of datasets nor fails
    because of one.

    :param speaker: ``FrequencySource.ORGANIZATION`` or ``FrequencySource.SOURCE``
    :param owner_id: the id of the organization or of the source
    :returns: the number of datasets
    """
    model.Session.flush()
    statement = _CONCERNED.format(where=_WHERE[speaker])
    parameters: dict[str, Any] = {"owner": owner_id}
    if speaker is FrequencySource.ORGANIZATION:
        parameters["key"] = DEFAULT_KEY
    return _judge_anew(statement, parameters)


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
            sa.text("UPDATE freshness_dataset SET judge_anew = true WHERE package_id = ANY(:ids)"),
            {"ids": ids},
        )
    return len(ids)
