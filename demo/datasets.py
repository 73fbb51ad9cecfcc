"""The demo's own datasets: of each status, whenever it runs, and with links of each state."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from ckanext.freshness.tests.servers.file_host import (
    BROKEN,
    DATED,
    FAILING,
    FILES,
    TABLES,
    HostedFile,
)

ORGANIZATION = "relief-works"
TITLE = "Relief Works"
WITH_COPIES = "rural-health"
"""The organization of whose files the demo keeps copies; ``DEMO_SETTINGS`` has its name, too."""
TITLE_WITH_COPIES = "Rural Health Network"

LONG_AGO = timedelta(days=900)
"""The age of the resources. What counts is the confirmation, which comes later."""


@dataclass(frozen=True, slots=True)
class DemoDataset:
    """A dataset that can be made, and made again.

    :ivar files: files of the demo's file host; none: a table of its own
    :ivar frequency: as an editor chose it: days
    :ivar age: days since its data changed, if they have a cadence, else since they were confirmed; None if
        neither is known
    :ivar status: what follows from both, by the thresholds that a site has unless it sets others; None if
        the checks decide
    """

    name: str
    title: str
    notes: str
    frequency: str | None = "7"
    age: int | None = None
    status: str | None = None
    files: tuple[HostedFile, ...] = ()
    organization: str = ORGANIZATION

    def as_package(self, now: datetime, base: str) -> dict[str, Any]:
        """Return what ``package_create`` and ``package_update`` take.

        :param now: in UTC, without zone
        :param base: the address of the file host
        """
        extras = {}
        dates = {"created": (now - LONG_AGO).isoformat(timespec="seconds")}
        if self.age is not None:
            dated = (now - timedelta(days=self.age)).isoformat(timespec="seconds")
            if self.name in CADENCES:
                dates["last_modified"] = dated
            else:
                extras["review_date"] = dated
        if self.frequency is not None:
            extras["data_update_frequency"] = self.frequency
        table = HostedFile(f"{TABLES}{self.name}.csv", "Table")
        return {
            "name": self.name,
            "title": self.title,
            "notes": self.notes,
            "owner_org": self.organization,
            "maintainer": "Field data desk",
            "maintainer_email": f"data@{self.organization}.example.org",
            "extras": [{"key": key, "value": value} for key, value in extras.items()],
            "resources": [
                {
                    "name": file.title,
                    "description": file.about,
                    "url": f"{base}{file.path}",
                    "format": file.format,
                    **dates,
                }
                for file in self.files or (table,)
            ],
        }


def _load(kind: str) -> tuple[DemoDataset, ...]:
    """Return the datasets of a kind in ``datasets.json``, in which files are named by their paths."""
    by_path = {file.path: file for file in (*FILES, *DATED, BROKEN, FAILING)}
    rows = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))[kind]
    return tuple(
        DemoDataset(**{**row, "files": tuple(by_path[path] for path in row.get("files", ()))})
        for row in rows
    )


LINKED = _load("linked")
"""Datasets whose links the demo has checked for many nights."""
OF_EACH_STATUS = _load("of_each_status")
"""A dataset of each status, and no links that fail."""
FURTHER = _load("further")
ALL_FILES, CLINICS = "field-files", "clinics"
CONFIRMED = "school-census"
"""The dataset that the editor confirms."""

CADENCES = {"market-prices": (7, 20), "food-stocks": (7, 12), "market-surveys": (92, 6)}
"""Datasets whose data changed every so many days, so often, before the demo's first start."""
