"""Groups of hosts, with the numbers of HDX's table."""

from __future__ import annotations

import pytest

from ckanext.freshness.reporting.host_groups import HostGroup, parse_groups, shares

HDX = (
    HostGroup("File Store", ("data.humdata.org",)),
    HostGroup("CPS", ("manage.hdx.rwlabs.org",)),
    HostGroup("HXL Proxy", ("proxy.hxlstandard.org",)),
    HostGroup("ScraperWiki", ("ds-ec2.scraperwiki.com", "*.scraperwiki.com")),
)


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
    table = [(one.name, one.count, round(one.percent)) for one in shares(counts, HDX)]
    assert table == [
        ("File Store", 2102, 22),
        ("CPS", 2459, 26),
        ("HXL Proxy", 2584, 27),
        ("ScraperWiki", 198, 2),
        ("Others", 2225, 23),
        ("Total", 9568, 100),
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
    assert HostGroup("A", (pattern,)).has(host) is is_in


def test_the_first_group_that_has_a_host_gets_it() -> None:
    groups = parse_groups(["Ours=a.org", "All=*.org,a.org"])
    assert [(one.name, one.count) for one in shares({"a.org": 2, "b.org": 3}, groups)] == [
        ("Ours", 2),
        ("All", 3),
        ("Others", 0),
        ("Total", 5),
    ]


def test_each_host_without_groups() -> None:
    counts = {"a.org": 1, "c.org": 3, "b.org": 1, "": 5}
    assert [(one.name, one.count, one.percent) for one in shares(counts, ())] == [
        ("c.org", 3, 30),
        ("a.org", 1, 10),
        ("b.org", 1, 10),
        ("Others", 5, 50),
        ("Total", 10, 100),
    ]
    assert [one.name for one in shares({"a.org": 2}, ())] == ["a.org", "Total"]


def test_nothing_is_no_fault() -> None:
    assert {one.percent for one in shares({}, HDX)} == {0.0}


def test_groups_as_they_are_written() -> None:
    assert parse_groups(["File_Store=A.org.,b.org", "X=*.c.org"]) == (
        HostGroup("File Store", ("a.org", "b.org")),
        HostGroup("X", ("*.c.org",)),
    )


@pytest.mark.parametrize("entry", ["", "a.org", "=a.org", "A=", "A=,"])
def test_what_is_no_group_is_said(entry: str) -> None:
    with pytest.raises(ValueError, match="must be NAME=HOST,HOST"):
        parse_groups([entry])
