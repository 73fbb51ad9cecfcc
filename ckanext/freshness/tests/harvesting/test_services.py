"""Services, samples and analytics with documents of their own: read, and never lost by an error."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ckanext.freshness.tests.harvesting.conftest import Harvest

pytestmark = pytest.mark.usefixtures("clean_site")

FILE = "Everything as CSV"


def services(harvest: Harvest) -> list[dict[str, Any]]:
    """Return the access services of the only resource that names such a document."""
    (found,) = [
        resource["access_services"]
        for dataset in harvest.datasets().values()
        for resource in dataset["resources"]
        if resource["name"] == FILE
    ]
    read: list[dict[str, Any]] = json.loads(found)
    return read
