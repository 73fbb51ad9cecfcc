"""Lost connections to the database, which are not errors of statements."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from ckanext.freshness.ckan_adapter.database import (
    DatabaseLostError,
    is_loss,
    telling_of_loss,
)

SECRETS = "SELECT 'geheim'"


def error(kind: type[sa.exc.DBAPIError], words: str, **more: object) -> sa.exc.DBAPIError:
    statement = more.pop("statement", SECRETS)
    return kind(statement, {}, Exception(words), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("raised", "lost"),
    [
        (error(sa.exc.OperationalError, "x", connection_invalidated=True), True),
        (error(sa.exc.InterfaceError, "x", connection_invalidated=True), True),
        (error(sa.exc.OperationalError, "refused", statement=None), True),
        (sa.exc.PendingRollbackError("x", code="8s2b"), True),
        (sa.exc.PendingRollbackError("x", code="7s2a"), False),
        (error(sa.exc.OperationalError, "deadlock detected"), False),
        (error(sa.exc.ProgrammingError, "no such table"), False),
        (sa.exc.InvalidRequestError("x"), False),
        (LookupError("x"), False),
    ],
)
def test_what_is_a_loss(raised: Exception, lost: bool) -> None:
    assert is_loss(raised) is lost
    with pytest.raises(DatabaseLostError if lost else type(raised)), telling_of_loss():
        raise raised


def test_it_is_told_in_one_line_and_without_statements(with_request_context: None) -> None:
    raised = error(sa.exc.OperationalError, "closed\n\tunexpectedly", connection_invalidated=True)
    with pytest.raises(DatabaseLostError) as caught, telling_of_loss():
        raise raised
    assert str(caught.value) == (
        "The database was lost (closed): the run has stopped. What it had written stays; the next run "
        "goes on from there."
    )
