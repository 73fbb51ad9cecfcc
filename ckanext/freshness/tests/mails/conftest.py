"""A site that sends mails to a real mail server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import Any

import ckan.plugins.toolkit as tk
import pytest
import sqlalchemy as sa
from ckan import model
from ckan.tests import factories, helpers

from ckanext.freshness.mails import digests
from ckanext.freshness.mails.report import MailReport, NotifyState
from ckanext.freshness.model import CheckRun, ResourceCheck
from ckanext.freshness.status.refresh import refresh
from ckanext.freshness.tests.servers.smtp import MailHost

EVIL = "\r\nBcc: victim@example.org\r\n\r\n<b onclick=x>"
ROOT = "root@example.org"
"""The address of the only sysadmin."""
OVERDUE, DELINQUENT = 15, 22
"""Days after which a weekly dataset is overdue, and delinquent."""

Make = Callable[..., dict[str, Any]]
Notify = Callable[..., MailReport]


def later(days: float = 0) -> datetime:
    return datetime.now(timezone.utc) + timedelta(days=days)


def age(days: float) -> None:
    """Refresh statuses as if the given number of days had passed."""
    refresh(later(days))


@contextmanager
def sends_to(port: int, **more: Any) -> Iterator[None]:
    """Switch mails on, with a mail server at a port.

    :param more: other options, with two underscores for each full stop
    """
    options = {
        "ckanext.freshness.notify.enabled": True,
        "smtp.server": f"127.0.0.1:{port}",
        "smtp.mail_from": "site@example.org",
        **{key.replace("__", "."): value for key, value in more.items()},
    }
    with pytest.MonkeyPatch.context() as patch:
        for key, value in options.items():
            patch.setitem(tk.config, key, value)
        yield


@pytest.fixture
def mails_on(clean_db: None, clean_index: None, monkeypatch: Any) -> Iterator[None]:
    monkeypatch.setattr(digests, "TIMEOUT", 5.0)
    model.Session.remove()
    with sends_to(9):
        yield


@pytest.fixture
def host(mails_on: None) -> Iterator[MailHost]:
    """A mail server that the site uses, after the first notify. No mail tells a password or a token."""
    with MailHost() as host, sends_to(host.port):
        assert digests.notify_all(later).state is NotifyState.BEGUN
        yield host
    assert not [mail for mail in host.mails if "s3cret" in mail.part("plain") + mail.part("html")]


@pytest.fixture
def make(mails_on: None) -> Make:
    """Create a weekly dataset. Its contacts may have forms that only harvesters and older versions produce."""
    user = factories.Sysadmin(email=ROOT)["name"]

    def make(
        name: str,
        frequency: str = "7",
        *,
        maintainer_email: str | None = None,
        author_email: str | None = None,
        maintainer: str | None = None,
        **fields: Any,
    ) -> dict[str, Any]:
        made = helpers.call_action(
            "package_create",
            {"user": user},
            name=name,
            resources=[{"url": "http://ann:s3cret@example.org/a.csv?token=s3cret"}],
            extras=[{"key": "frequency", "value": frequency}],
            **fields,
        )
        # CKAN's validators accept only a single valid address.
        model.Session.execute(
            sa.update(model.Package.__table__)
            .where(model.Package.__table__.c.id == made["id"])
            .values(
                maintainer_email=maintainer_email, author_email=author_email, maintainer=maintainer
            )
        )
        model.Session.commit()
        return dict(made)

    return make


def fail(
    package_id: str, *, position: int = 0, times: int = 3, span: float = 2, day: float = 0
) -> None:
    """Let a link of a dataset fail on a day, for the given number of times within so many days."""
    resource = model.Package.get(package_id).resources[position]
    at = later(day).replace(tzinfo=None)
    model.Session.merge(
        ResourceCheck(
            resource_id=resource.id,
            package_id=package_id,
            url=resource.url,
            host="example.org",
            first_seen=at,
            tried_at=at,
            failures=times,
            failing_since=at - timedelta(days=span),
            failed_at=at,
            attempts=[{"words": f"404{EVIL}", "status": 404, "outcome": "error"}],
        )
    )
    model.Session.commit()


def add_night(name: str, day: float, datasets: int = 10, **columns: Any) -> None:
    """Add a check of all links that began on a day and took an hour."""
    start = later(day).replace(tzinfo=None)
    row: dict[str, Any] = {
        "kind": "check",
        "options": {"package_ids": None, "host": None},
        "datasets": {"0: Fresh, Updated nothing": datasets},
        "ended_at": start + timedelta(hours=1),
        "version": "1",
        **columns,
    }
    model.Session.add(CheckRun(id=name, started_at=start, **row))
    model.Session.commit()


@pytest.fixture
def notify() -> Notify:
    """Do the work of ``ckan freshness notify``, the given number of days later."""

    def notify(days: float = OVERDUE, **options: Any) -> MailReport:
        return digests.notify_all(lambda: later(days), **options)

    return notify
