"""No value costs a record: odd values of a source, imported with CKAN's own actions."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from ckan.tests.helpers import call_action

from ckanext.freshness.harvesting.packages.ckan_actions import leave_out
from ckanext.freshness.tests.harvesting.conftest import STRICT, add_source, sysadmin
from ckanext.freshness.tests.servers.base import Answer, Request
from ckanext.freshness.tests.servers.ckan_portal import PortalServer
from ckanext.freshness.tests.servers.fdp import FdpServer
from ckanext.freshness.tests.servers.turtle import Literal, Raw


@pytest.mark.parametrize("schema", [STRICT], indirect=True)
def test_values_that_the_schema_refuses(schema: str, fdp: FdpServer) -> None:
    """The schema's validators are none that the layout knows."""
    dataset = fdp.add_dataset(
        fdp.add_catalog(),
        title="Cohort",
        version="v1",
        identifier="Not a name!",
        min_typical_age=0,
        landing_page="https://user@example.org/page",
        publisher=[
            Raw("[ a foaf:Agent ; foaf:name 'A' ; dcterms:identifier 'no name' ]"),
            Raw("[ a foaf:Agent ; foaf:name 'B' ; dcterms:identifier 'b-2' ]"),
        ],
        distributions=[
            {"title": "One", "download_url": "https://example.org/1", "status": Literal("No name")},
            {"title": "Two", "download_url": "https://example.org/2", "status": Literal("done")},
        ],
    )
    harvest = add_source(fdp.source_url)
    job = harvest.run()
    assert (job.errors, job.stats["added"]) == ([], 1)
    first = harvest.dataset(dataset, fdp)
    assert not {"identifier", "min_typical_age"} & {key for key in first if first[key]}
    assert not first.get("url")
    assert first["publisher"] == [{"identifier": "b-2", "name": "B"}, {"name": "A"}]
    assert [one.get("status") for one in first["resources"]] == [None, "done"]
    (warnings,) = job.warnings.values()
    told = {text.partition(" is left out, because CKAN refuses it: ")[0] for text in warnings}
    # An editor's value stays while the source states the same refused one.
    call_action("package_patch", {"user": sysadmin()}, id=first["id"], min_typical_age="18")
    assert told >= {
        'identifier: "Not a name!"',
        'min_typical_age: "0"',
        'url: "https://user@example.org/page"',
        'publisher.2.identifier: "no name"',
        'resources.1.status: "No name"',
    }

    fdp.change(dataset, landing_page="https://example.org", identifier="cohort-a")
    job = harvest.run()
    assert (job.errors, job.stats["updated"]) == ([], 1)
    second = harvest.dataset(dataset, fdp)
    assert (second["url"], second["identifier"]) == ("https://example.org", "cohort-a")
    assert str(second["min_typical_age"]) == "18"
    assert second["publisher"] == first["publisher"]
    assert [one["id"] for one in second["resources"]] == [one["id"] for one in first["resources"]]

    fdp.change(dataset, identifier="Not a name!", title="Changed")
    job = harvest.run()
    assert (job.errors, job.stats["updated"]) == ([], 1)
    third = harvest.dataset(dataset, fdp)
    assert (third["title"], third.get("identifier")) == ("Changed", None)

    # Without a required value there is no package: it stays as it is.
    fdp.change(dataset, version="Not a name!", title="Refused")
    job = harvest.run()
    (error,) = job.errors
    assert "Must be purely lowercase alphanumeric" in error
    assert harvest.dataset(dataset, fdp)["title"] == "Changed"


def nested(levels: int) -> Any:
    value: Any = "x"
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


