"""From a record to the dictionary that CKAN's package actions take, legal whatever the source states.

Keys of CKAN's core and of the site's ckanext-scheming schema become fields. All others become extras: texts
as they are, structures as JSON with sorted keys. Values that CKAN, PostgreSQL or Solr would refuse are
shortened or left out, with a warning. A single bad value never costs a dataset.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import ckan.plugins.toolkit as tk

from ...ckan_adapter.core import scheming_schema
from ...dates import utc_moment
from .. import legal_values
from ..legal_values import EMPTY, is_in_one_language, texts
from ..record import LaidOutRecord, Record
from ..source_config import SourceConfig
from .licenses import distinct, license_id, license_index
from .schema_fields import FieldValue, is_required

# The settings

PACKAGE_TYPES = ("dataset", "catalog")


@dataclass(frozen=True)
class CatalogSite:
    """The settings on which the packages of a type depend. If one changes, all records are imported again."""

    licenses: Mapping[str, str] = field(default_factory=dict)
    """The answer of ``license_list``, as :func:`.licenses.license_index` indexes it."""
    schema: Mapping[str, Any] | None = None
    """The ckanext-scheming schema of the package type (``dataset_fields``, ``resource_fields``)."""
    package_type: str = "dataset"
    default_tags: tuple[str, ...] = ()
    """Added to each package's tags."""
    default_groups: tuple[str, ...] = ()
    """Names of the groups that each package joins."""
    language: str = "en"
    """The language of text that states none."""
    keep_fields: tuple[str, ...] = ()
    """Fields of an existing package that no harvest changes."""


def catalog_site(config: SourceConfig, package_type: str) -> CatalogSite:
    """Return the settings for packages of a type that are harvested from a source."""
    # ckanext-harvest's own option for fields that no harvest overwrites.
    not_overwritten = tk.aslist(tk.config.get("ckan.harvest.not_overwrite_fields", ""))
    return CatalogSite(
        licenses=license_index(tk.get_action("license_list")({"ignore_auth": True}, {})),
        schema=scheming_schema(package_type),
        package_type=package_type,
        default_tags=config.default_tags,
        default_groups=config.default_groups,
        language=tk.config.get("ckan.locale_default"),
        keep_fields=(*config.keep_fields, *not_overwritten),
    )


# The layout

LAYOUT_VERSION = 2
"""Raise it when this module, or one that it uses, makes another package of the same record: the records of all
source types are then imported again."""

CORE_KEYS = frozenset(
    [
        *("title", "notes", "url", "version", "license_id"),
        *("author", "author_email", "maintainer", "maintainer_email"),
    ]
)
"""CKAN's own fields that a source may fill."""

RESERVED_KEYS = frozenset(
    [
        *("id", "name", "type", "state", "private", "owner_org", "organization", "groups"),
        *("tags", "tag_string", "resources", "extras", "plugin_data", "save", "return_to"),
        *("relationships_as_object", "relationships_as_subject"),
        *("metadata_created", "metadata_modified", "creator_user_id", "isopen"),
        *("license_title", "license_url", "num_resources", "num_tags", "revision_id"),
        *("site_id", "index_id", "entity_type", "dataset_type", "data_dict"),
        *("validated_data_dict", "permission_labels", "capacity", "indexed_ts"),
        *("views_total", "views_recent"),
        *("resources_accessed_total", "resources_accessed_recent"),
        *("guid", "harvest_object_id", "harvest_source_id", "harvest_source_title"),
    ]
)
"""Keys that a source may not fill: the other keys of CKAN's package schema, typed fields of Solr, and extras of
every harvested dataset.

CKAN refuses extras with these names ("a schema field with the same name"). As fields they would change
properties of the package that are not the source's business.
"""
RESERVED_RESOURCE_KEYS = frozenset(
    [
        *("id", "package_id", "position", "state", "created", "last_modified"),
        *("metadata_modified", "revision_id", "url_type", "upload", "tracking_summary"),
        *("datastore_active", "cache_last_updated"),
    ]
)


