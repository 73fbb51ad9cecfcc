"""Packages as Solr has them, for index updates that need neither ``package_show`` nor a validation.

Solr stores the package from which CKAN made a document (``data_dict``). If only values that this extension
writes have changed since, the stored package with the present values is what CKAN would index. To read and
validate it again takes most of the time of an index update.

A package is indexed in the ordinary way if it is uncertain that the stored one is the present one: see
:func:`_is_present` and :func:`_can_be_reused`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import ckan.plugins as p
import ckan.plugins.toolkit as tk
import pysolr
import sqlalchemy as sa
from ckan import model
from ckan.lib.search import query as search_query
from ckan.logic import converters, validators

from .extras import PACKAGE_EXTRAS
from .forms import has_default_form
from .version import IS_2_12, version_is_among

OWN_COLUMNS = ("last_modified", "size", "mimetype", "hash")
"""The columns of a resource that this extension writes by SQL."""

KNOWN = ("activity", "datastore", "dcat", "freshness.plugin", "harvest")
HOOKS = ("ckan.", *(f"ckanext.{name}." for name in KNOWN))
"""The beginnings of modules whose hooks are known: what they add to a package does not depend on the values
that this extension writes, and stays right as long as the package does."""


def versions(package_ids: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """Wait for edits under way, and return a value for each package that changes when the package is written.

    It ends the transaction. Statuses, results of checks and changes of groups do not move
    ``metadata_modified``.
    """
    rows = model.Session.execute(sa.text(_VERSIONS), {"ids": list(package_ids)}).all()
    model.Session.commit()
    return {row.id: tuple(row) for row in rows}


def present_packages(package_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the packages whose stored document is up to date except for our values, with the present values.

    Nothing is locked: a hook could wait for the lock of its own package. Compare :func:`versions` of before
    with those after Solr has the documents.

    :returns: packages by id, as :func:`.solr.index_present` takes them. The others are to be indexed in the
        ordinary way.
    """
    if not _can_be_reused():
        return {}
    rows = model.Session.execute(sa.text(_PRESENT), {"ids": list(package_ids)}).all()
    usual = [row for row in rows if has_default_form(row.type)]
    try:
        stored = _stored([row.id for row in usual])
    except (pysolr.SolrError, OSError):
        # The ordinary way says what is wrong.
        return {}
    return {
        row.id: _with_values(stored[row.id], row)
        for row in usual
        if row.id in stored and _is_present(stored[row.id], row)
    }


def _can_be_reused() -> bool:
    """Decide whether all that the plugins' hooks have added to stored packages is known.

    CKAN 2.12 stores what ``after_dataset_show`` adds apart, and :func:`.solr.index_present` calls it again.
    """
    hooks = {"before_resource_show": p.IResourceController}
    if not IS_2_12:
        hooks["after_dataset_show"] = p.IPackageController
    return (
        version_is_among(("2.11", "2.12"))
        and all(
            f"{getattr(type(plugin), name).__module__}.".startswith(HOOKS)
            for name, interface in hooks.items()
            for plugin in p.PluginImplementations(interface)
        )
        and not _has_other_validators()
    )


def _has_other_validators() -> bool:
    """Decide whether a plugin replaces a validator of CKAN, whose results may depend on our values."""
    return any(
        hasattr(module, name)
        for plugin in p.PluginImplementations(p.IValidators)
        for name in plugin.get_validators()
        for module in (validators, converters)
    )


