"""What pages make a whole list."""

from __future__ import annotations

from typing import Any

import pytest

from ckanext.freshness.harvesting import listings
from ckanext.freshness.harvesting.listings import PagedList

Page = tuple[list[str], dict[str, Any]]


def misfit(*pages: Page, overlapping: bool = False) -> str:
    whole = PagedList(overlapping=overlapping)
    for number, (members, more) in enumerate(pages):
        whole.add(listings.Page(str(number), members, **more))
    whole.end()
    return whole.misfit


A: Page = (["a"], {})
B: Page = (["b"], {})
NAMELESS: Page = ([], {"others": 1, "digest": "the same"})


@pytest.mark.parametrize(
    ("pages", "words"),
    [
        ([A, NAMELESS, NAMELESS], "its page 2 repeats an earlier page"),
        ([A, ([], {})], "its page 1 lists nothing"),
        ([([], {}), A], "its first page lists nothing"),
        ([A, B, A], "its page 2 lists only records of earlier pages"),
        ([(["a"], {"further": ["c"]}), ([], {"further": ["c"]})], "only records of earlier pages"),
        ([A, (["a", "b"], {})], "a is on two of its pages"),
        ([(["a"], {"totals": [2]}), (["b"], {"totals": [3]})], "the number of its records changes"),
        ([(["a"], {"totals": [1, 2]})], "the number of its records changes"),
        ([(["a"], {"totals": [2]})], "it says that it has 2 records, and its pages list 1"),
        ([(["a"], {"others": 1, "totals": [3]})], "it says that it has 3 records"),
        ([(["a"], {"ends": ["1"]})], "its last page 1 was not among those"),
    ],
)
def test_pages_that_make_no_whole_list(pages: list[Page], words: str) -> None:
    assert words in misfit(*pages)


@pytest.mark.parametrize(
    "pages",
    [
        [],
        [([], {"totals": [0]})],
        [A, B, (["b", "c"], {"totals": [3]})],
        [(["a"], {"ends": ["1"]}), B],
        # A total may include catalogs, or members without an identity.
        [(["a"], {"further": ["c", "a"], "totals": [2]})],
        [(["a"], {"others": 1, "totals": [2]})],
        [(["a"], {"others": 1, "totals": [1]})],
    ],
)
def test_a_whole_list(pages: list[Page]) -> None:
    assert misfit(*pages) == ""


def test_pages_that_overlap() -> None:
    assert misfit((["a", "b"], {}), (["b", "c"], {}), overlapping=True) == ""
    for second in (["c"], ["c", "b"], []):
        words = misfit((["a", "b"], {}), (second, {}), overlapping=True)
        assert words == "its pages do not meet"


def test_the_first_reason_is_told() -> None:
    assert "repeats an earlier page" in misfit(A, NAMELESS, NAMELESS, (["a"], {"totals": [7]}))