def package_dict(record: Record, site: CatalogSite) -> LaidOutRecord:
    """Return the package that a record becomes on a site. The record stays as it is."""
    return _Layout(site).lay(record)


def stated_keys(laid: LaidOutRecord) -> set[str]:
    """Return the fields and extras of a package that its record states."""
    keys = {*laid.package, *(extra["key"] for extra in laid.package["extras"])}
    return keys - laid.filled


def package_of_another(text: str | None) -> LaidOutRecord | None:
    """Return the package that another harvester has kept in its harvest object.

    ckanext-harvest's harvester of CKANs and ckanext-dcat's of RDF keep what their sources stated.

    :returns: None for any other text
    """
    try:
        kept = json.loads(text or "")
    except ValueError:
        return None
    if not isinstance(kept, dict) or not isinstance(kept.get("resources"), list):
        return None
    package = _stated(kept, RESERVED_KEYS)
    for key in ("extras", "tags", "resources"):
        package[key] = [one for one in kept.get(key) or () if isinstance(one, dict)]
    theirs = RESERVED_RESOURCE_KEYS - {"id"}
    package["resources"] = [_stated(one, theirs) for one in package["resources"]]
    return LaidOutRecord(package, [])


def _stated(values: Mapping[str, Any], reserved: Collection[str]) -> dict[str, Any]:
    return {
        key: value for key, value in values.items() if key not in reserved and value not in EMPTY
    }


