"""What a registry of IATI's has: reporting organisations, their datasets, and the files of these."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_IDS = uuid.UUID("8f4c3a52-3d0f-4f0e-9d2c-6a1f0a7b9c11")


def registry_id(kind: str, name: str) -> str:
    """An id as registries give them: the same for the same kind and first name."""
    return str(uuid.uuid5(_IDS, f"{kind} {name}"))


@dataclass(slots=True)
class Organisation:
    """A reporting organisation.

    :ivar id: stays when the name changes
    :ivar fields: further fields of the registry's, such as organisation_identifier
    """

    id: str
    name: str
    title: str
    fields: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def named(cls, name: str, **fields: Any) -> Organisation:
        """An organisation with the fields that every one has."""
        usual = {
            "organisation_identifier": f"XM-TEST-{name.upper()}",
            "hq_country": "KE",
            "organisation_type": "21",
            "reporting_source_type": "primary_source",
        }
        title = name.replace("_", " ").title().replace(" Of ", " of ")
        return cls(registry_id("organisation", name), name, title, {**usual, **fields})


@dataclass(slots=True)
class Dataset:
    """A dataset, which has one file.

    :ivar id: stays when the name changes
    :ivar organisation_id: of its reporting organisation
    :ivar url: of the file; None: the server's own
    :ivar edition: of the file: another one has other bytes
    :ivar generated: what the file says of when it was made; with another one only the hash without
        that attribute is the same
    :ivar has_validators: whether the file is served with ETag and Last-Modified
    :ivar status: that the file is served with
    :ivar body: the file's bytes, instead of generated ones
    """

    id: str
    name: str
    organisation_id: str
    filetype: str = "activity"
    license_id: str = "odc-by"
    url: str | None = None
    edition: int = 1
    generated: str = "2026-01-01T00:00:00Z"
    has_validators: bool = True
    status: int = 200
    body: bytes | None = None

    def contents(self) -> bytes:
        """The file's bytes."""
        return iati_file(self) if self.body is None else self.body


def iati_file(dataset: Dataset) -> bytes:
    """A small IATI file, not all of it ASCII, that differs by dataset, edition and moment."""
    root, one = {
        "organisation": ("iati-organisations", "iati-organisation"),
    }.get(dataset.filetype, ("iati-activities", "iati-activity"))
    items = "\n".join(
        f"  <{one}>\n    <iati-identifier>{dataset.name}-{number}</iati-identifier>\n"
        f"    <title><narrative>Santé, eau n° {number + dataset.edition}</narrative></title>\n"
        f"  </{one}>"
        for number in range(1, 6)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<{root} version="2.03" generated-datetime="{dataset.generated}">\n'
        f"{items}\n</{root}>\n"
    ).encode()


@dataclass(slots=True)
class Registry:
    """All that is registered. Both by id; may be changed at any time."""

    organisations: dict[str, Organisation] = field(default_factory=dict)
    datasets: dict[str, Dataset] = field(default_factory=dict)

    def add_organisation(self, name: str, **fields: Any) -> Organisation:
        """Register an organisation."""
        one = Organisation.named(name, **fields)
        self.organisations[one.id] = one
        return one

    def add_dataset(self, organisation: Organisation, name: str, **values: Any) -> Dataset:
        """Register a dataset, as `{organisation}-{name}`."""
        full = f"{organisation.name}-{name}"
        one = Dataset(registry_id("dataset", full), full, organisation.id, **values)
        self.datasets[one.id] = one
        return one

    def remove(self, *ones: Organisation | Dataset) -> None:
        """Take some out of the registry."""
        for one in ones:
            if isinstance(one, Dataset):
                del self.datasets[one.id]
            else:
                del self.organisations[one.id]


def sample(organisations: int = 3, datasets: int = 12) -> Registry:
    """A registry of some organisations that have some datasets in all, in turn."""
    registry = Registry()
    for number in range(organisations):
        registry.add_organisation(_NAMES[number] if number < len(_NAMES) else f"org_{number}")
    owners = list(registry.organisations.values())
    for number in range(datasets):
        owner = owners[number % len(owners)]
        kind = "organisation" if number < len(owners) else "activity"
        registry.add_dataset(owner, f"{_KINDS[kind]}{number // len(owners) + 1}", filetype=kind)
    return registry


_NAMES = ("water_for_all", "ministry_of_health", "fonds_vert")
_KINDS: Mapping[str, str] = {"organisation": "org", "activity": "act"}
