"""Distributions keep the ids of their resources, whatever comes, goes or changes its place."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ckanext.freshness.harvesting.packages.merge import ids_to_keep, merge, with_resource_ids
from ckanext.freshness.harvesting.record import LaidOutRecord
from ckanext.freshness.resource_identity import resource_key

PAGE = "http://o.example/page"


def resource(name: str = "", format: str = "", url: str = PAGE, uri: str = "") -> dict[str, Any]:
    return {"uri": uri, "url": url, "name": name, "format": format}


def harvested(
    before: list[dict[str, Any]], now: list[dict[str, Any]], earlier: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    """Return the resources of a dataset after another harvest, as the import makes them."""
    merged = merge({"resources": before}, LaidOutRecord({"extras": [], "resources": now}, []))
    return with_resource_ids("p", merged["resources"], earlier or {})


def there(place: str) -> list[dict[str, Any]]:
    """Return resources with equal titles, whose distributions and files are at a place."""
    return [
        resource("Data", "CSV", f"{place}/file/{number}.csv", f"{place}/distribution/{number}")
        for number in range(3)
    ]


CSV, JSON, XML = (resource(name, name) for name in ("CSV", "JSON", "XML"))


@pytest.mark.parametrize(
    ("before", "now", "same"),
    [
        # same: for each resource now, the index of the one that it was
        pytest.param([CSV, JSON, XML], [JSON, XML], [1, 2], id="the first is removed"),
        pytest.param(
            [CSV, JSON], [CSV, resource("TXT", "TXT"), JSON], [0, None, 1], id="one between"
        ),
        pytest.param([CSV, JSON], [resource("CSV", "TXT"), JSON], [0, 1], id="another format"),
        pytest.param([CSV], [resource("CSV", "CSV", "http://o.example/2")], [0], id="another URL"),
        pytest.param(
            [resource("CSV", "csv", "www.o.example")],
            [resource("CSV", "CSV", "http://www.o.example")],
            [0],
            id="another spelling",
        ),
        pytest.param(
            [resource("A", "CSV", ""), resource("B", "CSV", "")],
            [resource("B", "CSV", ""), resource("C", "CSV", "")],
            [1, None],
            id="without URL",
        ),
        pytest.param(
            [resource("A", "CSV", "")], [resource("A", "XML", "")], [0], id="without URL, by title"
        ),
        pytest.param(
            [resource("A", uri="u:1"), resource("B", uri="u:2")],
            [resource("A", uri="u:2"), resource("B", "", "http://o.example/3", "u:3")],
            [1, None],
            id="the URI comes first",
        ),
        *(
            pytest.param(there("http://o.example/fdp"), there(now), [0, 1, 2], id=f"moved to {now}")
            for now in (
                "https://o.example/fdp",
                "http://new.example/fdp",
                "http://new.example/data",
                "https://new.example",
            )
        ),
        pytest.param(
            [resource("2025", "CSV", "http://o.example/2025/data.csv")],
            [resource("2026", "CSV", "http://o.example/2026/data.csv")],
            [None],
            id="another year",
        ),
        pytest.param(
            [resource(uri="http://o.example/1/csv", url="")],
            [resource(uri=f"http://{host}.example/1/csv", url="") for host in "ab"],
            [None, None],
            id="two that may be one",
        ),
        pytest.param(
            [resource("CSV", "CSV", "http://o.example/2"), CSV],
            [resource("CSV", "CSV", "http://o.example/3")],
            [None],
            id="one that may have been two",
        ),
        pytest.param(
            [
                resource("A", url="http://o.example/d/1/a"),
                resource("A", url="http://o.example/d/2/a"),
            ],
            [
                resource("A", url="http://n.example/d/2/a/"),
                resource("A", url="http://n.example/d/1/a/"),
            ],
            [1, 0],
            id="files moved, and have no URI",
        ),
    ],
)
def test_resources_keep_their_ids(
    before: list[dict[str, Any]], now: list[dict[str, Any]], same: list[int | None]
) -> None:
    old = with_resource_ids("p", before, {})
    new = harvested(old, now)
    ids = [one["id"] for one in old]
    assert [ids.index(one["id"]) if one["id"] in ids else None for one in new] == same


NAMES, FORMATS = ("A", "B", "C"), ("CSV", "JSON")
URLS = (PAGE, "http://o.example/file", "")
DISTRIBUTIONS = st.lists(
    st.builds(
        resource,
        st.sampled_from(NAMES),
        st.sampled_from(FORMATS),
        st.sampled_from(URLS),
        st.sampled_from(("", "", "http://fdp.example/1", "http://fdp.example/2")),
    ),
    unique_by=resource_key,
    max_size=6,
)


@settings(deadline=None, max_examples=100)
@given(st.lists(DISTRIBUTIONS, min_size=2, max_size=5))
@example([[CSV], [{**CSV, "uri": "http://fdp.example/1"}, CSV]])
def test_ids_never_change_for_a_distribution_that_stays(jobs: list[list[dict[str, Any]]]) -> None:
    before: list[dict[str, Any]] = []
    earlier: dict[str, str] = {}
    for distributions in jobs:
        after = harvested(before, distributions, earlier)
        ids = {resource_key(one): one["id"] for one in after}
        assert len({*ids.values()}) == len(after) == len(distributions)
        stays = {resource_key(one): one["id"] for one in before if resource_key(one) in ids}
        assert {key: ids[key] for key in stays} == stays
        comes_back = {key: earlier[key] for key in ids.keys() & earlier.keys() - stays.keys()}
        in_use = {ids[key] for key in ids if key not in comes_back}
        for key, resource_id in comes_back.items():
            was_another = any(one["id"] == ids[key] for one in before)
            assert ids[key] == resource_id or resource_id in in_use or was_another
        earlier |= ids_to_keep("p", before, after)
        before = after


@given(DISTRIBUTIONS, DISTRIBUTIONS)
def test_a_distribution_that_comes_back_has_its_former_id(
    kept: list[dict[str, Any]], gone: list[dict[str, Any]]
) -> None:
    """Unless it seems to be a renamed one, since the URL, or title and format, are those of another."""
    gone = [one for one in gone if not any(_alike(one, other) for other in kept)]
    first = harvested([], [*kept, *gone])
    second = harvested(first, kept)
    third = harvested(second, [*gone, *kept], ids_to_keep("p", first, second))
    ids = {resource_key(one): one["id"] for one in first}
    assert {resource_key(one): one["id"] for one in third} == ids


def _alike(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return any(one[key] and one[key] == other[key] for key in ("url", "name", "uri"))


def test_ids_that_another_harvester_gave_are_kept() -> None:
    before = [{**CSV, "id": "theirs"}, {**JSON, "id": "too"}]
    after = harvested(before, [JSON])
    kept = ids_to_keep("p", before, after)
    assert kept == {resource_key(CSV): "theirs"}
    assert harvested(after, [resource("TXT", "TXT"), JSON], kept)[0]["id"] != "theirs"
    assert harvested(after, [JSON, CSV], kept)[1]["id"] == "theirs"


def test_no_new_distribution_gets_the_id_of_a_renamed_one_that_is_gone() -> None:
    first = harvested([], [CSV])
    renamed = harvested(first, [resource("Table", "CSV")])
    assert renamed[0]["id"] == first[0]["id"]
    kept = ids_to_keep("p", renamed, [])
    assert harvested([], [CSV], kept)[0]["id"] != first[0]["id"]
