"""Groups of hosts, with the numbers of HDX's table."""

from __future__ import annotations

import pytest

from ckanext.freshness.reporting.counts import grouped

HDX = {
    "File Store": ("data.humdata.org",),
    "CPS": ("manage.hdx.rwlabs.org",),
    "HXL Proxy": ("proxy.hxlstandard.org",),
    "ScraperWiki": ("ds-ec2.scraperwiki.com", "*.scraperwiki.com"),
}


def test_hdx_when_it_started() -> None:
    """HDX's own numbers: 9,568 resources; 22 % File Store, 26 % CPS, 27 % HXL Proxy, 2 % ScraperWiki."""
    counts = {
        "data.humdata.org": 2102,
        "manage.hdx.rwlabs.org": 2459,
        "proxy.hxlstandard.org": 2584,
        "ds-ec2.scraperwiki.com": 150,
        "premium.scraperwiki.com": 48,
        "ourairports.com": 46,
        "example.org": 2179,
    }
    table = [
        (name, number, round(100 * number / 9568)) for name, number in grouped(counts, HDX).items()
    ]
    assert table == [
        ("File Store", 2102, 22),
        ("CPS", 2459, 26),
        ("HXL Proxy", 2584, 27),
        ("ScraperWiki", 198, 2),
        ("Others", 2225, 23),
    ]


@pytest.mark.parametrize(
    ("pattern", "host", "is_in"),
    [
        ("example.org", "example.org", True),
        ("example.org", "www.example.org", False),
        ("*.example.org", "www.example.org", True),
        ("*.example.org", "a.b.example.org", True),
        ("*.example.org", "example.org", False),
        ("*.example.org", "badexample.org", False),
        ("example.org", "", False),
    ],
)
def test_who_is_in_a_group(pattern: str, host: str, is_in: bool) -> None:
    assert grouped({host: 1}, {"A": (pattern,)})["A"] == is_in
