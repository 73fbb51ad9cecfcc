from __future__ import annotations

import gc

import pytest

from ckanext.freshness.web.event_loop import run


@pytest.mark.parametrize("fails", [False, True])
def test_the_collector_is_as_it_was_once_a_run_has_ended(fails: bool) -> None:
    during: list[tuple[int, int]] = []

    async def main() -> None:
        during.append((gc.get_threshold()[0], gc.get_freeze_count()))
        if fails:
            raise LookupError

    before = gc.get_threshold()
    try:
        run(main())
    except LookupError:
        assert fails
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
    ((threshold, frozen),) = during
    assert threshold > before[0]
    assert frozen > 0
