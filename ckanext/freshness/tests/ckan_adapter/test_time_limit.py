"""The time limit of work with CKAN's session."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from ckanext.freshness.ckan_adapter.core import model
from ckanext.freshness.ckan_adapter.database import TimeLimitError, time_limit

pytestmark = pytest.mark.usefixtures("with_plugins")
LIMIT = 0.2


def run(statement: str) -> object:
    return model.Session.execute(sa.text(statement)).scalar()


def catch_in_a_savepoint() -> None:
    for _ in range(2):
        with contextlib.suppress(sa.exc.DBAPIError), model.Session.begin_nested():
            run("SELECT pg_sleep(60)")
    run("SELECT 1")


def begin_late() -> None:
    time.sleep(1.1 * LIMIT)
    run("SELECT 1")


def remove_the_session() -> None:
    model.Session.remove()
    run("SELECT pg_sleep(60)")


def begin_again() -> None:
    model.Session.commit()
    run("SELECT pg_sleep(60)")


@pytest.mark.parametrize(
    "work", [catch_in_a_savepoint, begin_late, remove_the_session, begin_again]
)
def test_work_ends_at_the_limit(work: Callable[[], None]) -> None:
    model.Session.commit()
    begun = time.monotonic()
    with pytest.raises(TimeLimitError), time_limit(LIMIT):
        work()
    assert time.monotonic() - begun < 30
    model.Session.rollback()
    assert run("SHOW statement_timeout") == "0"
    model.Session.commit()


def test_what_follows_has_no_limit() -> None:
    """Neither a transaction that goes on, nor the next one."""
    model.Session.commit()
    with time_limit(10 * LIMIT):
        run("SELECT 1")
    time.sleep(11 * LIMIT)
    run("SELECT 1")
    model.Session.commit()
    assert run("SHOW statement_timeout") == "0"
    model.Session.commit()


def test_another_thread_has_no_limit() -> None:
    found = []

    def work() -> None:
        found.append(run("SHOW statement_timeout"))
        model.Session.remove()

    with time_limit(LIMIT):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert found == ["0"]
