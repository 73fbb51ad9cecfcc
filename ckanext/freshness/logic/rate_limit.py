"""Limits how often a user may call costly actions, which contact other servers and occupy a worker."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

import ckan.plugins.toolkit as tk
import redis

from ..ckan_adapter.ckan_core import connect_to_redis
from ..status.package_fields import same_user

PER_HOUR = 60
"""The number of calls of all costly actions together, per user and clock hour."""


def count_costly(context: Mapping[str, Any], now: datetime) -> None:
    """Count a costly action of a user; sysadmins and the site's own commands are exempt.

    :raises tk.ValidationError: the user has reached the limit in this hour
    """
    if _is_exempt(context):
        return
    hour = now.astimezone(timezone.utc).replace(minute=0, second=0, microsecond=0)
    key = f"ckan:{tk.config['ckan.site_id']}:freshness:costly:{context['user']}:{hour:%Y%m%d%H}"
    try:
        with connect_to_redis().pipeline() as pipe:
            pipe.incr(key)
            pipe.expire(key, timedelta(hours=2))
            count = pipe.execute()[0]
    except redis.exceptions.RedisError:
        # The action itself will report that Redis does not answer.
        return
    if count > PER_HOUR:
        words = tk._(
            "You have asked for {most} checks and previews in this hour. Try again after {time} UTC."
        )
        again = f"{hour + timedelta(hours=1):%H:%M}"
        raise tk.ValidationError({"limit": [words.format(most=PER_HOUR, time=again)]})


def _is_exempt(context: Mapping[str, Any]) -> bool:
    try:
        tk.check_access("sysadmin", same_user(context), {})
    except tk.NotAuthorized:
        return False
    return True
