"""A dataset's extras in words and links."""

from __future__ import annotations

import json
from typing import Any

import pytest
from babel import Locale

from ckanext.freshness.reporting.metadata import Fact, describe, mail_link, web_link

EU = "http://publications.europa.eu/resource/authority/"


def shown(facts: list[Fact]) -> dict[str, list[Any]]:
    """Return the values by label: texts, or pairs of a text and its link."""
    return {
        fact.label: [
            value.text if value.href is None else (value.text, value.href) for value in fact.values
        ]
        for fact in facts
    }


def facts(locale: str, /, **extras: Any) -> dict[str, list[Any]]:
    given = {
        key: value if isinstance(value, str) else json.dumps(value) for key, value in extras.items()
    }
    return shown(describe(given.items(), Locale.parse(locale), ["data_update_frequency"]).facts)


@pytest.mark.parametrize(
    ("extras", "expected"),
    [
        pytest.param(
            {"contact": [{"name": "Dr Ñandú", "email": "a@x.org", "uri": "https://x.org/#a"}]},
            {"Contact": [("Dr Ñandú", "mailto:a@x.org")]},
            id="a name leads to the mail address",
        ),
        pytest.param(
            {"publisher": [{"name": "Desk", "email": "d@x.org", "url": "https://x.org/desk/"}]},
            {"Publisher": [("Desk", "mailto:d@x.org"), ("x.org/desk", "https://x.org/desk/")]},
            id="the website follows",
        ),
        pytest.param(
            {"publisher": [{"name": "Desk", "uri": "https://x.org/desk"}, {"name": "Other"}]},
            {"Publisher": [("Desk", "https://x.org/desk"), "Other"]},
            id="without a mail address",
        ),
        pytest.param(
            {"contact_name": "Dr A", "contact_email": "a@x.org", "contact_uri": "urn:a"},
            {"Contact": [("Dr A", "mailto:a@x.org")]},
            id="ckanext-dcat's extras",
        ),
        pytest.param(
            {"contact": [{"name": "Dr A", "email": "a@x.org"}], "contact_name": "Dr A"},
            {"Contact": [("Dr A", "mailto:a@x.org")]},
            id="ckanext-dcat's extras repeat the list",
        ),
        pytest.param(
            {"theme": [f"{EU}data-theme/HEAL", f"{EU}data-theme/NEW", "https://x.org/themes#fish"]},
            {
                "Themes": [
                    "Health",
                    ("NEW", f"{EU}data-theme/NEW"),
                    ("fish", "https://x.org/themes#fish"),
                ]
            },
            id="the label of a known term, the code of another",
        ),
        (
            {"language": [f"{EU}language/DEU", "sw", "Klingon"]},
            {"Languages": ["German", "Swahili", "Klingon"]},
        ),
        ({"theme": f"{EU.replace('resource', 'mdr')}data-theme/HEAL"}, {"Themes": ["Health"]}),
        (
            {"data_update_frequency": f"{EU}frequency/BIENNIAL"},
            {"Update frequency": ["Every two years"]},
        ),
        ({"data_update_frequency": "now and then"}, {"Update frequency": ["now and then"]}),
        (
            {
                "spatial_coverage": [
                    {"uri": f"{EU}country/MOZ"},
                    {"text": "Beira", "uri": "https://g.org/1"},
                    {"geom": "{}"},
                ]
            },
            {"Places": ["Mozambique", ("Beira", "https://g.org/1")]},
        ),
        (
            {"temporal_coverage": [{"start": "2020-11-04", "end": "2021-01-05T00:00:00Z"}]},
            {"Period": ["4 Nov 2020 \N{EN DASH} 5 Jan 2021"]},
        ),
        (
            {"issued": "2020-13-45", "modified": "2020-02-01"},
            {"Published": ["2020-13-45"], "Modified, as stated": ["1 Feb 2020"]},
        ),
        (
            {"documentation": ["https://x.org/a", "see below"]},
            {"Documentation": [("x.org/a", "https://x.org/a"), "see below"]},
        ),
    ],
)
def test_facts(extras: dict[str, Any], expected: dict[str, list[Any]]) -> None:
    assert facts("en_GB", **extras) == expected


@pytest.mark.parametrize(
    "value",
    [
        "[",
        "{",
        "[" * 5000,
        "[1, null]",
        "[[]]",
        '{"name": {"a": []}}',
        "null",
        "[{}]",
        "x" * 100_000,
        '["\\u0000", {"a": 1}]',
    ],
)
def test_no_value_of_any_extra_is_lost_or_breaks_the_page(value: str) -> None:
    keys = [
        *("contact", "publisher", "theme", "language", "spatial_coverage", "temporal_coverage"),
        *("access_rights", "issued", "documentation", "data_update_frequency", "mine", "guid"),
        *("contact_name", "temporal_start", "spatial_uri"),
    ]
    for key in keys:
        found = describe([(key, value)], Locale.parse("en"), ["data_update_frequency"])
        (fact,) = [*found.facts, *found.others, *found.technical]
        assert fact.values


@pytest.mark.parametrize(
    ("link", "text", "href"),
    [
        *(
            (web_link, text, None)
            for text in (
                *("javascript:alert(1)", " javascript:alert(1)", "data:text/html,x", "//x.org"),
                *("http:///path", "http://[::1", "ftp://x.org", "mailto:a@x.org", ""),
            )
        ),
        (mail_link, "a@x.org", "mailto:a@x.org"),
        (mail_link, "mailto:a+b@x.org", "mailto:a+b@x.org"),
        *(
            (mail_link, text, None)
            for text in (
                *("a@x.org?bcc=b@x.org", "a@x.org\nbcc:b@x.org", "javascript:alert(1)"),
                *("http://x.org/@a", "a@x.org?subject=x", ""),
            )
        ),
    ],
)
def test_only_addresses_of_the_web_and_of_mails_become_links(
    link: Any, text: str, href: str | None
) -> None:
    assert link(text).href == href
