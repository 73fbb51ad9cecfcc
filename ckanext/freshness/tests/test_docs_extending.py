"""The page about extending: its examples do what it says."""

from __future__ import annotations

import io
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from ckanext.freshness.aging.frequency import VOCABULARIES, parse
from ckanext.freshness.aging.vocabularies import AS_NEEDED, Reason, read_file
from ckanext.freshness.checking.content import ContentLimits, Unreadable

PAGE = Path(__file__).parents[3] / "docs" / "extending.rst"

pytestmark = pytest.mark.skipif(
    not PAGE.exists(), reason="about a checkout, which an installed copy is not"
)


def blocks(label: str, language: str) -> list[str]:
    """The code of a section."""
    page = PAGE.read_text(encoding="utf-8")
    section = page[page.index(f".. _{label}:\n") :].partition("\n.. _")[0]
    found = re.findall(rf"^\.\. code-block:: {language}\n\n((?:   .*\n|\n)+)", section, re.M)
    assert found
    return [textwrap.dedent(block) for block in found]


def example(label: str) -> dict[str, Any]:
    """What the code of a section defines."""
    names: dict[str, Any] = {"__name__": label}
    for block in blocks(label, "python"):
        exec(compile(block, label, "exec", dont_inherit=True), names)
    return names


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("q", 90),
        ("http://sdmx.org/cl_freq/M", 30),
        ("I", AS_NEEDED),
        ("U", Reason.UNSPECIFIED),
        ("weekly", 7),
        ("X", Reason.NOT_UNDERSTOOD),
    ],
)
def test_the_vocabulary(tmp_path: Path, text: str, read: int | Reason) -> None:
    (block,) = blocks("add-vocabulary", "yaml")
    file = tmp_path / "vocabularies.yaml"
    file.write_text(block, encoding="utf-8")
    found = parse(text, (*read_file(file), *VOCABULARIES))
    assert (found if isinstance(found, int) else found.reason) == read


def test_the_vocabulary_of_a_plugin() -> None:
    read = example("add-vocabulary")["Esperanto"]().read
    assert (read("Ĉiumonate"), read("nekonata"), read("x")) == (30, Reason.UNSPECIFIED, None)


def test_the_detector() -> None:
    detector = example("add-detector")["Json"]

    def hashed(content: bytes) -> str:
        assert detector.takes(content)
        return str(detector.fingerprint(io.BytesIO(content), ContentLimits()))

    one = hashed(b'{"a": 1, "b": [2]}')
    assert one.startswith("json:")
    assert hashed(b'{"b":[2],\n"a":1}') == one
    assert hashed(b'{"b":[3],\n"a":1}') != one
    with pytest.raises(Unreadable):
        hashed(b'{"b":')
