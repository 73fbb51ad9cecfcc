"""The badge as SVG."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness.views.embeds import COLOURS, svg

_WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn")), max_size=40)


@given(_WORDS, _WORDS, st.sampled_from(sorted(COLOURS)))
def test_any_words_are_a_picture_with_a_title(label: str, words: str, colour: str) -> None:
    root = ElementTree.fromstring(svg(label, words, colour))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.attrib["aria-label"] == f"{label}: {words}"
    assert root.findtext("{http://www.w3.org/2000/svg}title") == f"{label}: {words}"
