"""Records laid out as packages, with their licences."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from ckan.logic import validators
from ckan.model.license import DefaultLicense
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ckanext.freshness.harvesting import legal_values
from ckanext.freshness.harvesting.packages.layout import (
    CORE_KEYS,
    RESERVED_KEYS,
    CatalogSite,
    package_dict,
)
from ckanext.freshness.harvesting.packages.licenses import license_id, license_index
from ckanext.freshness.harvesting.record import LaidOutRecord, Record


def laid(fields: dict[str, Any] | None = None, **more: Any) -> LaidOutRecord:
    site = more.pop("site", CatalogSite())
    return package_dict(Record({"title": "T", **(fields or {})}, **more), site)


def extras(package: dict[str, Any]) -> dict[str, str]:
    return {extra["key"]: extra["value"] for extra in package["extras"]}


@pytest.mark.parametrize(
    ("key", "value", "stored"),
    [
        ("identifier", "doi:1", "doi:1"),
        ("theme", ["b", "a"], '["b", "a"]'),
        ("publisher", [{"name": "Ö", "email": "a@b.nl"}], '[{"email": "a@b.nl", "name": "Ö"}]'),
        ("trusted_data_holder", False, "false"),
        ("title_translated", {"en": "T", "nl": "S"}, '{"en": "T", "nl": "S"}'),
        # Dates for Solr
        ("review_date", "2024-05-06T07:08:09+02:00", "2024-05-06T05:08:09"),
        ("review_date", "2024-05-06", "2024-05-06"),
        # Nothing, and what repeats the plain field beside it
        ("theme", [], None),
        ("identifier", "", None),
        ("title_translated", {"en": "T"}, None),
    ],
)
def test_what_core_does_not_know_is_an_extra(key: str, value: Any, stored: str | None) -> None:
    assert extras(laid({key: value}).package).get(key) == stored


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        ({"title": "A", "identifier": "B"}, "A"),
        ({"identifier": "B", "uri": "https://a.nl/c"}, "B"),
        ({"uri": "https://a.nl/c/"}, "c"),
        ({"uri": "https://a.nl/b#c"}, "c"),
        ({"uri": "urn:c"}, "urn:c"),
        ({}, "Untitled"),
    ],
)
def test_a_record_without_a_title(fields: dict[str, Any], title: str) -> None:
    assert laid({"title": None, **fields}).package["title"] == title


# Tags

HEALTH = ("Self-rated health", "poverty", "social exclusion")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("CNS/Brain", "CNS Brain"),
        ("Épidémiologie", "Épidémiologie"),
        ("E\u0301pide\u0301miologie", "Épidémiologie"),
        # Characters that CKAN refuses cut no word in two.
        ("\u0939\u093f\u0928\u094d\u0926\u0940", "\u0939\u0928\u0926"),
        ("x" * 150, "x" * 100),
        ("x", None),
        ("\x00a\x07b", "ab"),
    ],
)
def test_tags(text: str, name: str | None) -> None:
    assert legal_values.tag(text) == name


@pytest.mark.parametrize(
    ("text", "keywords"),
    [
        ("Self-rated health, poverty, social exclusion", [*HEALTH]),
        ("Self-rated health\tpoverty,\u00a0social exclusion, ", [*HEALTH]),
        ("N,N-dimethylaniline,10,000 steps", ["N,N-dimethylaniline", "10,000 steps"]),
        ("oil &amp; gas;coal", ["oil & gas", "coal"]),
        ("1,2-dichloroethane, 1,1-dichloroethane", ["1,2-dichloroethane", "1,1-dichloroethane"]),
        ("tobacco (smoked, chewed), alcohol", ["tobacco (smoked, chewed)", "alcohol"]),
        (
            "\u6c34\u8d28\u3001\u7a7a\u6c14\uff0c\u571f\u58e4",
            ["\u6c34\u8d28", "\u7a7a\u6c14", "\u571f\u58e4"],
        ),
    ],
)
def test_a_text_of_several_keywords(text: str, keywords: list[str]) -> None:
    assert legal_values.split_keywords([text]) == sorted(keywords)


def test_tags_are_unique_whatever_their_case() -> None:
    result = laid(tags=["Brain", "brain", "BRAIN", "cns/brain", "CNS Brain", "?"])
    assert result.package["tags"] == [{"name": "BRAIN"}, {"name": "CNS Brain"}]
    assert len(result.warnings) == 4


# Limits

LONG = "x" * 40_000


@pytest.mark.parametrize(
    ("key", "value", "kept", "warning"),
    [
        # A part of a text is of use, cut between characters; a part of an address or a geometry is none.
        (
            "title",
            "é" * 20_000,
            "é" * 16_383,
            "title: 40000 bytes, and Solr takes 32766; shortened",
        ),
        (
            "provenance",
            LONG,
            LONG[:32_766],
            "provenance: 40000 bytes, and Solr takes 32766; shortened",
        ),
        ("spatial", LONG, None, "spatial: 40000 bytes, and Solr takes 32766; left out"),
        ("notes", LONG, LONG, None),
        (
            "spatial_coverage",
            [{"text": "Utrecht", "geom": LONG}, {"text": "Zeist"}],
            '[{"text": "Utrecht"}, {"text": "Zeist"}]',
            "spatial_coverage.geom: 40000 bytes are more than Solr takes; left out",
        ),
    ],
)
def test_long_values(key: str, value: Any, kept: str | None, warning: str | None) -> None:
    result = laid({key: value})
    assert (extras(result.package) | result.package).get(key) == kept
    assert result.warnings == ([warning] if warning else [])


def test_a_long_list_of_short_values() -> None:
    places = [{"text": f"Place {number}", "geom": "x" * 30} for number in range(3_000)]
    result = laid({"spatial_coverage": places})
    kept = json.loads(extras(result.package)["spatial_coverage"])
    assert 25_000 < len(json.dumps(kept)) <= 32_766
    assert len(result.warnings) == 2, "one for each key"


def test_control_characters_go_everywhere() -> None:
    dirty = "a\x00b\x0bc\ud800\uffff\x85"
    result = laid(
        {
            "notes": dirty,
            "theme": [dirty],
            "contact": [{"name": dirty}],
            "title": dirty,
            dirty: "x",
        },
        tags=[dirty],
        resources=[{"name": dirty, "url": "https://a.nl/\x00", "language": [dirty]}],
    )
    text = json.dumps(result.package, ensure_ascii=False)
    assert "abc" in text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\uffff]|\\\\u00", text)


UNREADABLE_URLS = (
    "http://[server]/data.csv",
    "http://<![CDATA[http://o.example]]>",
    "http://\u2100.example/x",
    "[server]/data.csv",
    "//[server]/data.csv",
)
"""URLs that CKAN cannot take apart when it shows a resource. It puts http:// before those without a scheme."""


