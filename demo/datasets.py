"""The hand-made datasets of the demo: one of each status, whenever it runs, and those to be checked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from ckanext.freshness.tests.servers.file_host import FILES, HostedFile

ORGANIZATION = "relief-works"
TITLE = "Relief Works"

LONG_AGO = timedelta(days=900)
"""The age of the resources. What counts is the confirmation, which comes later."""


class Described(Protocol):
    """A dataset that can be made, and made again."""

    @property
    def name(self) -> str: ...

    def as_package(self, now: datetime) -> dict[str, Any]:
        """What ``package_create`` and ``package_update`` take.

        :param now: in UTC, without zone.
        """


@dataclass(frozen=True, slots=True)
class Linked:
    """A weekly dataset with files of the demo's file host, of which nobody says that it is up to date."""

    name: str
    title: str
    notes: str
    files: tuple[HostedFile, ...]
    base: str
    """The address of the file host."""

    def as_package(self, now: datetime) -> dict[str, Any]:
        """What ``package_create`` and ``package_update`` take.

        :param now: in UTC, without zone.
        """
        links = [
            {
                "name": file.title,
                "description": file.about,
                "url": f"{self.base}{file.path}",
                "format": file.format,
                "created": (now - LONG_AGO).isoformat(timespec="seconds"),
            }
            for file in self.files
        ]
        return {
            "name": self.name,
            "title": self.title,
            "notes": self.notes,
            "owner_org": ORGANIZATION,
            "extras": [{"key": "data_update_frequency", "value": "7"}],
            "resources": links,
        }


ALL_FILES, LIVE_PRICES = "field-files", "live-prices"


def linked(base: str) -> tuple[Linked, ...]:
    """The datasets whose URLs the demo checks.

    :param base: the address of the file host.
    """
    live = tuple(file for file in FILES if file.path == "/api/prices.json")
    return (
        Linked(
            ALL_FILES,
            "Files from the field",
            "One file for each thing that a check can find at a URL.",
            FILES,
            base,
        ),
        Linked(
            LIVE_PRICES,
            "Live prices",
            "What nobody can tell the age of: each download differs.",
            live,
            base,
        ),
    )


@dataclass(frozen=True, slots=True)
class HandMade:
    """A dataset, and when somebody last said that it is up to date."""

    name: str
    title: str
    notes: str
    frequency: str | None
    """As an editor chose it: days."""
    age: int
    """Days since it was confirmed."""
    status: str
    """What follows from both, by the thresholds that a site has unless it sets others."""

    def as_package(self, now: datetime) -> dict[str, Any]:
        """What ``package_create`` and ``package_update`` take.

        :param now: in UTC, without zone.
        """
        extras = {"review_date": (now - timedelta(days=self.age)).isoformat(timespec="seconds")}
        if self.frequency is not None:
            extras["data_update_frequency"] = self.frequency
        table = {
            "name": "Table",
            "url": f"https://relief-works.example.org/{self.name}.csv",
            "format": "CSV",
            "created": (now - LONG_AGO).isoformat(timespec="seconds"),
        }
        return {
            "name": self.name,
            "title": self.title,
            "notes": self.notes,
            "owner_org": ORGANIZATION,
            "extras": [{"key": key, "value": value} for key, value in extras.items()],
            "resources": [table],
        }


HAND_MADE = (
    HandMade(
        "market-prices",
        "Market prices of staple food",
        "Prices of twelve goods in forty markets, collected by field teams.",
        frequency="7",
        age=2,
        status="fresh",
    ),
    HandMade(
        "health-posts",
        "Health posts and their opening hours",
        "Each health post with its place, its services and its hours.",
        frequency="30",
        age=34,
        status="due",
    ),
    HandMade(
        "water-points",
        "Water points: what works and what does not",
        "A survey of hand pumps, wells and taps.",
        frequency="7",
        age=16,
        status="overdue",
    ),
    HandMade(
        "displacement",
        "Displacement by district",
        "How many people live in each district as guests, returned, or moved on.",
        frequency="14",
        age=60,
        status="delinquent",
    ),
    HandMade(
        "boundaries",
        "Administrative boundaries",
        "Nobody has said how often they change, so that nobody can say whether they are fresh.",
        frequency=None,
        age=10,
        status="unavailable",
    ),
)
