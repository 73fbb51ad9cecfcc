"""A harvested record as a package: created, updated or deleted through CKAN's actions."""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import ckan.plugins.toolkit as tk

from ..ckan_adapter import harvesting_user, model, rebuild
from . import dataset_names, object_states, owners, resource_ids
from .licenses import license_index
from .locks import locked
from .object_states import PendingObject
from .object_writer import RESOURCE_IDS, set_extras
from .organizations import OrganizationInUse, OrganizationWriter
from .package_layout import CatalogSite, package_dict
from .package_merge import merge, same_package
from .record import LaidOutRecord, Record
from .source_config import SourceConfig, parse
from .source_types import source_type_named
from .strategy import guid_of

_PACKAGES = uuid.UUID("6f1d7a34-9d0c-4c53-8f0e-3f5b1f1c2a77")
"""Namespace of the ids of packages, each made from the id of the object that created it."""


class ImportFailed(Exception):
    """A record that cannot be imported; the text says why, for people."""


class PackageWriter:
    """Writes the packages of some objects of one source; what they have in common is read once."""

    def __init__(self, source: Any, pending: Sequence[PendingObject]) -> None:
        """
        :param source: the HarvestSource.
        :param pending: the objects that are going to be written.
        """
        package = model.Package.get(source.id)
        self._source_id = source.id
        self._source_is_active = source.active
        self._owner_org = package.owner_org if package else None
        self._config, _warnings = parse(source.config)
        self._user = harvesting_user()
        source_type = source_type_named(source.type)
        if source_type is None:
            raise ImportFailed(f"no enabled plugin harvests sources of the type {source.type}")
        self._owned_keys = source_type.owned_keys
        self._organizations: OrganizationWriter | None = None
        if source_type.organizations:
            self._organizations = OrganizationWriter(source.id, self._plain_context)
        self._owners: dict[str, str] = {}
        self._urls = {one.url for one in pending}
        self._sites: dict[str, CatalogSite] = {}
        self._before: dict[str, Record] = {}
        if self._organizations is not None:
            self._before = _records(object_states.earlier_contents([one.id for one in pending]))
        self._records = {one.id: _record(one) for one in pending if not one.is_deletion}
        self._earlier = object_states.earlier_packages(
            source.id,
            {
                one.url: (one.url, one.extras.get("subject", one.url))
                for one in pending
                if one.package_id is None
            },
        )
        self._plain_names = {
            one.id: _plain_name(self._records[one.id])
            for one in pending
            if one.id in self._records and one.package_id is None
        }
        self._names_used = dataset_names.taken(self._plain_names.values())

    def write(self, pending: PendingObject) -> list[str]:
        """Write one object's package; the object is current in the same transaction.

        :returns: warnings about what of the record could not be kept.
        :raises ImportFailed: the object holds no record.
        :raises Exception: whatever CKAN's actions and the hooks in them raise.
        """
        if pending.is_deletion:
            return self._delete(pending)
        record = self._records[pending.id]
        if record is None:
            raise ImportFailed("the object holds no readable record; harvest the source again")
        if self._organizations is not None and pending.package_type == "catalog":
            self._organizations.write(pending, record, self._before.get(pending.id))
            return list(record.warnings)
        laid = package_dict(record, self._site(pending.package_type))
        laid.package["extras"].append({"key": "guid", "value": pending.guid})
        if owner := self._owner_of(pending):
            laid.package["owner_org"] = owner
        package = self._package_of(pending)
        if package is None:
            self._create(pending, laid.package)
        else:
            self._update(pending, package, laid, record)
        return [*record.warnings, *laid.warnings]

    def _site(self, package_type: str) -> CatalogSite:
        if package_type not in self._sites:
            self._sites[package_type] = _site(self._config, package_type)
        return self._sites[package_type]

    def _owner_of(self, pending: PendingObject) -> str | None:
        """The organization that owns a dataset: the source's own, or what its organisation became.

        :raises ImportFailed: its organisation has become none.
        """
        if self._organizations is None:
            return self._owner_org
        url = pending.extras.get("catalog_url", "")
        guid = guid_of(url, None)
        if guid not in self._owners:
            self._owners |= owners.organizations(self._source_id, [guid])
        # One of this page has been imported, or has failed.
        if guid not in self._owners and url not in self._urls:
            # Another consumer may be about to import it, or may have to after this one.
            with locked(f"record {self._source_id} {url}"):
                model.Session.commit()
                self._owners |= owners.organizations(self._source_id, [guid])
                if guid not in self._owners:
                    self._import_owner(guid)
                    self._owners |= owners.organizations(self._source_id, [guid])
        if guid not in self._owners:
            raise ImportFailed(f"its organisation {url} could not be imported")
        return self._owners[guid]

    def _import_owner(self, guid: str) -> None:
        waiting = owners.waiting_object(self._source_id, guid)
        for one in object_states.load([waiting] if waiting else []):
            record = _record(one)
            if record is not None and not one.is_deletion and self._organizations is not None:
                self._organizations.write(one, record, None)

    def _plain_context(self) -> dict[str, Any]:
        return {
            "model": model,
            "session": model.Session,
            "user": self._user.name,
            "auth_user_obj": self._user,
            "ignore_auth": True,
        }

    def _context(self) -> dict[str, Any]:
        return {**self._plain_context(), "return_id_only": True}

    def _package_of(self, pending: PendingObject) -> Any | None:
        """The package that a record already has: its object's, an adopted one, or an earlier one.

        A record that comes back after it was deleted gets its old dataset, with its id and name.
        """
        known = (pending.package_id, pending.extras.get("adopted"), self._earlier.get(pending.url))
        for package_id in known:
            package = model.Package.get(package_id) if package_id else None
            if package is not None and not self._is_taken(package.id):
                return package
        return None

    def _is_taken(self, package_id: str) -> bool:
        """Whether another source has taken the package over since this one was gathered."""
        return object_states.is_current_elsewhere(package_id, self._source_id, active_only=True)

    def _create(self, pending: PendingObject, package: dict[str, Any]) -> None:
        plain = self._plain_names.get(pending.id) or dataset_names.plain_name(package["title"])
        candidates = dataset_names.candidates(plain, pending.url, self._source_id, self._names_used)
        # CKAN indexes before it commits: should the database be away between the two, Solr has a
        # dataset that nobody else knows. The second attempt then makes that very dataset.
        package["id"] = str(uuid.uuid5(_PACKAGES, pending.id))
        package["resources"] = resource_ids.identified(package["id"], package["resources"], {})
        for name in candidates:
            package["name"] = name
            self._names_used.add(name)
            self._make_current(pending, package["id"], is_new=pending.is_new)
            try:
                tk.get_action("package_create")(self._context(), dict(package))
                return
            except tk.ValidationError as error:
                model.Session.rollback()
                # Somebody else may have taken the name between the look and the write.
                if set(error.error_dict) != {"name"} or name == candidates[-1]:
                    raise

    def _update(
        self, pending: PendingObject, package: Any, laid: LaidOutRecord, record: Record
    ) -> None:
        existing = tk.get_action("package_show")(
            {**self._context(), "use_cache": False}, {"id": package.id}
        )
        keep = (*self._config.keep_fields, *_not_overwritten())
        owned = self._owned_keys
        if before := self._before.get(pending.id):
            owned |= before.fields.keys()
        merged = merge(existing, laid, keep, owned=owned)
        if self._organizations is not None:
            merged["owner_org"] = laid.package["owner_org"]
        if record.name is not None and "name" not in keep:
            merged["name"] = self._name_for(record.name, pending.url, existing["name"])
        gone = self._identify_resources(existing, merged)
        comes_back = pending.package_id is None or "adopted" in pending.extras
        if package.state == "deleted" and comes_back:
            merged["state"] = "active"
        self._make_current(pending, package.id)
        if gone:
            set_extras([(pending.id, RESOURCE_IDS, json.dumps(gone, sort_keys=True))])
        if same_package(existing, merged):
            # An earlier attempt may have written the package and died before Solr had it.
            model.Session.commit()
            rebuild([package.id])
            return
        context = {**self._context(), "original_package": existing}
        tk.get_action("package_update")(context, merged)

    def _identify_resources(
        self, existing: Mapping[str, Any], merged: dict[str, Any]
    ) -> dict[str, str]:
        """Give resources that come back their ids.

        :returns: ids to be remembered, those of earlier imports among them; none if there is no new one.
        """
        package_id = existing["id"]
        going = resource_ids.gone(package_id, existing["resources"], merged["resources"])
        if not going and all(one.get("id") for one in merged["resources"]):
            return {}
        before = resource_ids.remembered_ids(package_id)
        merged["resources"] = resource_ids.identified(package_id, merged["resources"], before)
        return {**before, **going} if going else {}

    def _name_for(self, source_name: str, url: str, now: str) -> str:
        """The name that follows the source's; the one it has is kept while it still says the same."""
        plain = dataset_names.own_name(source_name)
        wanted = dataset_names.candidates(plain, url, self._source_id, ())
        if now in wanted:
            return now
        used = dataset_names.taken(wanted) | self._names_used
        return next((name for name in wanted if name not in used), now)

    def _delete(self, pending: PendingObject) -> list[str]:
        """Delete the package of a record that is gone; ``current`` is cleared with it.

        :returns: warnings.
        """
        if not self._source_is_active:
            raise ImportFailed(
                "its source was deleted meanwhile: nothing of it is deleted any more"
            )
        if object_states.is_of_an_ended_job(pending.id):
            raise ImportFailed(
                "its job was aborted meanwhile: the next one deletes it, should it still be gone"
            )
        if self._organizations is not None and pending.package_type == "catalog":
            try:
                return self._organizations.delete(pending)
            except OrganizationInUse as error:
                raise ImportFailed(str(error)) from error
        package_id = pending.package_id
        package = model.Package.get(package_id) if package_id else None
        object_states.retire(pending.id, self._source_id, pending.guid, package_id)
        if (
            package is None
            or package.state == "deleted"
            or object_states.is_current_elsewhere(package.id, self._source_id)
        ):
            model.Session.commit()
            return []
        tk.get_action("package_delete")(self._context(), {"id": package.id})
        return []

    def _make_current(
        self, pending: PendingObject, package_id: str, *, is_new: bool = False
    ) -> None:
        object_states.make_current(
            pending.id, self._source_id, pending.guid, package_id, is_new=is_new
        )


