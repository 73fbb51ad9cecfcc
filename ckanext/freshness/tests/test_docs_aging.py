"""The page about freshness names all there is, and its example works."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from ckanext.freshness import helpers
from ckanext.freshness.aging.evidence import Evidence
from ckanext.freshness.aging.frequency import AS_NEEDED, VOCABULARIES, Frequency, Reason, parse
from ckanext.freshness.aging.status import Status
from ckanext.freshness.ckan_adapter.core import NAMES
from ckanext.freshness.settings import Aging

PAGE = Path(__file__).parents[3] / "docs" / "aging.rst"

pytestmark = pytest.mark.skipif(
    not PAGE.exists(), reason="about a checkout, which an installed copy is not"
)

OF_HARVESTS = {
    *(name for name in helpers.__all__ if name.startswith("freshness_harvest")),
    "freshness_next_harvest",
}


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("what", "names"),
    [
        ("statuses", [status.value for status in Status]),
        ("kinds of evidence", [evidence.value for evidence in Evidence]),
        ("extras", NAMES.extras),
        ("actions", ["freshness_confirm", "freshness_show"]),
        (
            "options",
            [
                f"ckanext.freshness.{name}"
                for name in Aging.__dataclass_fields__  # the options are called as its fields
            ],
        ),
    ],
)
def test_the_page_has_all(page: str, what: str, names: list[str]) -> None:
    assert [one for one in names if not re.search(rf"\b{re.escape(one)}\b", page)] == [], what


def test_every_helper_is_in_the_table_and_no_other(page: str) -> None:
    ours = {one for one in helpers.__all__ if one.startswith("freshness_")} - OF_HARVESTS
    assert set(re.findall(r"^   \* - ``h\.(\w+)\(", page, re.M)) == ours


def test_the_example_of_a_vocabulary(page: str) -> None:
    code = re.search(r"\.\. code-block:: python\n\n((?:    .*\n|\n)+)", page)
    assert code
    names: dict[str, Any] = {}
    exec(textwrap.dedent(code[1]), names)
    plugin = names["EsperantoPlugin"]
    known = (*plugin.frequency_vocabularies(plugin), *VOCABULARIES)

    def read(text: str) -> Any:
        found = parse(text, known)
        return found.days if isinstance(found, Frequency) else found.reason

    assert read(" Ĉiumonate ") == 30
    assert read("laŭbezone") == AS_NEEDED
    assert read("nekonata") is Reason.UNSPECIFIED
    assert read("weekly") == 7
