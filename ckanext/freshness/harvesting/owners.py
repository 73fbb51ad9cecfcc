"""Which organization of CKAN's is whose: what the harvest tables and CKAN's say of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from ..ckan_adapter import harvest_tables, model
from .object_writer import set_extras

ORGANIZATION_ID = "organization_id"
"""Extra of the objects of organisations: the organization of CKAN's that theirs became."""

_object = harvest_tables.OBJECT
_extra = harvest_tables.OBJECT_EXTRA
_package = model.Package.__table__


def remember(object_id: str, organization_id: str) -> None:
    """Keep which organization an object became. No commit."""
    set_extras([(object_id, ORGANIZATION_ID, organization_id)])


def organizations(source_id: str, guids: Sequence[str]) -> dict[str, str]:
    """The organizations of a source's current objects, by guid."""
    rows = model.Session.execute(
        sa.select(_object.c.guid, _extra.c.value)
        .select_from(_object.join(_extra, _extra.c.harvest_object_id == _object.c.id))
        .where(
            _object.c.harvest_source_id == source_id,
            _object.c.current.is_(True),
            _object.c.guid.in_(guids),
            _extra.c.key == ORGANIZATION_ID,
        )
    )
    return {guid: organization_id for guid, organization_id in rows}


def waiting_object(source_id: str, guid: str) -> str | None:
    """The newest object with a guid that nobody has imported yet."""
    return model.Session.execute(
        sa.select(_object.c.id)
        .where(
            _object.c.harvest_source_id == source_id,
            _object.c.guid == guid,
            _object.c.state.not_in(("COMPLETE", "ERROR", "GATHER")),
        )
        .order_by(_object.c.gathered.desc())
        .limit(1)
    ).scalar()


def active_packages(organization_id: str) -> list[str]:
    """The ids of all packages that an organization owns."""
    return list(
        model.Session.execute(
            sa.select(_package.c.id)
            .where(_package.c.owner_org == organization_id, _package.c.state != "deleted")
            .order_by(_package.c.id)
        ).scalars()
    )


def owned_packages(organization_id: str, source_id: str) -> tuple[int, int]:
    """How many packages an organization owns that are this source's, and how many that are not."""
    owned = active_packages(organization_id)
    harvested = model.Session.execute(
        sa.select(sa.func.count(sa.distinct(_object.c.package_id))).where(
            _object.c.package_id.in_(owned),
            _object.c.current.is_(True),
            _object.c.harvest_source_id == source_id,
        )
    ).scalar_one()
    return harvested, len(owned) - harvested


def is_of_another_source(organization_id: str, source_id: str) -> bool:
    """Whether another active source has an organization too."""
    source = harvest_tables.SOURCE
    return bool(
        model.Session.execute(
            sa.select(
                _with(organization_id)
                .where(
                    _object.c.harvest_source_id != source_id,
                    source.c.id == _object.c.harvest_source_id,
                    source.c.active.is_(True),
                )
                .exists()
            )
        ).scalar()
    )


def take_over(organization_id: str, source_id: str) -> None:
    """Take an organization from the sources that were deleted. No commit."""
    source = harvest_tables.SOURCE
    gone = sa.select(source.c.id).where(source.c.active.is_(False), source.c.id != source_id)
    has_it = sa.select(_extra.c.harvest_object_id).where(
        _extra.c.key == ORGANIZATION_ID, _extra.c.value == organization_id
    )
    model.Session.execute(
        sa.update(_object)
        .where(_object.c.harvest_source_id.in_(gone), _object.c.id.in_(has_it))
        .values(current=False)
        .execution_options(synchronize_session=False)
    )


def _with(organization_id: str) -> Any:
    return sa.select(_object.c.id).where(
        _object.c.current.is_(True),
        _extra.c.harvest_object_id == _object.c.id,
        _extra.c.key == ORGANIZATION_ID,
        _extra.c.value == organization_id,
    )
