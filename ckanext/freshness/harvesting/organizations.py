"""A registry's organisation as an organization of CKAN's: created, updated, removed when it owns nothing."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import ckan.plugins.toolkit as tk

from ..ckan_adapter import model, rebuild
from . import dataset_names, legal_values, object_states, owners
from .object_states import PendingObject
from .record import Record

_ORGANIZATIONS = uuid.UUID("0c2c6f0e-5b1e-4d0b-9a3e-3b8c1d6f7e21")
"""Namespace of the ids of organizations, each made from its source's id and its record's URL."""

_COLUMNS = frozenset({"title", "description", "image_url"})
_AT_ONCE = 100
"""Packages that are sent to Solr at a time after their organization got another name."""


class OrganizationInUse(Exception):
    """An organization that is gone from its registry, and whose datasets are not yet; for people."""


class OrganizationWriter:
    """Writes the organizations of one source."""

    def __init__(self, source_id: str, context: Callable[[], dict[str, Any]]) -> None:
        """
        :param context: makes a context for CKAN's actions.
        """
        self._source_id = source_id
        self._context = context

    def write(self, pending: PendingObject, record: Record, before: Record | None) -> None:
        """Create or update the organization of one object, which is current in the same transaction.

        :param before: the record as it was when it was harvested last.
        :raises Exception: whatever CKAN's actions and the hooks in them raise.
        """
        group = self._group_of(pending)
        if group is None:
            self._create(pending, record)
        else:
            self._update(pending, record, before, group)

    def delete(self, pending: PendingObject) -> list[str]:
        """Remove the organization of a record that is gone; ``current`` is cleared with it.

        One that owns anything that is not this source's stays, and is no longer the harvester's.

        :returns: a warning if it stays.
        :raises StillOwns: datasets of this source are still there.
        """
        organization_id = pending.extras.get("organization_id")
        group = model.Group.get(organization_id) if organization_id else None
        if group is not None and group.state == "active":
            ours, others = owners.owned_packages(group.id, self._source_id)
            if ours:
                raise OrganizationInUse(
                    f"the organization {group.name} stays for now: {ours} harvested datasets of it "
                    "are still there; the next job removes it, should they be gone"
                )
            object_states.retire(pending.id, self._source_id, pending.guid, None)
            if others:
                model.Session.commit()
                return [
                    f"the organization {group.name} stays: it owns {others} datasets or harvest "
                    "sources that are not of this source"
                ]
            if not owners.is_of_another_source(group.id, self._source_id):
                tk.get_action("organization_delete")(self._context(), {"id": group.id})
                return []
        else:
            object_states.retire(pending.id, self._source_id, pending.guid, None)
        model.Session.commit()
        return []

    def _group_of(self, pending: PendingObject) -> Any | None:
        """The organization that a record already has: its object's, an adopted one, or an earlier one."""
        extras = pending.extras
        known = (extras.get("organization_id"), extras.get("adopted"), self._own_id(pending))
        for group_id in known:
            group = model.Group.get(group_id) if group_id else None
            if group is not None and not owners.is_of_another_source(group.id, self._source_id):
                return group
        return None

    def _own_id(self, pending: PendingObject) -> str:
        """The id that the source gives it; the same at every attempt, and when it comes back."""
        return str(uuid.uuid5(_ORGANIZATIONS, f"{self._source_id} {pending.url}"))

    def _create(self, pending: PendingObject, record: Record) -> None:
        organization_id = self._own_id(pending)
        wanted: dict[str, Any] = {
            "id": organization_id,
            **_columns(record),
            "extras": [{"key": key, "value": value} for key, value in _extras(record).items()],
        }
        candidates = self._names(record, pending.url)
        for name in candidates:
            self._make_current(pending, organization_id)
            try:
                tk.get_action("organization_create")(self._context(), {**wanted, "name": name})
                return
            except tk.ValidationError as error:
                model.Session.rollback()
                # Somebody else may have taken the name between the look and the write.
                if set(error.error_dict) != {"name"} or name == candidates[-1]:
                    raise

    def _update(
        self, pending: PendingObject, record: Record, before: Record | None, group: Any
    ) -> None:
        shown = tk.get_action("organization_show")(
            self._context(),
            {
                "id": group.id,
                "include_datasets": False,
                "include_users": False,
                "include_groups": False,
                "include_tags": False,
                "include_followers": False,
                "include_dataset_count": False,
            },
        )
        columns, extras = _columns(record), _extras(record)
        stored = {one["key"]: one["value"] for one in shown.get("extras", [])}
        gone = _extras(before).keys() - extras.keys() if before else frozenset()
        kept = {key: value for key, value in stored.items() if key not in gone}
        wanted: dict[str, Any] = {
            key: value for key, value in columns.items() if (shown.get(key) or "") != value
        }
        if (merged := {**kept, **extras}) != stored:
            wanted["extras"] = [{"key": key, "value": value} for key, value in merged.items()]
        if (name := self._name_for(record, pending.url, shown["name"])) != shown["name"]:
            wanted["name"] = name
        if group.state == "deleted" and pending.is_new:
            wanted["state"] = "active"
        self._make_current(pending, group.id)
        if not wanted:
            model.Session.commit()
            return
        tk.get_action("organization_patch")(self._context(), {"id": group.id, **wanted})
        if wanted.keys() & {"name", "title"}:
            # What CKAN keeps of a dataset in Solr has its organization's name and title in it.
            owned = owners.active_packages(group.id)
            for start in range(0, len(owned), _AT_ONCE):
                rebuild(owned[start : start + _AT_ONCE])

    def _make_current(self, pending: PendingObject, organization_id: str) -> None:
        owners.take_over(organization_id, self._source_id)
        object_states.make_current(pending.id, self._source_id, pending.guid, None, is_new=False)
        owners.remember(pending.id, organization_id)

    def _names(self, record: Record, url: str) -> list[str]:
        plain = dataset_names.own_name(record.name or "")
        used = dataset_names.taken([plain], organizations=True)
        return dataset_names.candidates(plain, url, self._source_id, used, stem="organization")

    def _name_for(self, record: Record, url: str, now: str) -> str:
        """The name that follows the record's; the one it has is kept while it still says the same."""
        plain = dataset_names.own_name(record.name or "")
        wanted = dataset_names.candidates(plain, url, self._source_id, (), stem="organization")
        if now in wanted:
            return now
        used = dataset_names.taken(wanted, organizations=True)
        return next((name for name in wanted if name not in used), now)


def _columns(record: Record) -> dict[str, str]:
    return {key: str(record.fields.get(key) or "") for key in sorted(_COLUMNS)}


def _extras(record: Record) -> dict[str, str]:
    fields: Mapping[str, Any] = record.fields
    return {
        key: legal_values.shorten(str(value))
        for key, value in sorted(fields.items())
        if key not in _COLUMNS and re.search(r"\S", key)
    }
