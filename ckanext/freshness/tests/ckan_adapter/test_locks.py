"""Locks that all processes of a site share."""

from __future__ import annotations

import threading

import pytest
import sqlalchemy as sa

from ckanext.freshness.ckan_adapter.database import is_held, locked
from ckanext.freshness.tests.processes import end_connections, until

pytestmark = pytest.mark.usefixtures("with_plugins", "clean_db")


def test_a_wait_that_is_cancelled_leaves_no_lock() -> None:
    errors: list[Exception] = []

    def wait() -> None:
        try:
            with locked("one"):
                pass
        except sa.exc.DBAPIError as error:
            errors.append(error)

    with locked("one"):
        waiter = threading.Thread(target=wait)
        waiter.start()

        until(lambda: end_connections("wait_event = 'advisory'", by="pg_cancel_backend"))
        waiter.join()
        assert len(errors) == 1
        assert is_held("one")
    # PostgreSQL may notice a little later that its client is gone.
    until(lambda: not is_held("one"))
