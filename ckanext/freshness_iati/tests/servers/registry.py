"""A small registry of IATI's, the Bulk Data Service's index files, and the files of its datasets.

`/reporting-orgs` and `/datasets-minimal` are index files; `/files/{organisation}/{dataset}.xml` are the files.
"""

from __future__ import annotations

import email.utils
import hashlib
import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import quote, unquote

from ckanext.freshness.tests.servers.base import Answer, LoopbackServer, Request
from ckanext.freshness_iati.tests.servers.registry_model import (
    Dataset,
    Registry,
)

REPORTING_ORGS = "/reporting-orgs"
DATASETS_MINIMAL = "/datasets-minimal"

_FIRST_MODIFIED = datetime(2026, 1, 1, tzinfo=timezone.utc)


class RegistryServer(LoopbackServer):
    """Serves a registry, and can spoil its records.

    Attributes, all of which may be changed at any time:
        registry: what is registered.
        spoil: by id of a dataset or an organisation, what becomes of its record before it is sent.
    """

    def __init__(
        self, registry: Registry | None = None, *, port: int = 0, address: str = "127.0.0.1"
    ) -> None:
        super().__init__(port=port, address=address)
        self.registry = Registry() if registry is None else registry
        self.spoil: dict[str, Callable[[dict[str, Any]], Any]] = {}

    # Addresses

    def file_url(self, dataset: Dataset) -> str:
        """Where a dataset's file is said to be."""
        if dataset.url is not None:
            return dataset.url
        owner = self.registry.organisations.get(dataset.organisation_id)
        folder = owner.name if owner else dataset.organisation_id
        return f"{self.url}/files/{quote(folder, safe='')}/{quote(dataset.name, safe='')}.xml"

    # Answers

    def answer(self, request: Request) -> Answer:
        """An index file, or a dataset's file."""
        if request.path.startswith("/files/"):
            return self._file(request)
        index = request.path.rstrip("/").removesuffix(".json")
        if index == REPORTING_ORGS:
            return _json({"index_created": _stamp(), "reporting_orgs": self._organisations()})
        if index == DATASETS_MINIMAL:
            return _json({"index_created": _stamp(), "datasets": self._datasets()})
        return Answer.text("There is nothing here.\n", "text/plain", 404)

    # Records

    def _organisations(self) -> list[Any]:
        return [
            self._spoiled(
                one.id,
                {
                    "id": one.id,
                    "short_name": one.name,
                    "human_readable_name": one.title,
                    **one.fields,
                },
            )
            for one in self.registry.organisations.values()
        ]

    def _datasets(self) -> list[Any]:
        found = []
        for one in self.registry.datasets.values():
            owner = self.registry.organisations.get(one.organisation_id)
            record = {
                "id": one.id,
                "short_name": one.name,
                "reporting_org_id": one.organisation_id,
                "reporting_org_short_name": owner.name if owner else None,
                "licence_id": one.license_id,
                "source_url": self.file_url(one),
                "hash": hashlib.sha1(one.contents()).hexdigest(),
                "hash_excluding_generated_timestamp": "",
                "downloaded": _stamp(),
                "cached_dataset_xml_url": None,
                "cached_dataset_zip_url": None,
            }
            found.append(self._spoiled(one.id, record))
        return found

    def _spoiled(self, record_id: str, record: dict[str, Any]) -> Any:
        spoil = self.spoil.get(record_id)
        return record if spoil is None else spoil(record)

    # Files

    def _file(self, request: Request) -> Answer:
        url = f"{self.url}{unquote(request.path)}"
        for dataset in list(self.registry.datasets.values()):
            if unquote(self.file_url(dataset)) == url:
                return _served(dataset, request)
        return Answer.text("There is no such file here.\n", "text/plain", 404)


def _served(dataset: Dataset, request: Request) -> Answer:
    if dataset.status != 200:
        return Answer.text("It cannot be had.\n", "text/plain", dataset.status)
    body = dataset.contents()
    headers = {"Content-Type": "application/xml"}
    if dataset.has_validators:
        modified = _FIRST_MODIFIED + timedelta(minutes=dataset.edition)
        headers["ETag"] = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        headers["Last-Modified"] = email.utils.format_datetime(modified, usegmt=True)
    return Answer(200, body, headers).unless_known(request)


def _json(plain: Any) -> Answer:
    return Answer(200, json.dumps(plain).encode(), {"Content-Type": "application/json"})


def _stamp() -> str:
    return _FIRST_MODIFIED.isoformat()
