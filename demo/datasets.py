"""The demo's own datasets: of each status, whenever it runs, and with links of each state."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ckanext.freshness.tests.servers.file_host import BROKEN, FAILING, FILES, TABLES, HostedFile

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
    :ivar age: days since it was confirmed; None if it never was
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
        if self.age is not None:
            confirmed = now - timedelta(days=self.age)
            extras["review_date"] = confirmed.isoformat(timespec="seconds")
        if self.frequency is not None:
            extras["data_update_frequency"] = self.frequency
        table = HostedFile(f"{TABLES}{self.name}.csv", "Table", "CSV", "", lambda _: b"")
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
                    "created": (now - LONG_AGO).isoformat(timespec="seconds"),
                }
                for file in self.files or (table,)
            ],
        }


ALL_FILES, LIVE_PRICES, CLINICS = "field-files", "live-prices", "clinics"

LINKED = (
    DemoDataset(
        ALL_FILES,
        "Files from the field",
        "One file for each thing that a check can find at a URL.",
        files=FILES,
    ),
    DemoDataset(
        LIVE_PRICES,
        "Live prices",
        "Nobody can tell how old these data are: each download differs.",
        files=tuple(file for file in FILES if file.path == "/api/prices.json"),
    ),
    DemoDataset(
        CLINICS,
        "Clinics and health centres",
        "Where people find a doctor. One of the files was there until a few days ago.",
        frequency="30",
        files=(BROKEN,),
        organization=WITH_COPIES,
    ),
    DemoDataset(
        "road-conditions",
        "Road conditions in the rainy season",
        "Reported by drivers. The file was there yesterday.",
        files=(FAILING,),
        organization=WITH_COPIES,
    ),
)
"""Datasets whose links the demo has checked for many nights."""

OF_EACH_STATUS = (
    DemoDataset(
        "market-prices",
        "Market prices of staple food",
        "Prices of twelve goods in forty markets, collected by field teams.",
        age=2,
        status="fresh",
    ),
    DemoDataset(
        "health-posts",
        "Health posts and their opening hours",
        "Each health post with its place, its services and its hours.",
        frequency="30",
        age=34,
        status="due",
    ),
    DemoDataset(
        "water-points",
        "Water points: what works and what does not",
        "A survey of hand pumps, wells and taps.",
        age=16,
        status="overdue",
    ),
    DemoDataset(
        "displacement",
        "Displacement by district",
        "How many people live in each district as guests, returned, or moved on.",
        frequency="14",
        age=60,
        status="delinquent",
    ),
    DemoDataset(
        "boundaries",
        "Administrative boundaries",
        "Without an update frequency, nobody can say whether they are up to date.",
        frequency=None,
        age=10,
        status="unavailable",
    ),
)
"""A dataset of each status, and no links that fail."""

FURTHER = (
    DemoDataset(
        "school-census",
        "School census",
        "Pupils and teachers of each school. An editor has confirmed that it is still accurate.",
        frequency="365",
        age=200,
    ),
    DemoDataset(
        "market-surveys",
        "Market surveys",
        "Said to be updated every month, but new data come every three months.",
        frequency="30",
        age=20,
    ),
    DemoDataset(
        "rainfall",
        "Rainfall by station",
        "Daily measurements of sixty stations.",
        age=8,
    ),
    DemoDataset(
        "food-stocks",
        "Food stocks in warehouses",
        "Tonnes by warehouse and commodity.",
        age=18,
    ),
    DemoDataset(
        "place-names",
        "Gazetteer of place names",
        "Names in four languages, with coordinates.",
        frequency=None,
        age=90,
    ),
)
CONFIRMED = "school-census"
"""The dataset that the editor confirms."""

CADENCES = {"market-prices": (7, 20), "food-stocks": (7, 12), "market-surveys": (92, 6)}
"""Datasets whose data changed every so many days, so often, before the demo's first start."""