@pytest.mark.parametrize("url", UNREADABLE_URLS)
def test_a_url_that_ckan_cannot_read_is_left_out(url: str) -> None:
    def resource(**values: str) -> tuple[dict[str, Any], list[str]]:
        result = laid(resources=[{"name": "R", "uri": "https://a.nl/r", **values}])
        return result.package["resources"][0], result.warnings

    warning = f'resource R: url: "{url}" is no URL that CKAN can read; left out'
    found, warnings = resource(url=url, access_url=url)
    assert (found["url"], found["access_url"], warnings) == ("", url, [warning])
    good = "https://a.nl/page"
    found, warnings = resource(url=url, download_url=url, access_url=good)
    assert (found["url"], found["download_url"], warnings) == (good, url, [warning])


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://a.nl/data:1", True),
        ("javascript:alert(1)", False),
        ("java\tscript:alert(1)", False),
        ("data:text/html,<script>alert(1)</script>", False),
        ("", True),
    ],
)
def test_links_that_could_run_a_program(url: str, kept: bool) -> None:
    text = "Data: what, when and where"
    nested = {"name": "javascript: an introduction", "homepage": url}
    result = laid(
        {
            "title": "data:",
            "title_translated": {"en": "data:", "nl": "javascript:"},
            "url": url,
            "provenance": text,
            "contact": [nested],
            "conforms_to": [url, "https://b.nl"],
        },
        resources=[{"url": url, "documentation": url, "access_url": url}],
    )
    assert result.package["title"] == "data:"
    assert extras(result.package)["provenance"] == text
    assert nested["name"] in extras(result.package)["contact"]
    stored = json.dumps(result.package)
    if not kept:
        assert json.dumps(url)[1:-1] not in stored
        assert json.loads(extras(result.package)["conforms_to"]) == ["https://b.nl"]
        assert [resource["url"] for resource in result.package["resources"]] == [""]
        assert len(result.warnings) == 6, "each is told"
    elif url:
        assert result.package["url"] == result.package["resources"][0]["url"] == url
        assert result.warnings == []