def _stored(package_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return packages as Solr has them, by id."""
    if not package_ids:
        return {}
    ids = " OR ".join(json.dumps(package_id) for package_id in package_ids)
    found = search_query.make_connection(decode_dates=False).search(
        "*:*",
        fq=[
            f"id:({ids})",
            f"site_id:{json.dumps(tk.config['ckan.site_id'])}",
            "+entity_type:package",
        ],
        fl="id,data_dict",
        rows=len(package_ids),
        search_method="POST",
    )
    packages = {each["id"]: json.loads(each.get("data_dict") or "{}") for each in found.docs}
    # CKAN 2.11 stores the validated package inside the other: none of its documents serve CKAN 2.12.
    return {
        package_id: package
        for package_id, package in packages.items()
        if "metadata_modified" in package and ("validated_data_dict" in package) != IS_2_12
    }


def _is_present(stored: Mapping[str, Any], row: Any) -> bool:
    """Decide whether a stored package has all that the database has, except the values that we write.

    Not all changes move ``metadata_modified``. Those of organizations, groups, tags, licences and the site's
    URL, and of what plugins write into resources by SQL, such as ``datastore_active``, are compared.
    """
    organization = stored.get("organization")
    resources = stored.get("resources", [])
    site_url = tk.config["ckan.site_url"]
    return (
        not row.has_relationships
        and stored["metadata_modified"] == row.metadata_modified.isoformat()
        and all(stored.get(key) == getattr(row, key) for key in _COMPARED)
        and (organization and [organization[key] for key in _OF_ORGANIZATIONS]) == row.organization
        and sorted([group[key] for key in _OF_GROUPS] for group in stored["groups"])
        == sorted(row.groups or [])
        and sorted(tag["name"] for tag in stored["tags"]) == sorted(row.tags or [])
        and _has_present_licence(stored)
        and all(
            resource["url"].startswith(site_url)
            for resource in resources
            if resource.get("url_type") == "upload"
        )
        and [resource["id"] for resource in resources] == [each[0] for each in row.resources or []]
        and all(
            resource.get(key) == value
            for resource, (*_, extras) in zip(resources, row.resources or [], strict=True)
            for key, value in json.loads(extras or "{}").items()
        )
    )


def _has_present_licence(stored: Mapping[str, Any]) -> bool:
    """Decide whether a stored package describes its licence as the site's list of licences does."""
    licence = model.Package.get_license_register().get(stored.get("license_id"))
    if licence is None:
        return stored.get("license_url") is None and not stored["isopen"]
    return (
        stored.get("license_title") == licence.title.split("::")[-1]
        and stored.get("license_url") == (licence.url or None)
        and stored["isopen"] == bool(licence.isopen())
    )


def _with_values(stored: dict[str, Any], row: Any) -> dict[str, Any]:
    """Put the present extras, and the columns of resources that we write, into a stored package."""
    stored.pop("validated_data_dict", None)
    stored["extras"] = _extras(row.extras)
    for resource, (_, *values, _extras_of_resource) in zip(
        stored["resources"], row.resources or [], strict=True
    ):
        resource |= zip(OWN_COLUMNS, values, strict=True)
    return stored


def _extras(stored: Any) -> list[dict[str, Any]]:
    """Return extras as ``package_show`` returns them without validation."""
    if IS_2_12:
        return [{"key": key, "value": value} for key, value in (stored or {}).items()]
    return sorted(stored or [], key=lambda extra: str(extra["key"]))


def _columns(table: str, names: Sequence[str]) -> str:
    return ", ".join(f"{table}.{name}" for name in names)


_COMPARED = ("name", "type", "state", "private", "owner_org")
_OF_ORGANIZATIONS = ("name", "title", "description", "image_url")
_OF_GROUPS = ("id", "name", "title", "description")
_EXTRAS = (
    PACKAGE_EXTRAS
    if IS_2_12
    else "(SELECT jsonb_agg(to_jsonb(e)) FROM package_extra e WHERE e.package_id = p.id AND e.state = 'active')"
)
_GROUPS = """
FROM member m JOIN "group" g ON g.id = m.group_id
WHERE m.table_id = p.id AND m.state = 'active' AND NOT g.is_organization"""
_RESOURCES = "FROM resource r WHERE r.package_id = p.id AND r.state = 'active'"
# Solr's stored date, and dates of CKAN's dictionaries, are texts of this form.
_ISO = """to_char(r.last_modified, 'YYYY-MM-DD"T"HH24:MI:SS')
|| CASE date_part('microseconds', r.last_modified)::bigint % 1000000
    WHEN 0 THEN '' ELSE to_char(r.last_modified, '.US') END"""
_PRESENT = f"""
SELECT p.id, p.metadata_modified, {_columns("p", _COMPARED)}, {_EXTRAS} AS extras,
    (SELECT jsonb_build_array({_columns("g", _OF_ORGANIZATIONS)}) FROM "group" g
     WHERE g.id = p.owner_org AND g.state = 'active') AS organization,
    (SELECT jsonb_agg(jsonb_build_array({_columns("g", _OF_GROUPS)})) {_GROUPS}) AS groups,
    (SELECT jsonb_agg(t.name) FROM package_tag x JOIN tag t ON t.id = x.tag_id
     WHERE x.package_id = p.id AND x.state = 'active') AS tags,
    (SELECT jsonb_agg(
        jsonb_build_array(r.id, {_ISO}, r.size, r.mimetype, r.hash, r.extras) ORDER BY r.position
    ) {_RESOURCES}) AS resources,
    EXISTS (SELECT 1 FROM package_relationship x
            WHERE x.subject_package_id = p.id OR x.object_package_id = p.id) AS has_relationships
FROM package p WHERE p.id = ANY(:ids)"""
_VERSIONS = f"""
SELECT p.id, p.metadata_modified, p.private, p.owner_org, md5(CAST({_EXTRAS} AS text)) AS extras,
    (SELECT md5(string_agg(m.id, ' ' ORDER BY m.id)) {_GROUPS}) AS groups,
    (SELECT md5(string_agg(
        concat_ws(' ', r.id, r.last_modified, r.size, r.mimetype, r.hash, r.extras), ' ' ORDER BY r.id
    )) {_RESOURCES}) AS resources
FROM package p WHERE p.id = ANY(:ids) ORDER BY p.id FOR SHARE OF p"""
