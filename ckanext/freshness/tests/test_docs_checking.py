"""The page about checks: its queries run and say what it says, and it names all there is."""

from __future__ import annotations

import re
import textwrap
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from ckan import model
from ckan.tests import factories, helpers

from ckanext.freshness.checking.decisions import Outcome
from ckanext.freshness.checking.run_records import FREQUENCIES, STATUSES
from ckanext.freshness.model import (
    CheckRun,
    DatasetFreshness,
    FreshnessEvidence,
    FreshnessTransition,
    ResourceCheck,
)
from ckanext.freshness.tests.reporting.test_metrics import NUMBERS

PAGE = Path(__file__).parents[3] / "docs" / "checking.rst"

pytestmark = pytest.mark.skipif(
    not PAGE.exists(), reason="about a checkout, which an installed copy is not"
)

NOW = datetime.now(timezone.utc).replace(microsecond=0, tzinfo=None)
DAY = timedelta(days=1)


def queries() -> list[tuple[str, str]]:
    """Each query of the page, with the sentence before it."""
    if not PAGE.exists():
        return []
    text = PAGE.read_text(encoding="utf-8")
    found = re.findall(r"^([^\n]+):\n\n\.\. code-block:: sql\n\n((?:   .*\n|\n)+)", text, re.M)
    return [(title, textwrap.dedent(query)) for title, query in found]


@pytest.mark.parametrize(
    ("what", "names"),
    [
        ("outcomes", [one.value for one in Outcome]),
        ("statuses", [label.split(", ")[0] for label in STATUSES.values()][:2]),
        ("frequencies", [words.title() for words in FREQUENCIES.values()]),
        ("actions", ["freshness_check", "freshness_resource_history", "freshness_run_show"]),
    ],
)
def test_the_page_has_all(what: str, names: list[str]) -> None:
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert [one for one in names if one not in page] == [], what


# Queries

EXPECTED: dict[str, list[tuple[Any, ...]]] = {
    "Broken URLs": [("late", "http://a.org/broken", 3, NOW - 3 * DAY, "answered 404")],
    "Why checks fail": [("dns", 2, 2), ("status 404", 1, 1)],
    "Hosts that send neither": [("b.org", 2, 1)],
    "How reliable Last-Modified was": [("a.org", 4, 2, 2), ("b.org", 2, 1, 1)],
    "Errors by run": [(NOW - DAY, 10, 7), (NOW - 2 * DAY, 20, 0)],
    "Freshness by organization": [("water", 2, 1, 1)],
    "Datasets that would look older": [("found", "fresh", NOW, NOW - 9 * DAY)],
    "How long datasets stay overdue": [("water", 1, 5)],
}
"""What the page's queries say of the rows below, by the first words of their titles."""


def test_there_are_eight_queries() -> None:
    assert len(queries()) == len(EXPECTED) == 8


@pytest.fixture(scope="module")
def filled() -> dict[str, bool]:
    return {}


@pytest.fixture
def rows(with_plugins: Any, filled: dict[str, bool], request: pytest.FixtureRequest) -> None:
    """A small site, made once: two datasets of an organization, what is known of them, two runs."""
    if filled:
        return
    request.getfixturevalue("clean_db")
    request.getfixturevalue("clean_index")
    owner = factories.Organization(name="water")["id"]
    urls = {
        "late": ["http://a.org/broken", "http://b.org/dead", "http://c.org/dead"],
        "found": ["http://b.org/1", "http://b.org/2"],
    }
    sysadmin = factories.Sysadmin()["name"]
    made = {
        name: helpers.call_action(
            "package_create",
            {"user": sysadmin},
            name=name,
            owner_org=owner,
            resources=[{"url": url} for url in several],
        )
        for name, several in urls.items()
    }
    late, found = made["late"]["id"], made["found"]["id"]
    for table in (
        DatasetFreshness,
        FreshnessEvidence,
        FreshnessTransition,
        ResourceCheck,
        CheckRun,
    ):
        model.Session.query(table).delete()
    error = {"outcome": "error", "reason": "dns"}
    model.Session.add_all(
        [
            DatasetFreshness(package_id=late, status="delinquent"),
            DatasetFreshness(package_id=found, status="fresh", last_modified=NOW, evidence="hash"),
            evidence(found, "hash", NOW),
            evidence(found, "created", NOW - 9 * DAY),
            *transitions(late, (5, "fresh"), (3, "due"), (2, "overdue"), (1, "delinquent")),
            *transitions(found, (20, "due"), (9, "overdue"), (6, "delinquent"), (4, "fresh")),
            *(
                check(one, **more)
                for one, more in zip(
                    made["late"]["resources"],
                    [
                        {
                            "failures": 3,
                            "failing_since": NOW - 3 * DAY,
                            "failed_at": NOW,
                            "attempts": [
                                {"outcome": "error", "status": 404, "words": "answered 404"}
                            ],
                        },
                        {
                            "failures": 3,
                            "failing_since": NOW - DAY / 2,
                            "failed_at": NOW,
                            "attempts": [error],
                        },
                        {
                            "failures": 2,
                            "failing_since": NOW - 3 * DAY,
                            "failed_at": NOW,
                            "attempts": [error],
                        },
                    ],
                    strict=True,
                )
            ),
            *(
                check(one, hash="sha256:00", **more)
                for one, more in zip(made["found"]["resources"], [{"etag": '"1"'}, {}], strict=True)
            ),
            run("1", NOW - 2 * DAY, 20, {"nothing": 5}),
            run("2", NOW - DAY, 10, {"error": 3, "filestore,error": 4, "cannot tell": 1}),
        ]
    )
    model.Session.commit()
    filled["yes"] = True


def evidence(package_id: str, kind: str, at: datetime) -> Any:
    return FreshnessEvidence(package_id=package_id, resource_id="", evidence=kind, happened_at=at)


def transitions(package_id: str, *steps: tuple[int, str]) -> list[Any]:
    """Statuses that began so many days ago."""
    return [
        FreshnessTransition(
            package_id=package_id, to_status=status, changed_at=NOW - days * DAY, cause="time"
        )
        for days, status in steps
    ]


def check(resource: dict[str, Any], **more: Any) -> Any:
    host = resource["url"].split("/")[2]
    common: dict[str, Any] = {"earlier": [], "attempts": [], "wrote": {}, "failures": 0}
    return ResourceCheck(
        resource_id=resource["id"],
        package_id=resource["package_id"],
        url=resource["url"],
        host=host,
        first_seen=NOW - 30 * DAY,
        outdated=False,
        unconfirmed=False,
        tried_at=NOW,
        **{**common, **more},
    )


def run(id: str, at: datetime, visited: int, resources: dict[str, int]) -> Any:
    hosts = {"*": NUMBERS, "a.org": NUMBERS}
    if id == "1":
        hosts["b.org"] = NUMBERS
    return CheckRun(
        id=id,
        kind="check",
        started_at=at,
        ended_at=at + DAY / 24,
        options={},
        version="1",
        visited=visited,
        resources=resources,
        hosts=hosts,
    )


@pytest.mark.parametrize(("title", "query"), queries(), ids=lambda one: one[:30])
@pytest.mark.usefixtures("rows")
def test_a_query_says_what_the_page_says(title: str, query: str) -> None:
    (expected,) = (rows for words, rows in EXPECTED.items() if title.startswith(words))
    found = model.Session.execute(sa.text(query.replace(":", r"\:"))).all()
    assert [tuple(row) for row in found] == expected
