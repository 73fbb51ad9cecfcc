"""What ckanext-harvest's report of a job does not tell."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..ckan_adapter import harvest_model
from . import unmapped
from .source_types import our_names


def unmapped_properties(job_id: str) -> dict[str, Any]:
    """Return the properties of the current records of a job's source that no field has.

    :returns: ``unmapped``, a list of dictionaries with ``name``, ``records`` and ``example``, by name. Empty
        for jobs of other harvesters.
    """
    source = harvest_model.HarvestJob.get(job_id).source
    records = unmapped.of_current_objects(source.id) if source.type in our_names() else {}
    return {"unmapped": [asdict(one) for one in unmapped.count(records.values())]}
