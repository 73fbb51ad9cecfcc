"""A small registry, its source, and cycles as the commands run them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from ckan import model

from ckanext.freshness.checking.stored_values import read
from ckanext.freshness.copies import store_keys
from ckanext.freshness.copies.store import Store
from ckanext.freshness.harvesters import harvest_here
from ckanext.freshness.model import Copy
from ckanext.freshness.runs import copies
from ckanext.freshness.tests.harvesting.conftest import Harvest, add_source
from ckanext.freshness_iati import cycle, publication
from ckanext.freshness_iati.model import IatiDataset
from ckanext.freshness_iati.report import CycleReport
from ckanext.freshness_iati.rules import FileState, GoodDownload
from ckanext.freshness_iati.tests.servers.registry import RegistryServer
from ckanext.freshness_iati.tests.servers.registry_model import Dataset
from ckanext.harvest import model as harvest_model


@dataclass
class Site:
    """A site with one registry source.

    :ivar now: the time in it, which tests move
    """

    server: RegistryServer
    harvest: Harvest
    now: datetime = field(default_factory=lambda: datetime.now(timezone.utc).replace(microsecond=0))

    @classmethod
    def of(cls, server: RegistryServer) -> Site:
        """Create a source of a registry with three datasets, one of which may go without an approval."""
        harvest = add_source(server.url, source_type="iati_registry", max_delete_fraction=0.5)
        return cls(server, harvest)

    @property
    def source_id(self) -> str:
        return str(self.harvest.source["id"])

    def unregister(self, dataset: Dataset) -> None:
        """Take a dataset out of the registry, as yesterday's job has found: it has no page that could tell."""
        self.server.registry.remove(dataset)
        harvest_here(self.source_id)
        self.harvest.wait_a_day()

    def later(self, **span: float) -> Site:
        """Move the time on."""
        self.now += timedelta(**span)
        return self

    def update(self, *, harvest: bool = True, **options_: Any) -> CycleReport:
        """Run a cycle."""
        model.Session.remove()
        source = harvest_model.HarvestSource.get(self.source_id)
        try:
            reading = harvest_here if harvest else None
            return cycle.run_cycle(source, lambda: self.now, harvest=reading, **options_)
        finally:
            model.Session.remove()

    @property
    def store(self) -> Store:
        return copies.store()

    def row(self, dataset: Dataset) -> Any:
        """Return the row of a dataset."""
        found = model.Session.query(IatiDataset).filter_by(
            source_id=self.source_id, dataset_id=dataset.id
        )
        return found.one_or_none()

    def state(self, dataset: Dataset) -> FileState:
        """Return the stored state of a dataset's file."""
        return read(FileState, self.row(dataset).state)

    def good(self, dataset: Dataset) -> GoodDownload:
        """Return the last known good download of a dataset."""
        good = self.state(dataset).good
        assert good is not None
        return good

    def copy(self, dataset: Dataset) -> Any:
        """Return the row of a dataset's copy."""
        row = self.row(dataset)
        return row and model.Session.query(Copy).get(row.resource_id)

    def bytes_of(self, dataset: Dataset) -> bytes | None:
        """Return the bytes of a dataset's copy; None if they are not stored."""
        copy = self.copy(dataset)
        if copy is None or copy.key is None or self.store.size(copy.key) is None:
            return None
        return self.read(copy.key)

    def read(self, key: str) -> bytes:
        reader = self.store.open(key)
        try:
            return b"".join(reader)
        finally:
            reader.close()

    def published(self, filename: str) -> bytes:
        """Return a published file."""
        return self.read(publication.published_key(self.source_id, filename))

    def listed(self, filename: str = "datasets-full.json") -> dict[str, dict[str, Any]]:
        """Return the datasets of an index file, by short name."""
        found: Sequence[Any] = json.loads(self.published(filename))["datasets"]
        return {one["short_name"]: one for one in found}

    def files(self, folder: Path) -> set[str]:
        """Return the keys of all copies."""
        found = (folder / store_keys.RESOURCES).rglob("*")
        return {str(one.relative_to(folder)) for one in found if one.is_file()}

    def asked(self, dataset: Dataset) -> list[str]:
        """Return the methods of the requests for a dataset's file since the last reset."""
        path = self.server.file_url(dataset).removeprefix(self.server.url)
        return [one.method for one in self.server.requests if one.path == path]
