"""Whether it can be determined at all that a dataset which is not fresh has changed."""

from __future__ import annotations

from collections.abc import Collection

from ..aging.status import Assessment, Status
from ..checking.check_rows import host_of
from .snapshot import DatasetSnapshot, ResourceSnapshot

AD_HOC = "adhoc"
REASONS = ("api", AD_HOC, "blocked")
"""Each download differs; made when asked; not for robots. Of several the first is told."""


def undetermined(
    dataset: DatasetSnapshot,
    assessment: Assessment,
    frequency_days: int | None,
    adhoc_hosts: Collection[str],
) -> str | None:
    """Why the status may be wrong: a resource may have changed, and nobody can tell.

    None where the dataset is fresh all the same, or where nobody says how often it should change.
    """
    if assessment.status is Status.FRESH or frequency_days is None:
        return None
    reasons = {_reason(one, adhoc_hosts) for one in dataset.resources}
    return next((reason for reason in REASONS if reason in reasons), None)


def _reason(resource: ResourceSnapshot, adhoc_hosts: Collection[str]) -> str | None:
    if resource.url_type == "upload":
        return None
    if adhoc_hosts:
        host = host_of(resource.url) if resource.host is None else resource.host
        if host in adhoc_hosts:
            return AD_HOC
    return resource.doubt
