"""A registry's organisations as CKAN organizations: created, updated, and removed once they own nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ckan.plugins.toolkit as tk
import sqlalchemy as sa

from ...ckan_adapter import harvest
from ...ckan_adapter.core import model
from ...ckan_adapter.packages import rebuild
from .. import legal_values, object_states
from ..object_states import PendingObject
from ..record import Record
from . import ckan_actions

_COLUMNS = ("description", "image_url", "title")
"""The record's fields that are columns in CKAN. The others become extras."""

_BATCH = 100
"""How many packages to index at a time after their organization was renamed."""


class OrganizationInUse(Exception):
    """An organization that is gone from its registry but still owns datasets of it. The text is for people."""


class OrganizationWriter:
    """A writer of organizations for one source."""

    def __init__(self, source_id: str, context: Callable[[], dict[str, Any]]) -> None:
        """
        :param context: makes a context for CKAN's actions.
        """
        self._source_id = source_id
        self._context = context

    def write(self, pending: PendingObject, record: Record, before: Record | None) -> list[str]:
        """Create or update the organization of an object, which becomes current in the same transaction.

        :param before: the record as it was at the previous harvest.
        :returns: a warning for each value that CKAN refuses.
        :raises Exception: any error of CKAN's actions, and of other extensions' hooks in them.
        """
        group = self._group_of(pending, record)
        if group is None:
            return self._create(pending, record)
        if _is_older(group, pending):
            # It owns the source's datasets, and stays as it is.
            _make_current(pending, group.id)
            model.Session.commit()
            return []
        return self._update(pending, record, before, group)

    def delete(self, pending: PendingObject) -> list[str]:
        """Remove the organization of a record that is gone. The same transaction clears ``current``.

        If it owns anything that this source did not harvest, it stays, and is no longer harvested.

        :returns: a warning if it stays.
        :raises OrganizationInUse: datasets of this source are still there.
        """
        organization_id = pending.extras.get("organization_id")
        group = model.Group.get(organization_id) if organization_id else None
        warnings: list[str] = []
        is_removed = False
        if group is not None and group.state == "active":
            harvested, others = _count_packages(group.id, self._source_id)
            if harvested:
                raise OrganizationInUse(
                    f"the organization {group.name} stays for now: {harvested} harvested datasets of it "
                    "are still there; the next job removes it, should they be gone"
                )
            if others:
                warnings.append(
                    f"the organization {group.name} stays: it owns {others} datasets or harvest "
                    "sources that are not of this source"
                )
            is_removed = not others and not _is_older(group, pending)
        object_states.retire(pending)
        if (
            group is not None
            and is_removed
            and not object_states.is_current_elsewhere(
                self._source_id, organization_id=group.id, active_only=True
            )
        ):
            tk.get_action("organization_delete")(self._context(), {"id": group.id})
        else:
            model.Session.commit()
        return warnings

    def _group_of(self, pending: PendingObject, record: Record) -> Any | None:
        """Return the organization that a record already has.

        It is the object's own, one to adopt, one that this source made earlier, or the site's own with the same
        id as at the source.
        """
        extras = pending.extras
        made = ckan_actions.organization_id(self._source_id, pending.url)
        known = (extras.get("organization_id"), extras.get("adopted"), made)
        for group_id in known:
            group = model.Group.get(group_id) if group_id else None
            if group is not None and not object_states.is_current_elsewhere(
                self._source_id, organization_id=group.id, active_only=True
            ):
                return group
        own = ckan_actions.local_group(record.id, organizations=True) if record.id else None
        return model.Group.get(own) if own else None

    def _create(self, pending: PendingObject, record: Record) -> list[str]:
        organization_id = ckan_actions.organization_id(self._source_id, pending.url)
        wanted: dict[str, Any] = {
            "id": organization_id,
            **_columns(record),
            "extras": [{"key": key, "value": value} for key, value in _extras(record).items()],
        }
        names = ckan_actions.new_names(
            ckan_actions.own_name(record.name or ""),
            pending.url,
            self._source_id,
            organizations=True,
        )

        def begin() -> dict[str, Any]:
            _make_current(pending, organization_id)
            return self._context()

        return ckan_actions.write("organization_create", begin, wanted, wanted, names)

    def _update(
        self, pending: PendingObject, record: Record, before: Record | None, group: Any
    ) -> list[str]:
        parts = ("datasets", "users", "groups", "tags", "followers", "dataset_count")
        shown = tk.get_action("organization_show")(
            self._context(), {"id": group.id, **{f"include_{part}": False for part in parts}}
        )
        extras = _extras(record)
        stored = {extra["key"]: extra["value"] for extra in shown.get("extras", [])}
        gone = _extras(before).keys() - extras.keys() if before else frozenset()
        kept = {key: value for key, value in stored.items() if key not in gone}
        wanted: dict[str, Any] = {
            key: value for key, value in _columns(record).items() if (shown.get(key) or "") != value
        }
        if (merged := {**kept, **extras}) != stored:
            wanted["extras"] = [{"key": key, "value": value} for key, value in merged.items()]
        name = ckan_actions.followed_name(
            record.name or "", shown["name"], pending.url, self._source_id, organizations=True
        )
        if name != shown["name"]:
            wanted["name"] = name
        if group.state == "deleted" and pending.is_new:
            wanted["state"] = "active"

        def begin() -> dict[str, Any]:
            _make_current(pending, group.id)
            return self._context()

        if not wanted:
            begin()
            model.Session.commit()
            return []
        wanted["id"] = group.id
        refused = ckan_actions.write("organization_patch", begin, wanted, wanted)
        if wanted.keys() & {"name", "title"}:
            # A dataset's document in Solr contains the name and title of its organization.
            owned = _active_packages(group.id)
            for start in range(0, len(owned), _BATCH):
                rebuild(owned[start : start + _BATCH])
        return refused


def _make_current(pending: PendingObject, organization_id: str) -> None:
    object_states.take_organization_over(pending, organization_id)
    object_states.make_current(pending, None)


def _is_older(group: Any, pending: PendingObject) -> bool:
    """Return whether this site had an organization before the source: its id is that in the source's URL."""
    return pending.url.endswith(f"/{group.id}")


def _columns(record: Record) -> dict[str, str]:
    return {key: str(record.fields.get(key) or "") for key in _COLUMNS}


def _extras(record: Record) -> dict[str, str]:
    return {
        key: legal_values.shorten(str(value))
        for key, value in sorted(record.fields.items())
        if key not in _COLUMNS and key.strip()
    }


def _active_packages(organization_id: str) -> list[str]:
    """Return the ids of all packages that an organization owns and that are not deleted."""
    package = model.Package.__table__
    return list(
        model.Session.execute(
            sa.select(package.c.id)
            .where(package.c.owner_org == organization_id, package.c.state != "deleted")
            .order_by(package.c.id)
        ).scalars()
    )


def _count_packages(organization_id: str, source_id: str) -> tuple[int, int]:
    """Return how many packages of an organization this source harvested, and how many it did not."""
    objects = harvest.OBJECT
    owned = _active_packages(organization_id)
    harvested = model.Session.execute(
        sa.select(sa.func.count(sa.distinct(objects.c.package_id))).where(
            objects.c.package_id.in_(owned),
            objects.c.current.is_(True),
            objects.c.harvest_source_id == source_id,
        )
    ).scalar_one()
    return harvested, len(owned) - harvested