ODD: dict[str, dict[str, Any]] = {
    "large number": {"odd": "!9", "resources": [{"url": "https://example.org", "size": "!9"}]},
    "nested": {"odd": nested(40)},
    "nested too deeply": {"odd": nested(60)},
    "half characters": {"title": "\ud800", "extras": [{"key": "\udfff", "value": "\ud800"}]},
    "megabytes": {
        "title": "t" * 10**6,
        "notes": "word " * 200_000,
        "tags": [{"name": "t" * 10**6}],
        "extras": [{"key": "k", "value": "v" * 10**6}, {"key": "k" * 10**6, "value": "v"}],
        "resources": [{"url": f"https://example.org/{'u' * 10**6}", "name": "n" * 10**6}],
    },
    "types": {
        "title": {"a": [1]},
        "tags": {"name": "x"},
        "extras": "x",
        "resources": [1, None, [], {"name": {"en": ["x"]}, "url": {"a": 1}}],
    },
}
"""Fields of datasets. ``!9`` stands for a number that Python does not write."""


class OddPortal(PortalServer):
    def answer(self, request: Request) -> Answer:
        answer = super().answer(request)
        body = answer.body.replace(b'"!9"', b"9" * 5000)
        body = body.replace(b'"!["', b"[" * 5000 + b"]" * 5000)
        return dataclasses.replace(answer, body=body)


@pytest.mark.usefixtures("clean_site")
@pytest.mark.parametrize("gives_fields", [True, False])
def test_odd_values_of_a_portal_cost_their_own_dataset_at_most(gives_fields: bool) -> None:
    with OddPortal(1) as portal:
        # Without fields, the list contains whole datasets: all of it must be read.
        portal.gives_fields = gives_fields
        odd = ODD | ({"unread": {"odd": "!["}} if gives_fields else {})
        ids = {name: portal.add(name.replace(" ", "-"))["id"] for name in odd}
        for name, dataset_id in ids.items():
            portal.change(dataset_id, **odd[name])
        harvest = add_source(portal.url, source_type="ckan_portal")
        job = harvest.run()
    assert job.gather_errors == []
    errors = {guid.rpartition("/")[2]: texts for guid, texts in job.object_errors.items()}
    expected = {"nested too deeply": "nested in more than 50 levels", "unread": "syntax error"}
    assert errors.keys() == {ids[name] for name in expected if name in ids}
    for name in expected.keys() & ids.keys():
        assert expected[name] in errors[ids[name]][0]
    assert job.stats["added"] == 1 + len(odd) - len(errors)


@pytest.mark.parametrize(
    ("stated", "sent", "errors", "left", "warnings"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, {"a": ["no"], "b": ["no"]}, {"b": 2}, ['a: "1" {} no']),
        # An editor's value, and one that CKAN has.
        ({"a": 1}, {"a": 2}, {"a": ["no"]}, {"a": 2}, []),
        ({"a": 1}, {}, {"a": ["Missing value"]}, {}, []),
        (
            {"a": [{"b": 1}, {"b": 2, "c": 3}]},
            {"a": [{"b": 1}, {"b": 2, "c": 3}]},
            {"a": [{}, {"b": ["no"]}]},
            {"a": [{"b": 1}, {"c": 3}]},
            ['a.2.b: "2" {} no'],
        ),
        (
            {"tags": [{"name": "x"}, {"name": "y"}]},
            {"tags": [{"name": "z"}, {"name": "y"}, {"name": "x"}]},
            {"tags": [{"name": ["no"]}, {"name": ["no"]}, {}]},
            {"tags": [{"name": "z"}, {"name": "x"}]},
            ['tags: "y" {} no'],
        ),
        (
            {"extras": [{"key": "x", "value": "1"}]},
            {"extras": [{"key": "x", "value": "1"}]},
            {"extras": [{"value": ["no"]}]},
            {"extras": []},
            ['x: "1" {} no'],
        ),
    ],
)
def test_only_values_of_the_record_are_left_out(
    stated: dict[str, Any],
    sent: dict[str, Any],
    errors: dict[str, Any],
    left: dict[str, Any],
    warnings: list[str],
) -> None:
    told = leave_out(sent, stated, errors)
    words = "is left out, because CKAN refuses it:"
    assert (sent, told) == (left, [warning.format(words) for warning in warnings])
