"""Packages of harvested records: created, updated and deleted through CKAN's actions."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import ckan.plugins.toolkit as tk

from ...ckan_adapter import harvest
from ...ckan_adapter.core import model
from ...ckan_adapter.harvest import harvesting_user
from ...ckan_adapter.packages import index_package, lock_packages
from ...status import indexing
from .. import known_records, object_states
from ..known_records import RESOURCE_IDS
from ..object_states import PendingObject
from ..object_writer import set_extras
from ..record import LaidOutRecord, Record
from ..sources import source_of, source_type_named
from . import ckan_actions
from .ckan_actions import ImportFailed
from .layout import PACKAGE_TYPES, CatalogSite, catalog_site, package_dict, package_of_another
from .merge import ids_to_keep, merge, same_package, with_resource_ids
from .organizations import Membership

MOST_PARTS = {"fields": 5_000, "resources": 2_500, "fields of resources": 100_000, "tags": 5_000}
"""How many of each a dataset may have, extras counted with its fields. The time that CKAN takes grows with the
square of them: 200,000 extras held up the imports of all sources for more than a quarter of an hour."""

_PACKAGES = uuid.UUID("6f1d7a34-9d0c-4c53-8f0e-3f5b1f1c2a77")
"""Namespace of the package ids. Each is made of the id of the object that creates the package."""


class PackageWriter:
    """A writer of packages for some objects of a source. It reads the data that they share only once."""

    def __init__(self, source: Any, pending: Sequence[PendingObject]) -> None:
        """
        :param source: a HarvestSource row.
        :param pending: the objects that are going to be written.
        :raises ImportFailed: no enabled plugin harvests sources of this type, or the user who writes
            packages does not exist.
        :raises ConfigError: the source's configuration cannot be used.
        """
        read = source_of(source)
        source_type = source_type_named(source.type)
        if source_type is None:
            raise ImportFailed(f"no enabled plugin harvests sources of the type {source.type}")
        try:
            self._user = harvesting_user()
        except tk.ObjectNotFound as error:
            raise ImportFailed(str(error)) from error
        self.marks: dict[str, datetime] = {}
        """The written packages, which are marked as not indexed."""
        self._source_id = source.id
        self._sites = {one: catalog_site(read.config, one) for one in PACKAGE_TYPES}
        package = model.Package.get(source.id)
        self._membership = Membership(
            read,
            owner_org=package.owner_org if package else None,
            has_organizations=source_type.has_organizations(read.config),
        )
        self._records = {
            item.id: Record.from_json(item.content) for item in pending if not item.is_deletion
        }
        packages = {item.package_id for item in pending if item.package_id}
        self._contents = known_records.last_contents(packages)
        """The contents of the objects that have written the packages last, by package."""

    def write(self, pending: PendingObject) -> list[str]:
        """Write the package of an object. The object becomes current in the same transaction.

        :returns: warnings about parts of the record that could not be kept.
        :raises ImportFailed: the record cannot be imported.
        :raises Exception: any error of CKAN's actions, and of other extensions' hooks in them.
        """
        if pending.is_deletion:
            _delete(pending, self._context())
            return []
        record = self._records[pending.id]
        if record is None:
            raise ImportFailed("the object holds no readable record; harvest the source again")
        _refuse_excess(record)
        laid = package_dict(record, self._sites[pending.package_type])
        laid.package["extras"].append({"key": "guid", "value": pending.guid})
        self._membership.add_to(laid.package, record, pending.extras.get("catalog_url", ""))
        package = self._package_of(pending)
        if package is None:
            refused = self._create(pending, laid.package, record)
        else:
            refused = self._update(pending, package, laid, record)
        return [*record.warnings, *laid.warnings, *refused]

    def _context(self) -> dict[str, Any]:
        return {**ckan_actions.context_of(self._user), "return_id_only": True}

    def _package_of(self, pending: PendingObject) -> Any | None:
        """Return the package that a record already has.

        A package that another source has taken over since this source was gathered does not count.
        """
        if pending.package_id is None:
            return None
        # Until this transaction ends, no other source can take it over.
        lock_packages([pending.package_id])
        package = model.Package.get(pending.package_id)
        if package is None or object_states.is_current_elsewhere(
            self._source_id, package.id, active_only=True
        ):
            return None
        return package

    def _before(
        self, package_id: str, laid: LaidOutRecord, site: CatalogSite
    ) -> LaidOutRecord | None:
        """Return a package as its source stated it at the previous harvest.

        :param laid: the package as its source states it now.
        :returns: None if another harvester did not keep that
        """
        text = self._contents.get(package_id)
        if text is None:
            # The source's history was cleared: what else the package has may be an editor's.
            return laid
        record = Record.from_json(text)
        return package_of_another(text) if record is None else package_dict(record, site)

    def _create(self, pending: PendingObject, package: dict[str, Any], record: Record) -> list[str]:
        """Create a package, and return a warning for each value that CKAN refuses."""
        if record.name is not None:
            plain = ckan_actions.own_name(record.name)
        else:
            plain = ckan_actions.plain_name(package["title"])
        names = ckan_actions.new_names(plain, pending.url, self._source_id)
        package["id"] = record.id
        ckan_actions.drop_taken_ids(package)
        # CKAN indexes before it commits. If the database goes away in between, Solr has a dataset that
        # does not exist. The same id makes the second attempt create that dataset.
        package["id"] = package.get("id") or str(uuid.uuid5(_PACKAGES, pending.id))
        package["resources"] = with_resource_ids(package["id"], package["resources"], {})

        def begin() -> dict[str, Any]:
            self._make_current(pending, package["id"], is_new=pending.is_new)
            return self._context()

        return ckan_actions.write("package_create", begin, package, package, names)

    def _update(
        self, pending: PendingObject, package: Any, laid: LaidOutRecord, record: Record
    ) -> list[str]:
        """Update a package, and return a warning for each value that CKAN refuses."""
        existing = tk.get_action("package_show")(
            {**self._context(), "use_cache": False}, {"id": package.id}
        )
        site = self._sites[pending.package_type]
        ckan_actions.drop_taken_ids(laid.package, package.id)
        before = self._before(package.id, laid, site)
        merged = merge(existing, laid, site.keep_fields, before=before)
        if self._membership.is_of_source(record) and "owner_org" in laid.package:
            merged["owner_org"] = laid.package["owner_org"]
        kept_ids = self._identify_resources(existing, merged)
        if package.state == "deleted" and "adopted" in pending.extras:
            merged["state"] = "active"

        def begin() -> dict[str, Any]:
            self._make_current(pending, package.id)
            if kept_ids:
                set_extras([(pending.id, RESOURCE_IDS, json.dumps(kept_ids, sort_keys=True))])
            return {**self._context(), "original_package": existing}

        if same_package(existing, merged):
            # An earlier import may have written the package and failed before Solr had it.
            begin()
            model.Session.commit()
            index_package(package.id)
            return []
        # What the source still states and CKAN refuses is not what the package has: an editor wrote that.
        as_before = before.package.items() if before else ()
        instead = {
            key: existing[key]
            for key, value in as_before
            if existing.get(key, value) != value == laid.package.get(key)
        }
        return ckan_actions.write("package_update", begin, merged, laid.package, instead=instead)

    def _identify_resources(
        self, existing: Mapping[str, Any], merged: dict[str, Any]
    ) -> dict[str, str]:
        """Give resources that come back their former ids.

        :returns: the ids to keep with the object, including those of earlier imports. Empty if no resource
            is removed whose id must be kept.
        """
        package_id = existing["id"]
        removed = ids_to_keep(package_id, existing["resources"], merged["resources"])
        if not removed and all(resource.get("id") for resource in merged["resources"]):
            return {}
        earlier = known_records.earlier_resource_ids(package_id)
        merged["resources"] = with_resource_ids(package_id, merged["resources"], earlier)
        return {**earlier, **removed} if removed else {}

    def _make_current(
        self, pending: PendingObject, package_id: str, *, is_new: bool = False
    ) -> None:
        if not object_states.make_current(pending, package_id, is_new=is_new):
            raise ImportFailed("its source was deleted or cleared, or another import was faster")
        self.marks |= indexing.mark([package_id])


def _delete(pending: PendingObject, context: dict[str, Any]) -> None:
    """Delete the package of a record that is gone. The same transaction clears ``current``.

    :raises ImportFailed: its job was aborted or its source deleted meanwhile.
    """
    lock_packages(filter(None, [pending.package_id]))
    source = harvest.source_row(pending.source_id)
    if source is None or not source.active:
        raise ImportFailed("its source was deleted meanwhile, so its datasets stay")
    if not harvest.is_unfinished(pending.job_id):
        raise ImportFailed(
            "its job was aborted meanwhile: the next one deletes it, should it still be gone"
        )
    package = model.Package.get(pending.package_id) if pending.package_id else None
    object_states.retire(pending)
    if (
        package is None
        or package.state == "deleted"
        or object_states.is_current_elsewhere(pending.source_id, package.id)
    ):
        model.Session.commit()
        return
    set_extras([(pending.id, ckan_actions.DELETED_AS_OF, package.metadata_modified.isoformat())])
    tk.get_action("package_delete")(context, {"id": package.id})


def _refuse_excess(record: Record) -> None:
    """Refuse a record with more parts than CKAN can write in a reasonable time.

    :raises ImportFailed: names the kind of the parts, with their number.
    """
    parts = {
        "fields": len(record.fields),
        "resources": len(record.resources),
        "fields of resources": sum(map(len, record.resources)),
        "tags": len(record.tags),
    }
    for kind, most in MOST_PARTS.items():
        if parts[kind] > most:
            words = f"it has {parts[kind]} {kind}, and at most {most} of a dataset are harvested"
            raise ImportFailed(words)
