"""The catalogues of ``./dev demo``, whose fields only the demo uses."""

from __future__ import annotations

from datetime import date

from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.fdp_demo import REGIONAL, demo_catalogue, regional_catalogue


def test_the_server_knows_every_field_of_the_demo() -> None:
    with FdpServer() as national, FdpServer() as region:
        demo_catalogue(national, date(2026, 11, 30))
        regional_catalogue(region, len(REGIONAL), date(2026, 11, 30))
        assert len(national.datasets) > len(region.datasets) == len(REGIONAL)