# Resources


@pytest.mark.parametrize(
    ("given_", "stored"),
    [
        ({"url": "https://a.nl/x", "format": "CSV"}, {"url": "https://a.nl/x", "format": "CSV"}),
        (
            {"access_url": "https://a.nl/x"},
            {"access_url": "https://a.nl/x", "url": "https://a.nl/x"},
        ),
        ({}, {"url": ""}),
        (
            {"id": "mine", "package_id": "mine", "state": "x", "position": 5},
            {"id": "mine", "url": ""},
        ),
        # Without the URL that CKAN shows, each harvest would see another URL than the stored one.
        ({"url": " www.a.nl/x "}, {"url": "http://www.a.nl/x"}),
        ({"url": "/files/x"}, {"url": "http://files/x"}),
    ],
)
def test_resources(given_: dict[str, Any], stored: dict[str, Any]) -> None:
    result = laid(resources=[given_])
    assert result.package["resources"] == [stored]
    assert result.warnings == []


@pytest.mark.parametrize("size", [-1, 2**63, "many", float("inf"), float("nan"), []])
def test_sizes_that_are_none(size: Any) -> None:
    result = laid(resources=[{"name": "N", "size": size}])
    assert result.package["resources"] == [{"name": "N", "url": ""}]
    assert (size == []) or result.warnings[0].startswith("resource N: size:")


# Licences

SITE = CatalogSite(licenses={"cc-by": "cc-by", "cc-zero": "cc-zero"})


CC_BY_3, CC_BY_4 = (f"http://creativecommons.org/licenses/by/{one}/" for one in ("3.0", "4.0"))
OWN = "https://example.org/own"


@pytest.mark.parametrize(
    ("stated", "of_resources", "known", "kept"),
    [
        (CC_BY_4, [], "cc-by", None),
        ([CC_BY_4, CC_BY_4.replace("http:", "https:") + "deed.nl"], [], "cc-by", None),
        ([CC_BY_4, OWN], [], None, [CC_BY_4, OWN]),
        # The register has one entry for both, but they are two licences.
        ([CC_BY_3, CC_BY_4], [], None, [CC_BY_3, CC_BY_4]),
        (None, [CC_BY_4, OWN], None, [CC_BY_4, OWN]),
        # Resources keep their own licences, so that nothing is lost.
        (None, [CC_BY_4, "CC-BY-4.0"], "cc-by", None),
        (None, [CC_BY_4, None], None, None),
    ],
)
def test_several_licences_are_never_reduced_to_one(
    stated: Any, of_resources: list[Any], known: str | None, kept: list[str] | None
) -> None:
    given = [{"license": one} if one else {} for one in of_resources]
    result = laid({"license": stated} if stated else {}, resources=given, site=SITE)
    assert result.package.get("license_id") == known
    assert extras(result.package).get("licenses") == (json.dumps(kept) if kept else None)
    resources = [one.get("license") for one in result.package["resources"]]
    assert resources == [json.dumps(one) if isinstance(one, list) else one for one in of_resources]
    assert bool(result.warnings) == bool(kept)
    if kept:
        (warning,) = result.warnings
        assert warning == f"license: the record names 2: {', '.join(kept)}; no license_id is set"


def test_the_licence_that_a_dataset_states_is_not_that_of_its_resources() -> None:
    given = [{"license": CC_BY_4}]
    result = laid({"license_id": "odc-odbl"}, resources=given, site=SITE)
    assert result.package["license_id"] == "odc-odbl" and not result.warnings


DESK = {"name": "Desk", "email": "desk@example.org"}
INSTITUTE = {"name": "Institute", "uri": "https://example.org/i"}


