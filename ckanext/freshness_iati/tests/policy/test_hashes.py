"""Both hashes, compared with the Bulk Data Service's definition, wherever a file is cut."""

from __future__ import annotations

import hashlib
import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckanext.freshness_iati.iati_file import Hashes

NAME = 'generated-datetime="'
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-be", "iso-8859-1"]


# The Bulk Data Service knows neither blanks nor single quotation marks here.
ATTRIBUTE = r"""generated-datetime[ \t\r\n]{0,16}=[ \t\r\n]{0,16}(?:"[^"]+"|'[^']+')"""


def original(text: str, encoding: str) -> tuple[str, str]:
    """Return the Bulk Data Service's hashes: of the bytes, and of the text without the attribute."""
    without = re.sub(ATTRIBUTE, "", text)
    if "'" not in text and not re.search(r"\s=|=\s", text):
        assert without == re.sub(r'generated-datetime="[^"]+"', "", text)
    return (
        hashlib.sha1(text.encode(encoding)).hexdigest(),
        hashlib.sha1(without.encode(encoding)).hexdigest(),
    )


def ours(data: bytes, *cuts: int) -> tuple[str, str]:
    hashes, start = Hashes(), 0
    for cut in [*sorted(cuts), len(data)]:
        hashes.write(data[start:cut])
        start = max(start, cut)
    assert hashes.size == len(data)
    return hashes.finish()


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<a/>", "<a/>"),
        (f'<a {NAME}2026" b="c"/>', '<a  b="c"/>'),
        (f'<a {NAME}1"{NAME}2"/>', "<a />"),
        (f'<a {NAME}"{NAME}x"/>', f'<a {NAME}"/>'),
        (f"<a {NAME}2026", f"<a {NAME}2026"),
        ('<a generated-datetime\n\t=\r\n"2026"/>', "<a />"),
        ("<a generated-datetime='a\"b'/>", "<a />"),
        (f'<a generated-datetime{" " * 17}="2026"/>', f'<a generated-datetime{" " * 17}="2026"/>'),
        ("<a generated-datetime='2026\"/>", "<a generated-datetime='2026\"/>"),
        ("<a generated-datetime=2026/>", "<a generated-datetime=2026/>"),
        (f'<a Generated-{NAME}é\n"/>', "<a Generated-/>"),
    ],
)
def test_what_is_left_out(text: str, left: str) -> None:
    data = text.encode()
    expected = hashlib.sha1(data).hexdigest(), hashlib.sha1(left.encode()).hexdigest()
    assert expected == original(text, "utf-8")
    assert ours(data) == expected
    assert ours(data, *range(len(data))) == expected


SPACED = 'generated-datetime \n= "'
parts = st.sampled_from(
    [NAME, SPACED, "generated-", "datetime", '"', '""', "=", "g", "ge", " ", "é", "a", 'x"', "\n"]
)
texts = st.lists(parts, max_size=12).map("".join)


@given(texts, st.sampled_from("\"'"), st.sampled_from(ENCODINGS), st.lists(st.integers(0, 400)))
def test_as_the_original_wherever_it_is_cut(
    text: str, quote: str, encoding: str, cuts: list[int]
) -> None:
    text = text.replace('"', quote)
    if encoding == "utf-16-be":
        # Without a BOM, the first character shows the encoding.
        text = f"<{text}"
    data = text.encode(encoding)
    assert ours(data, *cuts) == original(text, encoding)


def test_a_value_of_any_length_takes_no_memory() -> None:
    chunk = b"2" * 65536
    hashes = Hashes()
    hashes.write(f"<a {NAME}".encode())
    tracemalloc.start()
    try:
        for _ in range(1000):
            hashes.write(chunk)
        _, without = hashes.finish()
        assert tracemalloc.get_traced_memory()[1] < 300_000
    finally:
        tracemalloc.stop()
    assert without == hashlib.sha1(f"<a {NAME}".encode() + chunk * 1000).hexdigest()
