"""Frequencies that somebody assumes for datasets: what follows when the assumption changes."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from ..ckan_adapter import ORGANIZATION_EXTRA, model
from ..model.moments import utc
from .frequencies import DEFAULT_KEY, Speaker

_WHERE = {
    Speaker.ORGANIZATION: "p.owner_org = :owner"
    f" AND (d.frequency_from = 'organization' OR {ORGANIZATION_EXTRA} IS NOT NULL)",
    Speaker.SOURCE: "p.id IN (SELECT package_id FROM harvest_object WHERE harvest_source_id = :owner)",
}
_CONCERNED = """
SELECT p.id FROM freshness_dataset d JOIN package p ON p.id = d.package_id
WHERE d.frequency_from IS DISTINCT FROM 'dataset' AND p.state <> 'deleted' AND {where}
ORDER BY p.id FOR NO KEY UPDATE OF p"""


def may_have_changed(speaker: Speaker, owner_id: str, now: datetime) -> int:
    """An organization or a harvest source was edited: its datasets that say no frequency themselves are
    judged anew by the next refresh.

    In the transaction of the edit, which neither waits for thousands of datasets nor fails for one.

    :param speaker: whose edit it is: ``Speaker.ORGANIZATION`` or ``Speaker.SOURCE``.
    :param owner_id: the id of the organization or of the source.
    :returns: how many datasets are concerned.
    """
    session = model.Session
    session.flush()
    statement = _CONCERNED.format(where=_WHERE[speaker])
    parameters = {"owner": owner_id}
    if speaker is Speaker.ORGANIZATION:
        parameters["key"] = DEFAULT_KEY
    ids = list(session.execute(sa.text(statement), parameters).scalars())
    if ids:
        session.execute(
            sa.text(
                "UPDATE freshness_dataset SET next_boundary = :now WHERE package_id = ANY(:ids)"
            ),
            {
                "ids": ids,
                "now": utc(now).replace(microsecond=0),
            },
        )
    return len(ids)
