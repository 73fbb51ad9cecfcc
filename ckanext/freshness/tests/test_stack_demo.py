"""What the demo says of a harvest that stands still."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.skipif(
    not (ROOT / "dev").exists(), reason="about a checkout, which an installed copy is not"
)

if (ROOT / "dev").exists():
    from demo import __main__ as demo
    from demo.site import Progress
    from stack.errors import StackError


class Clock:
    """Seconds that pass when told."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("gathered", "objects", "left", "words", "log"),
    [
        (
            False,
            0,
            0,
            "the gather has not ended, 0 records have come so far",
            "gather-consumer.log",
        ),
        (
            False,
            7,
            7,
            "the gather has not ended, 7 records have come so far",
            "gather-consumer.log",
        ),
        (True, 7, 3, "3 of 7 gathered records are not imported", "fetch-consumer.log"),
        (True, 7, 0, "all records are imported, but the job is not", "fetch-consumer.log"),
    ],
)
@pytest.mark.parametrize("logged", [True, False])
def test_it_is_named_who_stands_still(
    gathered: bool, objects: int, left: int, words: str, log: str, logged: bool, tmp_path: Path
) -> None:
    if logged:
        (tmp_path / log).write_text("the last words\n")
    clock = Clock()
    progress = Progress("Running", gathered, objects, left)
    standstill = demo.Standstill(clock)
    standstill.look(progress, tmp_path)
    clock.now += demo.STALLED
    standstill.look(progress, tmp_path)
    clock.now += 1
    with pytest.raises(StackError) as told:
        standstill.look(progress, tmp_path)
    said = str(told.value)
    assert f"Nothing has moved for 180 s: {words}" in said
    assert str(tmp_path / log) in said
    assert ("the last words" in said) == logged


def test_whatever_moves_begins_anew(tmp_path: Path) -> None:
    clock = Clock()
    standstill = demo.Standstill(clock)
    moves = [
        Progress("Running", False, 0, 0),
        Progress("Running", False, 50, 50),
        Progress("Running", True, 50, 50),
        Progress("Running", True, 50, 49),
        Progress("Running", True, 50, 0),
    ]
    for progress in moves:
        clock.now += demo.STALLED - 1
        standstill.look(progress, tmp_path)
    clock.now += demo.STALLED + 1
    with pytest.raises(StackError):
        standstill.look(moves[-1], tmp_path)
