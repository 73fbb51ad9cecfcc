"""Validators: of options, of actions' arguments, and how often a user may call an action.

CKAN checks the options in ``config_declaration.yaml`` at its start, and does not start with a wrong value.
PostgreSQL never sees an argument that it cannot hold. Only actions that contact other servers and occupy a
worker are limited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta, timezone
from functools import wraps
from typing import Any, TypeVar

import ckan.plugins.toolkit as tk
import redis

from .. import settings as values
from ..aging import frequency
from ..aging.thresholds import Thresholds
from ..checking.fields import FIELDS
from ..checking.selection import POLICIES
from ..ckan_adapter.core import connect_to_redis, same_user
from ..mails import recipients
from ..reporting.host_groups import parse_groups
from ..web.address_guard import Guard

__all__ = ["freshness_option"]


def freshness_option(kind: str, *bounds: str) -> Callable[[Any], Any]:
    """Return a validator for one kind of value.

    :param kind: a key of ``KINDS``
    :param bounds: the lowest and the highest number, for kinds of numbers
    """
    read = KINDS[kind]

    def validate(value: Any) -> Any:
        try:
            return read(value, *map(float, bounds))
        except ValueError as error:
            raise tk.Invalid(str(error)) from error

    return validate


def _checked(read: Callable[[Any], object]) -> Callable[[Any], Any]:
    """Return a function that calls ``read`` for its errors, and returns the value unchanged."""

    def check(value: Any) -> Any:
        read(value)
        return value

    return check


def _networks(entries: Iterable[str]) -> None:
    try:
        Guard(entries)
    except ValueError as error:
        raise ValueError(
            f"must be addresses and networks, such as 10.20.0.0/16 192.0.2.7: {error}"
        ) from error


def _frequency(text: str | None) -> None:
    understood = frequency.parse(text or None)
    if text and isinstance(understood, frequency.UnknownFrequency):
        raise ValueError(understood.words)


def _addresses(entries: Iterable[str]) -> None:
    for entry in entries:
        if not recipients.addresses(entry):
            raise ValueError(f"must be addresses, not {entry!r}")


KINDS: Mapping[str, Callable[..., Any]] = {
    "number": values.number,
    "whole": values.whole,
    "flag": values.truth,
    "limit": _checked(lambda entries: values.by_purpose(entries, values.above_zero)),
    "whole_limit": _checked(
        lambda entries: values.by_purpose(entries, lambda limit: values.whole(limit, 1))
    ),
    "delays": _checked(values.delays),
    "hosts": _checked(values.hosts),
    "host_limits": _checked(values.host_limits),
    "intervals": _checked(values.intervals),
    "secrets": _checked(values.secrets),
    "fields": _checked(lambda names: values.one_of(names, FIELDS)),
    "policy": _checked(lambda name: values.one_of([name], POLICIES)),
    "prefix": _checked(values.prefix),
    "networks": _checked(_networks),
    "thresholds": _checked(lambda text: Thresholds.parse(text or "")),
    "frequency": _checked(_frequency),
    "host_groups": _checked(parse_groups),
    "addresses": _checked(_addresses),
}
"""Functions that read values, by kind. Structured values stay as they are in CKAN's configuration."""


Result = TypeVar("Result")

TEXTS = frozenset(
    {
        "address",
        "cursor",
        "date",
        "id",
        "list_id",
        "organization",
        "q",
        "since",
        "sort",
        "status",
        "table",
    }
)
"""Arguments of this extension's actions that must be texts."""

_MAX_NUMBER = 1_000_000_000
"""A number that Solr and the database accept as limit and offset."""


def checked(
    action: Callable[[dict[str, Any], dict[str, Any]], Result],
) -> Callable[[dict[str, Any], dict[str, Any]], Result]:
    """Decorate an action: it raises ValidationError if a text is a list or a number, or has a NUL."""

    @wraps(action)
    def called(context: dict[str, Any], data_dict: dict[str, Any]) -> Result:
        wrong = {key: [_advice()] for key, value in data_dict.items() if not _is_usable(key, value)}
        if wrong:
            raise tk.ValidationError(wrong)
        return action(context, data_dict)

    return called


def refuse_unusable() -> None:
    """Answer 400 to a request for a page with a NUL in its path, its query or its form."""
    request = tk.request
    given: Iterable[Mapping[str, Any]] = (request.view_args or {}, request.values)
    if not all(_is_storable(str(value)) for values in given for value in values.values()):
        tk.abort(400, _advice())


def reference(data_dict: Mapping[str, Any]) -> str:
    """Return the id or name that a caller gives.

    :raises tk.ValidationError: it is missing, or the database cannot hold it
    """
    found = tk.get_or_bust(data_dict, "id")
    if not isinstance(found, str) or not _is_storable(found):
        raise tk.ValidationError({"id": [_advice()]})
    return found


def flag(data_dict: Mapping[str, Any], key: str, *, default: bool) -> bool:
    """Return a truth value that a caller gives.

    :raises tk.ValidationError: it is neither true nor false
    """
    try:
        return bool(tk.asbool(data_dict.get(key, default)))
    except ValueError as error:
        raise tk.ValidationError({key: [tk._("Must be true or false")]}) from error


def whole_number(data_dict: Mapping[str, Any], key: str, default: int) -> int:
    """Return a whole number of 0 or more that a caller gives.

    :raises tk.ValidationError: it is no such number, or too large for Solr and the database
    """
    value = data_dict.get(key)
    if value in (None, ""):
        return default
    try:
        number = int(str(value))
    except ValueError:
        number = -1
    if not 0 <= number <= _MAX_NUMBER:
        raise tk.ValidationError({key: [tk._("Must be a whole number of 0 or more")]})
    return number


def _is_usable(key: str, value: Any) -> bool:
    if isinstance(value, str):
        return _is_storable(value)
    return key not in TEXTS or value is None


def _is_storable(text: str) -> bool:
    # JSON can contain halves of surrogate pairs, which have no encoding.
    return "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def _advice() -> str:
    return str(tk._("Must be a text without NUL characters"))


# Limits.

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
