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
OPEN_DEFINITION = license_index(
    [
        {
            "id": "CC-BY-4.0",
            "url": "https://creativecommons.org/licenses/by/4.0/",
            "title": "CC BY 4",
        },
        {"id": "CC0-1.0", "url": "https://creativecommons.org/publicdomain/zero/1.0/", "title": ""},
        {"id": "ODbL-1.0", "url": "https://opendatacommons.org/licenses/odbl", "title": "ODbL"},
        {"id": "mine", "url": "https://example.org/Licence.html", "title": "House  licence"},
        {"id": "other", "url": "", "title": "House licence"},
    ]
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://creativecommons.org/licenses/by/4.0/", "cc-by"),
        ("https://creativecommons.org/licenses/by/4.0/legalcode.nl", "cc-by"),
        ("https://creativecommons.org/licenses/by/3.0/nl/deed.en", "cc-by"),
        ("https://spdx.org/licenses/CC-BY-4.0.html", "cc-by"),
        ("http://publications.europa.eu/resource/authority/licence/CC_BY_4_0", "cc-by"),
        ("http://purl.org/NET/rdflicense/cc-zero1.0", "cc-zero"),
        ("https://creativecommons.org/publicdomain/zero/1.0/", "cc-zero"),
        ("https://creativecommons.org/licenses/by-sa/4.0/", "cc-by-sa"),
        ("https://creativecommons.org/licenses/by-nc-nd/4.0/", "cc-nc"),
        ("https://creativecommons.org/licenses/by-nd/4.0/", None),
        ("https://opendatacommons.org/licenses/odbl/1-0/", "odc-odbl"),
        ("http://www.nationalarchives.gov.uk/doc/open-government-licence/version/3/", "uk-ogl"),
        ("https://example.org/mine", None),
        ("", None),
    ],
)
def test_ckans_own_register(text: str, expected: str | None) -> None:
    assert license_id(text, CORE) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://creativecommons.org/licenses/by/4.0/deed.nl", "CC-BY-4.0"),
        ("http://publications.europa.eu/resource/authority/licence/CC_BY_4_0", "CC-BY-4.0"),
        # If the register has versions, another version is another licence.
        ("http://creativecommons.org/licenses/by/3.0/", None),
        ("http://purl.org/NET/rdflicense/cc-zero1.0", "CC0-1.0"),
        ("https://opendatacommons.org/licenses/odbl/1-0/", "ODbL-1.0"),
        ("http://example.org/licence", "mine"),
        ("house licence", "mine"),
    ],
)
def test_a_register_with_versions(text: str, expected: str | None) -> None:
    assert license_id(text, OPEN_DEFINITION) == expected