class _Layout:
    """The layout of one package."""

    def __init__(self, site: CatalogSite) -> None:
        schema = site.schema or {}
        self.site = site
        self.dataset_fields = {f["field_name"]: f for f in schema.get("dataset_fields", ())}
        self.resource_fields = {f["field_name"]: f for f in schema.get("resource_fields", ())}
        self.languages = tuple(schema.get("form_languages") or (site.language,))
        self.warnings: list[str] = []

    def warn(self, key: str, words: str) -> None:
        self.warnings.append(f"{key}: {words}")

    def lay(self, record: Record) -> LaidOutRecord:
        fields = without_active_urls(legal_values.clean_all(record.fields), self.warn)
        resources = legal_values.clean_all(record.resources)
        self._complete(fields, record.tags)
        self._license(fields, resources)
        filled = people(fields, self.dataset_fields)
        filled = {key: value for key, value in filled.items() if key not in fields}
        fields |= filled

        package: dict[str, Any] = {"type": self.site.package_type}
        extras: dict[str, Any] = {}
        for key in sorted(_with_translated(fields, self.dataset_fields)):
            self._place(key, fields, package, extras)
        package["extras"] = [{"key": key, "value": extras[key]} for key in sorted(extras)]
        tags = map(legal_values.clean, record.tags)
        package["tags"] = legal_tags([*tags, *self.site.default_tags], self.warn)
        package["resources"] = [self._resource(resource) for resource in resources]
        if self.site.default_groups:
            package["groups"] = [{"name": name} for name in self.site.default_groups]
        return LaidOutRecord(package, self.warnings, frozenset(filled.keys() & package.keys()))

    def _complete(self, fields: dict[str, Any], tags: list[str]) -> None:
        """Fill in the fields that every package must have."""
        uri = legal_values.plain(fields.get("uri")) or ""
        end = uri.rstrip("/#").replace("#", "/").rpartition("/")[2]
        names = (fields.get("title"), fields.get("identifier"), end, uri, "Untitled")
        lines = (legal_values.one_line(legal_values.plain(name) or "") for name in names)
        fields["title"] = next(filter(None, lines))
        for key in ("notes", "notes_translated"):
            wanted = is_required(self.dataset_fields.get(key, {}))
            if wanted and fields.get("notes") in EMPTY:
                fields["notes"] = fields["title"]
                self.warn("notes", "the site's schema requires them; the title is used instead")
        if "tags_translated" in self.dataset_fields and tags:
            fields.setdefault("tags_translated", {"": tags})

    def _license(self, fields: dict[str, Any], resources: list[dict[str, Any]]) -> None:
        """Set ``license_id`` if the record has one licence that the site's register contains, and states no id.

        DCAT puts licences on distributions. If a dataset has none, the licence counts that all its resources
        agree on. Several licences are all kept under ``licenses``. Resources always keep their own.
        """
        if fields.get("license_id") not in EMPTY:
            return
        stated = distinct(texts(fields.get("license")))
        of_resources = [texts(resource.get("license")) for resource in resources]
        found = stated or distinct(text for texts in of_resources for text in texts)
        ids = {license_id(text, self.site.licenses) for text in found}
        # The resources keep their own texts, so that several names of one licence may count as one.
        if len(found) == 1 or (not stated and len(ids) == 1 and None not in ids):
            known = ids.pop()
            if known and (stated or all(of_resources)):
                fields["license_id"] = known
                fields.pop("license", None)
        elif found:
            fields["licenses"] = found
            fields.pop("license", None)
            listed = ", ".join(text[:80] for text in found)
            self.warn("license", f"the record names {len(found)}: {listed}; no license_id is set")

    def _place(
        self, key: str, fields: dict[str, Any], package: dict[str, Any], extras: dict[str, Any]
    ) -> None:
        """Put a field of the record into the package or into its extras."""
        if key in self.dataset_fields:
            value = self._fitted(self.dataset_fields[key], key, fields, "")
            value = within_solr(key, value, self.warn)
            if value not in EMPTY:
                package[key] = value
        elif key in CORE_KEYS:
            value = within_solr(key, legal_values.plain(fields[key]), self.warn)
            if value is not None:
                package[key] = value
        elif key in RESERVED_KEYS or not key.strip():
            self.warn(key, "CKAN keeps this key for itself; left out")
        else:
            value = None if is_in_one_language(key, fields[key]) else self._extra(key, fields[key])
            if value is not None:
                extras[key] = value

    def _fitted(
        self, schema_field: Mapping[str, Any], key: str, fields: dict[str, Any], where: str
    ) -> Any:
        base = key.removesuffix("_translated")
        value = fields.get(base)
        return FieldValue(
            schema_field,
            f"{where}: {key}" if where else key,
            fields.get(key) if value is None else value,
            fields.get(f"{base}_translated"),
            self.languages,
            self.warn,
        ).fitted()

    def _extra(self, key: str, value: Any) -> str | None:
        """Return the value of an extra: a text that Solr accepts; None if nothing is left."""
        if key.endswith("_date"):
            # These are dates in Solr, which refuses a package with any other value.
            moment = utc_moment(legal_values.plain(value) or "")
            if moment is None:
                self.warn(key, "not a day or a moment, as Solr wants under this key; left out")
            return moment
        return legal_values.stored(within_solr(key, value, self.warn))

    def _resource(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return a resource for CKAN. Structures that the schema does not declare become JSON texts."""
        where = f"resource {record.get('name') or record.get('uri') or record.get('url') or ''}"
        values = without_active_urls(record, self.warn, f"{where}: ")
        resource: dict[str, Any] = {"id": record["id"]} if record.get("id") else {}
        names = _with_translated(values, self.resource_fields) - RESERVED_RESOURCE_KEYS
        for key in sorted(names):
            if key in self.resource_fields and key != "url":
                value = self._fitted(self.resource_fields[key], key, values, where)
            elif key == "size":
                value = values[key]
            elif is_in_one_language(key, values[key]):
                continue
            else:
                value = legal_values.stored(values[key])
            if key == "size" and value not in EMPTY:
                value = legal_size(value, f"{where}: size", self.warn)
            elif key == "format":
                name = legal_values.one_line(str(value or ""))
                value = within_solr(f"{where}: format", name, self.warn)
            if value not in EMPTY:
                resource[self._resource_key(key)] = value
        urls = dict.fromkeys(
            str(resource.get(key, "")).strip() for key in ("url", "download_url", "access_url")
        )
        resource["url"] = legal_url(urls, f"{where}: url", self.warn)
        return resource

    def _resource_key(self, key: str) -> str:
        """Return the key of a resource's value.

        CKAN's templates take ``name_translated`` for a dictionary. Without a schema it is a JSON text, with
        which the dataset's page would fail.
        """
        plain = key.removesuffix("_translated")
        return key if plain == key or key in self.resource_fields else f"translated_{plain}"


def _with_translated(values: Mapping[str, Any], in_schema: Collection[str]) -> set[str]:
    """Return the keys of values, and the translated fields of the schema that only have a plain value."""
    translated = {key for key in in_schema if key.endswith("_translated")}
    return {*values, *(key for key in translated if key.removesuffix("_translated") in values)}


# Limits of CKAN, PostgreSQL and Solr, with a warning for each change

Warn = Callable[[str, str], None]
"""Called with the key of a value, and with words for people."""

_ONLY_WHOLE = frozenset(
    [
        *("url", "uri", "download_url", "access_url", "homepage"),
        *("spatial", "spatial_bbox", "spatial_centroid"),
    ]
)
"""Fields that are left out if they are too long: a part of an address or of a geometry is none."""
_PROSE = frozenset({"title", "notes", "name", "description"})
"""Fields whose text is never a link, whatever it begins with."""


def without_active_urls(values: dict[str, Any], warn: Warn, before: str = "") -> dict[str, Any]:
    """Leave out links that could run a program, at any depth.

    :param before: the beginning of each warning's key.
    """

    def is_active(value: Any, path: str) -> bool:
        active = isinstance(value, str) and legal_values.is_active_url(value)
        if active:
            warn(path, f'"{value[:80]}" is a link that could run a program; left out')
        return active

    out: dict[str, Any] = {}
    for key, value in values.items():
        path = f"{before}{key}"
        if key.removesuffix("_translated") in _PROSE:
            out[key] = value
        elif isinstance(value, dict):
            out[key] = without_active_urls(value, warn, f"{path}.")
        elif isinstance(value, list):
            out[key] = [
                without_active_urls(item, warn, f"{path}.") if isinstance(item, dict) else item
                for item in value
                if not is_active(item, path)
            ]
        elif not is_active(value, path):
            out[key] = value
    return out


def within_solr(key: str, value: Any, warn: Warn) -> Any:
    """Return the value if Solr accepts it, otherwise the part that can be kept; None if nothing."""
    size = legal_values.stored_bytes(value)
    if size <= legal_values.SOLR_BYTES:
        return value
    limit = f"{size} bytes, and Solr takes {legal_values.SOLR_BYTES}"
    if key == "notes" and isinstance(value, str):
        return value  # Solr indexes its words, not the whole text
    if isinstance(value, str) and key not in _ONLY_WHOLE:
        warn(key, f"{limit}; shortened")
        return legal_values.shorten(value)
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return _without_biggest(key, value, warn)
    if isinstance(value, dict) and all(isinstance(text, str) for text in value.values()):
        warn(key, f"{limit}; shortened")
        # An equal share for each language. A character of two bytes in UTF-8 may take six in JSON.
        share = legal_values.SOLR_BYTES // len(value) // 4
        return {language: legal_values.shorten(text, share) for language, text in value.items()}
    warn(key, f"{limit}; left out")
    return None


def _without_biggest(key: str, items: list[dict[str, Any]], warn: Warn) -> list[dict[str, Any]]:
    """Remove the biggest values of the items, usually geometries, so that the rest fits into Solr."""
    sizes = sorted(
        (legal_values.stored_bytes({name: value}), index, name)
        for index, item in enumerate(items)
        for name, value in item.items()
    )
    total = itertools.accumulate(size for size, _, _ in sizes)
    gone = [one for one, size in zip(sizes, total, strict=True) if size > legal_values.SOLR_BYTES]
    # One warning for each name, with the size of its biggest value.
    for name, index in {name: index for _, index, name in gone}.items():
        size = legal_values.stored_bytes(items[index][name])
        warn(f"{key}.{name}", f"{size} bytes are more than Solr takes; left out")
    places = {(index, name) for _, index, name in gone}
    kept = (
        {name: value for name, value in item.items() if (index, name) not in places}
        for index, item in enumerate(items)
    )
    return list(filter(None, kept))


def legal_tags(texts: Iterable[str], warn: Warn) -> list[dict[str, str]]:
    """Return keywords as tags that CKAN takes."""
    names, changed = legal_values.tags(texts)
    for text, name in changed.items():
        became = f'becomes "{name}"' if name else "has fewer than two letters or digits; left out"
        warn("tags", f'"{text[:80]}" {became}')
    return [{"name": name} for name in names]


def legal_url(urls: Iterable[str], key: str, warn: Warn) -> str:
    """Return the first of some URLs that CKAN and Solr accept; "" if there is none."""
    for url in filter(None, urls):
        shown = legal_values.shown_url(url)
        if shown is None:
            warn(key, f'"{url[:80]}" is no URL that CKAN can read; left out')
        elif legal_values.stored_bytes(shown) > legal_values.SOLR_BYTES:
            warn(key, f"longer than the {legal_values.SOLR_BYTES} bytes that Solr takes")
        else:
            return shown
    return ""


def legal_size(size: Any, key: str, warn: Warn) -> int | None:
    """Return a number of bytes that PostgreSQL takes; None if the value is none."""
    try:
        number = int(size)
    except (TypeError, ValueError, OverflowError):
        number = -1
    if 0 <= number <= legal_values.BIGGEST_INTEGER:
        return number
    warn(key, f'"{str(size)[:80]}" is not a number of bytes; left out')
    return None


# People

_AGENTS: Mapping[str, tuple[str, ...]] = {
    "maintainer": ("contact",),
    "author": ("creator", "publisher"),
}
"""Fields of CKAN for people, each with the fields of a record that can fill it, the best first.

``<field>_email`` is the e-mail address of the same agent.
"""

PEOPLE_KEYS = frozenset(name for key in _AGENTS for name in (key, f"{key}_email"))
"""Every key that :func:`people` can fill."""


def people(fields: Mapping[str, Any], in_schema: Collection[str] = ()) -> dict[str, str]:
    """Return names and e-mail addresses for CKAN's fields ``maintainer`` and ``author``.

    :param fields: the fields of a record, or the extras of a package, whose lists are JSON texts.
    :param in_schema: the fields of the site's schema. An agent that has a field there fills no other.
    """
    found: dict[str, str] = {}
    for key, origins in _AGENTS.items():
        if any(origin in in_schema for origin in origins):
            continue
        agent = next(filter(None, (_first_agent(fields, origin) for origin in origins)), {})
        for name, part in ((key, "name"), (f"{key}_email", "email")):
            if agent.get(part):
                found[name] = str(agent[part])
    return found


def _first_agent(fields: Mapping[str, Any], origin: str) -> dict[str, Any]:
    """Return the first agent with name and e-mail address, otherwise the first with either.

    Without a schema, ckanext-dcat's profiles have an extra for each fact about a single agent.
    """
    flat = {part: fields.get(f"{origin}_{part}") for part in ("name", "email")}
    if any(flat.values()):
        return flat
    known = [agent for agent in legal_values.as_list(fields.get(origin)) if isinstance(agent, dict)]
    complete = (agent for agent in known if agent.get("name") and agent.get("email"))
    partial = (agent for agent in known if agent.get("name") or agent.get("email"))
    return next(complete, None) or next(partial, {})