@pytest.mark.parametrize(
    ("fields", "schema", "filled"),
    [
        (
            {"contact": [{"uri": "u"}, {"name": "No address"}, DESK]},
            (),
            {"maintainer": "Desk", "maintainer_email": "desk@example.org"},
        ),
        ({"creator": [INSTITUTE], "publisher": [DESK]}, (), {"author": "Institute"}),
        ({"publisher": [DESK]}, (), {"author": "Desk", "author_email": "desk@example.org"}),
        ({"contact": [DESK], "publisher": [DESK]}, ("contact", "creator"), {}),
    ],
)
def test_maintainer_and_author_are_filled_in(
    fields: dict[str, Any], schema: tuple[str, ...], filled: dict[str, str]
) -> None:
    site = CatalogSite(schema={"dataset_fields": [{"field_name": name} for name in schema]})
    package = laid(fields, site=site).package
    keys = ("author", "author_email", "maintainer", "maintainer_email")
    found = {key: package[key] for key in keys if key in package}
    if "author" in fields:
        found.pop("author_email")
    assert found == filled


# Any record

_texts = st.one_of(
    st.text(max_size=30),
    st.text(alphabet="\x00\x07\x85\ud800\uffff é😀a ", max_size=30),
    st.just("😀" * 9_000),
    st.just("x" * 40_000),
)
_values = st.recursive(
    st.one_of(_texts, st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["name", "email", "uri", "geom", "a\x00"]), inner, max_size=3
        ),
    ),
    max_leaves=6,
)
_KEYS = (
    *("title", "notes", "url", "version", "license", "author", "maintainer_email", "theme", "name"),
    *("contact", "title_translated", "tags_translated", "x_date", "uri", "groups"),
)
_keys = st.one_of(st.sampled_from(_KEYS), st.text(max_size=10))
_RESOURCE_KEYS = ("url", "name", "size", "format", "hash", "language", "license", "id")
_records = st.builds(
    Record,
    fields=st.dictionaries(_keys, _values, max_size=6),
    resources=st.lists(
        st.dictionaries(st.sampled_from(_RESOURCE_KEYS), _values, max_size=5), max_size=2
    ),
    tags=st.lists(_texts, max_size=4),
)


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(_records)
def test_any_record_makes_a_package_that_ckan_takes(record: Record) -> None:
    """CKAN's own validators decide."""
    before = record.as_json()
    package = package_dict(record, SITE).package
    assert record.as_json() == before
    json.dumps(package).encode()
    json.dumps(package, ensure_ascii=False).encode()

    names = [tag["name"] for tag in package["tags"]]
    for name in names:
        validators.tag_length_validator(name, {})
        validators.tag_name_validator(name, {})
    assert len({name.casefold() for name in names}) == len(names)

    assert package["title"].strip()

    keys = [extra["key"] for extra in package["extras"]]
    assert keys == sorted(set(keys))
    assert not set(keys) & (RESERVED_KEYS | CORE_KEYS)
    for key, value in [(e["key"], e["value"]) for e in package["extras"]] + list(package.items()):
        if isinstance(value, str):
            assert value
            assert key == "notes" or len(value.encode()) <= legal_values.SOLR_BYTES

    for resource in package["resources"]:
        assert isinstance(resource["url"], str)
        validators.int_validator(resource.get("size"), {})
        validators.extras_valid_json(resource, {})
        assert len(resource.get("format", "").encode()) <= legal_values.SOLR_BYTES


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
        ("https://creativecommons.org/licenses/by/3.0/nl/deed.en", "cc-by", None),
        ("https://spdx.org/licenses/CC-BY-4.0.html", "cc-by", "CC-BY-4.0"),
        (f"{EU}CC_BY_4_0", "cc-by", "CC-BY-4.0"),
        (f"{EU}CC_BYSA_3_0", "cc-by-sa", None),
        (f"{EU}CC_BYNCSA_4_0", "cc-nc", "CC-BY-NC-SA-4.0"),
        ("http://purl.org/NET/rdflicense/cc-zero1.0", "cc-zero", "CC0-1.0"),
        ("https://creativecommons.org/publicdomain/zero/1.0/", "cc-zero", "CC0-1.0"),
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
