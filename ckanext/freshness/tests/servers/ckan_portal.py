"""A small CKAN portal: its API as CKAN 2.3 to 2.12 answers it, with an index that may lag behind.

Below `/api/3/action/` it answers `package_search`, `package_show` and `organization_show`.
"""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qs, unquote
from uuid import NAMESPACE_URL, uuid5

from ckanext.freshness.tests.servers.base import Answer, LoopbackServer, Request

ACTION = "/api/3/action/"

_TERM = re.compile(r'([+-]?)(\w+):(?:\["?(.*?)"? TO \*\]|\((.*?)\))')
_START = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


class PortalServer(LoopbackServer):
    """Serves datasets, and can be old, small-minded or behind.

    Attributes, all of which may be changed at any time:
        datasets, organizations: what the database has, by id, as the API shows it.
        unindexed: ids of datasets that Solr does not have.
        gives_fields: whether `fl` has an effect, as since CKAN 2.9.
        rows_max: the most datasets of one page, as `ckan.search.rows_max`.
        forbidden: actions that are answered with 403.
        claimed: what `package_search` says instead of how many datasets there are.
        ignores_sort, ignores_range: as a careless portal would.
        hides_resources: whether datasets are shown without their resources, which the index knows.
    """

    def __init__(self, count: int = 0, *, port: int = 0, address: str = "127.0.0.1") -> None:
        super().__init__(port=port, address=address)
        self.datasets: dict[str, dict[str, Any]] = {}
        self.organizations: dict[str, dict[str, Any]] = {}
        self.unindexed: set[str] = set()
        self.gives_fields = True
        self.rows_max = 1000
        self.forbidden: set[str] = set()
        self.claimed: int | None = None
        self.ignores_sort = self.ignores_range = self.hides_resources = False
        self._edits = 0
        self.indexed_owners: dict[str, str | None] = {}
        """Names of organizations when the datasets were last indexed: a new name changes no dataset."""
        for number in range(count):
            self.add(f"dataset-{number}")

    # Content

    def organization(self, name: str) -> dict[str, Any]:
        """Return an organization, which is made if it is missing."""
        made: dict[str, Any] = {
            "id": str(uuid5(NAMESPACE_URL, f"organization {name}")),
            "name": name,
            "title": name.title(),
            "description": f"What {name} is",
            "is_organization": True,
            "state": "active",
            "extras": [],
        }
        return self.organizations.setdefault(made["id"], made)

    def add(self, name: str, *, owner: str | None = "city", **fields: Any) -> dict[str, Any]:
        """Add a dataset with a link and an upload."""
        dataset_id = str(uuid5(NAMESPACE_URL, f"dataset {name}"))
        organization = self.organization(owner) if owner else None
        resources = [
            {
                "id": str(uuid5(NAMESPACE_URL, f"{name} {kind}")),
                "package_id": dataset_id,
                "name": kind,
                "url": f"{self.url}/{kind}/{name}.csv",
                "url_type": url_type,
                "format": "CSV",
                "position": position,
                "revision_id": "r1",
                "datastore_active": True,
                "last_modified": "2026-02-03T04:05:06.000007" if url_type else None,
            }
            for position, (kind, url_type) in enumerate([("link", None), ("upload", "upload")])
        ]
        self.datasets[dataset_id] = {
            "id": dataset_id,
            "name": name,
            "title": name.replace("-", " ").title(),
            "notes": f"About {name}",
            "type": "dataset",
            "state": "active",
            "private": False,
            "license_id": "cc-by",
            "license_title": "Creative Commons Attribution",
            "isopen": True,
            "author": "A. Thor",
            "url": None,
            "metadata_created": "2026-01-01T00:00:00.000000",
            "revision_id": "r1",
            "num_resources": 2,
            "owner_org": organization and organization["id"],
            "organization": organization,
            "groups": [],
            "tags": [{"name": "water", "display_name": "water", "state": "active"}],
            "extras": [
                {"key": "harvest_object_id", "value": "x"},
                {"key": "reach", "value": "town"},
            ],
            "resources": resources,
            **fields,
        }
        self.change(dataset_id)
        return self.datasets[dataset_id]

    def change(self, dataset_id: str, **fields: Any) -> None:
        """Change fields of a dataset, and the moment of its last change."""
        self._edits += 1
        modified = (_START + timedelta(seconds=self._edits, microseconds=123456)).isoformat()
        changed = self.datasets[dataset_id]
        changed.update(fields, metadata_modified=modified.removesuffix("+00:00"))
        self._index_owner(dataset_id)

    def move(self, dataset_id: str, owner: str) -> None:
        """Give a dataset to another organization as ``package_owner_org_update`` does: no date changes."""
        organization = self.organization(owner)
        self.datasets[dataset_id] |= {
            "owner_org": organization["id"],
            "organization": organization,
        }
        self._index_owner(dataset_id)

    def _index_owner(self, dataset_id: str) -> None:
        owner = self.datasets[dataset_id]["organization"]
        self.indexed_owners[dataset_id] = owner["name"] if owner else None

    # Answers

    def answer(self, request: Request) -> Answer:
        if not request.path.startswith(ACTION):
            return Answer.text("name,value\n", "text/csv")
        action = request.path.removeprefix(ACTION)
        query = {key: values[-1] for key, values in parse_qs(request.query).items()}
        if action in self.forbidden:
            return self._error(403, "Access denied")
        if action == "package_search":
            return _success(self._search(query))
        groups = {one["id"]: one for each in self.datasets.values() for one in each["groups"]}
        kinds = {"organization_show": self.organizations, "group_show": groups}
        rows = kinds.get(action, self.datasets)
        wanted = unquote(query.get("id", ""))
        for one in rows.values():
            if wanted in (one["id"], one["name"]):
                return (
                    _success(self._shown(one))
                    if is_public(one)
                    else self._error(403, "Access denied")
                )
        return self._error(404, "Not found")

    def _error(self, status: int, words: str) -> Answer:
        return _json({"success": False, "error": {"message": words}}, status)

    def _shown(self, one: dict[str, Any]) -> dict[str, Any]:
        hidden = {"resources": [], "num_resources": 0}
        return {**one, **hidden} if self.hides_resources and "resources" in one else one

    def _search(self, query: dict[str, str]) -> dict[str, Any]:
        found = [
            one
            for dataset_id, one in self.datasets.items()
            if dataset_id not in self.unindexed and is_public(one)
        ]
        for sign, key, low, names in _TERM.findall(query.get("fq", "")):
            if low and self.ignores_range:
                continue
            if key == "res_url":
                found = [one for one in found if one["resources"]]
                continue
            values = set(re.findall('"(.*?)"', names))
            found = [
                one
                for one in found
                if (one[key] >= low if low else bool(values & _values(one, key))) != (sign == "-")
            ]
        if query.get("sort") == "id asc" and not self.ignores_sort:
            found.sort(key=lambda one: one["id"])
        start = int(query.get("start", 0))
        rows: list[Any] = found[start : start + min(int(query.get("rows", 10)), self.rows_max)]
        if self.gives_fields and "fl" in query:
            rows = [
                {
                    "id": one["id"],
                    "metadata_modified": f"{one['metadata_modified'][:23]}Z",
                    "dataset_type": one["type"],
                    # Solr has no value of owner_org that it could give.
                    "organization": self.indexed_owners.get(one["id"]),
                }
                for one in rows
            ]
        else:
            rows = [self._shown(one) for one in rows]
        count = len(found) if self.claimed is None else self.claimed
        return {"count": count, "sort": query.get("sort", ""), "results": rows, "facets": {}}


def is_public(one: dict[str, Any]) -> bool:
    return one.get("state") not in ("draft", "deleted") and one.get("private") is not True


def _values(one: dict[str, Any], key: str) -> set[str]:
    if key == "organization":
        return {one["organization"]["name"]} if one["organization"] else set()
    return {group["name"] for group in one["groups"]} if key == "groups" else {one[key]}


def _success(result: Any) -> Answer:
    return _json({"help": "", "success": True, "result": result})


def _json(plain: Any, status: int = 200) -> Answer:
    return Answer(status, json.dumps(plain).encode(), {"Content-Type": "application/json"})
