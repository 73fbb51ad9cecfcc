"""Mails: whether they can be sent, and whether anybody gets those about the site itself."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from .. import settings
from ..ckan_adapter import mailer_problem
from ..mails import recipients
from . import Finding, problem

_OFF = "or switch mails off: ckanext.freshness.notify.enabled = false"


def mails(now: datetime) -> Iterator[Finding]:
    """Mails that are on, and that nobody gets."""
    if not settings.flag("notify.enabled"):
        return
    if missing := mailer_problem():
        yield problem(
            f"Mails are on, and cannot be sent: {missing}",
            f"Set it in the site's ini file, {_OFF}",
        )
    if not recipients.operators():
        yield problem(
            "Mails are on, and no sysadmin has an address: nobody would be told that a check failed, or "
            "that a dataset is delinquent",
            "Set ckanext.freshness.notify.operators to the addresses of who looks after this site, or "
            "give a sysadmin an address.",
        )
