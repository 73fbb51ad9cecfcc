"""Licences looked up in CKAN's own register, and in a register with the publishers' URLs."""

from __future__ import annotations

import pytest
from ckan.model.license import DefaultLicense

from ckanext.freshness.harvesting.packages.licenses import license_id, license_index


def _core() -> dict[str, str]:
    """Return CKAN's default register. Its own titles are translated, which needs a running CKAN."""
    return license_index(
        {"id": one.id, "url": one.url, "title": one.id.replace("-", " ").title()}
        for one in DefaultLicense.__subclasses__()
    )


CORE = _core()
EU = "http://publications.europa.eu/resource/authority/licence/"
OPEN_DEFINITION = license_index(
    [
        {
            "id": "CC-BY-4.0",
            "url": "https://creativecommons.org/licenses/by/4.0/",
            "title": "CC BY 4",
        },
        {"id": "CC0-1.0", "url": "https://creativecommons.org/publicdomain/zero/1.0/", "title": ""},
        {"id": "ODbL-1.0", "url": "https://opendatacommons.org/licenses/odbl", "title": "ODbL"},
        {"id": "CC-BY-NC-SA-4.0"},
        {"id": "mine", "url": "https://example.org/Licence.html", "title": "House  licence"},
        {"id": "other", "url": "", "title": "House licence"},
    ]
)


@pytest.mark.parametrize(
    ("text", "in_core", "in_open_definition"),
    [
        # If a register has versions, another version is another licence.
        ("http://creativecommons.org/licenses/by/4.0/", "cc-by", "CC-BY-4.0"),
        ("https://creativecommons.org/licenses/by/4.0/legalcode.nl", "cc-by", "CC-BY-4.0"),
        ("https://creativecommons.org/licenses/by/3.0/nl/deed.en", "cc-by", None),
        ("https://spdx.org/licenses/CC-BY-4.0.html", "cc-by", "CC-BY-4.0"),
        (f"{EU}CC_BY_4_0", "cc-by", "CC-BY-4.0"),
        (f"{EU}CC_BYSA_3_0", "cc-by-sa", None),
        (f"{EU}CC_BYNCSA_4_0", "cc-nc", "CC-BY-NC-SA-4.0"),
        (f"{EU}ODC_BL", "odc-odbl", "ODbL-1.0"),
        ("http://purl.org/NET/rdflicense/cc-zero1.0", "cc-zero", "CC0-1.0"),
        ("https://creativecommons.org/publicdomain/zero/1.0/", "cc-zero", "CC0-1.0"),
        ("https://creativecommons.org/licenses/by-sa/4.0/", "cc-by-sa", None),
        ("https://creativecommons.org/licenses/by-nc-nd/4.0/", "cc-nc", None),
        ("https://creativecommons.org/licenses/by-nd/4.0/", None, None),
        ("https://opendatacommons.org/licenses/odbl/1-0/", "odc-odbl", "ODbL-1.0"),
        (
            "http://www.nationalarchives.gov.uk/doc/open-government-licence/version/3/",
            "uk-ogl",
            None,
        ),
        ("http://example.org/licence", None, "mine"),
        ("house licence", None, "mine"),
        ("", None, None),
    ],
)
def test_licences(text: str, in_core: str | None, in_open_definition: str | None) -> None:
    assert license_id(text, CORE) == in_core
    assert license_id(text, OPEN_DEFINITION) == in_open_definition
