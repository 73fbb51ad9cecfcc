"""A record of a source as plain data, in one canonical form whatever the order it was read in."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

RESOURCE_KEYS = frozenset(
    [
        *("access_rights", "access_services", "access_url", "applicable_legislation"),
        *("availability", "compress_format", "conforms_to", "description"),
        *("description_translated", "documentation", "download_url", "format", "has_policy"),
        *("hash", "hash_algorithm", "identifier", "issued", "language", "license", "mimetype"),
        *("modified", "name", "name_translated", "package_format", "publisher"),
        *("retention_period", "rights", "size", "spatial_resolution_in_meters", "status"),
        *("temporal_resolution", "uri", "url", "version"),
    ]
)
"""Every key that a harvested resource can have; the names are those of ckanext-dcat."""


@dataclass(slots=True)
class Record:
    """What a source says of one dataset or catalog, before anything of CKAN's decides where it goes.

    ``fields`` holds strings, numbers, booleans, lists of strings, lists of dictionaries, and, under
    ``*_translated``, dictionaries by language (``""`` for text without one). Lists come sorted from
    whoever makes the record, since RDF has no order.
    """

    fields: dict[str, Any] = field(default_factory=dict)
    resources: list[dict[str, Any]] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    """Keywords as the source writes them, not yet made legal for CKAN."""
    warnings: list[str] = field(default_factory=list)
    """What could not be used, in words for the source's editor."""
    unmapped: dict[str, str] = field(default_factory=dict)
    """Properties that no field has, by their names with prefixes, with an example of a value each."""
    name: str | None = None
    """What the source itself calls it, which CKAN's name follows; None where names are made of titles."""

    def as_json(self) -> str:
        """The record as text; equal records give equal texts."""
        return _canonical({**self._content(), "warnings": self.warnings, "unmapped": self.unmapped})

    @classmethod
    def from_json(cls, text: str) -> Record:
        """The record that `as_json` wrote.

        Raises ValueError where the text is something else.
        """
        data = json.loads(text)
        if not isinstance(data, dict) or not data.keys() >= {"fields", "resources", "tags"}:
            raise ValueError("this text holds no harvested record (fields, resources, tags)")
        return cls(
            data["fields"],
            data["resources"],
            data["tags"],
            data.get("warnings", []),
            data.get("unmapped", {}),
            data.get("name"),
        )

    def digest(self) -> str:
        """SHA-256 in hex of the content: equal while nothing that a package is made of changes.

        Warnings and unmapped properties are left out: they rewrite no package.
        """
        return sha256(_canonical(self._content()).encode("utf-8", "surrogatepass")).hexdigest()

    def _content(self) -> dict[str, Any]:
        content = {"fields": self.fields, "resources": self.resources, "tags": self.tags}
        return content if self.name is None else {**content, "name": self.name}


@dataclass(frozen=True, slots=True)
class LaidOutRecord:
    """A record laid out as a package for ``package_create``."""

    package: dict[str, Any]
    """Without ``id``, ``name`` and ``owner_org``, which are the caller's."""
    warnings: list[str]
    """What CKAN would have refused; what could not be read is in the record's own warnings."""
    filled: frozenset[str] = frozenset()
    """Keys that the source does not state: they yield to what an editor has written there."""


def resource_order(resource: dict[str, Any]) -> tuple[str, str, str]:
    """By name, since that is what people see; the rest makes the order the same each time."""
    name = str(resource.get("name", ""))
    return name.casefold(), str(resource.get("uri", "")), json.dumps(resource, sort_keys=True)


def _canonical(data: Any) -> str:
    return json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
