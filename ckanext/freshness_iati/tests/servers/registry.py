"""A small registry of IATI's: as a CKAN, and as the Bulk Data Service's index files; and its files.

Below `/api/3/action/` it answers like CKAN with the registry's extension; `/reporting-orgs` and
`/datasets-minimal` are index files; `/files/{organisation}/{dataset}.xml` are the datasets' files.
"""

from __future__ import annotations

import email.utils
import hashlib
import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qs, quote, unquote

from ckanext.freshness.tests.servers.base import Answer, LoopbackServer, Request
from ckanext.freshness_iati.tests.servers.registry_model import (
    Dataset,
    Organisation,
    Registry,
)

ACTION = "/api/3/action/"
REPORTING_ORGS = "/reporting-orgs"
DATASETS_MINIMAL = "/datasets-minimal"

ID_FROM = re.compile(r'id:\["(.*?)" TO \*\]')
"""A range of ids in a query of Solr."""
_FIRST_MODIFIED = datetime(2026, 1, 1, tzinfo=timezone.utc)
_Query = dict[str, str]


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

    @property
    def index_url(self) -> str:
        """The URL of the source as index files."""
        return f"{self.url}{DATASETS_MINIMAL}"

    def file_url(self, dataset: Dataset) -> str:
        """Where a dataset's file is said to be."""
        if dataset.url is not None:
            return dataset.url
        owner = self.registry.organisations.get(dataset.organisation_id)
        folder = owner.name if owner else dataset.organisation_id
        return f"{self.url}/files/{quote(folder, safe='')}/{quote(dataset.name, safe='')}.xml"

    # Answers

    def answer(self, request: Request) -> Answer:
        """A page of the API, an index file, or a dataset's file."""
        query = {key: values[-1] for key, values in parse_qs(request.query).items()}
        if request.path.startswith(ACTION):
            return self._action(request.path.removeprefix(ACTION), query)
        if request.path.startswith("/files/"):
            return self._file(request)
        index = request.path.rstrip("/").removesuffix(".json")
        if index == REPORTING_ORGS:
            return _json({"index_created": _stamp(), "reporting_orgs": self._index_organisations()})
        if index == DATASETS_MINIMAL:
            return _json({"index_created": _stamp(), "datasets": self._index_datasets()})
        return Answer.text("There is nothing here.\n", "text/plain", 404)

    def _action(self, name: str, query: _Query) -> Answer:
        if name == "package_search":
            return _success(self._package_search(query))
        wanted = query.get("id", "")
        if name == "package_show":
            for dataset in self.registry.datasets.values():
                if wanted in (dataset.id, dataset.name):
                    return _success(self._dataset(dataset))
        if name == "organization_show":
            for one in self.registry.organisations.values():
                if wanted in (one.id, one.name):
                    return _success(self._organisation(one))
        return _json({"success": False, "error": {"message": "Not found"}}, 404)

    def _package_search(self, query: _Query) -> dict[str, Any]:
        found, wanted = self.registry.datasets, query.get("fq", "")
        first = ID_FROM.search(wanted)
        ids = [one for one in sorted(found) if one >= first[1]] if first else sorted(found)
        if wanted.startswith("id:("):
            ids = [one for one in ids if f'"{one}"' in wanted]
        results = [self._dataset(found[one]) for one in ids[: int(query.get("rows", 10))]]
        return {"count": len(ids), "sort": query.get("sort", ""), "results": results}

    # Records

    def _organisation(self, one: Organisation) -> Any:
        packages = [each for each in self.registry.datasets.values()]
        return self._spoiled(
            one.id,
            {
                "id": one.id,
                "name": one.name,
                "title": one.title,
                "description": "",
                "image_url": "",
                "is_organization": True,
                "package_count": sum(each.organisation_id == one.id for each in packages),
                "state": "active",
                "type": "organization",
                "license_id": "odc-by",
                **one.fields,
                "extras": [],
            },
        )

    def _dataset(self, one: Dataset) -> Any:
        owner = self.registry.organisations.get(one.organisation_id)
        extras = {
            "filetype": one.filetype,
            "iati_version": one.iati_version,
            "data_updated": "2026-03-01 14:24:09",
            "language": "",
            **one.extras,
        }
        return self._spoiled(
            one.id,
            {
                "id": one.id,
                "name": one.name,
                "title": one.title,
                "notes": "",
                "license_id": one.license_id,
                "private": False,
                "state": "active",
                "type": "dataset",
                "organization": None
                if owner is None
                else {"id": owner.id, "name": owner.name, "title": owner.title},
                "owner_org": one.organisation_id,
                "extras": [{"key": key, "value": value} for key, value in extras.items()],
                "tags": [],
                "resources": [
                    {"id": one.id[::-1], "format": "IATI-XML", "url": self.file_url(one)}
                ],
            },
        )

    def _index_organisations(self) -> list[Any]:
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

    def _index_datasets(self) -> list[Any]:
        found = []
        for one in self.registry.datasets.values():
            owner = self.registry.organisations.get(one.organisation_id)
            record = {
                "id": one.id,
                "short_name": one.name,
                "reporting_org_id": one.organisation_id,
                "reporting_org_short_name": owner.name if owner else None,
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


def _success(result: Any) -> Answer:
    return _json({"help": "", "success": True, "result": result})


def _json(plain: Any, status: int = 200) -> Answer:
    return Answer(status, json.dumps(plain).encode(), {"Content-Type": "application/json"})


def _stamp() -> str:
    return _FIRST_MODIFIED.isoformat()
