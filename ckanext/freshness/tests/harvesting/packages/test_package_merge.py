"""A newly harvested package merged with the existing one."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ckanext.freshness.harvesting.packages.merge import merge
from ckanext.freshness.harvesting.record import LaidOutRecord

EXISTING: dict[str, Any] = {
    "id": "p-1",
    "name": "old-name",
    "type": "dataset",
    "owner_org": "org-1",
    "organization": {"id": "org-1", "name": "org"},
    "private": True,
    "state": "active",
    "title": "Old title",
    "notes": "Old notes",
    "url": None,
    "version": "1",
    "author": "An editor",
    "license_id": "cc-by",
    "license_title": "Creative Commons Attribution",
    "metadata_created": "2024-01-01T00:00:00",
    "metadata_modified": "2024-02-01T00:00:00",
    "extras": [
        {"key": "theme", "value": '["a"]'},
        {"key": "identifier", "value": "id-1"},
        {"key": "publisher_name", "value": "of an older harvester"},
        {"key": "review_date", "value": "2024-01-01"},
        {"key": "freshness", "value": "fresh"},
        {"key": "harvest_source_id", "value": "s-1"},
    ],
    "groups": [{"id": "g-1", "name": "group", "title": "Group"}],
    "tags": [
        {"id": "t-1", "name": "kept", "vocabulary_id": None, "state": "active"},
        {"id": "t-2", "name": "gone", "vocabulary_id": None, "state": "active"},
        {"id": "t-3", "name": "of a vocabulary", "vocabulary_id": "v-1", "state": "active"},
    ],
    "resources": [
        {
            "id": "r-1",
            "package_id": "p-1",
            "position": 0,
            "uri": "https://fdp/d/1",
            "url": "https://a.nl/1.csv",
            "name": "One",
            "description": "Old",
            "format": "CSV",
            "hash": "abc",
            "size": 5,
            "language": '["nl"]',
            "datastore_active": True,
            "last_modified": None,
        },
        {"id": "r-2", "url": "https://a.nl/2.csv", "name": "Two", "position": 1},
        {"id": "r-3", "url": "https://a.nl/3.csv", "name": "Three", "position": 2},
    ],
}

_STATED = ("uri", "url", "name", "description", "format", "language")
BEFORE: dict[str, Any] = {
    **{key: EXISTING[key] for key in ("title", "notes", "version", "license_id")},
    "extras": EXISTING["extras"][:3],
    "tags": EXISTING["tags"][:2],
    "resources": [
        {key: one[key] for key in _STATED if key in one} for one in EXISTING["resources"]
    ],
}
"""What the source stated of it."""

NEW: dict[str, Any] = {
    "type": "catalog",
    "title": "New title",
    "notes": "New notes",
    "owner_org": "org-2",
    "extras": [{"key": "guid", "value": "g"}, {"key": "theme", "value": '["b"]'}],
    "groups": [{"name": "group"}, {"name": "default"}],
    "tags": [{"name": "kept"}, {"name": "Added"}],
    "resources": [
        {"uri": "https://fdp/d/2", "url": "https://a.nl/2.csv", "name": "Two"},
        {"uri": "https://fdp/d/1", "url": "https://a.nl/1.csv", "name": "One, renamed"},
        {"uri": "https://fdp/d/4", "url": "https://a.nl/4.csv", "name": "Four"},
    ],
}


def merged(new: dict[str, Any] | None = None, *keep: str, **existing: Any) -> dict[str, Any]:
    laid = LaidOutRecord(NEW if new is None else new, [])
    return merge({**EXISTING, **existing}, laid, keep, before=LaidOutRecord(BEFORE, []))


def extras(package: dict[str, Any]) -> dict[str, str]:
    return {extra["key"]: extra["value"] for extra in package["extras"]}


@pytest.mark.parametrize(
    "key", ["id", "name", "type", "owner_org", "organization", "private", "state", "author"]
)
def test_what_the_source_does_not_decide_stays(key: str) -> None:
    assert merged()[key] == EXISTING[key]


def test_what_the_source_says_is_taken_and_what_it_no_longer_says_goes() -> None:
    package = merged()
    # CKAN sets the time of an update, if there is something to update.
    assert "metadata_modified" not in package
    updated = {**package, "metadata_modified": "2024-03-01T00:00:00"}
    new = LaidOutRecord(NEW, [])
    assert merge(updated, new, before=new) == updated
    assert (package["title"], package["notes"]) == ("New title", "New notes")
    assert "version" not in package
    assert "license_id" not in package
    assert package["url"] is None  # empty already: no change for CKAN to see


def test_extras_tags_and_groups() -> None:
    """Extras keep their order, and those of others stay. Existing tags keep their ids, vocabulary tags stay."""
    package = merged()
    assert list(extras(package).items()) == [
        ("theme", '["b"]'),
        ("review_date", "2024-01-01"),
        ("freshness", "fresh"),
        ("guid", "g"),
    ]
    assert package["tags"] == [{"name": "Added"}, EXISTING["tags"][0], EXISTING["tags"][2]]
    assert package["groups"] == [EXISTING["groups"][0], {"name": "default"}]


def test_what_others_know_of_a_resource_stays_while_its_url_does() -> None:
    one = merged()["resources"][1]
    assert one["datastore_active"] is True
    assert (one["hash"], one["size"], one["format"]) == ("abc", 5, "CSV")
    assert one["description"] == ""  # CKAN keeps columns that an update leaves out
    assert "language" not in one


def test_what_was_found_out_about_other_bytes_goes() -> None:
    new = copy.deepcopy(NEW)
    new["resources"][1]["url"] = "https://a.nl/other.csv"
    one = merged(new)["resources"][1]
    assert one["id"] == "r-1"
    assert (one["hash"], one["size"], one["format"]) == ("", "", "")


@pytest.mark.parametrize(
    "key", ["title", "notes", "version", "tags", "groups", "resources", "license_id"]
)
def test_protected_fields(key: str) -> None:
    assert merged(None, key)[key] == EXISTING[key]


def test_protected_fields_that_somebody_emptied_stay_empty() -> None:
    package = merged(None, "notes", "theme", "tags", notes="", extras=[], tags=[])
    assert package["notes"] == ""
    assert package["tags"] == []
    assert set(extras(package)) == {"guid"}
    without = {key: value for key, value in EXISTING.items() if key != "notes"}
    assert "notes" not in merge(without, LaidOutRecord(NEW, []), ["notes"])


def test_protected_resource_fields() -> None:
    two, one, four = merged(None, "resources.name", "resources.description")["resources"]
    assert (one["name"], one["description"]) == ("One", "Old")
    assert "description" not in two  # emptied, stays empty
    assert four["name"] == "Four"  # new, nothing to protect


def test_the_arguments_are_left_alone() -> None:
    existing, new = copy.deepcopy(EXISTING), copy.deepcopy(NEW)
    package = merge(existing, LaidOutRecord(new, []))
    package["resources"][0]["name"] = package["groups"][0]["name"] = "changed"
    assert (existing, new) == (EXISTING, NEW)


CONTACT = '[{"email": "%s@example.org", "name": "%s"}]'


@pytest.mark.parametrize(
    ("stored", "before", "now", "kept"),
    [
        # the dataset's value, the source's contacts before and now, the merged value
        (None, None, "desk", "desk"),
        ("", "desk", "desk", "desk"),
        ("desk", "desk", "new", "new"),
        ("desk", "desk", None, ""),
        ("An editor", "desk", "new", "An editor"),
        ("An editor", None, "new", "An editor"),
        ("An editor", "desk", None, "An editor"),
    ],
)
def test_a_maintainer_that_was_filled_in_yields_to_an_editor(
    stored: str | None, before: str | None, now: str | None, kept: str
) -> None:
    existing: dict[str, Any] = {"title": "T", "maintainer": stored, "extras": []}
    if before:
        existing["extras"] = [{"key": "contact", "value": CONTACT % (before, before)}]
    new: dict[str, Any] = {"title": "T", "extras": []}
    if now:
        new["maintainer"] = now
        new["extras"] = [{"key": "contact", "value": CONTACT % (now, now)}]
    merged = merge(existing, LaidOutRecord(new, [], frozenset({"maintainer"} if now else ())))
    assert merged["maintainer"] == kept
    protected = merge(existing, LaidOutRecord(new, [], frozenset({"maintainer"})), ["maintainer"])
    assert protected["maintainer"] == stored


def test_a_package_of_which_nothing_tells_what_its_source_stated() -> None:
    """Only resources go that the source does not list, and no upload."""
    upload = {"id": "r-9", "url": "https://here/9.csv", "name": "Nine", "url_type": "upload"}
    existing = {**EXISTING, "resources": [*EXISTING["resources"], upload]}
    package = merge(existing, LaidOutRecord(NEW, []))
    assert (package["title"], package["version"]) == ("New title", "1")
    assert extras(package)["identifier"] == "id-1" and extras(package)["theme"] == '["b"]'
    assert [tag["name"] for tag in package["tags"]] == ["Added", "gone", "kept", "of a vocabulary"]
    assert [one["name"] for one in package["resources"]] == ["Two", "One, renamed", "Four", "Nine"]
    one = package["resources"][1]
    assert (one["id"], one["description"], one["language"]) == ("r-1", "Old", '["nl"]')


def test_a_file_of_an_editor_that_the_source_has_later() -> None:
    """It is the source's from then on; what the source withdraws of one file takes nothing from another."""
    before: dict[str, Any] = {
        "extras": [],
        "resources": [{"url": "https://a.nl/1", "name": "One", "description": "Wells"}],
    }
    own = {"id": "r-2", "url": "https://a.nl/2", "name": "Two", "description": "Camps"}
    existing = {"extras": [], "resources": [{"id": "r-1", **before["resources"][0]}, own]}
    named = [{"url": "https://a.nl/1", "name": "One"}, {"url": "https://a.nl/2", "name": "Two"}]
    new = LaidOutRecord({"extras": [], "resources": named}, [])
    package = merge(existing, new, before=LaidOutRecord(before, []))
    assert [one["description"] for one in package["resources"]] == ["", "Camps"]
    without = LaidOutRecord({"extras": [], "resources": named[:1]}, [])
    assert [one["id"] for one in merge(package, without, before=new)["resources"]] == ["r-1"]


