"""Up to when tables reach that others made, judged by hand (``data/tables_of_others.tsv``)."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

from ckanext.freshness.tests.checking.test_observations import answer

TABLES = Path(__file__).parent.parent / "data/tables_of_others.tsv"


def judged() -> list[list[str]]:
    with TABLES.open(encoding="utf-8", newline="") as file:
        lines = (line for line in file if not line.startswith("#"))
        return list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def test_each_table() -> None:
    expected = {file: f"{day} {precision}".strip() for _, file, _, day, precision, _ in judged()}
    assert {file: answer(cut.replace("|", "\n")) for _, file, *_, cut in judged()} == expected


def test_one_in_a_hundred_answers_is_wrong_at_most() -> None:
    count = Counter(verdict for verdict, *_ in judged())
    answers = count["right"] + count["wrong"]
    assert count.total() >= 150
    assert count["wrong"] <= 0.01 * answers
    assert count["right"] >= 0.7 * (answers + count["missed"])
