"""Locks that all processes of a site share."""

from __future__ import annotations

import threading

import pytest
import sqlalchemy as sa
from ckan import model

from ckanext.freshness.ckan_adapter.database import is_held, locked
from ckanext.freshness.tests.processes import until

pytestmark = pytest.mark.usefixtures("with_plugins", "clean_db")

NAMES = ("one", "two")

WAITING = """
SELECT pg_cancel_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"""


@pytest.mark.parametrize("busy", NAMES)
def test_a_wait_that_is_cancelled_leaves_no_lock(busy: str) -> None:
    errors: list[Exception] = []

    def wait() -> None:
        try:
            with locked(*NAMES):
                pass
        except sa.exc.DBAPIError as error:
            errors.append(error)

    engine = model.Session.get_bind()
    with locked(busy):
        waiter = threading.Thread(target=wait)
        waiter.start()

        def cancel() -> bool:
            with engine.connect() as connection:
                return bool(connection.execute(sa.text(WAITING)).all())

        until(cancel)
        waiter.join()
        assert len(errors) == 1
        assert [is_held(name) for name in NAMES] == [name == busy for name in NAMES]