def test_a_resource_without_url_and_name_is_the_sources() -> None:
    """CKAN gives its format another name, so that nothing else tells."""
    new = {"extras": [], "resources": [{"format": "text/csv"}]}
    existing = {"extras": [], "resources": [{"id": "r", "format": "CSV", "url": ""}]}
    laid = LaidOutRecord(new, [])
    assert merge(existing, laid, before=laid)["resources"] == new["resources"]


@pytest.mark.parametrize(
    ("before", "stored", "now", "kept"),
    [
        # the source's texts before, the dataset's, the source's now, the merged ones
        ({"en": "A"}, {"en": "A"}, {"en": "B"}, {"en": "B"}),
        ({"en": "A", "de": "D"}, {"en": "A", "de": "D"}, {"en": "A"}, {"en": "A"}),
        ({"en": "A"}, {"en": "A", "de": "X"}, {"en": "B"}, {"en": "B", "de": "X"}),
        ({"en": "A"}, {"en": "A", "de": "X"}, {"en": "B", "de": "D"}, {"en": "B", "de": "D"}),
        # a text that repeats another one
        ({"en": "A", "de": "A"}, {"en": "A", "de": "X"}, {"en": "B", "de": "B"}, {"en": "B", "de": "X"}),
        ({"en": "A", "de": "A"}, {"en": "X", "de": "A"}, {"en": "B", "de": "B"}, {"en": "B", "de": "B"}),
    ],
)  # fmt: skip
def test_translations_of_editors(
    before: dict[str, str], stored: dict[str, str], now: dict[str, str], kept: dict[str, str]
) -> None:
    was, existing, new = (
        {
            "title_translated": one,
            "extras": [],
            "resources": [{"id": "r", "name_translated": one}],
        }
        for one in (before, stored, now)
    )
    package = merge(existing, LaidOutRecord(new, []), before=LaidOutRecord(was, []))
    (resource,) = package["resources"]
    assert package["title_translated"] == resource["name_translated"] == kept
