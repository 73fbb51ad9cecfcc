"""Messages about a harvest, and how they are stored."""

from __future__ import annotations

import pytest

from ckanext.freshness.harvesting.messages import (
    HarvestMessage,
    MessageCode,
    about,
    code_of,
    from_column,
    to_column,
    with_code,
)

URL = "https://fdp.example.org/dataset/1"
ANSWERED = HarvestMessage("it answers 410", MessageCode.ANSWERED, status=410)


def test_a_message_keeps_its_code_behind_a_url_and_in_a_column() -> None:
    message = about(URL, ANSWERED)
    stored = to_column(message)
    assert stored == f'{URL}: it answers 410\n{{"code": "answered", "values": {{"status": 410}}}}'
    for found in (message, from_column(stored)):
        assert found == f"{URL}: it answers 410"
        assert code_of(found) == {"code": "answered", "values": {"status": 410}}


@pytest.mark.parametrize(
    "text",
    [
        "It answers 410",
        "two\nlines",
        'a text\n{"code": "of a later version", "values": {}}',
        'a text\n{"code": "answered"}',
        'a text\n["answered"]',
        "a text\n410",
        "",
    ],
)
def test_any_other_text_of_a_column_is_a_message_without_a_code(text: str) -> None:
    found = from_column(text)
    assert found == text and code_of(found) is None


def test_a_text_without_a_code_is_stored_as_it_is() -> None:
    assert to_column("It answers 410") == "It answers 410"
    assert code_of(with_code("It answers 410", None)) is None