def _record(pending: PendingObject) -> Record | None:
    try:
        return Record.from_json(pending.content or "")
    except ValueError:
        return None


def _records(contents: Mapping[str, str]) -> dict[str, Record]:
    """Those that can be read."""
    found = {}
    for object_id, content in contents.items():
        with contextlib.suppress(ValueError):
            found[object_id] = Record.from_json(content)
    return found


def _plain_name(record: Record | None) -> str | None:
    if record is None:
        return None
    if record.name is not None:
        return dataset_names.own_name(record.name)
    return dataset_names.plain_name(str(record.fields.get("title", "")))


def _site(config: SourceConfig, package_type: str) -> CatalogSite:
    licenses = tk.get_action("license_list")({"ignore_auth": True}, {})
    return CatalogSite(
        licenses=license_index(licenses),
        schema=_scheming_schema(package_type),
        package_type=package_type,
        default_tags=config.default_tags,
        default_groups=config.default_groups,
        language=config.language or tk.config.get("ckan.locale_default"),
    )


def _scheming_schema(package_type: str) -> Mapping[str, Any] | None:
    """The site's schema of a package type, where ckanext-scheming is in use and has one."""
    try:
        show = tk.get_action("scheming_dataset_schema_show")
    except KeyError:
        return None
    try:
        return show({"ignore_auth": True}, {"type": package_type})
    except tk.ObjectNotFound:
        return None


def _not_overwritten() -> list[str]:
    """ckanext-harvest's option for fields that no harvest writes once a dataset exists."""
    return tk.aslist(tk.config.get("ckan.harvest.not_overwrite_fields") or [])
