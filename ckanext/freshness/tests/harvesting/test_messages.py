"""Messages about a harvest: their sentences, and how they are stored."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

import ckanext.freshness
from ckanext.freshness.harvesting.messages import (
    HarvestMessage,
    MessageCode,
    about,
    as_plain,
    from_column,
    sentence,
    to_column,
)

URL = "https://fdp.example.org/dataset/1"
ANSWERED = HarvestMessage(MessageCode.ANSWERED, {"status": 410}, "tried 3 times")
SAID = f"{URL}: It is no longer there (the server answers 410): tried 3 times"


def test_each_code_is_used() -> None:
    package = Path(ckanext.freshness.__file__).parents[1]
    modules = [one for one in package.rglob("*.py") if "tests" not in one.parts]
    code = "".join(one.read_text("utf-8") for one in modules)
    used = set(re.findall(r"\bMessageCode\.([A-Z_]+)", code))
    assert used == {one.name for one in MessageCode}


@pytest.mark.parametrize("code", MessageCode)
def test_a_sentence_has_all_values(code: MessageCode) -> None:
    assert MessageCode.named(code.key) is code
    forms = code.value if isinstance(code.value, tuple) else (code.value,)
    for count, form in enumerate(forms, 1):
        names = {name for _, name, _, _ in Formatter().parse(form) if name}
        values: dict[str, Any] = {name: f"<{name}>" for name in names}
        values |= {
            name: number
            for name, number in {"count": count, "status": 503}.items()
            if name in names
        }
        said = sentence(code, {"count": count, **values})
        assert all(str(value) in said for value in values.values()), said
        assert "{" not in said


def test_a_column_keeps_the_text_and_the_code() -> None:
    stored = to_column(about(URL, ANSWERED))
    assert stored == f'{SAID}\n{{"code": "answered", "values": {{"status": 410}}}}'
    code = {"code": "answered", "values": {"status": 410}}
    assert from_column(stored) == as_plain(about(URL, ANSWERED))
    assert from_column(stored) == {"message": SAID, "message_code": code}


@pytest.mark.parametrize(
    "text",
    ["It answers 410", 'a text\n{"code": "answered"}', ""],
)
def test_any_other_text_of_a_column_is_a_message_without_a_code(text: str) -> None:
    assert from_column(text) == {"message": text, "message_code": None}
    assert to_column(text) == text
