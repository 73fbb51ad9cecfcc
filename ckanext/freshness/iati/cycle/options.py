"""The site's options about IATI's update cycle, read when used."""

from __future__ import annotations

from datetime import timedelta

from ... import settings
from ..policy.state import IatiPolicy


def policy(*, strict: bool = False) -> IatiPolicy:
    """Return the times of IATI's cycle.

    :param strict: the rules alone, without the back-off of files that fail.
    """
    download_after = timedelta(hours=float(settings.option("iati.head_within_hours")))
    return IatiPolicy(
        download_after=download_after,
        trusted_for=min(IatiPolicy().trusted_for, download_after),
        expire_after=timedelta(hours=float(settings.option("iati.expire_after_hours"))),
        strict=strict,
    )
